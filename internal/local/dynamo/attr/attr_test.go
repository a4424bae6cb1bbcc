package attr_test

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"math/big"
	mathrand "math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/local/dynamo/attr"
)

// seeded is a generator that says how to replay it: put the seed it prints in place of the random one.
func seeded(t *testing.T) *mathrand.Rand {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	seed := binary.LittleEndian.Uint64(b[:])
	t.Logf("seed %d", seed)
	return mathrand.New(mathrand.NewPCG(seed, 0))
}

// randomNumber is a spelling of a number in range.
func randomNumber(g *mathrand.Rand) string {
	var b strings.Builder
	if g.IntN(2) == 0 {
		b.WriteByte('-')
	}
	for range 1 + g.IntN(18) {
		b.WriteByte(byte('0' + g.IntN(10)))
	}
	if g.IntN(2) == 0 {
		b.WriteByte('.')
		for range 1 + g.IntN(18) {
			b.WriteByte(byte('0' + g.IntN(10)))
		}
	}
	if g.IntN(3) == 0 {
		b.WriteString("e" + []string{"", "+", "-"}[g.IntN(3)] + []string{"0", "3", "40", "90"}[g.IntN(4)])
	}
	return b.String()
}

func rational(t *testing.T, s string) *big.Rat {
	t.Helper()
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		t.Fatalf("%q is no number", s)
	}
	return r
}

// Numbers agree with exact rational arithmetic: value, order, sum, and the order of their key bytes.
func TestNumbersAgreeWithRationals(t *testing.T) {
	t.Parallel()
	g := seeded(t)
	for range 20_000 {
		a, b := randomNumber(g), randomNumber(g)
		x, y := rational(t, a), rational(t, b)
		canonA, errA := attr.Canonical(a)
		canonB, errB := attr.Canonical(b)
		if errA != nil || errB != nil {
			t.Fatalf("%s: %v, %s: %v", a, errA, b, errB)
		}
		if rational(t, canonA).Cmp(x) != 0 {
			t.Fatalf("%s became %s", a, canonA)
		}
		if (canonA == canonB) != (x.Cmp(y) == 0) {
			t.Fatalf("%s and %s are spelled %s and %s", a, b, canonA, canonB)
		}
		if got := attr.CompareNumbers(a, b); got != x.Cmp(y) {
			t.Fatalf("compare %s with %s: %d", a, b, got)
		}
		va, vb := attr.Number(canonA), attr.Number(canonB)
		if got := bytes.Compare(attr.AppendKey(nil, &va), attr.AppendKey(nil, &vb)); got != x.Cmp(y) {
			t.Fatalf("keys of %s and %s: %d", a, b, got)
		}
		if sum, err := attr.AddNumbers(canonA, canonB, true); err == nil && rational(t, sum).Cmp(new(big.Rat).Sub(x, y)) != 0 {
			t.Fatalf("%s - %s = %s", a, b, sum)
		}
	}
}

// Key bytes order as the strings do, and none begins another.
func TestKeysOfStrings(t *testing.T) {
	t.Parallel()
	g := seeded(t)
	word := func() string {
		b := make([]byte, g.IntN(6))
		for i := range b {
			b[i] = []byte{0, 1, 'a', 0xfe, 0xff}[g.IntN(5)]
		}
		return string(b)
	}
	for range 20_000 {
		a := attr.Value{Kind: attr.KindBinary, Text: word()}
		b := attr.Value{Kind: attr.KindBinary, Text: word()}
		x, y := attr.AppendKey(nil, &a), attr.AppendKey(nil, &b)
		if bytes.Compare(x, y) != strings.Compare(a.Text, b.Text) {
			t.Fatalf("%q and %q: keys %x and %x", a.Text, b.Text, x, y)
		}
		if a.Text != b.Text && bytes.HasPrefix(y, x) {
			t.Fatalf("the key of %q begins the key of %q", a.Text, b.Text)
		}
		if strings.HasPrefix(b.Text, a.Text) != bytes.HasPrefix(y, attr.AppendKeyPrefix(nil, &a)) {
			t.Fatalf("prefix %q of %q: %x", a.Text, b.Text, y)
		}
	}
}

func TestSizes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		json string
		want int
	}{
		{`{}`, 0},
		{`{"pk":{"S":"a"}}`, 3},
		{`{"é":{"S":"é"}}`, 4},
		{`{"n":{"N":"0"}}`, 2},
		{`{"n":{"N":"27"}}`, 3 + 0},
		{`{"n":{"N":"-27"}}`, 4},
		{`{"n":{"N":"12345678901234567890123456789012345678"}}`, 1 + 20},
		{`{"b":{"B":"AAEC"}}`, 4},
		{`{"t":{"BOOL":false},"z":{"NULL":true}}`, 4},
		{`{"s":{"SS":["ab","c"]}}`, 4},
		{`{"l":{"L":[]}}`, 4},
		{`{"l":{"L":[{"S":"ab"}]}}`, 1 + 3 + 1 + 2},
		{`{"m":{"M":{"k":{"S":"ab"}}}}`, 1 + 3 + 1 + 1 + 2},
	} {
		it, err := attr.ParseItem([]byte(c.json))
		if err != nil {
			t.Fatal(err)
		}
		if got := it.Size(); got != c.want {
			t.Errorf("%s: %d bytes, want %d", c.json, got, c.want)
		}
	}
}

// FuzzItem: no bytes make the reader panic, and what it takes comes back the same.
func FuzzItem(f *testing.F) {
	for _, seed := range []string{
		`{"pk":{"S":"a\u00e9\ud83d\ude00"},"n":{"N":"-1.50e3"},"l":{"L":[{"NULL":true},{"M":{"b":{"B":"AAE="}}}]},"ss":{"SS":["a","b"]}}`,
		`{"n":{"N":"1e125"},"ns":{"NS":["1","2"]},"bs":{"BS":["AA==","AQ=="]},"t":{"BOOL":true}}`,
		`{`, `{"a":`, `{"a":{"S":"\`, `{"a":{"L":[`, `[]`, `{"a":{"N":"1e999999999999999999999"}}`, `{"a":null}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		it, err := attr.ParseItem(data)
		if err != nil {
			return
		}
		written := attr.AppendItem(nil, it)
		again, err := attr.ParseItem(written)
		if err != nil {
			t.Fatalf("%s was written as %s: %v", data, written, err)
		}
		if d := cmp.Diff(string(written), string(attr.AppendItem(nil, again))); d != "" {
			t.Fatal(d)
		}
		if it.Size() != again.Size() {
			t.Fatalf("%s: %d and %d bytes", written, it.Size(), again.Size())
		}
	})
}
