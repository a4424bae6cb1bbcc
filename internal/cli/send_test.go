package cli

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/flows"
	"holdfast/internal/local"
	"holdfast/targets"
)

// ranAs is the run that an answer names.
func ranAs(t *testing.T, got told) string {
	t.Helper()
	if got.code != exitDone {
		t.Fatalf("%d %s%s", got.code, got.out, got.err)
	}
	id := value[struct {
		ID string `json:"id"`
	}](t, got).ID
	if !strings.HasPrefix(id, "run_") {
		t.Fatalf("no run: %s", got.out)
	}
	return id
}

func TestSend(t *testing.T) {
	home(t)
	l := begin(t)
	for _, flow := range []string{"campaign-follow-up", "order-follow-up", "standing-follow-up"} {
		one := ranAs(t, holdfast(t, "send", "--flow", flow, "--id", "event-1"))
		if again := ranAs(t, holdfast(t, "send", "--flow", flow, "--id", "event-1")); again != one {
			t.Errorf("%s: the same event makes the runs %s and %s", flow, one, again)
		}
		other := holdfast(t, "send", "--flow", flow)
		if flow == "order-follow-up" { // Shopify signs no header, so an equal body under another id may be a repeat
			if !strings.Contains(other.out, `"state":"held"`) {
				t.Errorf("%d %s%s", other.code, other.out, other.err)
			}
		} else if id := ranAs(t, other); id == one {
			t.Errorf("%s: another event finds the run %s", flow, one)
		}
	}
	body := filepath.Join(t.TempDir(), "body.json")
	write(t, body, `{"type":"follow-up.requested","timestamp":"2026-11-29T12:00:00Z","data":{"request_id":"r-1"}}`)
	ranAs(t, holdfast(t, "send", "standard", "--body", body))
	sentFromStandardInput(t)

	expect(t, exitUsage, "say what to send", "send")
	expect(t, exitUsage, "say what to send", "send", "standard")
	expect(t, exitUsage, "no flow waits for the source nobody", "send", "nobody", "--body", body)
	expect(t, exitUsage, "name one with --flow: campaign-follow-up-webhook, order-follow-up", "send", "shopify", "--body", body)
	expect(t, exitUsage, "waits for the source standard, not shopify", "send", "shopify", "--flow", "standing-follow-up", "--body", body)
	expect(t, exitUsage, "has the event's id in the body, at body.action_run_id", "send", "shopify-flow", "--body", body, "--id", "x")
	expect(t, exitUsage, "there is no flow nothing", "send", "--flow", "nothing")
	expect(t, exitUsage, "no such file", "send", "standard", "--body", body+"x")
	notShown(t, l)
}

func sentFromStandardInput(t *testing.T) {
	t.Helper()
	var out, errOut bytes.Buffer
	in := strings.NewReader(`{"type":"follow-up.requested","data":{"request_id":"r-2"}}`)
	code := run(t.Context(), []string{"send", "standard", "--body", "-"}, &streams{in, &out, &errOut})
	ranAs(t, told{code, out.String(), errOut.String()})
}

// What --print prints is a call that the laptop takes.
func TestSendPrintsACall(t *testing.T) {
	home(t)
	begin(t)
	got := holdfast(t, "send", "--flow", "order-follow-up", "--print")
	if got.code != exitDone || !strings.HasPrefix(got.out, "curl -sS ") {
		t.Fatalf("%d %s%s", got.code, got.out, got.err)
	}
	curl, err := exec.CommandContext(t.Context(), "sh", "-c", got.out).Output()
	if err != nil {
		t.Fatalf("%v in %s", err, got.out)
	}
	ranAs(t, told{out: string(curl)})
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func shippedFile(t *testing.T, name string) string {
	t.Helper()
	raw, err := flows.FS.ReadFile(name)
	if err != nil {
		raw, err = targets.FS.ReadFile(name)
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestGreetingNamesOneOfTheUsersFlows(t *testing.T) {
	home(t)
	c := localCmd{files: files{Flows: folder(t, "standing-follow-up.yaml", shippedFile(t, "standing-follow-up.yaml"))}}
	o, err := c.options()
	if err != nil {
		t.Fatal(err)
	}
	l, err := local.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	var out strings.Builder
	c.greet(l, &streams{nil, &out, &out})
	for _, part := range []string{"holdfast send --flow standing-follow-up\n", "curl -sS " + l.Hooks + "/standard", "Webhook-Signature: v1,"} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("%q is missing in\n%s", part, &out)
		}
	}
}

// ownTarget is a folder with one flow and a folder with one profile that nothing simulates.
func ownTarget(t *testing.T) (flowDir, targetDir string) {
	t.Helper()
	profile := strings.Replace(shippedFile(t, "generic-key.yaml"), "profile: generic-key", "profile: my-service", 1)
	text := shippedFile(t, "standing-follow-up.yaml")
	first, _, _ := strings.Cut(text, "  - name: record")
	return folder(t, "mine.yaml", strings.NewReplacer("flow: standing-follow-up", "flow: mine", "target: generic-key", "target: my-service").Replace(first)),
		folder(t, "my-service.yaml", profile)
}

// A profile with a real server needs no simulation; without one it is said what to write.
func TestOwnTargets(t *testing.T) {
	home(t)
	flowDir, targetDir := ownTarget(t)
	expect(t, exitDone, "All flows and targets are valid.", "validate", "--flows", flowDir, "--targets", targetDir)
	expect(t, exitFail, "write DIR/sim/my-service.yaml", "local", "--port", "0", "--flows", flowDir, "--targets", targetDir)
	expect(t, exitUsage, "needs DIR/sim/my-service.yaml", "acceptance", "--flows", flowDir, "--targets", targetDir)
	l := begin(t, "--flows", flowDir, "--targets", targetDir, "--target", "my-service=http://127.0.0.1:1")
	_, page := fetch(t, "GET", l.Targets, nil, "")
	if !strings.Contains(page, "my-service is a real server, http://127.0.0.1:1") || strings.Contains(page, "<h2>hubspot</h2>") {
		t.Errorf("%s", page)
	}
	ranAs(t, holdfast(t, "send", "--flow", "mine"))
	l.stop()

	if err := os.Mkdir(filepath.Join(targetDir, "sim"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(targetDir, "sim", "my-service.yaml"), "target: my-service\nwhat: 1\n")
	if got := holdfast(t, "validate", "--flows", flowDir, "--targets", targetDir); got.code != exitFail || !strings.Contains(got.out, `sim/my-service.yaml:2: unknown field "what"`) {
		t.Errorf("%d %s%s", got.code, got.out, got.err)
	}
}

func TestValidateFindsWhatNothingWouldStart(t *testing.T) {
	home(t)
	dir := folder(t, "mine.yaml", strings.Replace(shippedFile(t, "standing-follow-up.yaml"), "source: standard", "source: nobody", 1))
	for _, args := range [][]string{{"validate", "--flows", dir}, {"local", "--port", "0", "--flows", dir}} {
		got := holdfast(t, args...)
		if got.code != exitFail || !strings.Contains(got.out+got.err, "mine.yaml:") || !strings.Contains(got.out+got.err, "there is no source nobody, so nothing would ever start this flow (allowed: shopify, shopify-flow, standard)") {
			t.Errorf("%v: %d %s%s", args, got.code, got.out, got.err)
		}
	}
	for _, option := range []string{"--flows", "--targets"} {
		for _, command := range []string{"validate", "local", "acceptance"} {
			expect(t, exitUsage, "there is no file NAME.yaml in it", command, option, t.TempDir())
		}
	}
}

func TestProgressOutsideOfATerminalIsALineEach(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	tell := progress(&out)
	for n := 1; n <= 200; n++ {
		tell(n)
	}
	if want := fmt.Sprintf("%d answered\n%d answered\n", progressEvery, 2*progressEvery); out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}
