package acceptance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"holdfast/internal/execution"
	"holdfast/internal/local/states"
	"holdfast/internal/operation"
)

// restKind is where a run rests while nothing happens by itself.
type restKind string

const (
	restWaits restKind = "waits for a time"
	restAsks  restKind = "waits for an approval"
	restHeld  restKind = "held for a person"
	restIdle  restKind = "rests until it is due"
	restEnded restKind = "ended"
)

// rest is where a run rests, with its operations as they stand.
type rest struct {
	kind  restKind
	until operation.Time // with restWaits
	run   operation.Run
	ops   []operation.Operation // one for each stage
}

// Bounds of letting a run go on.
const (
	relooksMax = 40
	stepsMax   = 120 // waits, approvals and sweeps of one run
	idleMax    = 6   // sweeps in a row that changed nothing
)

// rest waits until nothing happens by itself any more.
func (s *site) rest(ctx context.Context, id operation.RunID) (rest, error) {
	for range relooksMax {
		run, err := s.App.Ledger.Run(ctx, id)
		if err != nil {
			return rest{}, err
		}
		arn := execution.ExecutionArn(s.Config.Machine, execution.Name(run.ID, run.Generation))
		last, err := s.await(ctx, arn, id)
		var refused *states.Error
		switch {
		case err == nil && last.Type == "WaitStateEntered":
			s.passed[arn] = last.ID
			return s.stand(ctx, id, restWaits, last)
		case err == nil:
			return s.stand(ctx, id, restAsks, last)
		case !errors.As(err, &refused):
			return rest{}, err
		}
		r, err := s.stand(ctx, id, restIdle, last)
		if err != nil || r.run.Generation == run.Generation {
			return r, err
		}
	}
	return rest{}, fmt.Errorf("run %s opens one generation after another", id)
}

// await waits for the execution to wait, for a time or for an approval that stands open.
func (s *site) await(ctx context.Context, arn string, id operation.RunID) (last states.Event, err error) {
	err = s.States.Await(ctx, arn, func(events []states.Event) bool {
		if len(events) == 0 {
			return false
		}
		last = events[len(events)-1]
		switch last.Type {
		case "WaitStateEntered":
			return last.ID > s.passed[arn]
		case "TaskSubmitted":
			return s.asked(ctx, id)
		}
		return false
	})
	return last, err
}

func (s *site) asked(ctx context.Context, id operation.RunID) bool {
	r, err := s.stand(ctx, id, restIdle, lastNone)
	if err != nil {
		return false
	}
	for _, op := range r.ops {
		if op.Question != nil && op.Question.Kind == operation.QuestionApprove {
			return true
		}
	}
	return false
}

// stand reads the run with its operations, and says why it rests when its execution does not.
func (s *site) stand(ctx context.Context, id operation.RunID, k restKind, last states.Event) (rest, error) {
	r := rest{kind: k}
	var err error
	if r.run, err = s.App.Ledger.Run(ctx, id); err != nil {
		return r, err
	}
	for _, stage := range r.run.Stages {
		op, err := s.App.Ledger.Operation(ctx, stage.Operation)
		if err != nil {
			return r, err
		}
		r.ops = append(r.ops, op)
	}
	switch {
	case k == restWaits:
		r.until, err = untilOf(last.Data)
	case k == restIdle && r.run.Ended():
		r.kind = restEnded
	case k == restIdle && r.open() != nil:
		r.kind = restHeld
	}
	return r, err
}

func untilOf(data []byte) (operation.Time, error) {
	var travel struct {
		Until operation.Time `json:"until"`
	}
	err := json.Unmarshal(data, &travel)
	return travel.Until, err
}

// open is the question that the run rests for, if there is one.
func (r rest) open() *operation.Question {
	if r.run.Question != nil {
		return r.run.Question
	}
	for i := range r.ops {
		if r.ops[i].Question != nil && !r.ops[i].Status.Settled() {
			return r.ops[i].Question
		}
	}
	return nil
}

// drive lets the run go on, moving time and sweeping, until it ends or waits for a person. Approvals are given when
// approve is set.
func (s *site) drive(ctx context.Context, id operation.RunID, approve bool) (rest, error) {
	idle := 0
	for range stepsMax {
		r, err := s.rest(ctx, id)
		if err != nil {
			return r, err
		}
		switch r.kind {
		case restEnded, restHeld:
			if q := r.open(); r.kind == restEnded || q.Kind != operation.QuestionApprove || !approve {
				return r, nil
			}
			err = s.decide(ctx, decision{answer: operation.AnswerApprove})
		case restAsks:
			if !approve {
				return r, nil
			}
			err = s.decide(ctx, decision{answer: operation.AnswerApprove})
		case restWaits:
			err = s.moveTo(ctx, r.until)
		case restIdle:
			if idle++; idle > idleMax {
				return r, nil
			}
			err = s.wakeUp(ctx, r)
		}
		if err != nil {
			return r, err
		}
		if r.kind != restIdle {
			idle = 0
		}
	}
	return rest{}, fmt.Errorf("run %s did not come to an end in %d steps", id, stepsMax)
}

// wakeUp lets the time come at which something of the run is due, and sweeps.
func (s *site) wakeUp(ctx context.Context, r rest) error {
	due := r.run.Step.Due
	for i := range r.ops {
		if d := r.ops[i].Step.Due; d != 0 && (due == 0 || d < due) {
			due = d
		}
	}
	if due != 0 {
		if err := s.moveTo(ctx, due); err != nil {
			return err
		}
	}
	return s.sweep(ctx)
}

// transitions counts the states that all executions of a run entered, as they are billed.
func (s *site) transitions(run operation.Run) (n int, path []string) {
	for g := 1; g <= run.Generation; g++ {
		one := s.States.PathOfStates(execution.ExecutionArn(s.Config.Machine, execution.Name(run.ID, g)))
		n += len(one)
		path = append(path, one...)
	}
	return n, path
}

// lastNone stands for no event.
var lastNone states.Event
