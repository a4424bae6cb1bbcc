package operation_test

import (
	"encoding"
	"encoding/json"
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/operation"
)

var writeRecords = flag.Bool("records", false, "write testdata/records-v1 anew; only before a release")

func TestTextFormsComeBack(t *testing.T) {
	t.Parallel()
	check := func(v encoding.TextMarshaler, back func([]byte) (any, error)) {
		text, err := v.MarshalText()
		if err != nil {
			t.Errorf("%T: %v", v, err)
			return
		}
		if got, err := back(text); err != nil || got != v {
			t.Errorf("%s came back as %v: %v", text, got, err)
		}
	}
	for i := range 9 {
		check(operation.Status(i), func(b []byte) (any, error) { var v operation.Status; err := v.UnmarshalText(b); return v, err })
	}
	for i := range 4 {
		check(operation.EventStatus(i), func(b []byte) (any, error) { var v operation.EventStatus; err := v.UnmarshalText(b); return v, err })
	}
	for i := range 5 {
		check(operation.RunStatus(i), func(b []byte) (any, error) { var v operation.RunStatus; err := v.UnmarshalText(b); return v, err })
	}
	for i := range 6 {
		check(operation.Action(i), func(b []byte) (any, error) { var v operation.Action; err := v.UnmarshalText(b); return v, err })
	}
	for i := range 3 {
		check(operation.Outcome(i), func(b []byte) (any, error) { var v operation.Outcome; err := v.UnmarshalText(b); return v, err })
		check(operation.Protection(i), func(b []byte) (any, error) { var v operation.Protection; err := v.UnmarshalText(b); return v, err })
	}
	for i := range 2 {
		check(operation.Order(i), func(b []byte) (any, error) { var v operation.Order; err := v.UnmarshalText(b); return v, err })
	}
}

func TestAValueWithoutATextFormIsRefused(t *testing.T) {
	t.Parallel()
	if text, err := operation.Status(9).MarshalText(); err == nil {
		t.Errorf("status 9 was written as %q", text)
	}
	var s operation.Status
	if err := s.UnmarshalText([]byte("sent")); err == nil {
		t.Error("an unknown status was read")
	}
	if got := operation.Status(9).String(); got != "9?" {
		t.Errorf("status 9 shows as %q", got)
	}
}

// whole is an operation that uses every field there is.
func whole(t testing.TB) *operation.Operation {
	s := begin(t, careful(), standing())
	s.claim("at_1", false)
	s.lost("at_1")
	s.wait(5 * 60e9)
	s.looked(operation.LookFailed, "")
	s.p.Protection = operation.ProtectionNone
	s.looked(operation.LookAbsent, "")
	s.ask()
	s.answer(operation.AnswerNothingHappened)
	s.wait(1e9)
	s.looked(operation.LookAbsent, "")
	s.claim("at_2", false)
	s.must(operation.Reported{Attempt: "at_2", At: s.now, Outcome: operation.OutcomeExecuted, Kind: operation.EvidenceAnswer, Reference: "7714", RetryAfter: s.now + 1})
	s.must(operation.Related{At: s.now, Run: "run_2"})
	s.must(operation.Shared{At: s.now, Other: "op_2", Reference: "7714"})
	s.ask()
	op := s.op
	op.SendBy, op.Second, op.Escalate, op.Profile, op.WorkMinutes = t0+5, "nonce", []operation.Person{second}, 3, 7
	op.Attempts[0].NoRepeat, op.Attempts[0].Permanent, op.Attempts[0].Restored = true, true, true
	return op
}

func TestAnOperationComesBackFromItsRecord(t *testing.T) {
	t.Parallel()
	op := whole(t)
	text, err := json.Marshal(op)
	if err != nil {
		t.Fatal(err)
	}
	var back operation.Operation
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(op, &back); diff != "" {
		t.Error(diff)
	}
}

func TestARecordWithAnInstantInAnotherUnitIsRefused(t *testing.T) {
	t.Parallel()
	op := whole(t)
	op.Created /= 1000
	if text, err := json.Marshal(op); err == nil {
		t.Errorf("seconds were written: %s", text)
	}
	var back operation.Operation
	if err := json.Unmarshal([]byte(`{"created":"1970-01-21T18:52:55.200Z"}`), &back); err == nil {
		t.Error("an instant of 1970 was read")
	}
}

// decided is what this release decides about a stored record; a later one must decide the same.
type decided struct {
	Record *operation.Operation
	Policy operation.Policy
	Now    operation.Time
	Move   operation.Move
	Choose []operation.Choice
}

const recordsFile = "testdata/records-v1/operations.json"

func TestStoredRecordsAreDecidedAsWhenTheyWereWritten(t *testing.T) {
	t.Parallel()
	if *writeRecords {
		writeRecordsFile(t)
	}
	text, err := os.ReadFile(recordsFile)
	if err != nil {
		t.Fatal(err)
	}
	var records map[string]decided
	if err := json.Unmarshal(text, &records); err != nil {
		t.Fatal(err)
	}
	if len(records) != 10 {
		t.Fatalf("%d records, want 10", len(records))
	}
	for name, r := range records {
		if diff := cmp.Diff(r.Move, operation.Next(r.Record, r.Policy, r.Now)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if diff := cmp.Diff(r.Choose, operation.Choices(r.Record, r.Policy, r.Now)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func writeRecordsFile(t *testing.T) {
	records := map[string]decided{}
	put := func(name string, op *operation.Operation, p operation.Policy, now operation.Time) {
		records[name] = decided{Record: op, Policy: p, Now: now, Move: operation.Next(op, p, now), Choose: operation.Choices(op, p, now)}
	}
	for name, s := range everyStatus(t) {
		put(name, s.op, s.p, s.now)
	}
	put("whole", whole(t), careful(), t0+1)
	text, err := json.MarshalIndent(records, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(recordsFile, append(text, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}
