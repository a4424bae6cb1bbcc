package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"holdfast/internal/approval"
	"holdfast/internal/ledger"
	"holdfast/internal/operation"
	"holdfast/internal/runner"
)

// What a form of the page asks for.
const (
	doDecide = "decide"
	doAgain  = "again"
	doSecond = "second"
	doStop   = "stop"
)

func bad(text string) notice { return notice{Kind: "bad", Text: text} }

// post takes a form. One that a person did not fill in whole is told what is missing before its code is counted.
func (p *Review) post(ctx context.Context, link ledger.Link, req events.APIGatewayV2HTTPRequest) events.APIGatewayV2HTTPResponse {
	form, err := formOf(req)
	if err != nil {
		return p.show(ctx, link, http.StatusBadRequest, bad("The form could not be read. Nothing was decided. Send it again from this page."), typed{})
	}
	status, n := http.StatusBadRequest, bad("The form does not say what it asks for. Nothing was changed. Open the page again.")
	switch form.Get("do") {
	case doDecide:
		status, n = p.decide(ctx, link, form)
	case doAgain, doSecond, doStop:
		status, n = p.act(ctx, link, form)
	}
	keep := typed{}
	if status >= 400 {
		keep = typedOf(form)
	}
	return p.show(ctx, link, status, n, keep)
}

func (p *Review) decide(ctx context.Context, link ledger.Link, form url.Values) (int, notice) {
	only, ok := narrow(link, form)
	if !ok {
		return http.StatusBadRequest, bad("The form does not say which operations you decide about. Nothing was decided. Open the page again.")
	}
	in, problem := inputOf(only, form)
	if problem != "" {
		return http.StatusBadRequest, bad(problem + " Nothing was decided.")
	}
	res, err := p.Desk.Decide(ctx, only, in)
	if err != nil {
		p.Log.Error("decision", "run", link.Run, "error", err)
		return http.StatusServiceUnavailable, bad("It is not clear whether your decision was written. What stands is shown below; if it still asks you, decide again.")
	}
	p.carryOn(ctx, only, res)
	return told(res)
}

// carryOn wakes what waits. A failure loses nothing: the decision is written and the sweep delivers it.
func (p *Review) carryOn(ctx context.Context, link ledger.Link, res approval.Result) {
	if res.Verdict != approval.Decided && res.Verdict != approval.Standing {
		return
	}
	if len(link.Operations) == 0 {
		if err := p.Runs.CarryOut(ctx, link.Run); err != nil {
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

// act does what a person asks of the run beside its questions: run again, a deliberate second, stop.
func (p *Review) act(ctx context.Context, link ledger.Link, form url.Values) (int, notice) {
	do, how := form.Get("do"), typedOf(form).How
	switch {
	case strings.TrimSpace(form.Get("code")) == "":
		return http.StatusBadRequest, bad("Type the code that was sent to you apart from the link. Nothing was changed.")
	case do == doStop && (how == "" || len(how) > howBytesMax):
		return http.StatusBadRequest, bad("Say why it is stopped, in at most 2000 bytes. Nothing was changed.")
	case do == doSecond && !plainID(form.Get("nonce")):
		return http.StatusBadRequest, bad("The form lacks its own mark. Open the page again. Nothing was changed.")
	}
	run, err := p.Store.Run(ctx, link.Run)
	if err != nil {
		return p.unclear(link, err)
	}
	if allowed, err := p.mayAct(ctx, link, &run); err != nil || !allowed {
		if err != nil {
			return p.unclear(link, err)
		}
		return http.StatusForbidden, bad("This run is no longer put to you, so you cannot start or stop it. Nothing was changed.")
	}
	why, err := p.Desk.Prove(ctx, link, form.Get("code"))
	switch {
	case err != nil:
		return p.unclear(link, err)
	case why != "":
		return statusOf(why), bad(capital(sentence(why)) + " Nothing was changed.")
	}
	if do == doSecond {
		return p.second(ctx, link, form) // a repeat of the same form is recognised by its nonce
	}
	if form.Get("rev") != strconv.FormatInt(run.Rev, 10) {
		return http.StatusConflict, bad("The run changed after this page was made, perhaps by your own first click. Nothing more was done; below is how it stands.")
	}
	if do == doStop {
		return p.stop(ctx, link, &run, how)
	}
	return p.again(ctx, link, &run)
}

func (p *Review) again(ctx context.Context, link ledger.Link, run *operation.Run) (int, notice) {
	if !mayRunAgain(run) {
		return http.StatusConflict, bad("The run is at work already. Nothing was changed.")
	}
	if _, err := p.Runs.Again(ctx, link.Run, link.Person); err != nil {
		return p.failed(link, err)
	}
	return http.StatusOK, notice{"good", "It runs again. What is confirmed is reused; what has to be approved anew is asked in a mail of its own."}
}

func (p *Review) second(ctx context.Context, link ledger.Link, form url.Values) (int, notice) {
	made, err := p.Runs.Second(ctx, link.Run, form.Get("stage"), form.Get("nonce"), link.Person)
	if err != nil {
		return p.failed(link, err)
	}
	return http.StatusOK, notice{"good", fmt.Sprintf("A deliberate second of %s is made, in the run %s. Nothing is sent before it is approved: that is asked in a mail of its own.", form.Get("stage"), made.ID)}
}

func (p *Review) stop(ctx context.Context, link ledger.Link, run *operation.Run, how string) (int, notice) {
	if run.Ended() {
		return http.StatusConflict, bad("The run has ended already; there is nothing to stop. Nothing was changed.")
	}
	withdrawn, err := p.Runs.Stop(ctx, link.Run, link.Person, how)
	if err != nil {
		return p.failed(link, err)
	}
	return http.StatusOK, notice{"good", fmt.Sprintf("Stopped: %d withdrawn before it was sent. What may have been sent already is still found out.", len(withdrawn))}
}

// failed tells a refusal in its own words; anything else may or may not have been written.
func (p *Review) failed(link ledger.Link, err error) (int, notice) {
	if errors.Is(err, runner.ErrNotAgain) {
		return http.StatusConflict, bad(capital(err.Error()) + ". Nothing was sent.")
	}
	return p.unclear(link, err)
}

func (p *Review) unclear(link ledger.Link, err error) (int, notice) {
	p.Log.Error("review page", "run", link.Run, "error", err)
	return http.StatusServiceUnavailable, bad("It is not clear whether that was done. What stands is shown below. The same form sent again does it at most once.")
}

func mayRunAgain(run *operation.Run) bool {
	return run.Status == operation.RunHeld || (run.Ended() && run.Status != operation.RunNotApplicable)
}

// mayAct: the run's owner, and whoever this link's question is put to as it stands now. A person whose question was
// handed to somebody else is neither.
func (p *Review) mayAct(ctx context.Context, link ledger.Link, run *operation.Run) (bool, error) {
	if link.Person == run.Owner || putTo(run.Question, run.Answered, link) {
		return true, nil
	}
	for _, id := range link.Operations {
		op, err := p.Store.Operation(ctx, id)
		if err != nil {
			return false, err
		}
		if putTo(op.Question, op.Answered, link) {
			return true, nil
		}
	}
	return false, nil
}

func putTo(open *operation.Question, answered []operation.Question, link ledger.Link) bool {
	if open != nil && open.ID == link.Question {
		return slices.Contains(open.Reviewers, link.Person)
	}
	for i := range answered {
		if answered[i].ID == link.Question {
			return slices.Contains(answered[i].Reviewers, link.Person)
		}
	}
	return false
}
