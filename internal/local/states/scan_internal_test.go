package states

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzScan holds the quick ways of reading and writing to what encoding/json does.
func FuzzScan(f *testing.F) {
	for _, seed := range []string{
		`{}`, `[]`, `null`, ` { "a" : { "b" : [ 1 , { "c" : "d" } ] } , "b" : 2 } `, `{"a":1,"a":{"b":3}}`, `{"\u0061":7,"b":"\u2028<&>"}`,
		`{"a":"}","b":"]\"","c":"\\"}`, `{"a":[[],[[]],{}],"b":-1.5e-7}`, `{"é":"ü","b":"\ud800","":false}`, `[true,"a",[0,1,2]]`, `{"a":12345678901234567890}`,
		"{\"a\xff\":\"\x7f\xfe\"}", `{"a":null,"b":{"a":null}}`, `"text"`, `-0`,
	} {
		f.Add([]byte(seed), "a", "b", 1)
		f.Add([]byte(seed), "b", "", 0)
	}
	f.Fuzz(func(t *testing.T, raw []byte, first, second string, index int) {
		if !json.Valid(raw) {
			return
		}
		tree := decodeValid(raw)
		a, b, i := step{key: first}, step{key: second}, step{index: max(index, 0), isIndex: true}
		for _, steps := range [][]step{nil, {a}, {b}, {i}, {a, b}, {a, i}, {i, a}, {a, b, i, a}, {i, i}} {
			p := &path{steps: steps}
			want, wantOK := p.find(tree)
			text, gotOK := locate(raw, steps)
			var got any
			if gotOK {
				got = decodeSmall(text)
			}
			if diff := cmp.Diff(want, got); diff != "" || wantOK != gotOK {
				t.Errorf("%v in %s (-want %v +got %v):\n%s", steps, raw, wantOK, gotOK, diff)
			}
		}
		if want, got := encodeAny(tree), encode(tree); !bytes.Equal(want, got) {
			t.Errorf("encoded as %s, want %s", got, want)
		}
	})
}
