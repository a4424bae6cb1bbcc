package app

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/google/go-cmp/cmp"

	"holdfast/internal/clock"
	"holdfast/internal/ledger"
	"holdfast/internal/local/dynamo"
	"holdfast/internal/notify"
)

func TestConfigFromNamesEverythingThatIsMissing(t *testing.T) {
	t.Parallel()
	_, err := ConfigFrom(func(string) string { return "" })
	want := `environment variable HOLDFAST_TABLE is not set
environment variable HOLDFAST_STATE_MACHINE is not set
environment variable HOLDFAST_STACK is not set
environment variable HOLDFAST_OWNER is not set
environment variable HOLDFAST_FUNCTION_TIMEOUT_S must be the function's timeout in whole seconds, 1 to 900`
	if err == nil {
		t.Fatal("an empty environment is taken")
	}
	if d := cmp.Diff(want, err.Error()); d != "" {
		t.Error(d)
	}
}

func TestConfigFrom(t *testing.T) {
	t.Parallel()
	env := map[string]string{
		"HOLDFAST_TABLE": "table", "HOLDFAST_STATE_MACHINE": "arn", "HOLDFAST_STACK": "stack", "HOLDFAST_OWNER": "owner@example.com", "HOLDFAST_FUNCTION_TIMEOUT_S": "30",
		"HOLDFAST_REVIEW_URL": "https://x.example/review/", "HOLDFAST_TARGETS": " a=https://a.example  b=https://b.example ", "HOLDFAST_CODES": "off", "HOLDFAST_SMTP": "mail.example:587", "HOLDFAST_MAIL_FROM": "f@example.com", "HOLDFAST_SECRETS": "/holdfast",
	}
	got, err := ConfigFrom(func(name string) string { return env[name] })
	if err != nil {
		t.Fatal(err)
	}
	want := Config{
		Table: "table", Machine: "arn", Stack: "stack", Owner: "owner@example.com", FunctionTimeout: 30 * time.Second, Review: "https://x.example/review",
		Destinations: []string{"a=https://a.example", "b=https://b.example"}, NoCodes: true, SMTP: "mail.example:587", MailFrom: "f@example.com", Secrets: "/holdfast",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for _, bad := range []string{"", "0", "901", "1.5", "30s", "-1"} {
		env["HOLDFAST_FUNCTION_TIMEOUT_S"] = bad
		if _, err := ConfigFrom(func(name string) string { return env[name] }); err == nil {
			t.Errorf("a timeout of %q is taken", bad)
		}
	}
}

func TestAWSPartsNeedThePathOfTheSecrets(t *testing.T) {
	t.Parallel()
	if _, _, err := AWSParts(t.Context(), Config{}); err == nil || !strings.Contains(err.Error(), "HOLDFAST_SECRETS") {
		t.Errorf("%v", err)
	}
}

func TestMailer(t *testing.T) {
	t.Parallel()
	if got, want := Mailer(Config{SMTP: "h:25", MailFrom: "f"}, aws.Config{}), (notify.SMTP{Addr: "h:25", From: "f"}); got != want {
		t.Errorf("%#v", got)
	}
	if _, ok := Mailer(Config{MailFrom: "f"}, aws.Config{}).(notify.SES); !ok {
		t.Error("no mail server, and not SES")
	}
}

// Every letter stands for as many bytes as any other, and no byte is lost but those that would favour some.
func TestCodeFavoursNoLetter(t *testing.T) {
	t.Parallel()
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	b := &Base{Random: bytes.NewReader(bytes.Repeat(all, codeLength))}
	count := map[rune]int{}
	for range codeFair * codeLength / codeLength {
		for _, letter := range b.Code() {
			count[letter]++
		}
	}
	for _, letter := range codeLetters {
		if want := codeFair / len(codeLetters) * codeLength; count[letter] != want {
			t.Errorf("%c: %d times, want %d", letter, count[letter], want)
		}
	}
	if len(count) != len(codeLetters) {
		t.Errorf("%d letters", len(count))
	}
}

func TestNoRandomnessStops(t *testing.T) {
	t.Parallel()
	stuck := &Base{Random: constant(255)}
	empty := &Base{Random: bytes.NewReader(nil)}
	for name, do := range map[string]func(){"stuck code": func() { stuck.Code() }, "no code": func() { empty.Code() }, "no id": func() { empty.ID("op_") }} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			defer func() {
				if recover() == nil {
					t.Error("it went on without randomness")
				}
			}()
			do()
		})
	}
}

type constant byte

func (c constant) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(c)
	}
	return len(p), nil
}

func TestIDsAreUniqueAndPlain(t *testing.T) {
	t.Parallel()
	b := &Base{Random: rand.NewChaCha8([32]byte{7})}
	seen := map[string]bool{}
	for range 10_000 {
		id := b.ID("at_")
		if seen[id] {
			t.Fatalf("%s came twice", id)
		}
		seen[id] = true
		if rest, ok := strings.CutPrefix(id, "at_"); !ok || len(rest) < 20 || strings.Trim(rest, "0123456789abcdefghijklmnopqrstuvwxyz") != "" {
			t.Fatalf("%q would not survive a mail client", id)
		}
	}
}

// parameters is Systems Manager as far as it is asked here.
func parameters(t *testing.T, answer func(body string) (int, string)) (*Parameters, *int) {
	t.Helper()
	calls := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls++
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Header.Get("X-Amz-Target") != "AmazonSSM.GetParameter" {
			t.Errorf("%v, %s", err, r.Header.Get("X-Amz-Target"))
		}
		w.Header().Set("Content-Type", "application/x-amz-json-1.1")
		status, text := answer(string(body))
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(s.Close)
	client := ssm.New(ssm.Options{Region: "us-east-1", BaseEndpoint: &s.URL, Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""), Retryer: aws.NopRetryer{}})
	return &Parameters{Client: client, Path: "/holdfast/", Clock: clock.New()}, &calls
}

func TestParametersKeepASecretForAWhile(t *testing.T) {
	t.Parallel()
	value := "old"
	p, calls := parameters(t, func(body string) (int, string) {
		if body != `{"Name":"/holdfast/code-key","WithDecryption":true}` {
			t.Errorf("asked %s", body)
		}
		return 200, `{"Parameter":{"Value":"` + value + `"}}`
	})
	read := func(want string, wantCalls int) {
		t.Helper()
		got, err := p.Secret(t.Context(), "code-key")
		if err != nil || got != want || *calls != wantCalls {
			t.Errorf("%q, %v, %d calls; want %q, %d calls", got, err, *calls, want, wantCalls)
		}
	}
	read("old", 1)
	value = "new"
	p.Clock.(*clock.Movable).Move(parameterKept - time.Minute)
	read("old", 1)
	p.Clock.(*clock.Movable).Move(time.Minute)
	read("new", 2)
}

func TestParametersErrors(t *testing.T) {
	t.Parallel()
	missing, calls := parameters(t, func(string) (int, string) { return 400, `{"__type":"ParameterNotFound"}` })
	for range 2 {
		if _, err := missing.Secret(t.Context(), "x"); !errors.Is(err, ErrNoSecret) || !strings.Contains(err.Error(), "/holdfast/x") {
			t.Errorf("%v", err)
		}
	}
	if *calls != 2 {
		t.Errorf("a missing parameter was kept: %d calls", *calls)
	}
	denied, _ := parameters(t, func(string) (int, string) { return 400, `{"__type":"AccessDeniedException"}` })
	if _, err := denied.Secret(t.Context(), "x"); err == nil || errors.Is(err, ErrNoSecret) || !strings.Contains(err.Error(), "/holdfast/x") {
		t.Errorf("%v", err)
	}
}

type secrets map[string]string

func (s secrets) Secret(_ context.Context, name string) (string, error) {
	if v, ok := s[name]; ok {
		return v, nil
	}
	return "", ErrNoSecret
}

// A wrong identity key is refused before anything is read or written under it.
func TestNewRefusesAnotherIdentityKey(t *testing.T) {
	t.Parallel()
	server, err := dynamo.Open(dynamo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	client := dynamodb.New(dynamodb.Options{
		Region: "us-east-1", BaseEndpoint: aws.String("http://in-process.invalid"), HTTPClient: server.Transport(), Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
	}, ledger.Bounded)
	if _, err := client.CreateTable(t.Context(), ledger.TableInput("holdfast")); err != nil {
		t.Fatal(err)
	}
	open := func(key string) error {
		s := secrets{}
		if key != "" {
			s["identity-key"] = key
		}
		_, err := New(t.Context(), Config{Table: "holdfast", Stack: "stack"}, Parts{Dynamo: client, Secrets: s})
		return err
	}
	right, wrong := strings.Repeat("r", 44), strings.Repeat("w", 44)
	if err := open(right); err != nil {
		t.Fatal(err)
	}
	for name, key := range map[string]string{"another key": wrong, "no key": "", "short key": "short"} {
		err := open(key)
		if err == nil {
			t.Errorf("%s: it works", name)
		} else if key != "" && strings.Contains(err.Error(), key+key) {
			t.Errorf("%s is shown: %v", name, err)
		}
	}
	if err := open(right); err != nil {
		t.Errorf("the right key, afterwards: %v", err)
	}
}
