package source_test

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"holdfast/internal/source"
)

func receive(t testing.TB, secrets []string, name string, header http.Header, body string, now time.Time) error {
	t.Helper()
	var list []source.Secret
	for _, text := range secrets {
		list = append(list, source.NewSecret(text))
	}
	set := setWith(t, map[string][]source.Secret{name: list})
	_, err := set.Receive(t.Context(), source.NewRequest("POST", "/hooks/"+name, header, []byte(body)), now)
	return err
}

func headers(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Set(pairs[i], pairs[i+1])
	}
	return h
}

// The two examples are published by Svix in its documentation and its customers' pages.
func TestPublishedSvixVectors(t *testing.T) {
	t.Parallel()
	for _, v := range []struct {
		secret, id, signature, body string
		at                          int64
	}{
		{"whsec_plJ3nmyCDGBKInavdOK15jsl", "msg_loFOjxBNrRLzqYUf", "v1,rAvfW3dJ/X/qxhsaXPOyyCGmRKsaKWcsNccKXlIktD0=", `{"event_type":"ping","data":{"success":true}}`, 1731705121},
		{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=", `{"test": 2432232314}`, 1614265330},
	} {
		for _, family := range []string{"svix-", "webhook-"} {
			header := headers(family+"id", v.id, family+"timestamp", fmt.Sprint(v.at), family+"signature", v.signature)
			now := time.Unix(v.at, 0).Add(source.ToleranceDefault)
			if err := receive(t, []string{v.secret}, "standard", header, v.body, now); err != nil {
				t.Errorf("%s %s: %v", family, v.id, err)
			}
			err := receive(t, []string{v.secret}, "standard", header, v.body, now.Add(time.Second))
			wantRefusal(t, err, http.StatusUnauthorized, source.ReasonTimestamp)
			err = receive(t, []string{v.secret}, "standard", header, v.body+" ", now)
			wantRefusal(t, err, http.StatusUnauthorized, source.ReasonBadSignature)
		}
	}
}

func TestStandardWebhooksLibrarySignsForUsAndVerifiesOurs(t *testing.T) {
	t.Parallel()
	theirs, err := standardwebhooks.NewWebhook(standardSecret)
	if err != nil {
		t.Fatal(err)
	}
	for i, body := range []string{`{}`, `{"type":"a.b","n":9007199254740993}`, "{\"t\":\"😀\u2028\"}\n"} {
		id := fmt.Sprintf("msg_%d", i)
		signature, err := theirs.Sign(id, testNow, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		header := headers("webhook-id", id, "webhook-timestamp", fmt.Sprint(testNow.Unix()), "webhook-signature", signature)
		if err := receive(t, []string{standardSecret}, "standard", header, body, testNow); err != nil {
			t.Errorf("the library's signature %d: %v", i, err)
		}
		ours := hook{source: "standard", id: id, body: body}.headers(t)
		if err := theirs.VerifyIgnoringTimestamp([]byte(body), ours); err != nil {
			t.Errorf("our signature %d: %v", i, err)
		}
	}
}

// The example is published by GitHub in its documentation.
func TestPublishedGitHubVector(t *testing.T) {
	t.Parallel()
	c := genericConfig()
	c.EventID = fields("header.X-GitHub-Delivery")
	c.HMAC = &source.HMAC{Header: "X-Hub-Signature-256", Encoding: "hex", Prefix: "sha256=", Template: "{body}"}
	set, err := source.NewSet([]source.Config{c}, func(context.Context, string) ([]source.Secret, error) {
		return []source.Secret{source.NewSecret("It's a Secret to Everybody")}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	send := func(signature string) error {
		header := headers("X-Hub-Signature-256", signature)
		_, err := set.Receive(t.Context(), source.NewRequest("POST", "/hooks/crm", header, []byte("Hello, World!")), testNow)
		return err
	}
	const right = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
	// The body is no JSON: the refusal by the parser shows that the signature was accepted.
	wantRefusal(t, send("sha256="+right), http.StatusBadRequest, source.ReasonJSON)
	wantRefusal(t, send(right), http.StatusUnauthorized, source.ReasonBadSignature)
	wantRefusal(t, send("sha256="+strings.ToUpper(right[:1])+"0"+right[2:]), http.StatusUnauthorized, source.ReasonBadSignature)
}

func TestSecretRotationAndSeveralSignatures(t *testing.T) {
	t.Parallel()
	const other, body = "whsec_plJ3nmyCDGBKInavdOK15jsl", `{"type":"a"}`
	private := ed25519.NewKeyFromSeed([]byte(strings.Repeat("seed", ed25519.SeedSize/4)))
	whpk := "whpk_" + base64.StdEncoding.EncodeToString(private[ed25519.SeedSize:])
	signed := func(secret string) string {
		h, err := source.Sign(config(t, "standard"), source.NewSecret(secret), "msg_1", testNow, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		return h.Get("webhook-signature")
	}
	v1, v1Other := signed(standardSecret), signed(other)
	v1a := signed("whsk_" + base64.StdEncoding.EncodeToString(private))
	for name, c := range map[string]struct {
		secrets   []string
		signature string
		fits      bool
	}{
		"new secret second":          {[]string{other, standardSecret}, v1, true},
		"old secret gone":            {[]string{other}, v1, false},
		"second signature fits":      {[]string{standardSecret}, v1Other + " " + v1, true},
		"after rubbish":              {[]string{standardSecret}, "v9,AAAA v1 v1,%%% " + v1, true},
		"Ed25519":                    {[]string{whpk}, v1a, true},
		"Ed25519 beside HMAC":        {[]string{standardSecret, whpk}, "v1," + b64("x") + " " + v1a, true},
		"Ed25519 under the HMAC tag": {[]string{whpk}, strings.Replace(v1a, "v1a,", "v1,", 1), false},
		"HMAC under the Ed25519 tag": {[]string{standardSecret}, strings.Replace(v1, "v1,", "v1a,", 1), false},
		"no version":                 {[]string{standardSecret}, strings.TrimPrefix(v1, "v1,"), false},
		"part of a signature":        {[]string{standardSecret}, v1[:len(v1)-8], false},
		"only unknown versions":      {[]string{standardSecret}, strings.Replace(v1, "v1,", "v2,", 1), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			header := headers("webhook-id", "msg_1", "webhook-timestamp", fmt.Sprint(testNow.Unix()), "webhook-signature", c.signature)
			err := receive(t, c.secrets, "standard", header, body, testNow)
			if c.fits && err != nil {
				t.Errorf("refused: %v", err)
			}
			if !c.fits {
				wantRefusal(t, err, http.StatusUnauthorized, source.ReasonBadSignature)
			}
		})
	}
}

func TestVerbatimSecretRotation(t *testing.T) {
	t.Parallel()
	const body = `{"id":7}`
	for _, name := range []string{"shopify", "shopify-flow", "crm"} {
		header := hook{source: name, id: "E1", body: body}.headers(t)
		for _, secrets := range [][]string{{shopifySecret, "another-secret"}, {"another-secret", shopifySecret}} {
			if err := receive(t, secrets, name, header, body, testNow); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		err := receive(t, []string{"another-secret"}, name, header, body, testNow)
		wantRefusal(t, err, http.StatusUnauthorized, source.ReasonBadSignature)
		many := strings.Split(strings.Repeat(shopifySecret+" ", source.SecretsMax+1), " ")[:source.SecretsMax+1]
		if err := receive(t, many, name, header, body, testNow); err == nil {
			t.Errorf("%s: %d secrets were tried", name, len(many))
		}
	}
}

// The id names the event, so it must come from the headers that were signed and not from a second family beside them.
func TestUnsignedSecondFamilyCannotRenameTheEvent(t *testing.T) {
	t.Parallel()
	h := hook{source: "standard", id: "msg_1", body: `{"type":"a"}`}
	signed := h.headers(t)
	for _, forged := range [][2]string{{"svix-", "webhook-"}, {"webhook-", "svix-"}} {
		header := http.Header{}
		for _, name := range []string{"id", "timestamp", "signature"} {
			header.Set(forged[0]+name, signed.Get("webhook-"+name))
		}
		header.Set(forged[1]+"id", "msg_other")
		n, err := testSet(t).Receive(t.Context(), source.NewRequest("POST", "/hooks/standard", header, []byte(h.body)), testNow)
		if err != nil {
			t.Fatal(err)
		}
		if got := n.Identity().Value; got != "msg_1" {
			t.Errorf("signed with %s headers, the event is %q", forged[0], got)
		}
	}
}

// One signed text must not be readable as two different (id, timestamp, body).
func TestSignedPartsCannotMoveIntoEachOther(t *testing.T) {
	t.Parallel()
	at := fmt.Sprint(testNow.Unix())
	signed := hook{source: "standard", id: "msg_1", body: at + `.5`}.headers(t)
	header := headers("webhook-id", "msg_1."+at, "webhook-timestamp", at, "webhook-signature", signed.Get("webhook-signature"))
	err := receive(t, []string{standardSecret}, "standard", header, "5", testNow)
	wantRefusal(t, err, http.StatusUnauthorized, source.ReasonBadSignature)

	generic := hook{source: "crm", id: "1", body: at + `.5`}.headers(t)
	header = headers("X-Id", "1."+at, "X-Time", at, "X-Sig", generic.Get("X-Sig"))
	err = receive(t, []string{shopifySecret}, "crm", header, "5", testNow)
	wantRefusal(t, err, http.StatusUnauthorized, source.ReasonNoSignature)
}

func TestCaseB077_SignedTimestampInAnotherUnitIsRefused(t *testing.T) {
	t.Parallel()
	const body = `{"type":"a"}`
	lib, err := standardwebhooks.NewWebhook(standardSecret)
	if err != nil {
		t.Fatal(err)
	}
	for name, unix := range map[string]int64{
		"milliseconds": testNow.UnixMilli(), "nanoseconds": testNow.UnixNano(), "zero": 0, "negative": -testNow.Unix(),
		"2019": 1577836799, "2101": 4133980800,
	} {
		signature, err := lib.Sign("msg_1", time.Unix(unix, 0), []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		header := headers("webhook-id", "msg_1", "webhook-timestamp", fmt.Sprint(unix), "webhook-signature", signature)
		err = receive(t, []string{standardSecret}, "standard", header, body, time.Unix(unix, 0))
		if message := wantRefusal(t, err, http.StatusUnauthorized, source.ReasonTimestamp); !strings.Contains(message, "milliseconds?") {
			t.Errorf("%s: message %q does not mention the unit", name, message)
		}
	}
}

func TestTimestampToleranceEndsOnBothSides(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"standard", "crm"} {
		header := hook{source: name, id: "msg_1", body: `{"type":"a"}`}.headers(t)
		secret := map[string]string{"standard": standardSecret, "crm": shopifySecret}[name]
		for _, late := range []time.Duration{-source.ToleranceDefault, 0, source.ToleranceDefault} {
			if err := receive(t, []string{secret}, name, header, `{"type":"a"}`, testNow.Add(late)); err != nil {
				t.Errorf("%s at %s: %v", name, late, err)
			}
		}
		for _, late := range []time.Duration{-source.ToleranceDefault - time.Second, source.ToleranceDefault + time.Second} {
			err := receive(t, []string{secret}, name, header, `{"type":"a"}`, testNow.Add(late))
			wantRefusal(t, err, http.StatusUnauthorized, source.ReasonTimestamp)
		}
	}
}

// Right: verified over the received bytes; a body that means the same in other bytes does not fit.
func TestCaseB040_SignatureIsOverTheReceivedBytes(t *testing.T) {
	t.Parallel()
	const body = `{"u":"https:\/\/x\/a","t":"A\u0026B","n":1.0}`
	for _, name := range []string{"shopify", "shopify-flow", "standard", "crm"} {
		h := hook{source: name, id: "E1", body: body}
		if n := h.receive(t); string(n.Body()) != body || string(n.Document().Raw()) != body {
			t.Errorf("%s: the notification lost the received bytes", name)
		}
		header := h.headers(t)
		for _, rewritten := range []string{`{"n":1.0,"t":"A&B","u":"https://x/a"}`, `{"u":"https://x/a","t":"A&B","n":1}`, body + "\n"} {
			_, err := testSet(t).Receive(t.Context(), source.NewRequest("POST", "/hooks/"+name, header, []byte(rewritten)), testNow)
			wantRefusal(t, err, http.StatusUnauthorized, source.ReasonBadSignature)
		}
	}
}

// What is not verified is never parsed: a body that no parser accepts is refused for its signature first.
func TestVerificationComesBeforeParsing(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"shopify", "shopify-flow", "standard", "crm"} {
		header := hook{source: name, id: "E1", body: `{}`}.headers(t)
		body := []byte(strings.Repeat("[", 100_000))
		_, err := testSet(t).Receive(t.Context(), source.NewRequest("POST", "/hooks/"+name, header, body), testNow)
		wantRefusal(t, err, http.StatusUnauthorized, source.ReasonBadSignature)
	}
}

func TestShopifyHeaderFamilies(t *testing.T) {
	t.Parallel()
	const body = `{"id":7}`
	signature := hook{source: "shopify", id: "E1", body: body}.headers(t).Get("X-Shopify-Hmac-Sha256")
	for _, prefix := range []string{"X-Shopify-", "shopify-", "x-shopify-", "SHOPIFY-"} {
		header := http.Header{
			prefix + "Hmac-Sha256": {signature}, prefix + "Topic": {"orders/paid"}, prefix + "Shop-Domain": {"shop.example"},
			prefix + "Event-Id": {"E1"}, prefix + "Webhook-Id": {"A"},
		}
		n, err := testSet(t).Receive(t.Context(), source.NewRequest("POST", "/hooks/shopify", header, []byte(body)), testNow)
		if err != nil {
			t.Errorf("%s: %v", prefix, err)
			continue
		}
		i := n.Identity()
		got := strings.Join([]string{i.Source, i.Account, i.Topic, string(i.Rung), i.Value, i.DeliveryID}, " ")
		if want := "shopify shop.example orders/paid event_id E1 A"; got != want {
			t.Errorf("%s: identity %q, want %q", prefix, got, want)
		}
	}
}

func TestR13_ClosedUnlessConfigured(t *testing.T) {
	t.Parallel()
	good := hook{source: "shopify", id: "E1", body: `{"id":7}`}
	post := func(set *source.Set, method, path, body string) error {
		req := source.NewRequest(method, path, good.headers(t), []byte(body))
		_, err := set.Receive(t.Context(), req, testNow)
		return err
	}
	closed := setWith(t, nil)
	message := wantRefusal(t, post(closed, "POST", "/hooks/shopify", good.body), http.StatusServiceUnavailable, source.ReasonNotConfigured)
	if !strings.Contains(message, "configure its secret") {
		t.Errorf("message %q does not say what to do", message)
	}
	wantRefusal(t, post(testSet(t), "POST", "/hooks/shopfy", good.body), http.StatusNotFound, source.ReasonUnknownSource)
	if m := wantRefusal(t, post(testSet(t), "POST", "/hooks/<b>", good.body), http.StatusNotFound, source.ReasonUnknownSource); strings.Contains(m, "<b>") {
		t.Errorf("message %q repeats what was sent", m)
	}
	wantRefusal(t, post(testSet(t), "GET", "/hooks/shopify", good.body), http.StatusMethodNotAllowed, source.ReasonMethod)
	wantRefusal(t, post(testSet(t), "POST", "/hooks/shopify", ""), http.StatusBadRequest, source.ReasonEmpty)
	broken, err := source.NewSet(shipped(t), func(context.Context, string) ([]source.Secret, error) {
		return nil, errors.New("parameter store is away")
	})
	if err != nil {
		t.Fatal(err)
	}
	if status, told := source.StatusOf(post(broken, "POST", "/hooks/shopify", good.body)); status != http.StatusServiceUnavailable || strings.Contains(told, "parameter") {
		t.Errorf("unreadable secrets: the sender hears %d %q", status, told)
	}
}

// Every way to be wrong gives a message, and none shows a secret, a signature or the body.
func TestR10_ErrorsShowNothingSecret(t *testing.T) {
	t.Parallel()
	const body = `{"type":"a","email":"jane@example.com"}`
	wrong := hex.EncodeToString([]byte("wrong-signature"))
	for name, c := range map[string]struct {
		source, secret string
		header         http.Header
	}{
		"no header":            {"shopify", shopifySecret, http.Header{}},
		"not base64":           {"shopify", shopifySecret, headers("X-Shopify-Hmac-Sha256", "%"+wrong)},
		"wrong":                {"shopify", shopifySecret, headers("X-Shopify-Hmac-Sha256", b64(wrong))},
		"blank":                {"shopify", shopifySecret, headers("X-Shopify-Hmac-Sha256", "  ")},
		"huge":                 {"shopify", shopifySecret, headers("X-Shopify-Hmac-Sha256", strings.Repeat("A", source.HeaderBytesMax+4))},
		"flow wrong":           {"shopify-flow", shopifySecret, headers("X-Shopify-Hmac-Sha256", b64(wrong))},
		"short secret":         {"shopify", "hush", headers("X-Shopify-Hmac-Sha256", b64(wrong))},
		"no timestamp":         {"standard", standardSecret, headers("webhook-id", "msg_1", "webhook-signature", "v1,"+wrong)},
		"too many signatures":  {"standard", standardSecret, headers("webhook-id", "m", "webhook-timestamp", fmt.Sprint(testNow.Unix()), "webhook-signature", strings.Repeat("v1,"+wrong+" ", source.SignaturesMax+1))},
		"secret is no base64":  {"standard", "whsec_hush-hush!", headers("webhook-id", "m", "webhook-timestamp", "1", "webhook-signature", wrong)},
		"secret is too short":  {"standard", "whsec_" + b64("fifteen bytes!!"), headers("webhook-id", "m", "webhook-timestamp", fmt.Sprint(testNow.Unix()), "webhook-signature", "v1,"+wrong)},
		"secret has no prefix": {"standard", strings.TrimPrefix(standardSecret, "whsec_"), headers("webhook-id", "m", "webhook-signature", wrong)},
		"secret is private":    {"standard", "whsk_" + base64.StdEncoding.EncodeToString(make([]byte, 64)), headers("webhook-signature", wrong)},
		"generic prefix":       {"crm", shopifySecret, headers("X-Sig", wrong, "X-Id", "1", "X-Time", "1")},
		"generic no id":        {"crm", shopifySecret, headers("X-Sig", "sha256="+wrong, "X-Time", "1")},
	} {
		err := receive(t, []string{c.secret}, c.source, c.header, body, testNow)
		if err == nil {
			t.Errorf("%s: accepted", name)
			continue
		}
		if ours := strings.HasPrefix(name, "secret") || strings.HasPrefix(name, "short"); ours == errors.As(err, new(*source.Refusal)) {
			t.Errorf("%s: %v blames the wrong side", name, err)
		}
		for _, hidden := range []string{c.secret, strings.TrimPrefix(c.secret, "whsec_"), wrong, b64(wrong), "jane"} {
			if strings.Contains(err.Error(), hidden) {
				t.Errorf("%s: error %q shows %q", name, err, hidden)
			}
		}
	}
	shown := fmt.Sprintf("%v %+v %#v %s %q %x", source.NewSecret("hush"), source.NewSecret("hush"), source.NewSecret("hush"), source.NewSecret("hush"), source.NewSecret("hush"), source.NewSecret("hush"))
	if strings.Contains(shown, "hush") || strings.Contains(shown, hex.EncodeToString([]byte("hush"))) {
		t.Errorf("a secret prints as %s", shown)
	}
}

// A digest's last letter in base64 has spare bits, and decoders pass over line ends; a signature has one spelling.
func TestASignatureHasOneSpelling(t *testing.T) {
	t.Parallel()
	const body = `{"topic":"note"}`
	for _, name := range []string{"shopify", "standard"} {
		h := hook{source: name, id: "msg_1", body: body}
		header := "X-Shopify-Hmac-Sha256"
		if name == "standard" {
			header = "Webhook-Signature"
		}
		given := h.headers(t).Get(header)
		last := len(given) - len("=") - 1
		letters := "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
		spare := letters[strings.IndexByte(letters, given[last])|1]
		for _, other := range []string{given[:last] + string(spare) + "=", given[:last] + "\n" + given[last:], given[:last] + "\r" + given[last:]} {
			h.header = map[string]string{header: other}
			_, err := testSet(t).Receive(t.Context(), h.request(t), testNow)
			wantRefusal(t, err, http.StatusUnauthorized, source.ReasonBadSignature)
		}
	}
}
