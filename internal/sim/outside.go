package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"

	"holdfast/internal/app"
	"holdfast/internal/execution"
	"holdfast/internal/runner"

	"holdfast/internal/app/work"
)

// sweeper calls the sweep when something is due, as its schedule would at the latest a minute after: the calls of a
// schedule that would find nothing are left out.
type sweeper struct {
	w    *world
	next time.Time // of the timer that stands; zero: none
	last time.Time // when it came last
	busy bool
}

const scheduleEvery = time.Minute

func newSweeper(w *world) *sweeper { return &sweeper{w: w} }

// due is told of every record's due time.
func (s *sweeper) due(at time.Time) {
	at = at.Add(scheduleEvery / 2)
	if soonest := s.last.Add(s.rest()); at.Before(soonest) {
		at = soonest
	}
	if at.Before(s.w.now) {
		at = s.w.now.Add(scheduleEvery / 2)
	}
	if !s.next.IsZero() && !at.Before(s.next) {
		return
	}
	s.next = at
	s.w.at(at, func() {
		if !s.next.Equal(at) {
			return // a sooner one stands, or stood
		}
		if s.next = (time.Time{}); !s.busy {
			s.busy = true
			s.w.spawn("sweep", s.run)
		}
	})
}

// rest is how long the schedule stands still after a sweep. A sweep that is late breaks no rule; one that finds the same
// things again and again only costs.
func (s *sweeper) rest() time.Duration {
	if s.w.tape.quiet {
		return 2 * time.Hour
	}
	return s.w.plan.Sweeps
}

func (s *sweeper) run() {
	s.last = s.w.now
	s.w.backUp()
	s.w.sweep(`{}`)
	s.busy = false
	s.arm()
}

// arm looks for what is due first.
func (s *sweeper) arm() {
	if at, ok := s.w.earliest(); ok {
		s.due(at)
	}
}

// sweep calls the function and notes what it brought back.
func (w *world) sweep(input string) {
	out, err := w.invoke("SweepFunction", []byte(input), nil)
	var r struct{ Started, Passed, Reminded int }
	if err == nil && json.Unmarshal(out, &r) == nil && r.Started+r.Passed > 0 {
		w.reach("R7")
	}
}

// actOutside does one act from outside.
func (w *world) actOutside(option int) {
	w.struck(w.current(), kindOutside, option, "")
	switch option {
	case outsideAbort:
		w.abort()
	case outsideSkew:
		if p := w.processes[w.tape.draw(w.current(), processesMax)]; p != nil {
			p.clock.skew = time.Duration(w.tape.draw(w.current(), int(2*skewMax))) - skewMax
		}
	case outsideRestore:
		w.restore()
	case outsideSweep:
		w.sweep(`{}`)
	case outsideAudit:
		w.sweep(`{"audit":true}`)
	case outsideOutage:
		w.outage = w.now.Add(outageTakes)
	}
}

// outageTakes is longer than any key's window.
const outageTakes = 26 * time.Hour

// skewMax keeps two clocks within the bound that the rules assume.
const skewMax = time.Second

func (w *world) skewOf(n int) time.Duration {
	return time.Duration(mix(w.tape.seed, skewPlaces+uint64(n))%uint64(2*skewMax)) - skewMax
}

// abort stops the execution of one run, as an operator does in the console.
func (w *world) abort() {
	if len(w.runs) == 0 {
		return
	}
	run := w.runOrder[w.tape.draw(w.current(), len(w.runOrder))]
	arn := execution.ExecutionArn(w.lab.config().Machine, execution.Name(run, w.runs[run].Generation))
	_, _ = w.states.Client().StopExecution(context.Background(), &sfn.StopExecutionInput{ExecutionArn: aws.String(arn)})
}

// restoreTakes is how long the table's name is without a table: longer than processes take to look again.
const restoreTakes = time.Minute

// restore puts an older copy of the table in its place. What was written since is gone; the executions and the
// targets are as they were.
func (w *world) restore() {
	if w.restored || len(w.marks) == 0 || w.lab.Store == StoreFile {
		return
	}
	w.restores++
	m := w.marks[w.tape.draw(w.current(), len(w.marks))]
	if err := w.server.Return(m.mark); err != nil {
		w.fail("", "restore: "+err.Error())
		return
	}
	w.tableID = fmt.Sprintf("table-after-%d", w.writes)
	w.goneUntil = w.now.Add(restoreTakes)
	w.judge.back(m)
	w.at(w.now.Add(time.Duration(w.tape.draw(w.current(), int(20*time.Minute)))), w.acceptIfRestored)
}

// bootUnchecked starts what `holdfast accept` starts: a base whose ledger is not checked yet.
func (w *world) bootUnchecked() (*app.Base, error) {
	config := w.lab.config()
	w.booted++
	return app.Unchecked(context.Background(), config, app.Parts{
		Clock: &processClock{w: w, boot: w.now}, Secrets: secrets{}, Log: w.log, Random: newRandom(mix(w.tape.seed, randomPlaces+uint64(w.booted))),
		Dynamo: &store{w: w, next: w.table}, States: &steps{w: w, next: w.states.Client()},
		Fold: runner.Fold(work.Policies(w.lab.profiles, config)),
	})
}
