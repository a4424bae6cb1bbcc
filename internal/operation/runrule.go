package operation

// RunMove is what a run may do next, and for which stage.
type RunMove struct {
	Action Action
	Reason Reason
	Due    Time
	Then   Action
	Kind   QuestionKind
	Stage  int // index into Run.Stages; -1 when the move is about the run itself
	// End is the status that the run takes when Action is done.
	End RunStatus
}

// Gate says whether a stage may start, by what became of the stage before it.
type Gate uint8

// The gates. The zero value is closed.
const (
	GateClosed Gate = iota // a person or a target must settle the earlier stage first
	GateOpen
	GateHeld    // the earlier stage failed and its rule says hold
	GateSkipped // the earlier stage failed and its rule says stop
)

// StageGate decides whether stage i of the run may start. ops are the run's operations by id.
func StageGate(run *Run, i int, ops map[ID]*Operation) Gate {
	s := run.Stages[i]
	if s.Conflict {
		return GateHeld
	}
	if s.After == "" {
		return GateOpen
	}
	for j := range run.Stages {
		if run.Stages[j].Name == s.After {
			return gateAfter(run.Stages[j], s, ops[run.Stages[j].Operation], StageGate(run, j, ops))
		}
	}
	return GateClosed
}

func gateAfter(before, s StageRef, op *Operation, beforeGate Gate) Gate {
	if beforeGate == GateSkipped {
		return GateSkipped
	}
	if op == nil {
		return GateClosed
	}
	switch op.Status {
	case StatusConfirmed:
		return GateOpen
	case StatusAbandoned:
		if s.Continue {
			return GateOpen
		}
	case StatusFailed, StatusDeclined:
		switch {
		case s.AfterSettled || s.Continue || before.OnFailed == OnFailedContinue:
			return GateOpen
		case before.OnFailed == OnFailedHold:
			return GateHeld
		}
		return GateSkipped
	}
	return GateClosed
}

// NextRun decides what a run may do next: what can be sent is sent first, then what can be found out, then people are
// asked, then it waits; it is done when nothing is open. policy answers the recovery rules of an operation's target.
func NextRun(run *Run, ops map[ID]*Operation, policy func(*Operation) Policy, now Time) RunMove {
	if run.Status == RunDone || run.Status == RunNotApplicable || run.Status == RunStopped {
		return RunMove{Action: ActionDone, Reason: ReasonClosed, Stage: -1, End: run.Status}
	}
	if q := run.Question; q != nil || len(run.Stages) == 0 {
		return RunMove{Action: ActionAsk, Stage: -1, Kind: QuestionResolve, Reason: runReason(run)}
	}
	best := RunMove{Action: ActionDone, Reason: ReasonConfirmed, Stage: -1, End: RunDone}
	for i := range run.Stages {
		best = prefer(best, stageMove(run, i, ops, policy, now))
	}
	if best.Action == ActionDone {
		best.End, best.Reason = endOf(run, ops)
	}
	return best
}

func runReason(run *Run) Reason {
	if run.Question != nil {
		return run.Question.Reason
	}
	return run.Reason
}

// stageMove is the move of one stage; a stage that will never start is done.
func stageMove(run *Run, i int, ops map[ID]*Operation, policy func(*Operation) Policy, now Time) RunMove {
	op := ops[run.Stages[i].Operation]
	switch StageGate(run, i, ops) {
	case GateSkipped:
		return RunMove{Action: ActionDone, Reason: ReasonClosed, Stage: i}
	case GateHeld:
		why := ReasonAttemptsSpent
		if run.Stages[i].Conflict {
			why = ReasonSameKey
		}
		return RunMove{Action: ActionAsk, Kind: QuestionResolve, Reason: why, Stage: i}
	case GateClosed:
		// Its question may be put already, so that one reading approves all; otherwise the earlier stage's move counts.
		if op != nil && op.Status == StatusProposed {
			if m := Next(op, policy(op), now); m.Action == ActionAsk && m.Kind == QuestionApprove {
				return RunMove{Action: ActionAsk, Kind: m.Kind, Reason: m.Reason, Stage: i}
			}
		}
		if abandonedBefore(run, i, ops) {
			return RunMove{Action: ActionAsk, Kind: QuestionResolve, Reason: ReasonPersonClosed, Stage: i}
		}
		return RunMove{Action: ActionDone, Reason: ReasonClosed, Stage: i}
	}
	if op == nil {
		return RunMove{Action: ActionAsk, Kind: QuestionResolve, Reason: ReasonProfileMissing, Stage: i}
	}
	m := Next(op, policy(op), now)
	if failed := op.Status == StatusFailed || op.Status == StatusDeclined; failed && run.Stages[i].OnFailed == OnFailedHold && !run.Stages[i].Continue && m.Action == ActionDone {
		return RunMove{Action: ActionAsk, Kind: QuestionResolve, Reason: ReasonAttemptsSpent, Stage: -1}
	}
	if op.Status == StatusConfirmed && m.Action == ActionAsk && op.Question != nil {
		// It stays on the worklist by itself; the run does not wait for the answer.
		return RunMove{Action: ActionDone, Reason: ReasonConfirmed, Stage: i}
	}
	return RunMove{Action: m.Action, Reason: m.Reason, Due: m.Due, Then: m.Then, Kind: m.Kind, Stage: i}
}

// abandonedBefore says that the stage before was closed without proof: whether this one starts is a person's decision.
func abandonedBefore(run *Run, i int, ops map[ID]*Operation) bool {
	for j := range run.Stages {
		if run.Stages[j].Name == run.Stages[i].After {
			op := ops[run.Stages[j].Operation]
			return op != nil && op.Status == StatusAbandoned
		}
	}
	return false
}

// rank orders moves: lower is done first.
func rank(m RunMove) int {
	switch {
	case m.Action == ActionSend, m.Action == ActionReplay:
		return 0
	case m.Action == ActionLookUp:
		return 1
	case m.Action == ActionAsk && m.Kind == QuestionApprove:
		return 2
	case m.Action == ActionWait:
		return 3
	case m.Action == ActionAsk:
		return 4
	}
	return 5
}

func prefer(a, b RunMove) RunMove {
	ra, rb := rank(a), rank(b)
	if rb < ra || (ra == rb && b.Action == ActionWait && b.Due < a.Due) {
		return b
	}
	return a
}

// endOf is the status a run takes when nothing is left to do, and why.
func endOf(run *Run, ops map[ID]*Operation) (RunStatus, Reason) {
	for i := range run.Stages {
		op := ops[run.Stages[i].Operation]
		if op == nil || run.Stages[i].OnFailed != OnFailedStop {
			continue
		}
		switch op.Status {
		case StatusFailed:
			return RunStopped, ReasonStageFailed
		case StatusDeclined:
			return RunStopped, op.Reason
		}
	}
	for i := range run.Stages {
		if StageGate(run, i, ops) == GateSkipped {
			return RunStopped, ReasonStageFailed
		}
	}
	return RunDone, ReasonConfirmed
}
