package simtarget_test

import (
	"bytes"
	"encoding/json"
	"regexp"
	"testing"

	"holdfast/internal/local/simtarget"
)

func FuzzEncodingIsTheLibrarys(f *testing.F) {
	for _, seed := range []string{`null`, `{"b":[1,2.50,1e400,-0],"a":{"":{}},"c":[]}`, `"<&> \u2028 \" \\ \u0000 \u007f é"`, `[true,false,12345678901234567890]`,
		`{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9,"j":10,"k":11,"l":12,"m":13,"n":14,"o":15,"p":16,"q":17}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.UseNumber()
		var v any
		if dec.Decode(&v) != nil {
			return
		}
		want, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if got := simtarget.AppendJSON(nil, v); string(got) != string(want) {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}

// FuzzOperationMark compares the search with the pattern that defines a mark.
func FuzzOperationMark(f *testing.F) {
	for _, seed := range []string{"op_a", "shop_a op_b", "_op_a", "op_", "op_op_a", "op_-op_1Z.2", "étop_a éop_b", "{\"id\":\"op_17\"}", "xop_op_a"} {
		f.Add(seed)
	}
	mark := regexp.MustCompile(`\bop_[0-9A-Za-z]+`)
	f.Fuzz(func(t *testing.T, text string) {
		if got, want := simtarget.OperationMark(text), mark.FindString(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	})
}
