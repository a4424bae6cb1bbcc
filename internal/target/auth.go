package target

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"holdfast/internal/target/wire"
)

const (
	tokenTimeout     = 10 * time.Second
	tokenLifeDefault = 5 * time.Minute  // when the answer does not say
	tokenLifeMax     = 12 * time.Hour   // whatever the answer says
	tokenMargin      = 60 * time.Second // a token is asked anew this long before its end
	tokensMax        = 64               // kept at once
	secretBytesMax   = 8192
)

// token is an OAuth access token and its end by the engine's clock.
type token struct {
	value string
	until time.Time
}

// authorize gives the header that carries the secret; nil for targets without one. No error has a secret in it.
func (e *Engine) authorize(ctx context.Context, p *Profile, base string) (*Header, error) {
	switch a := p.Auth; a.Kind {
	case AuthNone:
		return nil, nil
	case AuthBearer:
		v, err := e.secret(ctx, a.Secret)
		return &Header{"Authorization", "Bearer " + v}, err
	case AuthHeader:
		v, err := e.secret(ctx, a.Secret)
		return &Header{a.Header, v}, err
	}
	v, err := e.token(ctx, p, base)
	return &Header{"Authorization", "Bearer " + v}, err
}

func (e *Engine) secret(ctx context.Context, name string) (string, error) {
	if e.Secrets == nil {
		return "", fmt.Errorf("no secrets are configured, and secret %q is needed", name)
	}
	v, err := e.Secrets(ctx, name)
	if err != nil {
		return "", fmt.Errorf("secret %q could not be read: check that it exists and that this process may read it", name)
	}
	if v == "" || len(v) > secretBytesMax || !headerValue.MatchString(v) {
		return "", fmt.Errorf("secret %q is empty, too long, or has characters that a header cannot carry (a line end?)", name)
	}
	return v, nil
}

func tokenKey(p *Profile, base string) string {
	return strings.Join([]string{p.Name, base, p.Auth.TokenURL, p.Auth.ClientID, p.Auth.Scope}, "\n")
}

func (e *Engine) forget(p *Profile, base string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.tokens, tokenKey(p, base))
}

func (e *Engine) token(ctx context.Context, p *Profile, base string) (string, error) {
	key := tokenKey(p, base)
	e.mu.Lock()
	kept, ok := e.tokens[key]
	e.mu.Unlock()
	if ok && e.Clock.Now().Before(kept.until) {
		return kept.value, nil
	}
	fresh, err := e.askToken(ctx, p, base)
	if err != nil {
		return "", fmt.Errorf("no access token for target %s: %w", p.Name, err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.tokens == nil || len(e.tokens) >= tokensMax {
		e.tokens = map[string]token{}
	}
	e.tokens[key] = fresh
	return fresh.value, nil
}

func (e *Engine) askToken(ctx context.Context, p *Profile, base string) (token, error) {
	id, err := e.secret(ctx, p.Auth.ClientID)
	if err != nil {
		return token{}, err
	}
	secret, err := e.secret(ctx, p.Auth.Secret)
	if err != nil {
		return token{}, err
	}
	form := url.Values{"grant_type": {"client_credentials"}}
	if p.Auth.Kind == AuthRefreshToken {
		refresh, err := e.secret(ctx, p.Auth.Refresh)
		if err != nil {
			return token{}, err
		}
		form = url.Values{"grant_type": {"refresh_token"}, "refresh_token": {refresh}}
	}
	if p.Auth.Scope != "" {
		form.Set("scope", p.Auth.Scope)
	}
	return e.postToken(ctx, p, base, form.Encode(), id, secret)
}

// postToken sends RFC 6749's token request. The lifetime counts from before the request left.
func (e *Engine) postToken(ctx context.Context, p *Profile, base, form, id, secret string) (token, error) {
	address := p.Auth.TokenURL
	if strings.HasPrefix(address, "/") {
		address = base + address
	}
	u, err := url.Parse(address)
	if err != nil {
		return token{}, errors.New("its token address cannot be read")
	}
	basic := base64.StdEncoding.EncodeToString([]byte(url.QueryEscape(id) + ":" + url.QueryEscape(secret)))
	h := newHTTP(http.MethodPost, u, []byte(form))
	h.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	h.Header.Set("Authorization", "Basic "+basic)
	h.Header.Set("Accept", "application/json")
	h.Header.Set("User-Agent", userAgent)
	now := e.Clock.Now()
	got := e.line().Do(ctx, wire.Request{HTTP: h, Timeout: min(tokenTimeout, p.Timeout)})
	return readToken(got, now)
}

func readToken(got wire.Result, now time.Time) (token, error) {
	if got.Status != http.StatusOK || !got.Complete {
		return token{}, fmt.Errorf("the token endpoint gave no token (HTTP %d %s)", got.Status, got.Failure)
	}
	var body struct {
		Token string `json:"access_token"`
		Type  string `json:"token_type"`
		Life  int64  `json:"expires_in"`
	}
	err := json.Unmarshal(got.Body, &body)
	if err != nil || body.Token == "" || !strings.EqualFold(body.Type, "bearer") || !headerValue.MatchString(body.Token) {
		return token{}, errors.New("the token endpoint's answer has no bearer token that a header can carry")
	}
	life := tokenLifeDefault
	if body.Life > 0 {
		life = min(time.Duration(min(body.Life, 1<<20))*time.Second, tokenLifeMax)
	}
	return token{value: body.Token, until: now.Add(life - min(tokenMargin, life/2))}, nil
}
