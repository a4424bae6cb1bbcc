package target_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/internal/clock"
	"holdfast/internal/operation"
	"holdfast/internal/target"
	"holdfast/internal/target/wiretest"
)

func oauthProfile(tb testing.TB, kind string) *target.Profile {
	tb.Helper()
	extra := ""
	if kind == "oauth_refresh_token" {
		extra = ", refresh_token: refresh"
	}
	return parse(tb, strings.Replace(smallProfile, "kind: none, doc", "kind: "+kind+", client_id: id, secret: client-secret, token_url: /token, scope: 'write'"+extra+", doc", 1))
}

// tokens is a target with its token endpoint beside it; it refuses the token that refused names.
func tokens(t *testing.T, refused string) (*wiretest.Server, *atomic.Int64) {
	var asked atomic.Int64
	var server *wiretest.Server
	server = wiretest.New(t, func(c *wiretest.Conn, _ int) {
		got := <-server.Received
		switch {
		case got.URI == "/token":
			c.Say(answer(200, fmt.Sprintf(`{"access_token":"tok-%d","token_type":"Bearer","expires_in":3600}`, asked.Add(1))))
		case got.Header.Get("Authorization") == "Bearer "+refused:
			c.Say(answer(401, `{}`))
		default:
			c.Say(answer(201, `{"id":"eff-1"}`))
		}
	})
	return server, &asked
}

func sendSmall(t *testing.T, e *target.Engine, p *target.Profile, base string) target.Sent {
	t.Helper()
	d, err := p.To(target.Destination{Base: base})
	if err != nil {
		t.Fatal(err)
	}
	r, err := target.Render(p, testOp, map[string]any{"note": "x"}, d)
	if err != nil {
		t.Fatal(err)
	}
	return e.Send(t.Context(), p, r, open)
}

func TestOAuthTokenIsKeptUntilItsEndOrItsRefusal(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"oauth_client_credentials", "oauth_refresh_token"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			p, c := oauthProfile(t, kind), clock.New()
			server, asked := tokens(t, "tok-2")
			engine := newEngine(c)
			sendSmall(t, engine, p, server.URL)
			sendSmall(t, engine, p, server.URL)
			if asked.Load() != 1 {
				t.Fatalf("asked %d times for two requests, want once", asked.Load())
			}
			c.Move(time.Hour)
			if sent := sendSmall(t, engine, p, server.URL); asked.Load() != 2 || sent.Status != 401 {
				t.Fatalf("asked %d times, status %d; want a second token, which is refused", asked.Load(), sent.Status)
			}
			if sent := sendSmall(t, engine, p, server.URL); asked.Load() != 3 || sent.Status != 201 {
				t.Fatalf("asked %d times, status %d; want a third token after the refusal", asked.Load(), sent.Status)
			}
		})
	}
}

func TestNoTokenMeansNothingSent(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"refused":       answer(401, `{"error":"invalid_client","hint":"client-secret"}`),
		"no bearer":     answer(200, `{"access_token":"x","token_type":"mac"}`),
		"empty":         answer(200, `{}`),
		"line end":      answer(200, `{"access_token":"x\r\nHost: y","token_type":"bearer"}`),
		"cut":           "HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n{}",
		"not an answer": "nonsense",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := wiretest.New(t, func(c *wiretest.Conn, _ int) { c.Say(text); c.Close() })
			sent := sendSmall(t, newEngine(clock.New()), oauthProfile(t, "oauth_client_credentials"), server.URL)
			server.Close()
			if sent.Outcome != operation.OutcomeNotExecuted || sent.Evidence != operation.EvidenceNoByteSent || strings.Contains(sent.Detail, "secret-of") {
				t.Errorf("got %+v, want nothing sent and no secret in it", sent)
			}
			if _, requests := server.Counts(); requests != 1 {
				t.Errorf("%d requests, want the token request alone", requests)
			}
		})
	}
}

func TestSecretThatCannotBeReadIsNamedAndNotShown(t *testing.T) {
	t.Parallel()
	engine := newEngine(clock.New())
	engine.Secrets = func(context.Context, string) (string, error) { return "sk_live_1", errors.New("denied: sk_live_1") }
	server := wiretest.New(t, say(answer(201, `{"id":"e"}`)))
	p := shipped(t)["generic-none"]
	sent := engine.Send(t.Context(), p, filledFor(t, p, server.URL), open)
	if !strings.Contains(sent.Detail, `secret "generic-none-token" could not be read`) || strings.Contains(sent.Detail, "sk_live") {
		t.Errorf("detail %q", sent.Detail)
	}
}

func TestR02_TLSIsVerifiedBeforeTheFirstByte(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		if r.ProtoMajor != 1 {
			t.Errorf("protocol %s, want HTTP/1.1", r.Proto)
		}
		w.WriteHeader(201)
		fmt.Fprint(w, `{"id":"eff-1"}`)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // the stranger's refusal is expected
	server.EnableHTTP2 = true                           // offered, and never taken: HTTP/2 replays requests by itself
	server.StartTLS()
	defer server.Close()
	p := shipped(t)["generic-key"]
	r := filledFor(t, p, server.URL)

	stranger := newEngine(clock.New())
	stranger.TLS = &tls.Config{RootCAs: x509.NewCertPool()}
	sent := stranger.Send(t.Context(), p, r, open)
	if sent.Outcome != operation.OutcomeNotExecuted || sent.Detail != "nothing sent: no trusted TLS session was made" || requests.Load() != 0 {
		t.Errorf("untrusted: got %+v after %d requests, want nothing sent", sent, requests.Load())
	}

	friend := newEngine(clock.New())
	friend.TLS = &tls.Config{RootCAs: x509.NewCertPool()}
	friend.TLS.RootCAs.AddCert(server.Certificate())
	if sent := friend.Send(t.Context(), p, r, open); sent.Outcome != operation.OutcomeExecuted || sent.BytesWritten == 0 {
		t.Errorf("trusted: got %+v, want executed", sent)
	}
	if requests.Load() != 1 {
		t.Errorf("%d requests, want 1", requests.Load())
	}
}
