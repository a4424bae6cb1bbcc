package operation_test

import (
	"testing"
	"time"

	"holdfast/internal/operation"
)

func TestStageGateForEveryStatusAndRule(t *testing.T) {
	t.Parallel()
	closed, opened, heldBack, skipped := operation.GateClosed, operation.GateOpen, operation.GateHeld, operation.GateSkipped
	tests := []struct {
		before                   string
		stop, hold, goOn, always operation.Gate // on_failed stop, hold, continue; after: settled
	}{
		{"proposed", closed, closed, closed, closed},
		{"in_flight", closed, closed, closed, closed},
		{"ready", closed, closed, closed, closed},
		{"unknown", closed, closed, closed, closed},
		{"held", closed, closed, closed, closed},
		{"confirmed", opened, opened, opened, opened},
		{"failed", skipped, heldBack, opened, opened},
		{"declined", skipped, heldBack, opened, opened},
		{"abandoned", closed, closed, closed, closed},
	}
	for _, tt := range tests {
		t.Run(tt.before, func(t *testing.T) {
			t.Parallel()
			run, ops := stages(t, tt.before, "proposed")
			for rule, want := range map[operation.OnFailed]operation.Gate{operation.OnFailedStop: tt.stop, "": tt.stop, operation.OnFailedHold: tt.hold, operation.OnFailedContinue: tt.goOn} {
				run.Stages[0].OnFailed = rule
				if got := operation.StageGate(run, 1, ops); got != want {
					t.Errorf("on_failed %q: gate %d, want %d", rule, got, want)
				}
			}
			run.Stages[0].OnFailed, run.Stages[1].AfterSettled = operation.OnFailedStop, true
			if got := operation.StageGate(run, 1, ops); got != tt.always {
				t.Errorf("after settled: gate %d, want %d", got, tt.always)
			}
		})
	}
}

func TestGateOfAConflictOrAMissingStage(t *testing.T) {
	t.Parallel()
	run, ops := stages(t, "confirmed", "proposed")
	run.Stages[1].Conflict = true
	if got := operation.StageGate(run, 1, ops); got != operation.GateHeld {
		t.Errorf("other content under the same business key: gate %d", got)
	}
	run.Stages[1].Conflict, run.Stages[1].After = false, "no such stage"
	if got := operation.StageGate(run, 1, ops); got != operation.GateClosed {
		t.Errorf("a missing stage opened the gate: %d", got)
	}
	run.Stages[1].After = ""
	if got := operation.StageGate(run, 1, ops); got != operation.GateOpen {
		t.Errorf("a stage after nothing: gate %d", got)
	}
}

func TestNextRun(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, first, second string
		alter               func(*operation.Run, map[operation.ID]*operation.Operation)
		action              operation.Action
		stage               int
		end                 operation.RunStatus
	}{
		{"the first is sent", "proposed", "proposed", nil, operation.ActionSend, 0, 0},
		{"then the second", "confirmed", "proposed", nil, operation.ActionSend, 1, 0},
		{"a doubt is looked up", "unknown", "proposed", nil, operation.ActionLookUp, 0, 0},
		{"a hold is asked", "held", "proposed", nil, operation.ActionAsk, 0, 0},
		{"all confirmed", "confirmed", "confirmed", nil, operation.ActionDone, -1, operation.RunDone},
		{"a failure stops", "failed", "proposed", nil, operation.ActionDone, -1, operation.RunStopped},
		{"the last failure stops", "confirmed", "failed", nil, operation.ActionDone, -1, operation.RunStopped},
		{"the last failure, rule continue", "confirmed", "failed", func(r *operation.Run, _ map[operation.ID]*operation.Operation) {
			r.Stages[1].OnFailed = operation.OnFailedContinue
		}, operation.ActionDone, -1, operation.RunDone},
		{"the last failure, rule hold", "confirmed", "failed", func(r *operation.Run, _ map[operation.ID]*operation.Operation) {
			r.Stages[1].OnFailed = operation.OnFailedHold
		}, operation.ActionAsk, -1, 0},
		{"closed without proof", "abandoned", "proposed", nil, operation.ActionAsk, 1, 0},
		{"closed without proof, go on", "abandoned", "proposed", func(r *operation.Run, _ map[operation.ID]*operation.Operation) {
			r.Stages[1].Continue = true
		}, operation.ActionSend, 1, 0},
		{"sending comes before waiting", "proposed", "in_flight", func(r *operation.Run, _ map[operation.ID]*operation.Operation) {
			r.Stages[1].After = ""
		}, operation.ActionSend, 0, 0},
		{"a missing operation", "proposed", "proposed", func(_ *operation.Run, ops map[operation.ID]*operation.Operation) {
			delete(ops, "op_1")
		}, operation.ActionAsk, 0, 0},
		{"not planned", "proposed", "proposed", func(r *operation.Run, _ map[operation.ID]*operation.Operation) { r.Stages = nil }, operation.ActionAsk, -1, 0},
		{"stopped stays stopped", "proposed", "proposed", func(r *operation.Run, _ map[operation.ID]*operation.Operation) {
			r.Status = operation.RunStopped
		}, operation.ActionDone, -1, operation.RunStopped},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			run, ops := stages(t, tt.first, tt.second)
			if tt.alter != nil {
				tt.alter(run, ops)
			}
			m := operation.NextRun(run, ops, func(op *operation.Operation) operation.Policy { return op.Policy }, t0.Add(5*time.Minute))
			if m.Action != tt.action || m.Stage != tt.stage || m.End != tt.end {
				t.Errorf("%s of stage %d, end %s (%s); want %s of %d, end %s", m.Action, m.Stage, m.End, m.Reason, tt.action, tt.stage, tt.end)
			}
		})
	}
}

func TestOneReadingApprovesAll(t *testing.T) {
	t.Parallel()
	run, ops := stages(t, "proposed", "proposed")
	ops["op_2"].Approval = nil // the first stage may be sent; the second's question need not wait for it
	ops["op_1"].Approval = nil
	m := operation.NextRun(run, ops, func(op *operation.Operation) operation.Policy { return op.Policy }, t0)
	if m.Action != operation.ActionAsk || m.Kind != operation.QuestionApprove {
		t.Errorf("next is %s %s", m.Action, m.Kind)
	}
}
