// Package cli is the command line. It promises that a command says what it did or what to do next, that --json gives one
// JSON value on standard output, and that its exit codes mean: 0 done, 1 it did not hold or could not be done, 2 the call
// was wrong. It holds no business rule.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"holdfast/internal/ledger"
)

// Exit codes.
const (
	exitDone  = 0
	exitFail  = 1
	exitUsage = 2
)

type commands struct {
	Version kong.VersionFlag `help:"Print the version and stop."`

	Local      localCmd      `cmd:"" help:"Run everything on this laptop: handlers, state machine, ledger, simulated targets."`
	Acceptance acceptanceCmd `cmd:"" help:"Play the six cases against a flow and report with evidence."`
	Validate   validateCmd   `cmd:"" help:"Check flow and target files; errors say file, line and what is allowed."`
	Send       sendCmd       `cmd:"" help:"Sign a notification as its source would, and send it to a running laptop."`
	Inspect    inspectCmd    `cmd:"" help:"Tell the story behind any id."`
	Again      againCmd      `cmd:"" help:"Run again: show what it will do for each operation, then do it with --yes."`
	Stop       stopCmd       `cmd:"" help:"Withdraw what is not yet sent."`
	Resolve    resolveCmd    `cmd:"" help:"Decide what waits for a person: shows the possible answers, or takes one."`
	Remind     remindCmd     `cmd:"" help:"Send new links and codes to the people who were asked."`
	Simulate   simulateCmd   `cmd:"" help:"Play the product against an adversary, seed after seed, and check every rule."`
	Bench      benchCmd      `cmd:"" help:"Run many runs through a laptop and count what each costs."`
	Load       loadCmd       `cmd:"" help:"Put more on a laptop than a day brings, and judge what came of it."`
	Accept     acceptCmd     `cmd:"" help:"Accept a restored ledger: everything open becomes unknown."`
}

// streams are where a command reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// failed is an error that was told already: only the exit code is left.
type failed struct{}

func (failed) Error() string { return "failed" }

// Run runs one command and answers its exit code.
func Run(args []string, in io.Reader, out, errOut io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	return run(ctx, args, &streams{in, out, errOut})
}

// run is Run until ctx ends.
func run(ctx context.Context, args []string, s *streams) int {
	k, code := parse(ctx, args, s)
	if k == nil {
		return code
	}
	return exitCode(k.Run(), s.err)
}

// parse reads the arguments and starts nothing. Without a command to run, what there was to say was said, and the exit
// code is all that is left.
func parse(ctx context.Context, args []string, s *streams) (*kong.Context, int) {
	var c commands
	exited := -1
	parser, err := kong.New(&c, kong.Name("holdfast"), kong.Writers(s.out, s.err), kong.Exit(func(code int) { exited = code }),
		kong.Description("Press \"run again\" without a second task, coupon or message. A timeout means we stopped waiting, never that nothing happened."),
		kong.UsageOnError(), kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(s), kong.Vars{"version": version()})
	if err != nil {
		fmt.Fprintln(s.err, "holdfast:", err)
		return nil, exitFail
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	k, err := parser.Parse(args)
	if exited >= 0 {
		return nil, exited
	}
	if err != nil {
		fmt.Fprintf(s.err, "holdfast: %v\nSee: %s --help\n", err, command(err))
		return nil, exitUsage
	}
	return k, exitDone
}

// command is what the arguments named before they went wrong.
func command(err error) string {
	var wrong *kong.ParseError
	if errors.As(err, &wrong) && wrong.Context != nil && wrong.Context.Command() != "" {
		name, _, _ := strings.Cut(wrong.Context.Command(), " ")
		return "holdfast " + name
	}
	return "holdfast"
}

// version is the module's version and the commit it was built from, as far as the build recorded them.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "holdfast (unknown version)"
	}
	text := "holdfast " + cmp.Or(info.Main.Version, "(devel)")
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			text += " " + s.Value
		}
	}
	return text + " " + info.GoVersion
}

// usage is an error of the caller's.
type usage struct{ error }

func exitCode(err error, errOut io.Writer) int {
	var wrong usage
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &failed{}):
		return exitFail
	case errors.As(err, &wrong):
		fmt.Fprintln(errOut, "holdfast:", err)
		return exitUsage
	}
	fmt.Fprintln(errOut, "holdfast:", err)
	return exitFail
}

// unknown says of an id that is not in the ledger what ids look like.
func unknown(id string, err error) error {
	if !errors.Is(err, ledger.ErrNotFound) {
		return err
	}
	return fmt.Errorf("nothing in this ledger is %s. Ids look like ev_…, run_…, op_…; the outbox, the logs and the answer to a webhook show them", id)
}
