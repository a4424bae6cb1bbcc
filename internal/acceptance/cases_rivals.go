package acceptance

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"holdfast/internal/execution"
	"holdfast/internal/flow"
	"holdfast/internal/local/simtarget"
	"holdfast/internal/operation"
)

const (
	slowMax     = 5 * time.Second // longer than rivals need
	rivalsCount = 2
)

// slow is how late an answer may come that the stage's target still waits for.
func (p *plan) slow(s flow.Stage) time.Duration {
	return min(slowMax, p.profiles[s.Target].Timeout/2)
}

// rivals lets several executions of one run meet on a slow target.
func (b *probe) rivals(ctx context.Context, s flow.Stage, at place) error {
	f := simtarget.Fault{Target: at.sim, Kind: simtarget.KindLateAnswer, Delay: simtarget.Duration(b.plan.slow(s)), Count: 1, Skip: at.skip, Match: at.route}
	if err := b.fault(ctx, f); err != nil {
		return err
	}
	id, err := b.race(ctx, s, b.plan.slow(s))
	if err != nil {
		return err
	}
	// Time moves on only when the slow answer is recorded: before, it would run into the request's timeout.
	if err := b.until(ctx, "the slow answer of "+s.Name, func() (bool, error) { return b.recorded(ctx, id, s) }); err != nil {
		return err
	}
	r, err := b.drive(ctx, id, true)
	if err != nil {
		return err
	}
	if err := b.once(ctx, r); err != nil {
		return err
	}
	op, err := b.stageOp(r, s)
	if err != nil {
		return err
	}
	b.expect(len(op.Attempts) == 1, "%s: of all rivals one held the claim (%d attempts)", s.Name, len(op.Attempts))
	return b.noRepeats(ctx)
}

// rivalsUnclear lets them meet on a target that never answers: one effect, and the unclear result is held.
func (b *probe) rivalsUnclear(ctx context.Context, s flow.Stage, at place) error {
	if err := b.lostAfter(ctx, at, simtarget.KindHangAfterCommit, manyFaults, true); err != nil {
		return err
	}
	id, err := b.race(ctx, s, b.plan.profiles[s.Target].Timeout+time.Second)
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	driving, stop := context.WithCancel(ctx)
	go func() { done <- b.timePasses(driving) }()
	r, err := b.drive(ctx, id, true)
	stop()
	if passing := <-done; err == nil {
		err = passing
	}
	if err != nil {
		return err
	}
	if err := b.heldWithOwner(ctx, r, s); err != nil {
		return err
	}
	if err := b.judge(ctx, r); err != nil {
		return err
	}
	b.expect(b.Duplicates == 0, "there are no duplicates (%d)", b.Duplicates)
	return nil
}

// timePasses lets requests that wait for an answer run into their timeout, until ctx ends.
func (b *probe) timePasses(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := b.Local.Clock.SleepUntil(ctx, b.Local.Clock.Now().Add(20*pollEvery)); err != nil {
			return nil
		}
		b.Local.Clock.Move(time.Second)
	}
	return nil
}

// race starts the run, and once it may send, a second execution by hand and the execute function several times at once.
// pass is how much time passes once the effect is there.
func (b *probe) race(ctx context.Context, s flow.Stage, pass time.Duration) (operation.RunID, error) {
	told, err := b.tell(ctx, b.plan.sample)
	if err != nil {
		return "", err
	}
	travel, err := json.Marshal(execution.Travel{Run: told.Run, Next: execution.NextExecute})
	if err != nil {
		return "", err
	}
	if !b.plan.standing() {
		if _, err := b.drive(ctx, told.Run, false); err != nil {
			return "", err
		}
		if err := b.decide(ctx, decision{answer: operation.AnswerApprove}); err != nil {
			return "", err
		}
	}
	errs := make([]error, rivalsCount+1)
	var work sync.WaitGroup
	for i := range rivalsCount {
		work.Go(func() { _, errs[i] = b.Invoke(ctx, "ExecuteFunction", travel) })
	}
	work.Go(func() {
		_, errs[rivalsCount] = b.States.Start(b.Config.Machine, fmt.Sprintf("%s-by-hand", told.Run), travel)
	})
	if err := b.until(ctx, "the effect of "+s.Name, func() (bool, error) { return b.happened(ctx, told.Run, s) }); err != nil {
		return "", err
	}
	// A rival that still waits for the target ends only when time passes, so it is waited for later.
	b.Local.Clock.Move(pass)
	work.Wait()
	for _, err := range errs {
		if err != nil {
			return "", err
		}
	}
	b.note("The run's own execution, one started by hand and %d direct calls met on %s.", rivalsCount, s.Name)
	return told.Run, nil
}

func (b *probe) happened(ctx context.Context, id operation.RunID, s flow.Stage) (bool, error) {
	r, err := b.stand(ctx, id, restAsks, lastNone)
	if err != nil {
		return false, err
	}
	op, err := b.stageOp(r, s)
	if err != nil {
		return false, nil // not planned yet
	}
	found, err := b.effectsOf(ctx, op)
	return len(found) > 0, err
}

// recorded says that whoever attempted the stage has written down what it saw.
func (b *probe) recorded(ctx context.Context, id operation.RunID, s flow.Stage) (bool, error) {
	r, err := b.stand(ctx, id, restAsks, lastNone)
	if err != nil {
		return false, err
	}
	op, err := b.stageOp(r, s)
	if err != nil {
		return false, err
	}
	for _, a := range op.Attempts {
		if a.Recorded == 0 {
			return false, nil
		}
	}
	return len(op.Attempts) > 0, nil
}
