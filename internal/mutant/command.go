package mutant

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Call is one program to run. Flags are for every go command under it, the tests' own ones included: a test that asks
// the go command about the code then sees the mutant too.
type Call struct {
	Folder string
	Flags  string // GOFLAGS beside the caller's own; may be empty
	Argv   []string
}

// Command runs one program to its end. An error means that it could not be run, or that ctx ended first; a program that
// ran and failed is no error.
type Command func(context.Context, Call) (Output, error)

// Output is what a program left.
type Output struct {
	Stdout, Stderr []byte
	Exit           int
}

// waitMost is how long a program that was ended may take to close its output.
const waitMost = 5 * time.Second

// Execute is the Command that runs real programs.
func Execute(ctx context.Context, c Call) (Output, error) {
	cmd := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = c.Folder, &stdout, &stderr, waitMost
	if c.Flags != "" {
		cmd.Env = append(os.Environ(), "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" "+c.Flags))
	}
	err := cmd.Run()
	out := Output{stdout.Bytes(), stderr.Bytes(), cmd.ProcessState.ExitCode()}
	var exit *exec.ExitError
	if errors.As(err, &exit) && ctx.Err() == nil {
		return out, nil
	}
	return out, err
}
