package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"holdfast/flows"
	"holdfast/internal/local"
	"holdfast/internal/target"
	"holdfast/sources"
	"holdfast/targets"
	"holdfast/targets/sim"
)

// files are the configuration folders that several commands take.
type files struct {
	Flows   string   `placeholder:"DIR" help:"Your own flow files instead of the shipped ones." type:"existingdir"`
	Targets string   `placeholder:"DIR" help:"Your own target profiles instead of the shipped ones; simulations in DIR/sim, beside the shipped ones." type:"existingdir"`
	Target  []string `placeholder:"NAME=URL" help:"A real server for a target profile (repeatable)."`
}

func (f files) flowFS() fs.FS {
	if f.Flows != "" {
		return os.DirFS(f.Flows)
	}
	return flows.FS
}

func (f files) targetFS() fs.FS {
	if f.Targets != "" {
		return os.DirFS(f.Targets)
	}
	return targets.FS
}

// simFS holds the shipped simulations and the user's own ones; an own one stands for a shipped one of its name.
func (f files) simFS() fs.FS {
	if f.Targets != "" {
		return union{os.DirFS(filepath.Join(f.Targets, "sim")), sim.FS}
	}
	return sim.FS
}

// filled refuses a directory of the user's that holds nothing which could be used.
func (f files) filled() error {
	for option, dir := range map[string]string{"--flows": f.Flows, "--targets": f.Targets} {
		if dir == "" {
			continue
		}
		found, err := fs.Glob(os.DirFS(dir), "*.yaml")
		if err != nil || len(found) == 0 {
			return usage{fmt.Errorf("%s %s: there is no file NAME.yaml in it; name the directory that holds them", option, dir)}
		}
	}
	return nil
}

func (f files) options() (local.Options, error) {
	if err := f.filled(); err != nil {
		return local.Options{}, err
	}
	destinations, err := target.ParseOverrides(f.Target)
	if err != nil {
		return local.Options{}, usage{err}
	}
	return local.Options{Flows: f.flowFS(), Targets: f.targetFS(), Sims: f.simFS(), Sources: sources.Files(), Destinations: destinations}, nil
}

type localCmd struct {
	files
	Port    int    `default:"8080" help:"Port of hooks and pages on 127.0.0.1; 0 picks one."`
	Data    string `placeholder:"DIR" help:"Keep the ledger and the secrets here; without it nothing survives."`
	JSON    bool   `help:"Print one line with all addresses as JSON."`
	Verbose bool   `short:"v" help:"Log what the handlers do."`
}

const portMax = 65535

// Run implements the command.
func (c *localCmd) Run(ctx context.Context, s *streams) error {
	if c.Port < 0 || c.Port > portMax {
		return usage{fmt.Errorf("--port %d: a port is a number from 0, which picks one, to %d", c.Port, portMax)}
	}
	o, err := c.options()
	if err != nil {
		return err
	}
	o.Port, o.Dir = c.Port, c.Data
	if c.Data != "" {
		o.Seed = local.NewSeed() // simulated targets forget, and must not give a kept ledger the same references again
	}
	level := slog.LevelWarn
	if c.Verbose {
		level = slog.LevelInfo
	}
	o.Log = slog.New(slog.NewTextHandler(s.err, &slog.HandlerOptions{Level: level}))
	local.CollectLess()
	l, err := local.Start(ctx, o)
	if err != nil {
		return err
	}
	forget, err := l.Announce(c.Flows, c.Targets)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	defer forget()
	if c.JSON {
		if err := json.NewEncoder(s.out).Encode(l.Addresses); err != nil {
			return err
		}
	} else {
		c.greet(l, s)
	}
	<-ctx.Done()
	fmt.Fprintln(s.err, "stopping")
	return l.Close()
}

func (c *localCmd) greet(l *local.Local, s *streams) {
	fmt.Fprintf(s.out, "Holdfast runs at %s\n\n", l.Console)
	if example, ok := l.Example(); ok {
		fmt.Fprintf(s.out, "Send a signed notification (flow %s):\n\n%s\n\n", example.Flow, example.Curl)
	} else {
		c.greetOwn(l, s)
	}
	fmt.Fprintf(s.out, "Then:\n  1. read the reviewer's mails    %s\n  2. open the link, type the code, approve\n  3. see what really happened     %s\n\n", l.Addresses.Outbox, l.Targets)
	if c.Data == "" {
		fmt.Fprintln(s.out, "Nothing is kept after Ctrl-C; --data DIR keeps the ledger.")
	} else {
		fmt.Fprintf(s.out, "The ledger is kept in %s. Executions are not: the sweep starts them again. The outbox and what the simulated\ntargets did are not either: decide with `holdfast resolve` what was asked before a restart.\n", c.Data)
	}
}
