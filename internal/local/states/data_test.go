package states_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/local/states"
)

func TestDataFlow(t *testing.T) {
	t.Parallel()
	in := `{"a":{"b":[10,12345678901234567890]},"n":null,"s":"<&>"}`
	for name, c := range map[string]struct{ definition, want string }{
		"bytes nobody looks into stay as they are": {single(`"Type":"Pass"`), in},
		"InputPath":                 {single(`"Type":"Pass","InputPath":"$.a"`), `{"b":[10,12345678901234567890]}`},
		"InputPath in brackets":     {single(`"Type":"Pass","InputPath":"$['a'].b[1]"`), `12345678901234567890`},
		"InputPath null":            {single(`"Type":"Pass","InputPath":null`), `{}`},
		"OutputPath null":           {single(`"Type":"Pass","OutputPath":null`), `{}`},
		"OutputPath":                {single(`"Type":"Pass","Result":{"x":1},"ResultPath":"$.r","OutputPath":"$.r.x"`), `1`},
		"Result":                    {single(`"Type":"Pass","Result":{"x":1}`), `{"x":1}`},
		"ResultPath null":           {single(`"Type":"Pass","Result":1,"ResultPath":null`), in},
		"ResultPath makes its way":  {single(`"Type":"Pass","Result":1,"ResultPath":"$.r.s","InputPath":"$.a","OutputPath":"$.r"`), `{"s":1}`},
		"ResultPath replaces":       {single(`"Type":"Pass","Result":1,"ResultPath":"$.a"`), `{"a":1,"n":null,"s":"<&>"}`},
		"Parameters":                {single(`"Type":"Pass","Parameters":{"k.$":"$.a.b[1]","c":{"d":[1,{"e.$":"$.s"}]},"whole.$":"$.n"}`), `{"c":{"d":[1,{"e":"<&>"}]},"k":12345678901234567890,"whole":null}`},
		"the context object":        {single(`"Type":"Pass","Parameters":{"n.$":"$$.Execution.Name","s.$":"$$.State.Name","m.$":"$$.StateMachine.Name","i.$":"$$.Execution.Input.s","r.$":"$$.State.RetryCount"}`), `{"i":"<&>","m":"m","n":"e","r":0,"s":"X"}`},
		"a function gets bare data": {taskOf(`,"InputPath":"$.a"`), `{"b":[10,12345678901234567890]}`},
		"ResultSelector":            {taskOf(`,"ResultSelector":{"only.$":"$.s"}`), `{"only":"<&>"}`},
		"invoke wraps":              {single(`"Type":"Task","Resource":"arn:aws:states:::lambda:invoke","Parameters":{"FunctionName":"f","Payload.$":"$.a"},"OutputPath":"$.Payload.b"`), `[10,12345678901234567890]`},
		"invoke has its status":     {single(`"Type":"Task","Resource":"arn:aws:states:::lambda:invoke","Parameters":{"FunctionName":"f","Payload":1}`), `{"ExecutedVersion":"$LATEST","Payload":1,"StatusCode":200}`},
		"a Succeed state filters":   {`{"StartAt":"X","States":{"X":{"Type":"Succeed","OutputPath":"$.s"}}}`, `"<&>"`},
		"the execution's input is never changed": {`{"StartAt":"X","States":{"X":{"Type":"Pass","Result":1,"ResultPath":"$.r","Next":"Y"},
			"Y":{"Type":"Pass","End":true,"Parameters":{"before.$":"$$.Execution.Input.a.b[0]","all.$":"$$.Execution.Input"},"ResultPath":"$.i","OutputPath":"$.i"}}}`,
			`{"all":` + `{"a":{"b":[10,12345678901234567890]},"n":null,"s":"<&>"}` + `,"before":10}`},
		"a constant template is whole": {single(`"Type":"Pass","Parameters":{"a":[],"b":{}}`), `{"a":[],"b":{}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, c.definition, echo)
			d := l.wait(l.start("e", in))
			if diff := cmp.Diff(c.want, string(d.Output)); diff != "" {
				t.Errorf("output (-want +got):\n%s\n%s %s", diff, d.Error, d.Cause)
			}
		})
	}
}

func TestFaultsOfDataEndTheExecution(t *testing.T) {
	t.Parallel()
	all := `,"Catch":[{"ErrorEquals":["States.ALL"],"Next":"Y"}]`
	task := func(fields string) string {
		return `{"StartAt":"X","States":{"X":{"Type":"Task","Resource":"` + function + `","Next":"Y"` + fields + all + `},"Y":{"Type":"Succeed"}}}`
	}
	at := "An error occurred while executing the state 'X' (entered at the event id #2). "
	big := func(context.Context, string, []byte) ([]byte, *states.FunctionError, error) {
		return []byte(`"` + strings.Repeat("x", 262_144) + `"`), nil, nil
	}
	for name, c := range map[string]struct {
		definition  string
		f           invoker
		error, want string
	}{
		"Parameters name nothing": {task(`,"Parameters":{"k.$":"$.no"}`), echo, "States.Runtime", at + "The JSONPath '$.no' specified for the field 'k.$' could not be found in the input '{\"a\":1}'"},
		"a timeout is missing":    {task(`,"TimeoutSecondsPath":"$.no"`), echo, "States.Runtime", at + "Invalid path '$.no'"},
		"a timeout is a word":     {task(`,"TimeoutSecondsPath":"$"`), echo, "States.Runtime", at + "The TimeoutSecondsPath parameter does not reference a whole number"},
		"a choice of nothing":     {rule(`"Variable":"$.no","IsNull":true`), echo, "States.Runtime", at + "Invalid path '$.no': The choice state's condition path references an invalid value."},
		"no choice matches":       {rule(`"Variable":"$.a","NumericEquals":2`), echo, "States.Runtime", at + "Failed to transition out of the state. The state does not point to a next state."},
		"a time that is none":     {single(`"Type":"Wait","TimestampPath":"$.a"`), echo, "States.Runtime", at + "The TimestampPath parameter does not reference a valid ISO-8601 extended offset date-time format string: $.a == 1"},
		"a large answer":          {task(``), big, "States.DataLimitExceeded", "The state/task '" + function + "' returned a result with a size exceeding the maximum number of bytes service limit."},
		"a Fail state":            {`{"StartAt":"X","States":{"X":{"Type":"Fail","Error":"Mine","Cause":"because"}}}`, echo, "Mine", "because"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, c.definition, c.f)
			d := l.wait(l.start("e", `{"a":1}`))
			if d.Status != states.StatusFailed || d.Error != c.error || !strings.HasPrefix(d.Cause, c.want) {
				t.Errorf("%s with %s: %s\nwant %s: %s", d.Status, d.Error, d.Cause, c.error, c.want)
			}
		})
	}
}

func TestChoiceOperators(t *testing.T) {
	t.Parallel()
	in := `{"s":"foo*bar","t":"2026-01-02T03:04:05Z","n":10,"big":9007199254740993,"f":1.5,"b":true,"null":null,"s2":"foo*bar","n2":11,"o":{}}`
	for test, want := range map[string]bool{
		`"Variable":"$.s","StringEquals":"foo*bar"`:                                                           true,
		`"Variable":"$.s","StringEqualsPath":"$.s2"`:                                                          true,
		`"Variable":"$.n","StringEquals":"10"`:                                                                false,
		`"Variable":"$.s","StringLessThan":"g"`:                                                               true,
		`"Variable":"$.s","StringGreaterThan":"g"`:                                                            false,
		`"Variable":"$.s","StringLessThanEquals":"foo*bar"`:                                                   true,
		`"Variable":"$.s","StringGreaterThanEquals":"foo*baz"`:                                                false,
		`"Variable":"$.s","StringMatches":"f*r"`:                                                              true,
		`"Variable":"$.s","StringMatches":"foo\\*bar"`:                                                        true,
		`"Variable":"$.s","StringMatches":"foo\\*"`:                                                           false,
		`"Variable":"$.s","StringMatches":"*o*a*"`:                                                            true,
		`"Variable":"$.s","StringMatches":"foo*bar*r"`:                                                        false,
		`"Variable":"$.n","NumericEquals":10`:                                                                 true,
		`"Variable":"$.n","NumericEquals":10.0`:                                                               true,
		`"Variable":"$.n","NumericLessThanPath":"$.n2"`:                                                       true,
		`"Variable":"$.big","NumericEquals":9007199254740992`:                                                 false,
		`"Variable":"$.f","NumericGreaterThan":1`:                                                             true,
		`"Variable":"$.f","NumericGreaterThanEquals":1.5`:                                                     true,
		`"Variable":"$.f","NumericLessThanEquals":1.4`:                                                        false,
		`"Variable":"$.s","NumericEquals":1`:                                                                  false,
		`"Variable":"$.b","BooleanEquals":true`:                                                               true,
		`"Variable":"$.b","BooleanEqualsPath":"$.n"`:                                                          false,
		`"Variable":"$.t","TimestampEquals":"2026-01-02T04:04:05+01:00"`:                                      true,
		`"Variable":"$.t","TimestampLessThan":"2026-01-02T03:04:05.001Z"`:                                     true,
		`"Variable":"$.t","TimestampGreaterThanEqualsPath":"$.t"`:                                             true,
		`"Variable":"$.s","TimestampLessThanEquals":"2026-01-02T03:04:05Z"`:                                   false,
		`"Variable":"$.no","IsPresent":false`:                                                                 true,
		`"Variable":"$.null","IsPresent":true`:                                                                true,
		`"Variable":"$.null","IsNull":true`:                                                                   true,
		`"Variable":"$.s","IsNull":false`:                                                                     true,
		`"Variable":"$.s","IsString":true`:                                                                    true,
		`"Variable":"$.n","IsNumeric":true`:                                                                   true,
		`"Variable":"$.b","IsBoolean":true`:                                                                   true,
		`"Variable":"$.t","IsTimestamp":true`:                                                                 true,
		`"Variable":"$.s","IsTimestamp":true`:                                                                 false,
		`"Not":{"Variable":"$.s","IsString":true}`:                                                            false,
		`"And":[{"Variable":"$.no","IsPresent":true},{"Variable":"$.no","IsNull":true}]`:                      false,
		`"Or":[{"Variable":"$.n","NumericEquals":1},{"Variable":"$.n","NumericEquals":10}]`:                   true,
		`"Or":[{"Variable":"$.n","NumericEquals":1},{"Not":{"Variable":"$.o","IsPresent":true}}]`:             false,
		`"Variable":"$$.Execution.Name","StringEquals":"e"`:                                                   true,
		`"And":[{"Variable":"$.n","NumericEquals":10},{"Or":[{"Variable":"$.b","BooleanEquals":true}]}]`:      true,
		`"Variable":"$.t","TimestampGreaterThan":"2026-01-02T03:04:05Z"`:                                      false,
		`"Variable":"$.n","NumericGreaterThanPath":"$.s"`:                                                     false,
		`"And":[{"Variable":"$.n","NumericEquals":10},{"Not":{"Variable":"$.s","StringMatches":"*nothing"}}]`: true,
	} {
		t.Run(test, func(t *testing.T) {
			t.Parallel()
			definition := fmt.Sprintf(`{"StartAt":"X","States":{"X":{"Type":"Choice","Choices":[{%s,"Next":"Yes"}],"Default":"No"},
				"Yes":{"Type":"Pass","Result":true,"End":true},"No":{"Type":"Pass","Result":false,"End":true}}}`, test)
			l := newLab(t, definition, echo)
			d := l.wait(l.start("e", in))
			if got := string(d.Output); got != fmt.Sprint(want) {
				t.Errorf("got %q, want %v; %s %s", got, want, d.Error, d.Cause)
			}
		})
	}
}
