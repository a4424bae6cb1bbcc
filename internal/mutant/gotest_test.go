package mutant

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func lines(events ...string) []byte { return []byte(strings.Join(events, "\n") + "\n") }

func TestReadTests(t *testing.T) {
	t.Parallel()
	const run, pass = `{"Action":"run","Package":"p","Test":"TestA"}`, `{"Action":"pass","Package":"p"}`
	const failed = `{"Action":"fail","Package":"p"}`
	tests := map[string]struct {
		out  Output
		want tested
		red  bool
	}{
		"green": {Output{Stdout: lines(run, pass)}, tested{ran: true}, false},
		"red, with the innermost names": {
			Output{Exit: 1, Stdout: lines(run, `{"Action":"fail","Test":"TestA/b/c"}`, `{"Action":"fail","Test":"TestA/b"}`, `{"Action":"fail","Test":"TestA"}`, `{"Action":"fail","Test":"TestAB"}`, failed)},
			tested{ran: true, failed: []string{"TestA/b/c", "TestAB"}}, true,
		},
		"out of time": {
			Output{Exit: 1, Stdout: lines(run, `{"Action":"output","Test":"TestA","Output":"panic: test timed out after 1s\n"}`, `{"Action":"fail","Test":"TestA"}`, failed)},
			tested{ran: true, failed: []string{"TestA"}, timedOut: true}, true,
		},
		"out of time, as it is said without a test": {
			Output{Exit: 1, Stdout: lines(run, `{"Action":"run","Test":"TestB"}`, `{"Action":"pass","Test":"TestA"}`, `{"Action":"output","Output":"panic: test timed out after 1s\n"}`, failed)},
			tested{ran: true, failed: []string{"TestB"}, timedOut: true}, true,
		},
		"crashed before any test": {Output{Exit: 1, Stdout: lines(failed)}, tested{crashed: true}, true},
		"does not compile": {
			Output{Exit: 1, Stdout: lines(`{"Action":"build-output","Output":"a.go:1: no\n"}`, `{"Action":"build-fail"}`, `{"Action":"fail","Package":"p","FailedBuild":"p"}`)},
			tested{broken: "it does not compile: a.go:1: no"}, false,
		},
		"nothing ran":     {Output{Stdout: lines(pass)}, tested{broken: "no test ran"}, false},
		"no such package": {Output{Exit: 1, Stderr: []byte("no required module\n")}, tested{broken: "go test ended with 1 and no test failed: no required module"}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := readTests(tt.out)
			got.crashed = got.crashed && got.broken == ""
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(tested{})); diff != "" {
				t.Error(diff)
			}
			if got.red() != tt.red {
				t.Errorf("red: got %t", got.red())
			}
		})
	}
}
