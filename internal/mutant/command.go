package mutant

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"time"
)

// Command runs one program in a folder to its end. An error means that it could not be run, or that ctx ended first;
// a program that ran and failed is no error.
type Command func(ctx context.Context, folder string, argv ...string) (Output, error)

// Output is what a program left.
type Output struct {
	Stdout, Stderr []byte
	Exit           int
}

// waitMost is how long a program that was ended may take to close its output.
const waitMost = 5 * time.Second

// Execute is the Command that runs real programs.
func Execute(ctx context.Context, folder string, argv ...string) (Output, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = folder, &stdout, &stderr, waitMost
	err := cmd.Run()
	out := Output{stdout.Bytes(), stderr.Bytes(), cmd.ProcessState.ExitCode()}
	var exit *exec.ExitError
	if errors.As(err, &exit) && ctx.Err() == nil {
		return out, nil
	}
	return out, err
}
