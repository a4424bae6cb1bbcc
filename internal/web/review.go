// Package web shows pages to people and takes what they send.
//
// It promises that showing a page changes nothing, whoever fetches it, that everything from outside is shown and never
// run, and that no page has a script. It never decides: it hands what a person sent to the approval desk or the runner
// and shows what became of it.
package web

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"holdfast/internal/approval"
	"holdfast/internal/clock"
	"holdfast/internal/ledger"
	"holdfast/internal/operation"
	"holdfast/internal/runner"
)

// Store is the part of the ledger that the review page reads.
type Store interface {
	Link(context.Context, ledger.LinkID) (ledger.Link, error)
	Operation(context.Context, operation.ID) (operation.Operation, error)
	Content(context.Context, operation.ID, operation.Content) ([]byte, error)
	Run(context.Context, operation.RunID) (operation.Run, error)
	Plan(context.Context, operation.RunID) ([]byte, error)
}

// Decider takes decisions, and proves that whoever sends a code is the link's person.
type Decider interface {
	Decide(context.Context, ledger.Link, approval.Input) (approval.Result, error)
	Prove(ctx context.Context, link ledger.Link, code string) (operation.Reason, error)
}

// Resumer makes a run go on after a decision.
type Resumer interface {
	Resume(context.Context, operation.RunID, operation.Reason) error
}

// Runs is what a person may ask of a run beside its questions, and what a decision about a run asks for.
type Runs interface {
	CarryOut(context.Context, operation.RunID) error
	PreviewAgain(context.Context, operation.RunID) (operation.Run, []runner.Preview, error)
	Again(ctx context.Context, id operation.RunID, by operation.Person) (operation.Run, error)
	Second(ctx context.Context, id operation.RunID, stage, nonce string, by operation.Person) (operation.Run, error)
	Stop(ctx context.Context, id operation.RunID, by operation.Person, how string) ([]operation.ID, error)
}

// Review serves the reviewer's page. Its fields are set once.
type Review struct {
	Store   Store
	Desk    Decider
	Resumer Resumer
	Runs    Runs
	Targets func(name string) TargetText
	Policy  func(*operation.Operation) operation.Policy
	Clock   clock.Clock
	NewID   func(prefix string) string // random; a page's nonces
	Log     *slog.Logger
}

// TargetText is what the page says about a target.
type TargetText struct {
	Title     string
	Summary   string
	Mark      string // where our id stands in the effect; "" when unknown
	Ask       string // the lookup's request with ${operation} and ${api_version} in it; "" when the target cannot be asked
	Protected string
	Lost      string
}

// Handle is the Lambda handler of the review routes.
func (p *Review) Handle(ctx context.Context, req events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
	link, err := p.link(ctx, linkID(req.PathParameters["link"]))
	if errors.Is(err, ledger.ErrNotFound) {
		return p.page(http.StatusNotFound, "gone", goneView{}), nil
	}
	if err != nil {
		p.Log.Error("review page", "error", err)
		return p.page(http.StatusServiceUnavailable, "gone", goneView{Busy: true}), nil
	}
	switch req.RequestContext.HTTP.Method {
	case http.MethodGet, http.MethodHead:
		return p.show(ctx, link, http.StatusOK, notice{}, typed{}), nil
	case http.MethodPost:
		return p.post(ctx, link, req), nil
	}
	out := p.page(http.StatusMethodNotAllowed, "gone", goneView{})
	out.Headers["Allow"] = "GET, HEAD, POST"
	return out, nil
}

// linkID takes off what mail programs leave around an address, none of which can stand in an id.
func linkID(given string) ledger.LinkID {
	return ledger.LinkID(strings.ToLower(strings.Trim(given, " \t\r\n<>()[]{}.,;:!?*\"'`")))
}

// link reads a link by its id. What no link can look like, or has expired, is one that does not exist.
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

// The length of an id that can be one, in bytes.
const (
	idBytesMin = 8
	idBytesMax = 64
)

func plainID(id string) bool {
	if len(id) < idBytesMin || len(id) > idBytesMax {
		return false
	}
	return strings.IndexFunc(id, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_'
	}) < 0
}

func (p *Review) now() operation.Time { return operation.TimeOf(p.Clock.Now()) }

// show makes the page from what the ledger says now. keep is what the person typed when it has to be corrected.
func (p *Review) show(ctx context.Context, link ledger.Link, status int, n notice, keep typed) events.APIGatewayV2HTTPResponse {
	view, err := p.view(ctx, link, keep)
	if err != nil {
		p.Log.Error("review page", "error", err)
		return p.page(http.StatusServiceUnavailable, "gone", goneView{Busy: true})
	}
	view.Notice = n
	return p.page(status, "review", view)
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
