// Package web shows pages to people and takes what they send.
//
// It promises that showing a page changes nothing, whoever fetches it, and that everything from outside is escaped. It
// never decides: it hands what a person sent to the approval desk and shows what became of it.
package web

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"holdfast/internal/approval"
	"holdfast/internal/clock"
	"holdfast/internal/ledger"
	"holdfast/internal/operation"
)

// Store is the part of the ledger that the review page reads.
type Store interface {
	Link(context.Context, ledger.LinkID) (ledger.Link, error)
	Operation(context.Context, operation.ID) (operation.Operation, error)
	Content(context.Context, operation.ID, operation.Content) ([]byte, error)
	Run(context.Context, operation.RunID) (operation.Run, error)
}

// Decider takes decisions.
type Decider interface {
	Decide(context.Context, ledger.Link, approval.Input) (approval.Result, error)
}

// Resumer makes a run go on after a decision.
type Resumer interface {
	Resume(context.Context, operation.RunID, operation.Reason) error
}

// Carrier carries out what a decision about a run asks for on its operations (a second operation, a stop).
type Carrier interface {
	CarryOut(context.Context, operation.RunID) error
}

// Review serves the reviewer's page. Its fields are set once.
type Review struct {
	Store   Store
	Desk    Decider
	Resumer Resumer
	Carrier Carrier
	Targets func(name string) TargetText
	Policy  func(*operation.Operation) operation.Policy
	Clock   clock.Clock
	Log     *slog.Logger
}

// TargetText is what the page says about a target.
type TargetText struct {
	Title   string
	Summary string
}

const formBytesMax = 16 << 10

// Handle is the Lambda handler of the review routes.
func (p *Review) Handle(ctx context.Context, req events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
	id := ledger.LinkID(req.PathParameters["link"])
	link, err := p.link(ctx, id)
	if errors.Is(err, ledger.ErrNotFound) {
		return p.page(http.StatusNotFound, "gone", goneView{}), nil
	}
	if err != nil {
		p.Log.Error("review page", "error", err)
		return p.page(http.StatusServiceUnavailable, "gone", goneView{Busy: true}), nil
	}
	switch req.RequestContext.HTTP.Method {
	case http.MethodGet, http.MethodHead:
		return p.show(ctx, link, http.StatusOK, notice{}), nil
	case http.MethodPost:
		return p.decide(ctx, link, req), nil
	}
	out := p.page(http.StatusMethodNotAllowed, "gone", goneView{})
	out.Headers["Allow"] = "GET, HEAD, POST"
	return out, nil
}

// link reads a link by the id in the address. What no link can look like, or has expired, is one that does not exist.
func (p *Review) link(ctx context.Context, id ledger.LinkID) (ledger.Link, error) {
	if !plainID(string(id)) {
		return ledger.Link{}, ledger.ErrNotFound
	}
	link, err := p.Store.Link(ctx, id)
	if err == nil && p.now() >= link.Expires {
		return link, ledger.ErrNotFound
	}
	return link, err
}

func plainID(id string) bool {
	if len(id) < 8 || len(id) > 64 {
		return false
	}
	return strings.IndexFunc(id, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_'
	}) < 0
}

func (p *Review) now() operation.Time { return operation.TimeOf(p.Clock.Now()) }

func (p *Review) show(ctx context.Context, link ledger.Link, status int, n notice) events.APIGatewayV2HTTPResponse {
	view, err := p.view(ctx, link)
	if err != nil {
		p.Log.Error("review page", "error", err)
		return p.page(http.StatusServiceUnavailable, "gone", goneView{Busy: true})
	}
	view.Notice = n
	return p.page(status, "review", view)
}

// decide takes the form. A form that a person did not fill in whole is told what is missing before its code is counted.
func (p *Review) decide(ctx context.Context, link ledger.Link, req events.APIGatewayV2HTTPRequest) events.APIGatewayV2HTTPResponse {
	form, err := formOf(req)
	if err != nil {
		return p.show(ctx, link, http.StatusBadRequest, notice{Kind: "bad", Text: "The form could not be read. Nothing was decided. Send it again from this page."})
	}
	in, problem := inputOf(link, form)
	if problem != "" {
		return p.show(ctx, link, http.StatusBadRequest, notice{Kind: "bad", Text: problem + " Nothing was decided."})
	}
	res, err := p.Desk.Decide(ctx, link, in)
	if err != nil {
		p.Log.Error("decision", "run", link.Run, "error", err)
		return p.show(ctx, link, http.StatusServiceUnavailable, notice{Kind: "bad", Text: "It is not clear whether your decision was written. Open this page again: it shows what stands."})
	}
	p.carryOn(ctx, link, res)
	status, n := told(res)
	return p.show(ctx, link, status, n)
}

// carryOn wakes what waits. A failure loses nothing: the decision is written and the sweep delivers it.
func (p *Review) carryOn(ctx context.Context, link ledger.Link, res approval.Result) {
	if res.Verdict != approval.Decided && res.Verdict != approval.Standing {
		return
	}
	if len(link.Operations) == 0 {
		if err := p.Carrier.CarryOut(ctx, link.Run); err != nil {
			p.Log.Warn("not carried out yet; the sweep will", "run", link.Run, "error", err)
			return
		}
	}
	for _, run := range res.Runs {
		if err := p.Resumer.Resume(ctx, run, operation.ReasonAnswered); err != nil {
			p.Log.Warn("not resumed yet; the sweep will", "run", run, "error", err)
		}
	}
}

func formOf(req events.APIGatewayV2HTTPRequest) (url.Values, error) {
	body := req.Body
	if req.IsBase64Encoded {
		raw, err := base64.StdEncoding.DecodeString(body)
		if err != nil {
			return nil, err
		}
		body = string(raw)
	}
	if len(body) > formBytesMax {
		return nil, errors.New("form too large")
	}
	return url.ParseQuery(body)
}

// inputOf reads the form. Its second result says what the person has to fill in.
func inputOf(link ledger.Link, form url.Values) (approval.Input, string) {
	in := approval.Input{
		Code: form.Get("code"), Answer: operation.Answer(form.Get("answer")),
		Reference: operation.Reference(strings.TrimSpace(form.Get("reference"))), How: strings.TrimSpace(form.Get("how")),
		Seen: map[string]approval.Seen{},
	}
	minutes, err := strconv.Atoi(strings.TrimSpace(form.Get("minutes")))
	if form.Get("minutes") != "" && (err != nil || minutes < 0 || minutes > 24*60) {
		return in, "Minutes of work must be a whole number from 0 to 1440."
	}
	in.Minutes = minutes
	ids := []string{string(link.Run)}
	if len(link.Operations) > 0 {
		ids = ids[:0]
		for _, id := range link.Operations {
			ids = append(ids, string(id))
		}
	}
	for _, id := range ids {
		rev, err := strconv.ParseInt(form.Get("rev."+id), 10, 64)
		if err != nil {
			return in, "The form does not say which state you saw. Open the page again."
		}
		in.Seen[id] = approval.Seen{Digest: operation.Digest(form.Get("digest." + id)), Rev: rev}
	}
	return in, missing(in)
}

func missing(in approval.Input) string {
	switch {
	case in.Answer == "":
		return "Choose an answer."
	case strings.TrimSpace(in.Code) == "":
		return "Type the code that was sent to you apart from the link."
	case in.Answer == operation.AnswerExists && in.Reference == "":
		return "Give the target's reference of what exists."
	case needsHow(in.Answer) && in.How == "":
		return "Say how you know."
	case len(in.How) > 2000:
		return "Say it in at most 2000 characters."
	}
	return ""
}

func needsHow(a operation.Answer) bool {
	switch a {
	case operation.AnswerApprove, operation.AnswerDecline, operation.AnswerExists, operation.AnswerCheckAgain:
		return false
	}
	return true
}

func (p *Review) page(status int, name string, data any) events.APIGatewayV2HTTPResponse {
	var b bytes.Buffer
	if err := pages.ExecuteTemplate(&b, name, data); err != nil {
		p.Log.Error("page", "name", name, "error", err)
		status = http.StatusInternalServerError
		b.Reset()
		b.WriteString("This page could not be made. Nothing was changed.")
	}
	return events.APIGatewayV2HTTPResponse{StatusCode: status, Body: b.String(), Headers: map[string]string{
		"Content-Type":            "text/html; charset=utf-8",
		"Cache-Control":           "no-store",
		"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
		"Referrer-Policy":         "no-referrer",
		"X-Content-Type-Options":  "nosniff",
		"X-Robots-Tag":            "noindex, nofollow",
	}}
}

// pretty shows a JSON body indented, with its numbers as they are; anything else as it is.
func pretty(body []byte) string {
	var b bytes.Buffer
	if json.Indent(&b, body, "", "  ") != nil {
		return string(body)
	}
	return b.String()
}
