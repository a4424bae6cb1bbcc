package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/local"
	"holdfast/internal/operation"
	"holdfast/internal/source"
	"holdfast/internal/source/sourcefile"
	"holdfast/sources"
)

const reviewer = "reviewer@example.com"

// notify sends the shipped flow's event, signed, and answers the run.
func notify(t *testing.T, l *laptop, n int) string {
	t.Helper()
	body := fmt.Sprintf(`{"shop_id":7,"shopify_domain":"demo.myshopify.com","action_run_id":"event-%d","handle":"follow-up","properties":{"kind":"follow-up","campaign_id":"spring","customer_id":"c%d","first_name":"Ada","email":"ada@example.com","due":"2026-12-24T09:00:00Z"}}`, n, n)
	status, answer := fetch(t, http.MethodPost, l.Hooks+"/shopify-flow", signed(t, l, body), body)
	if status/100 != 2 {
		t.Fatalf("%d %s", status, answer)
	}
	return value[struct {
		ID string `json:"id"`
	}](t, told{out: answer}).ID
}

func signed(t *testing.T, l *laptop, body string) http.Header {
	t.Helper()
	configs, err := sourcefile.Load(sources.Files())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range configs {
		if c.Name == "shopify-flow" {
			secret := running(t, l.Console).Secrets["sources/shopify-flow"]
			header, err := source.Sign(c, source.NewSecret(secret), "delivery", time.Time{}, []byte(body))
			if err != nil {
				t.Fatal(err)
			}
			return header
		}
	}
	t.Fatal("no source shopify-flow")
	return nil
}

func asked(s seen) bool {
	for _, op := range s.Operations {
		if op.Question == nil {
			return false
		}
	}
	return len(s.Operations) == 2
}

func done(s seen) bool { return s.Runs[0].Status == operation.RunDone }

// expect runs a command and holds its code and a part of what it said on either stream.
func expect(t *testing.T, code int, part string, args ...string) told {
	t.Helper()
	got := holdfast(t, args...)
	if got.code != code || !strings.Contains(got.out+got.err, part) {
		t.Errorf("holdfast %s: %d, want %d and %q\n%s%s", strings.Join(args, " "), got.code, code, part, got.out, got.err)
	}
	if code != exitDone && got.err == "" {
		t.Errorf("holdfast %s: no word on standard error", strings.Join(args, " "))
	}
	return got
}

// TestCommandLine plays an operator: a run from its notification to "run again", by commands only.
func TestCommandLine(t *testing.T) {
	home(t)
	l := begin(t)
	id := notify(t, l, 1)
	s := until(t, id, asked)
	ev, one, two := string(s.Events[0].ID), string(s.Operations[0].ID), string(s.Operations[1].ID)

	expect(t, exitDone, "waits for a decision: holdfast resolve "+one, "resolve", id)
	expect(t, exitDone, "holdfast resolve "+one+" --answer approve --as "+reviewer+" --digest "+read(t, one), "resolve", one)
	expect(t, exitUsage, "needs --digest of the content you read", "resolve", one, "--answer", "approve", "--as", reviewer)
	expect(t, exitUsage, "needs --digest of the content you read", "resolve", one, "--answer", "approve", "--as", reviewer, "--digest", "000000000000")
	expect(t, exitUsage, "this question takes approve, decline", "resolve", one, "--answer", "yes", "--as", reviewer)
	expect(t, exitUsage, "this question takes", "resolve", one, "--answer", "superseded", "--as", reviewer)
	expect(t, exitFail, "Nothing was changed", "resolve", one, "--answer", "approve", "--as", "stranger@example.com", "--digest", read(t, one))
	expect(t, exitFail, "Nothing was changed", "resolve", one, "--answer", "nothing_happened", "--as", reviewer, "--how", "x")
	expect(t, exitFail, "nothing waits for a decision there", "resolve", id, "--answer", "retry", "--as", reviewer)
	expect(t, exitFail, "nothing waits for a decision there", "resolve", ev, "--answer", "release", "--as", reviewer, "--how", "x")
	before := mails(t, l)
	expect(t, exitDone, "went to "+reviewer, "remind", id)
	if after := mails(t, l); after != before+2 {
		t.Errorf("%d mails after the reminder, want a link and a code more than %d", after, before)
	}
	for _, op := range []string{one, two} {
		expect(t, exitDone, "Decided: approve, by "+reviewer, "resolve", op, "--answer", "approve", "--as", reviewer, "--digest", read(t, op))
	}
	s = until(t, id, done)

	expect(t, exitFail, "nothing waits for a decision there", "resolve", one, "--answer", "approve", "--as", reviewer)
	expect(t, exitDone, "Nothing was changed", "again", id)
	preview := value[againResult](t, expect(t, exitDone, "", "again", one, "--json"))
	if len(preview.Preview) != 2 || preview.Preview[0].Does != "reuse" || preview.Done {
		t.Errorf("%+v", preview)
	}
	expect(t, exitUsage, "it has crm_task, email", "again", id, "--second", "nothing", "--nonce", "n")
	expect(t, exitDone, "its own identity", "again", id, "--second", "email", "--nonce", "n")
	expect(t, exitDone, "confirmed with reference", "again", id, "--second", "email", "--nonce", "n")
	expect(t, exitDone, "has ended already (done). Nothing was changed", "stop", id, "--as", reviewer, "--how", "late")
	for _, args := range [][]string{{"stop", id, "--how", "x"}, {"again", id, "--yes"}, {"again", id, "--yes", "--second", "email", "--nonce", "n"}} {
		got := expect(t, exitFail, "stranger@example.com may not decide", append(args, "--as", "stranger@example.com")...)
		if !strings.Contains(got.err, reviewer) || !strings.Contains(got.err, string(s.Runs[0].Owner)) {
			t.Errorf("who may is not said: %s", got.err)
		}
	}

	attempt, reference := string(s.Operations[0].Attempts[0].ID), string(s.Operations[0].Reference)
	question := string(s.Operations[0].Answered[0].ID)
	for _, any := range []string{ev, id, one, attempt, reference, question, "event-1"} {
		got := expect(t, exitDone, "operation "+one, "inspect", any)
		if !strings.Contains(got.out, "Z: executed") {
			t.Errorf("times are not in UTC, or no attempt: %s", got.out)
		}
	}
	notShown(t, l)
	expect(t, exitDone, "pressed run again, and the run goes on as its generation 2", "again", id, "--yes", "--as", reviewer)
}

// notShown looks for the laptop's secrets in what commands print.
func notShown(t *testing.T, l *laptop) {
	t.Helper()
	secrets := running(t, l.Console).Secrets
	all, err := local.Laptops()
	if err != nil || len(secrets) == 0 || len(all) != 1 {
		t.Fatalf("%v, %d secrets, %d laptops", err, len(secrets), len(all))
	}
	said := l.out.String()
	for name, secret := range secrets {
		if strings.Contains(said, secret) {
			t.Errorf("%s is printed", name)
		}
	}
}

func TestUnknownIDs(t *testing.T) {
	home(t)
	l := begin(t)
	for _, id := range []string{"op_none", "run_none", "ev_none"} {
		for _, args := range [][]string{{"inspect", id}, {"resolve", id}, {"inspect", id, "--json"}} {
			got := expect(t, exitFail, "nothing in this ledger is "+id, args...)
			if got.out != "" {
				t.Errorf("%v: %q on standard output", args, got.out)
			}
		}
	}
	for _, id := range []string{"at_none", "nothing", strings.Repeat("x", 3000)} {
		expect(t, exitFail, "nothing in this ledger is", "inspect", id)
	}
	for _, args := range [][]string{{"again", "op_none"}, {"again", "run_none"}, {"stop", "run_none", "--as", "a", "--how", "b"}} {
		expect(t, exitFail, "nothing in this ledger is", args...)
	}
	expect(t, exitUsage, "no run or operation id", "again", "ev_none")
	expect(t, exitDone, "nothing to accept", "accept", "--as", reviewer)
	l.stop()
	expect(t, exitFail, "start `holdfast local`", "inspect", "op_none")
}

// A laptop that was killed leaves its announcement behind; a second laptop leaves the first one's in place.
func TestTwoLaptops(t *testing.T) {
	home(t)
	first := begin(t)
	id := notify(t, first, 1)
	second := begin(t)
	got := expect(t, exitFail, "nothing in this ledger is "+id, "inspect", id)
	if !strings.Contains(got.err, "2 laptops run here; this is about the newest, "+second.Console) {
		t.Errorf("%s", got.err)
	}
	expect(t, exitDone, id, "inspect", id, "--laptop", strings.TrimSuffix(first.Console, "/"))
	second.stop()
	expect(t, exitDone, id, "inspect", id)

	dir, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "holdfast", "laptops", "1.json")
	killed := `{"addresses":{"console":"http://127.0.0.1:1/","clock":"http://127.0.0.1:1/_local/clock"},"started_us":9999999999999999}`
	if err := os.WriteFile(path, []byte(killed), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := expect(t, exitDone, id, "inspect", id); got.err != "" {
		t.Errorf("a laptop that does not run is spoken of: %s", got.err)
	}
	first.stop()
	expect(t, exitFail, "does not answer", "inspect", id)
}

// What is asked before a restart can be decided after it, and the run goes on at its targets.
func TestRestartOnKeptData(t *testing.T) {
	home(t)
	dir := filepath.Join(t.TempDir(), "data")
	l := begin(t, "--data", dir)
	id := notify(t, l, 1)
	s := until(t, id, asked)
	l.stop()

	l = begin(t, "--data", dir)
	if d := cmp.Diff(operation.RunStarted, until(t, id, asked).Runs[0].Status); d != "" {
		t.Error(d)
	}
	for _, op := range s.Operations {
		expect(t, exitDone, "Decided", "resolve", string(op.ID), "--answer", "approve", "--as", reviewer, "--digest", read(t, string(op.ID)))
	}
	s = until(t, id, done)
	if len(s.Operations[0].Attempts) != 1 {
		t.Errorf("%d attempts: a target was not where it had been", len(s.Operations[0].Attempts))
	}
	l.stop()
	left, err := filepath.Glob(filepath.Join(os.TempDir(), ".new-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("%v %v", left, err)
	}
}

func TestGreeting(t *testing.T) {
	home(t)
	l, err := local.Start(t.Context(), mustOptions(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	var out strings.Builder
	(&localCmd{}).greet(l, &streams{nil, &out, &out})
	for _, part := range []string{"Holdfast runs at " + l.Console, "curl -sS " + l.Hooks, l.Addresses.Outbox, l.Targets, "Nothing is kept"} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("%q is missing in\n%s", part, &out)
		}
	}
	out.Reset()
	(&localCmd{Data: "dir"}).greet(l, &streams{nil, &out, &out})
	if !strings.Contains(out.String(), "kept in dir") {
		t.Errorf("%s", &out)
	}
}

func mustOptions(t *testing.T) local.Options {
	t.Helper()
	o, err := files{}.options()
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// read is the digest that the command shows with an operation's content.
func read(t *testing.T, op string) string {
	t.Helper()
	return value[resolved](t, expect(t, exitDone, "", "resolve", op, "--json")).Digest
}

// mails counts what the laptop's outbox holds.
func mails(t *testing.T, l *laptop) int {
	t.Helper()
	_, body := fetch(t, "GET", l.Addresses.Outbox+".json", nil, "")
	var box struct{ Messages []json.RawMessage }
	if err := json.Unmarshal([]byte(body), &box); err != nil {
		t.Fatal(err)
	}
	return len(box.Messages)
}
