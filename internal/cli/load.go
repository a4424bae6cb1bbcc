package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"holdfast/internal/load"
	"holdfast/internal/local"
)

type loadCmd struct {
	What        string `arg:"" optional:"" default:"all" enum:"storm,runs,ledger,overload,all" help:"storm, runs, ledger, overload, or all of them."`
	Runs        int    `default:"10000" help:"Events of a storm and of a flood, and full runs."`
	Repeat      int    `default:"3" help:"Deliveries of each event of a storm."`
	Operations  int    `default:"1000000" help:"Operations in the large ledger, which is compared with one of 10,000. It is in memory: the need is measured first, and said."`
	Concurrency int    `short:"c" default:"64" help:"Notifications in flight."`
	Seed        uint64 `help:"Sets the order of deliveries and where faults strike; without it a new one is made, and said."`
	JSON        bool   `help:"Print one JSON object."`
}

// Run implements the command.
func (c *loadCmd) Run(ctx context.Context, s *streams) (err error) {
	if c.Runs < 4 || c.Repeat < 1 || c.Concurrency < 1 || c.Operations < 1 {
		return usage{errors.New("--runs is at least 4; --repeat, --concurrency and --operations are at least 1")}
	}
	if c.Seed == 0 {
		c.Seed = local.NewSeed() >> 32 // short enough to be typed
	}
	fmt.Fprintf(s.err, "seed %d\n", c.Seed)
	lo, err := files{}.options()
	if err != nil {
		return err
	}
	lo.Log = slog.New(slog.DiscardHandler)
	dir, err := os.MkdirTemp("", "holdfast-load-")
	if err != nil {
		return fmt.Errorf("make a folder for the ledger: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	parts := load.Parts()
	if c.What != "all" {
		parts = []string{c.What}
	}
	r, err := load.Run(ctx, load.Options{
		Runs: c.Runs, Repeat: c.Repeat, Operations: c.Operations, Concurrency: c.Concurrency, Seed: c.Seed, Laptop: lo, Dir: dir, Tell: c.tell(s.err),
	}, parts)
	if err != nil {
		return err
	}
	return c.report(r, s)
}

func (c *loadCmd) tell(w io.Writer) func(string, ...any) {
	return func(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }
}

func (c *loadCmd) report(r load.Result, s *streams) error {
	var err error
	if c.JSON {
		err = json.NewEncoder(s.out).Encode(r)
	} else {
		_, err = io.WriteString(s.out, r.Words())
	}
	if err != nil {
		return err
	}
	for _, b := range r.Broken {
		fmt.Fprintln(s.err, "broken:", b)
	}
	if len(r.Broken) > 0 {
		return failed{}
	}
	return nil
}
