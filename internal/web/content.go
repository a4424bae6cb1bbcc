package web

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"holdfast/internal/operation"
	"holdfast/internal/target"
)

// contentView is the frozen content, both as people read it and exactly as it is sent.
type contentView struct {
	Fault   string // why it cannot be shown; "" when it can
	Request target.Request
	Lines   []field  // the body's values in their order; empty when the body is no JSON
	OwnID   []string // where in the body and the headers nothing but the operation's id stands
	Pretty  string   // the body indented, digits as they are
	Exact   string   // the body as it is
	Quoted  bool     // Exact is quoted, because a browser would not show every byte
	Bytes   int
	Holes   []string
	Odd     []string // invisible characters in the body, by name
}

// field is one value of the body.
type field struct {
	Name   string
	Path   string // where it is, when that is not the top
	Pieces []piece
	HTML   bool // it looks like HTML; the page shows its source
}

// piece is a stretch of a text. Odd is set for a character that nobody would see, Hole for what is filled in later.
type piece struct {
	Text      string
	Odd, Hole bool
}

// content reads what is stored under the operation's digest, and shows nothing else.
func (p *Review) content(ctx context.Context, op *operation.Operation) contentView {
	raw, err := p.Store.Content(ctx, op.ID, op.Content)
	if err != nil {
		p.Log.Error("review page: content", "operation", op.ID, "error", err)
		return contentView{Fault: "The content cannot be read, or is not what was frozen. Nobody can approve it."}
	}
	r, err := target.Decode(raw)
	if err != nil {
		return contentView{Fault: "The content cannot be read. Nobody can approve it."}
	}
	return contentOf(r)
}

func contentOf(r target.Request) contentView {
	v := contentView{Request: r, Bytes: len(r.Body), Pretty: pretty(r.Body), Exact: string(r.Body), Odd: oddNames(string(r.Body))}
	if !showsWhole(r.Body) {
		v.Exact, v.Quoted = strconv.QuoteToASCII(string(r.Body)), true
	}
	marks := map[string]string{}
	for _, h := range target.Holes(r) {
		words := "the key of this operation"
		if h.Stage != "" {
			words = "the reference that " + h.Stage + " gets"
		}
		marks[h.Mark()] = words
		v.Holes = append(v.Holes, words)
	}
	for _, f := range linesOf(r.Body, marks) {
		if len(f.Pieces) == 1 && f.Pieces[0].Text == r.Operation {
			v.OwnID = append(v.OwnID, join(f.Path, f.Name))
			continue
		}
		v.Lines = append(v.Lines, f)
	}
	for _, h := range r.Headers {
		if h.Value == r.Operation {
			v.OwnID = append(v.OwnID, "the header "+h.Name)
		}
	}
	return v
}

// showsWhole says that a browser shows these bytes one for one: valid text without control characters.
func showsWhole(b []byte) bool {
	return utf8.Valid(b) && bytes.IndexFunc(b, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r == 0x7f }) < 0
}

// pretty shows a JSON body indented, with its numbers as they are; "" when it is no JSON.
func pretty(body []byte) string {
	var b bytes.Buffer
	if json.Indent(&b, body, "", "  ") != nil {
		return ""
	}
	return b.String()
}

// linesMax bounds the readable list; the exact body is shown whole beside it.
const linesMax = 200

// linesOf lists a JSON body's values in their order.
func linesOf(body []byte, marks map[string]string) []field {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	w := walk{dec: dec, marks: marks}
	if w.value("", "") != nil || len(w.out) > linesMax {
		return nil
	}
	return w.out
}

type walk struct {
	dec   *json.Decoder
	marks map[string]string
	out   []field
}

func (w *walk) value(path, name string) error {
	tok, err := w.dec.Token()
	if err != nil {
		return err
	}
	switch tok := tok.(type) {
	case json.Delim:
		return w.inside(tok, join(path, name))
	case string:
		w.add(path, name, tok)
	case nil:
		w.add(path, name, "null")
	default:
		w.add(path, name, fmt.Sprint(tok))
	}
	return nil
}

// inside walks an object or a list to its end.
func (w *walk) inside(open json.Delim, path string) error {
	for i := 0; w.dec.More(); i++ {
		name := "[" + strconv.Itoa(i) + "]"
		if open == '{' {
			tok, err := w.dec.Token()
			if err != nil {
				return err
			}
			name, _ = tok.(string)
		}
		if err := w.value(path, name); err != nil {
			return err
		}
	}
	_, err := w.dec.Token()
	return err
}

func join(path, name string) string {
	if path == "" || strings.HasPrefix(name, "[") {
		return path + name
	}
	return path + "." + name
}

func (w *walk) add(path, name, text string) {
	if strings.HasPrefix(name, "[") { // an item of a list is named with its list
		at := strings.LastIndexByte(path, '.') + 1
		name, path = path[at:]+name, strings.TrimSuffix(path[:at], ".")
	}
	w.out = append(w.out, field{Name: name, Path: path, Pieces: pieces(text, w.marks), HTML: tag.MatchString(text)})
}

// tag is the beginning or the end of an element; a mail address in angle brackets is none.
var tag = regexp.MustCompile(`</?[a-zA-Z][a-zA-Z0-9]*(\s[^>]*)?/?>`)

// pieces cuts a text so that the page can mark what is filled in later and what nobody would see.
func pieces(text string, marks map[string]string) []piece {
	for mark, words := range marks {
		if before, after, ok := strings.Cut(text, mark); ok {
			return append(append(pieces(before, marks), piece{Text: words, Hole: true}), pieces(after, marks)...)
		}
	}
	var out []piece
	from, before := 0, rune(0)
	for i, r := range text {
		if odd(r, before) {
			if from < i {
				out = append(out, piece{Text: text[from:i]})
			}
			out = append(out, piece{Text: runeName(r), Odd: true})
			from = i + utf8.RuneLen(r)
		}
		before = r
	}
	if from < len(text) {
		out = append(out, piece{Text: text[from:]})
	}
	return out
}

func runeName(r rune) string { return fmt.Sprintf("U+%04X", r) }

// odd says that a reader would not see a character, or would see the text around it in another order. The joiner inside
// an emoji is none.
func odd(r, before rune) bool {
	switch {
	case r == '\n' || r == '\t' || r == ' ':
		return false
	case r == 0x200d:
		return before < 0x2600
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Zs, unicode.Co)
}

// oddNames lists the odd characters of a text, each once; a JSON body may also have them as escapes, which the
// readable list shows.
func oddNames(text string) []string {
	var out []string
	seen := map[rune]bool{}
	before := rune(0)
	for _, r := range text {
		if odd(r, before) && !seen[r] && r != '\r' {
			seen[r] = true
			out = append(out, runeName(r))
		}
		before = r
	}
	return out
}
