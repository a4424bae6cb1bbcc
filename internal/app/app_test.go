package app_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"holdfast/internal/app"
	"holdfast/internal/app/apptest"
	"holdfast/internal/ledger"
	"holdfast/internal/source"
)

func environment() map[string]string {
	return map[string]string{
		"HOLDFAST_TABLE": "t", "HOLDFAST_STATE_MACHINE": "m", "HOLDFAST_STACK": "s", "HOLDFAST_OWNER": "owner@example.com",
		"HOLDFAST_FUNCTION_TIMEOUT_S": "60", "HOLDFAST_REVIEW_URL": "https://example.com/review/",
	}
}

// Everything that is missing is named at once.
func TestR13_ConfigNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	env := environment()
	c, err := app.ConfigFrom(func(name string) string { return env[name] })
	if err != nil || c.FunctionTimeout != time.Minute || c.Review != "https://example.com/review" {
		t.Errorf("%+v, %v", c, err)
	}
	_, err = app.ConfigFrom(func(string) string { return "" })
	for name := range env {
		if name != "HOLDFAST_REVIEW_URL" && (err == nil || !strings.Contains(err.Error(), name)) {
			t.Errorf("%v does not name %s", err, name)
		}
	}
	for _, seconds := range []string{"0", "901", "1.5", "60s"} {
		env["HOLDFAST_FUNCTION_TIMEOUT_S"] = seconds
		if _, err := app.ConfigFrom(func(name string) string { return env[name] }); err == nil {
			t.Errorf("a timeout of %q was taken", seconds)
		}
	}
}

type secrets map[string]string

func (s secrets) Secret(_ context.Context, name string) (string, error) {
	if v, ok := s[name]; ok {
		return v, nil
	}
	return "", app.ErrNoSecret
}

// A wrong identity key refuses to work, before anything is taken in or sent.
func TestR10_WrongKeyRefusesToStart(t *testing.T) {
	t.Parallel()
	p := apptest.New(t, apptest.Options{})
	_, err := app.New(t.Context(), app.Config{Table: "ledger", Stack: "test"}, app.Parts{
		Clock: p.Clock, Dynamo: p.Dynamo, Log: p.Log, Secrets: secrets{"identity-key": strings.Repeat("x", 32)},
	})
	if !errors.Is(err, ledger.ErrWrongKey) {
		t.Errorf("started with another key: %v", err)
	}
}

// A source without a secret is closed; while one is replaced there are two.
func TestSourceSecrets(t *testing.T) {
	t.Parallel()
	of := app.SourceSecrets(secrets{"sources/two": " first-secret \n\nsecond-secret\n"})
	got, err := of(t.Context(), "two")
	if err != nil || len(got) != 2 || got[0] != source.NewSecret("first-secret") {
		t.Errorf("%d secrets, %v", len(got), err)
	}
	if got, err := of(t.Context(), "none"); err != nil || len(got) != 0 {
		t.Errorf("%d secrets, %v", len(got), err)
	}
}
