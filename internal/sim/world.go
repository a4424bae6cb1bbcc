package sim

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"holdfast/internal/app"
	"holdfast/internal/ledger"
	"holdfast/internal/local/dynamo"
	"holdfast/internal/local/simtarget"
	"holdfast/internal/local/states"
	"holdfast/internal/operation"
)

// world is one simulated life of the product, from its first delivery to the end of everything that was accepted.
type world struct {
	*baton
	lab       *Lab
	tape      *tape
	plan      Schedule
	log       *slog.Logger
	tableID   string
	server    *dynamo.Server
	table     ledger.API // without an adversary
	peek      *ledger.Ledger
	states    *states.Server
	sim       *simtarget.Sim
	processes [processesMax]*process
	booted    int
	tokens    int
	goneUntil time.Time // the table is being restored
	outage    time.Time // no function can be called before it
	underWay  int       // requests that have left and not arrived
	sweeper   *sweeper
	people    map[operation.Person]*person
	senders   []*sender
	judge
	story *story
}

// start is when every world begins: a time that no machine's own clock will ever show again.
var start = time.Date(2026, 1, 5, 8, 0, 0, 0, time.UTC)

// restWithin is how long the world may take to come to rest once faults have stopped.
const restWithin = 20 * 24 * time.Hour

// stepsMax bounds how often the baton is passed on in one world: more is a world that spins.
const stepsMax = 100_000

func newWorld(l *Lab, t *tape, plan Schedule) (*world, error) {
	w := &world{baton: newBaton(t, start), lab: l, tape: t, plan: plan, log: l.log, tableID: "table-1", people: map[operation.Person]*person{}}
	w.judge.init(w)
	outside := &processClock{w: w, boot: start}
	if err := w.openTable(outside); err != nil {
		return nil, err
	}
	w.peek = ledger.New(ledger.Options{Client: w.server.Direct(), Table: tableName, Clock: outside, WriteID: func() string { return "" }, Fold: w.fold()})
	w.sim = simtarget.New(simtarget.Options{Clock: outside, Specs: l.specs, Seed: t.seed, OnEffect: w.effect})
	var err error
	w.states, err = states.New(states.Options{
		Clock: outside, Parallel: (*parallel)(w), Invoker: invoker{w}, NewToken: w.newToken,
		Random: func() float64 { return float64(w.tape.draw(w.current(), 1000)) / 1000 },
		Parsed: map[string]*states.Definition{machineName: l.machine},
	})
	return w, err
}

// openTable makes the ledger's table, and the way to it.
func (w *world) openTable(outside *processClock) error {
	file := w.lab.Store == StoreFile
	var err error
	w.server, err = dynamo.Open(dynamo.Options{Memory: !file, Clock: outside, NewID: func() string { return "table" }, OnWrite: w.wrote})
	if err != nil {
		return err
	}
	direct := w.server.Direct()
	w.table = direct
	if w.lab.Store == StoreSDK || file {
		w.table = dynamodb.New(dynamodb.Options{
			Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("simulated", "simulated", ""), Retryer: aws.NopRetryer{},
			HTTPClient: w.server.Transport(), BaseEndpoint: aws.String("http://dynamodb.invalid"),
		})
	}
	_, err = direct.CreateTable(context.Background(), ledger.TableInput(tableName))
	return err
}

func (w *world) newToken() string {
	w.tokens++
	return fmt.Sprintf("token-%d", w.tokens)
}

// parallel is how the interpreter does several things at once here.
type parallel world

// Go implements states.Parallel.
func (p *parallel) Go(name string, f func()) { (*world)(p).spawn(name, f) }

// NewBell implements states.Parallel.
func (p *parallel) NewBell() states.Bell { return &bell{b: (*world)(p).baton} }

// choose asks what the adversary does at a point of the actor who has the baton.
func (w *world) choose(k kind, where string) int {
	a := w.current()
	option := w.tape.choose(a, k, where)
	if option != 0 {
		w.struck(a, k, option, where)
	}
	return option
}

// tick lets a little time pass without giving the baton away.
func (w *world) tick(d time.Duration) { w.now = w.now.Add(d) }

// crash ends the process of the actor who has the baton: its memory is gone, and so is whatever it would have done.
func (w *world) crash() {
	w.crashes++
	if c := w.me.call; c != nil && c.process != nil {
		for i, p := range w.processes {
			if p == c.process {
				w.processes[i] = nil
			}
		}
	}
	runtime.Goexit()
}

// play runs the world to its end.
func (w *world) play() {
	w.begin()
	w.at(start.Add(w.plan.Until), w.calm)
	end := start.Add(w.plan.Until + restWithin)
	w.run(func() bool { return w.failed() || w.now.After(end) || w.steps > stepsMax || w.atRest() })
	switch {
	case w.failed():
	case w.steps > stepsMax:
		w.fail("", fmt.Sprintf("the world did not come to rest within %d steps, so nothing was judged", stepsMax))
	default:
		w.verdict()
	}
	w.baton.close()
}

// calm ends the adversary's time.
func (w *world) calm() {
	w.tape.quiet = true
	w.outage = time.Time{}
	w.tell("the adversary's time is over")
}

// atRest says that nothing is left to be done by anybody.
func (w *world) atRest() bool {
	return w.tape.quiet && len(w.ready) == 0 && w.underWay == 0 && w.open() == 0 && w.sendersDone()
}

// begin lays out who does what and when.
func (w *world) begin() {
	w.sweeper = newSweeper(w)
	for _, e := range w.plan.Events {
		s := &sender{w: w, event: e}
		w.senders = append(w.senders, s)
		w.at(start.Add(e.after), func() { w.spawn("sender "+e.id, s.deliver) })
	}
	for _, o := range w.plan.Acts {
		w.at(start.Add(o.after), func() { w.spawn("outside", func() { w.actOutside(o.option) }) })
	}
}

// endOldProcesses ends what runs from before the restore, as a function's hard limit has done long before anybody accepts:
// that no such process is left is assumed (docs/proof.md).
func (w *world) endOldProcesses() {
	for a := range w.all {
		if a != w.me && a.call != nil && a.call.process != nil && a.call.process.clock.boot.Before(w.goneUntil) {
			a.doomed = true
		}
	}
}

// acceptIfRestored has a person accept a restored table, as `holdfast accept` does, until it is accepted.
func (w *world) acceptIfRestored() {
	if !w.restored {
		return
	}
	w.at(w.now.Add(10*time.Minute), w.acceptIfRestored)
	w.spawn("owner accepts", func() {
		p, err := w.bootUnchecked()
		if err == nil {
			_, err = p.Ledger.Accept(context.Background(), p.Identity(), "owner@example.com", app.Doubt(p))
		}
		if err != nil {
			w.tell("the copy is not accepted yet: %v", err)
		} else {
			w.tell("accepts the copy: everything open is doubted")
		}
		if err == nil || errors.Is(err, ledger.ErrRefused) {
			w.restored = false
			w.endOldProcesses()
			w.acceptedAt = operation.TimeOf(w.now.Add(-2 * skewMax))
			w.sweeper.arm()
			clear(w.processes[:])
		}
	})
}
