// Command mutants breaks each rule on purpose, one small change at a time, and shows which test notices.
//
//	go run ./internal/mutant/cmd/mutants [--only PATTERN] [--sample N] [--simulate N] [--seed S] [--jobs J] [--json | --markdown] [--list]
//
// It never changes the working tree. Exit codes: 0 all were killed, 1 one survived, 2 one shows nothing or the call
// was wrong.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"holdfast/internal/clock"
	"holdfast/internal/mutant"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	root, err := mutant.FindRoot(".")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(mutant.ExitBroken)
	}
	tool := &mutant.Tool{Root: root, Command: mutant.Execute, Clock: clock.New(), Stdout: os.Stdout, Stderr: os.Stderr}
	code := tool.Main(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}
