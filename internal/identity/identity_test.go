package identity_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/identity"
)

func testKey(t testing.TB) identity.Key {
	t.Helper()
	secret := make([]byte, identity.KeyBytesMin)
	for i := range secret {
		secret[i] = byte(i)
	}
	key, err := identity.NewKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func must(t testing.TB) func(string, error) string {
	return func(id string, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
}

// The file was computed by another program. A difference means that every id ever recorded is lost.
func TestR10_IdsNeverChange(t *testing.T) {
	t.Parallel()
	key, id := testKey(t), must(t)
	event := id(key.EventID("shopify", "shop.example", "orders/paid", "event_id", "E1"))
	got := "event " + event +
		"\nrun " + id(key.RunID("campaign-follow-up", event)) +
		"\noperation " + id(key.OperationID("campaign-follow-up", "crm_task", "shopify-flow", "7",
		identity.Number("campaign", "9007199254740993"), identity.Text("name", "spring"), identity.Bool("vip", true))) +
		"\nheld " + id(key.HeldID("standard", strings.Repeat("ab", 32))) +
		"\nrepeat " + id(key.RepeatID(event, 2)) +
		"\ndelivery " + id(key.DeliveryID("shopify", "shop.example", "A")) +
		"\nlikeness " + id(key.LikenessID("shopify", "shop.example", "orders/paid", "body:00")) +
		"\nunicode " + id(key.OperationID("f", "s", "src", "räksmörgås", identity.Text("", "😀"), identity.Number("", "-19.90"))) +
		"\nfingerprint " + key.Fingerprint() + "\n"
	if diff := cmp.Diff(vectors(t), got); diff != "" {
		t.Errorf("ids changed (-want +got):\n%s", diff)
	}
}

func vectors(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("testdata/vectors.txt")
	if err != nil {
		t.Fatal(err)
	}
	var lines strings.Builder
	for line := range strings.Lines(string(data)) {
		if !strings.HasPrefix(line, "#") {
			lines.WriteString(line)
		}
	}
	return lines.String()
}

func TestR10_DifferentPartsNeverShareAnID(t *testing.T) {
	t.Parallel()
	text, number := identity.Text, identity.Number
	lists := map[string][]identity.Part{
		"a|bc":          {text("", "a"), text("", "bc")},
		"ab|c":          {text("", "ab"), text("", "c")},
		"abc":           {text("", "abc")},
		"a|b|c":         {text("", "a"), text("", "b"), text("", "c")},
		"c|b|a":         {text("", "c"), text("", "b"), text("", "a")},
		"sort inside":   {text("", "atextbc")},
		"text 7":        {text("", "7")},
		"number 7":      {number("", "7")},
		"text true":     {text("", "true")},
		"bool true":     {identity.Bool("", true)},
		"text number7":  {text("", "number7")},
		"large id":      {number("", "9007199254740993")},
		"its neighbour": {number("", "9007199254740992")},
		"inner blanks":  {text("", "Hello   you")},
		"one blank":     {text("", "Hello you")},
		"composed":      {text("", "\u00e9")},
		"decomposed":    {text("", "e\u0301")},
	}
	key, seen := testKey(t), map[string]string{}
	for name, parts := range lists {
		id := must(t)(key.ID(identity.KindOperation, parts...))
		if other, shared := seen[id]; shared {
			t.Errorf("%s and %s share %s", name, other, id)
		}
		seen[id] = name
	}
	one := []identity.Part{text("", "x")}
	kinds := []identity.Kind{identity.KindEvent, identity.KindHeld, identity.KindRepeat, identity.KindDelivery, identity.KindLikeness, identity.KindRun, identity.KindOperation}
	for _, kind := range kinds {
		_, bits, _ := strings.Cut(must(t)(key.ID(kind, one...)), "_")
		if other, shared := seen[bits]; shared {
			t.Errorf("kinds %s and %s share an id", kind, other)
		}
		seen[bits] = string(kind)
	}
}

// Numbers are one value, however they are written.
func TestCaseB010_NumbersCompareByExactValue(t *testing.T) {
	t.Parallel()
	key, id := testKey(t), must(t)
	for _, group := range [][]string{
		{"7", "7.0", "7.000"}, {"19.90", "19.9"}, {"0", "-0", "0.0", "-0.00"}, {"-1.5", "-1.50"}, {"70"}, {"0.7"}, {"7.01"},
		{"9007199254740993"}, {"9007199254740992"},
	} {
		want := id(key.ID(identity.KindOperation, identity.Number("", group[0])))
		for _, literal := range group[1:] {
			if got := id(key.ID(identity.KindOperation, identity.Of("", json.Number(literal)))); got != want {
				t.Errorf("%s and %s differ", group[0], literal)
			}
		}
	}
}

func TestR10_UnusablePartsGiveNoIDAndNameThemselves(t *testing.T) {
	t.Parallel()
	const name = "body.properties.customer_id"
	for want, part := range map[string]identity.Part{
		" is missing":                       identity.Of(name, nil),
		" is blank":                         identity.Text(name, ""),
		" is blank\x00white":                identity.Text(name, " \t\u00a0\u2003"),
		" is blank\x00invisible":            identity.Text(name, "\u200b\ufeff"),
		" begins or ends with white space":  identity.Text(name, "42 "),
		" contains a control character":     identity.Text(name, "4\n2"),
		" is not valid UTF-8":               identity.Text(name, "4\xff2"),
		" is longer than 1024 bytes":        identity.Text(name, strings.Repeat("4", identity.PartBytesMax+1)),
		" is a number with an exponent":     identity.Number(name, "1e3"),
		" is a number longer than 64":       identity.Number(name, strings.Repeat("4", identity.NumberBytesMax+1)),
		" is not a JSON number\x00word":     identity.Number(name, "seven"),
		" is not a JSON number\x00empty":    identity.Number(name, ""),
		" is not a JSON number\x00zero":     identity.Number(name, "007"),
		" is not a JSON number\x00dot":      identity.Number(name, "7."),
		" is not a JSON number\x00nan":      identity.Number(name, "NaN"),
		" is not a JSON number\x00hex":      identity.Number(name, "0x7"),
		" is not a JSON number\x00plus":     identity.Number(name, "+7"),
		" is not a JSON number\x00two":      identity.Number(name, "--7"),
		" is a floating-point number":       identity.Of(name, 7.0),
		" is a list or an object":           identity.Of(name, []any{"42"}),
		" is a list or an object\x00object": identity.Of(name, map[string]any{}),
		" is given twice":                   identity.Unusable(name, "is given twice"),
	} {
		id, err := testKey(t).OperationID("flow", "stage", "source", "account", identity.Text("", "fine"), part)
		var problem *identity.PartError
		if id != "" || !errors.As(err, &problem) {
			t.Errorf("%q: id %q, error %v; want a part error and no id", want, id, err)
			continue
		}
		want, _, _ = strings.Cut(want, "\x00")
		if !strings.HasPrefix(err.Error(), "identity of the operation: "+name+want) {
			t.Errorf("error %q, want %q after the name", err, want)
		}
		if strings.Contains(err.Error(), "42") {
			t.Errorf("error %q shows the value", err)
		}
	}
}

func TestR10_EveryNamedPartIsNeeded(t *testing.T) {
	t.Parallel()
	key := testKey(t)
	part := identity.Text("key", "k")
	for name, err := range map[string]error{
		"event source":    second(key.EventID("", "a", "t", "r", "v")),
		"event account":   second(key.EventID("s", " ", "t", "r", "v")),
		"event topic":     second(key.EventID("s", "a", "", "r", "v")),
		"event value":     second(key.EventID("s", "a", "t", "r", "")),
		"run event":       second(key.RunID("f", "")),
		"run flow":        second(key.RunID("", "ev_1")),
		"operation flow":  second(key.OperationID("", "st", "s", "a", part)),
		"operation stage": second(key.OperationID("f", "", "s", "a", part)),
		"operation acct":  second(key.OperationID("f", "st", "s", "", part)),
		"no business key": second(key.OperationID("f", "st", "s", "a")),
		"zero part":       second(key.OperationID("f", "st", "s", "a", identity.Part{})),
		"no key":          second(identity.Key{}.RunID("f", "ev_1")),
		"too many parts":  second(key.ID(identity.KindRun, make([]identity.Part, identity.PartsMax+1)...)),
		"no such kind":    second(key.ID("thing", part)),
	} {
		if err == nil {
			t.Errorf("%s: an id was made", name)
		}
	}
}

func second(_ string, err error) error { return err }

func TestKeyIsLongEnoughAndNeverShown(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, identity.KeyBytesMin - 1, identity.KeyBytesMax + 1} {
		if _, err := identity.NewKey(bytes.Repeat([]byte("k"), n)); err == nil {
			t.Errorf("a key of %d bytes was accepted", n)
		}
	}
	secret := strings.Repeat("topsecret", 5)
	key, err := identity.NewKey([]byte(secret))
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		got := fmt.Sprintf(verb, key) + fmt.Sprintf(verb, struct{ K identity.Key }{key})
		if strings.Contains(got, "topsecret") || strings.Contains(got, fmt.Sprintf("%x", "topsecret")) {
			t.Errorf("%s shows the key", verb)
		}
	}
	if text, err := json.Marshal(key); err == nil {
		t.Errorf("the key was written out as %s", text)
	}
	if key.Fingerprint() == testKey(t).Fingerprint() || (identity.Key{}).Fingerprint() != "" {
		t.Error("fingerprints do not tell keys apart")
	}
}

func TestRandom(t *testing.T) {
	t.Parallel()
	got := must(t)(identity.Random(bytes.NewReader(make([]byte, 16)), "at_"))
	if want := "at_" + strings.Repeat("0", 26); got != want {
		t.Errorf("id %q, want %q", got, want)
	}
	if _, err := identity.Random(iotest.ErrReader(errors.New("dry")), "at_"); err == nil {
		t.Error("an id was made without randomness")
	}
	if _, err := identity.Random(bytes.NewReader(make([]byte, 15)), "at_"); err == nil {
		t.Error("an id was made of too few bits")
	}
}
