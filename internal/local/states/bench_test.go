package states_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"holdfast/internal/clock"
	"holdfast/internal/local/states"
	"holdfast/statemachine"
)

// An approved run of the shipped file, whose functions answer at once: what the interpreter itself costs.
func BenchmarkApprovedRun(b *testing.B) {
	const head = "arn:aws:lambda:us-east-1:000000000000:function:"
	filled, err := statemachine.Fill(map[string]string{
		"PlanFunctionArn": head + "plan", "AskFunctionArn": head + "ask", "ExecuteFunctionArn": head + "execute", "ReconcileFunctionArn": head + "reconcile",
	})
	if err != nil {
		b.Fatal(err)
	}
	var server *states.Server
	n := 0
	server, err = states.New(states.Options{
		Clock: clock.New(), Machines: map[string][]byte{"run": filled}, NewToken: func() string { n++; return fmt.Sprint(n) },
		MaxClosed: 1000, MaxNames: b.N + 1,
		Invoker: invoker(func(_ context.Context, arn string, payload []byte) ([]byte, *states.FunctionError, error) {
			switch strings.TrimPrefix(arn, head) {
			case "plan":
				return []byte(`{"run":"run_1","next":"ask","ask_timeout":60}`), nil, nil
			case "execute":
				return []byte(`{"run":"run_1","next":"done"}`), nil, nil
			}
			var in struct{ Token string }
			if err := json.Unmarshal(payload, &in); err != nil {
				return nil, nil, err
			}
			return []byte(`{}`), nil, server.SucceedTask(in.Token, []byte(`{}`))
		}),
	})
	if err != nil {
		b.Fatal(err)
	}
	defer server.Close()
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		started, err := server.Start(states.MachineArn("run"), fmt.Sprint("run_", i), []byte(`{"run":"run_1"}`))
		if err != nil {
			b.Fatal(err)
		}
		if d, err := server.Wait(b.Context(), started.Arn); err != nil || d.Status != states.StatusSucceeded {
			b.Fatalf("%v %v", d, err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "runs/s")
}

// The same run as BenchmarkApprovedRun in a world of its own, made for it: what a simulation pays for each.
func BenchmarkWorld(b *testing.B) {
	machine := shipped(b)
	b.ReportAllocs()
	for range b.N {
		s := newStage(b, machine, nil, approve)
		s.begin("run_1")
		s.run()
		if got := s.path("run_1"); got != "Plan Ask Execute Route Done" {
			b.Fatal(got)
		}
		s.drop()
	}
}

// approve plays functions of which Ask answers itself.
func approve(s *stage, function, run string, _ int, token string) (string, string) {
	switch function {
	case "Plan":
		return `{"run":"run_1","next":"ask","ask_timeout":60}`, ""
	case "Ask":
		if err := s.answer(token); err != nil {
			s.Error(err)
		}
	}
	return `{"run":"run_1","next":"done"}`, ""
}
