package acceptance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/flows"
	"holdfast/internal/acceptance"
	"holdfast/internal/local"
	"holdfast/internal/operation"
	"holdfast/internal/runner"
	"holdfast/internal/target"
	"holdfast/sources"
	"holdfast/targets"
	"holdfast/targets/sim"
)

func options(flow string) acceptance.Options {
	return acceptance.Options{Flow: flow, Flows: flows.FS, Targets: targets.FS, Sims: sim.FS, Sources: sources.Files()}
}

// expectation is what a flow's report has to say; want gives the effects of a case by its name's beginning.
type expectation struct {
	flow   string
	counts map[int]int // cases by their number
	lies   int         // contradictions that have to be told
}

func TestTheShippedFlowsPass(t *testing.T) {
	t.Parallel()
	for _, e := range []expectation{
		{"campaign-follow-up", map[int]int{1: 1, 2: 2, 3: 4, 4: 4, 5: 1, 6: 2, 7: 4}, 3},
		{"standing-follow-up", map[int]int{1: 1, 2: 2, 3: 4, 4: 4, 5: 1, 6: 2, 7: 3}, 3},
		{"order-follow-up", map[int]int{1: 1, 2: 2, 3: 6, 4: 6, 5: 1, 6: 3, 7: 5}, 4},
	} {
		t.Run(e.flow, func(t *testing.T) {
			t.Parallel()
			r, err := acceptance.Run(t.Context(), options(e.flow))
			if err != nil {
				t.Fatal(err)
			}
			passes(t, r, e)
		})
	}
}

func passes(t *testing.T, r acceptance.Report, e expectation) {
	t.Helper()
	counts, lies := map[int]int{}, 0
	for _, c := range r.Cases {
		counts[c.N]++
		lies += len(c.Warns)
		if !c.Passed {
			t.Errorf("%d %s:\n%s", c.N, c.Name, strings.Join(c.Evidence, "\n"))
		}
		if c.Duplicates > 0 && c.N != 7 {
			t.Errorf("%d %s: %d duplicates", c.N, c.Name, c.Duplicates)
		}
		if c.Owner == "" || c.Next == "" || len(c.Evidence) == 0 || c.Transitions == 0 {
			t.Errorf("%d %s lacks an owner, a next step, evidence or transitions: %+v", c.N, c.Name, c)
		}
	}
	if diff := cmp.Diff(e.counts, counts); diff != "" {
		t.Errorf("cases (-want +got):\n%s", diff)
	}
	if lies != e.lies {
		t.Errorf("%d contradictions of targets are told, want %d", lies, e.lies)
	}
	if got := strings.Contains(r.Cases[1].Name, "two subscriptions"); got != (r.Source == "shopify") {
		t.Errorf("source %s has no delivery id apart from the event's, or has one: %q", r.Source, r.Cases[1].Name)
	}
	if e.flow == "campaign-follow-up" && r.Cases[0].Transitions != 5 {
		t.Errorf("an approved run of two operations enters %d states, want 5", r.Cases[0].Transitions)
	}
}

// engine stands in front of the product's own one and breaks a rule.
type engine struct {
	runner.Engine
	send func(runner.Engine, context.Context, *target.Profile, target.Request, target.Fence) target.Sent
}

func (e engine) Send(ctx context.Context, p *target.Profile, r target.Request, f target.Fence) target.Sent {
	return e.send(e.Engine, ctx, p, r, f)
}

// Each broken product has to fail the case that is there for it.
func TestABrokenProductIsCaught(t *testing.T) {
	t.Parallel()
	for _, broken := range []struct {
		name string
		send func(runner.Engine, context.Context, *target.Profile, target.Request, target.Fence) target.Sent
		in   string // the case that must fail
		says string
	}{
		{"sends everything twice", func(e runner.Engine, ctx context.Context, p *target.Profile, r target.Request, f target.Fence) target.Sent {
			e.Send(ctx, p, r, f)
			return e.Send(ctx, p, r, f)
		}, "Normal", "record happened exactly once (2 effects"},
		{"takes a lost answer for nothing happened", func(e runner.Engine, ctx context.Context, p *target.Profile, r target.Request, f target.Fence) target.Sent {
			out := e.Send(ctx, p, r, f)
			if out.Outcome == operation.OutcomeUnknown {
				out.Outcome, out.Evidence, out.Retry = operation.OutcomeNotExecuted, operation.EvidenceAnswer, true
			}
			return out
		}, "Answer lost, found by asking the target: record", "record happened exactly once (2 effects"},
		{"sends other bytes than the approved ones", func(e runner.Engine, ctx context.Context, p *target.Profile, r target.Request, f target.Fence) target.Sent {
			r.Body = bytes.ReplaceAll(r.Body, []byte(`"kind":"record"`), []byte(`"kind":"RECORD"`))
			return e.Send(ctx, p, r, f)
		}, "Resumed after approval", "received exactly the approved bytes"},
	} {
		t.Run(broken.name, func(t *testing.T) {
			t.Parallel()
			o := options("standing-follow-up")
			o.Around = func(l *local.Local) { l.App.Runner.Engine = engine{l.App.Runner.Engine, broken.send} }
			r, err := acceptance.Run(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if r.Passed() {
				t.Fatal("the report says that all is well")
			}
			for _, c := range r.Cases {
				if strings.HasPrefix(c.Name, broken.in) {
					fails(t, c, broken.says)
					return
				}
			}
			t.Fatalf("no case is named %s", broken.in)
		})
	}
}

func fails(t *testing.T, c acceptance.Case, says string) {
	t.Helper()
	if c.Passed || !slices.ContainsFunc(c.Evidence, func(e string) bool {
		return strings.HasPrefix(e, "NOT TRUE: ") && strings.Contains(e, says)
	}) {
		t.Errorf("%s: passed %v; want it to fail because not true: %q; evidence:\n%s", c.Name, c.Passed, says, strings.Join(c.Evidence, "\n"))
	}
}

func TestWrongCallsSayWhatToDo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*acceptance.Options)
		says   string
	}{
		{"no such flow", func(o *acceptance.Options) { o.Flow = "nothing" }, "there is no flow nothing; there are: campaign-follow-up"},
		{"no simulation", func(o *acceptance.Options) { o.Sims = without(t, "resend.yaml") }, "needs DIR/sim/resend-email.yaml"},
		{"no source", func(o *acceptance.Options) { o.Sources = folder(t, nil) }, "waits for the source shopify-flow, which is not configured"},
		{"a sample that starts nothing", func(o *acceptance.Options) {
			o.Flows = folder(t, map[string]string{"campaign-follow-up.yaml": shipped(t, "campaign-follow-up.yaml"), "samples/campaign-follow-up.json": `{"properties":{"kind":"other"}}`})
		}, "Change samples/campaign-follow-up.json"},
		{"a sample that is no object", func(o *acceptance.Options) {
			o.Flows = folder(t, map[string]string{"campaign-follow-up.yaml": shipped(t, "campaign-follow-up.yaml"), "samples/campaign-follow-up.json": `[1]`})
		}, "a sample is one JSON object"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := options("campaign-follow-up")
			c.change(&o)
			_, err := acceptance.Run(t.Context(), o)
			var called *acceptance.CallError
			if !asCall(err, &called) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error %v; want a call error with %q", err, c.says)
			}
		})
	}
}

func asCall(err error, to **acceptance.CallError) bool { return errors.As(err, to) }

func TestJSONIsThePromisedShape(t *testing.T) {
	t.Parallel()
	raw, err := json.Marshal(acceptance.Report{Cases: []acceptance.Case{{N: 1, Name: "Normal", Passed: true, Effects: map[string]int{"email": 1}, Evidence: []string{"x"}}}})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"cases":[{"n":1,"name":"Normal","passed":true,"effects":{"email":1},"duplicates":0,"transitions":0,"evidence":["x"],"next":"","owner":""}]}`
	if got := string(raw); got != want {
		t.Errorf("JSON is\n%s\nwant\n%s", got, want)
	}
}

func shipped(t *testing.T, name string) string {
	t.Helper()
	raw, err := fs.ReadFile(flows.FS, name)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func without(t *testing.T, name string) fs.FS {
	t.Helper()
	files := map[string]string{}
	names, err := fs.Glob(sim.FS, "*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		raw, err := fs.ReadFile(sim.FS, n)
		if err != nil {
			t.Fatal(err)
		}
		if n != name {
			files[n] = string(raw)
		}
	}
	if len(files) != len(names)-1 {
		t.Fatalf("%s is not there", name)
	}
	return folder(t, files)
}

func TestProgressComesInOrder(t *testing.T) {
	t.Parallel()
	o := options("campaign-follow-up")
	var told []string
	o.Progress = func(c acceptance.Case) { told = append(told, fmt.Sprint(c.N, c.Name)) }
	r, err := acceptance.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, c := range r.Cases {
		want = append(want, fmt.Sprint(c.N, c.Name))
	}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
}
