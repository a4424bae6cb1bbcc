package outbox

import (
	_ "embed"
	"encoding/json"
	"html/template"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

//go:embed page.html
var pageText string

// Handler returns the pages:
//
//	GET /outbox       all mails, newest first
//	GET /outbox.json  the same as data: {"messages":[…]}, oldest first
//	GET /outbox/{n}   one mail
//
// Mails hold codes and links, so it answers only under a loopback name.
func (b *Outbox) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /outbox", b.serveList)
	mux.HandleFunc("GET /outbox.json", b.serveData)
	mux.HandleFunc("GET /outbox/{n}", b.serveMessage)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !loopbackName(r.Host) {
			http.Error(w, "Open this page as localhost or 127.0.0.1.", http.StatusForbidden)
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Referrer-Policy", "no-referrer")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		mux.ServeHTTP(w, r)
	})
}

func loopbackName(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (b *Outbox) serveData(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	all := b.Messages()
	if all == nil {
		all = []Message{}
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.Encode(map[string]any{"messages": all})
}

// view is what the page shows: a list, or one mail.
type view struct {
	List   []Message
	One    *Message
	Pieces []piece
	Frame  string // the mail's HTML, shown in a frame that runs nothing
	Most   int
}

func (b *Outbox) serveList(w http.ResponseWriter, _ *http.Request) {
	all := b.Messages()
	slices.Reverse(all)
	render(w, http.StatusOK, view{List: all, Most: messagesMax})
}

func (b *Outbox) serveMessage(w http.ResponseWriter, r *http.Request) {
	n, err := strconv.Atoi(r.PathValue("n"))
	m, known := b.message(n)
	if err != nil || !known {
		http.Error(w, "No such mail: it was never here, or newer ones took its place. See /outbox.", http.StatusNotFound)
		return
	}
	v := view{One: &m, Pieces: pieces(m.Text)}
	if m.HTML != "" {
		v.Frame = `<base target="_blank">` + m.HTML
	}
	render(w, http.StatusOK, v)
}

func render(w http.ResponseWriter, status int, v view) {
	page, err := template.New("outbox").Parse(pageText)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
	w.WriteHeader(status)
	page.Execute(w, v)
}
