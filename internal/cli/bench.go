package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"strconv"
	"strings"

	"holdfast/internal/bench"
	"holdfast/internal/local"
)

type benchCmd struct {
	Runs        int    `default:"1000" help:"Runs of two operations each."`
	Concurrency int    `short:"c" default:"32" help:"Notifications in flight."`
	Faults      string `placeholder:"lost=P,err=P" help:"Share of requests whose answer is lost after the effect, and that are refused before it."`
	Repeat      int    `default:"1" help:"Deliveries of each event."`
	JSON        bool   `help:"Print one JSON object."`
}

// Run implements the command.
func (c *benchCmd) Run(ctx context.Context, s *streams) error {
	o := bench.Options{Runs: c.Runs, Concurrency: c.Concurrency, Repeat: c.Repeat}
	if c.Runs < 1 || c.Concurrency < 1 || c.Repeat < 1 {
		return usage{errors.New("--runs, --concurrency and --repeat are at least 1")}
	}
	if err := parseFaults(c.Faults, &o); err != nil {
		return usage{err}
	}
	if !c.JSON {
		o.Progress = progress(s.err)
	}
	r, err := measure(ctx, o, s)
	if err != nil {
		return err
	}
	if c.JSON {
		err = json.NewEncoder(s.out).Encode(r)
	} else {
		_, err = fmt.Fprintf(s.out, "\n%d runs, %.0f runs/s, answers p50 %.1f ms, p99 %.1f ms\nper run: %.1f writes, %.1f reads, %.1f transitions\neffects %d, duplicates %d, unresolved %d, unowned %d, refused %d\n",
			r.Runs, r.RunsPerSecond, r.AckP50, r.AckP99, r.WritesPerRun, r.ReadsPerRun, r.TransitionsPerRun, r.Effects, r.Duplicates, r.Unresolved, r.Unowned, r.Refused)
	}
	if err == nil && (r.Duplicates > 0 || r.Unowned > 0 || r.Refused > 0) {
		return failed{}
	}
	return err
}

// progressEvery is how many answers are told at once.
const progressEvery = 100

// progress tells how many were answered: on a terminal in one line that is written over, elsewhere in a line for each.
func progress(w io.Writer) func(int) {
	form := "%d answered\n"
	if f, ok := w.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			form = "\r%d answered"
		}
	}
	return func(n int) {
		if n%progressEvery == 0 {
			fmt.Fprintf(w, form, n)
		}
	}
}

func measure(ctx context.Context, o bench.Options, s *streams) (bench.Result, error) {
	lo, err := files{}.options()
	if err != nil {
		return bench.Result{}, err
	}
	var counter bench.Counter
	lo.OnCall = counter.Call
	lo.Log = slog.New(slog.NewTextHandler(s.err, &slog.HandlerOptions{Level: slog.LevelWarn}))
	local.CollectLess()
	l, err := local.Start(ctx, lo)
	if err != nil {
		return bench.Result{}, err
	}
	r, err := bench.Run(ctx, l, &counter, o)
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	r.HeapMiB = float64(m.HeapAlloc) / (1 << 20)
	return r, errors.Join(err, l.Close())
}

func parseFaults(text string, o *bench.Options) error {
	if text == "" {
		return nil
	}
	for part := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(part, "=")
		p, err := strconv.ParseFloat(value, 64)
		if err != nil || !(p >= 0 && p <= 1) { // NaN is neither
			return fmt.Errorf("--faults %q: each part is lost=P or err=P with P from 0 to 1", part)
		}
		switch name {
		case "lost":
			o.Lost = p
		case "err":
			o.Err = p
		default:
			return fmt.Errorf("--faults: %q is unknown; allowed are lost and err", name)
		}
	}
	return nil
}
