package states_test

import (
	"errors"
	"strings"
	"testing"

	"holdfast/internal/local/states"
)

func TestRefusedDefinitionsSayWhere(t *testing.T) {
	t.Parallel()
	pass := `"Type":"Pass"`
	for name, c := range map[string]struct{ definition, at, problem string }{
		"empty":                {``, "", "not valid JSON"},
		"not an object":        {`[]`, "", "an object is needed"},
		"twice the same name":  {`{"StartAt":"X","States":{"X":{"Type":"Pass","End":true},"X":{"Type":"Pass","End":true}}}`, "/States/X", "used twice"},
		"no StartAt":           {`{"States":{"X":{"Type":"Succeed"}}}`, "", "StartAt is missing"},
		"StartAt nowhere":      {`{"StartAt":"Y","States":{"X":{"Type":"Succeed"}}}`, "/StartAt", `no state "Y"`},
		"no states":            {`{"StartAt":"X","States":{}}`, "/States", "1 to 1000 states"},
		"an unknown top field": {`{"StartAt":"X","States":{"X":{"Type":"Succeed"}},"Extra":1}`, "/Extra", "not supported"},
		"JSONata":              {`{"StartAt":"X","QueryLanguage":"JSONata","States":{"X":{"Type":"Succeed"}}}`, "/QueryLanguage", "use JSONPath"},
		"JSONata in a state":   {single(`"QueryLanguage":"JSONata",` + pass), "/States/X/QueryLanguage", "use JSONPath"},
		"Map":                  {single(`"Type":"Map"`), "/States/X/Type", "Map is not supported"},
		"Parallel":             {single(`"Type":"Parallel"`), "/States/X/Type", "Parallel is not supported"},
		"an unknown field":     {single(pass + `,"Assign":{}`), "/States/X/Assign", "Assign is not supported"},
		"Next nowhere":         {`{"StartAt":"X","States":{"X":{"Type":"Pass","Next":"Y"}}}`, "/States/X/Next", `no state "Y"`},
		"Next and End":         {`{"StartAt":"X","States":{"X":{"Type":"Pass","Next":"X","End":true}}}`, "/States/X", "exactly one of Next and End"},
		"neither Next nor End": {`{"StartAt":"X","States":{"X":{"Type":"Pass"}}}`, "/States/X", "exactly one of Next and End"},
		"unreachable":          {`{"StartAt":"X","States":{"X":{"Type":"Succeed"},"Y":{"Type":"Succeed"}}}`, "/States/Y", "no path leads"},
		"a long state name":    {`{"StartAt":"X","States":{"X":{"Type":"Succeed"},"` + strings.Repeat("n", 81) + `":{"Type":"Succeed"}}}`, "/States/" + strings.Repeat("n", 81), "1 to 80"},
		"another resource":     {single(`"Type":"Task","Resource":"arn:aws:states:::sqs:sendMessage"`), "/States/X/Resource", "not supported"},
		"a placeholder left":   {single(`"Type":"Task","Resource":"${F}"`), "/States/X/Resource", "nothing was put in"},
		"invoke without name":  {single(`"Type":"Task","Resource":"arn:aws:states:::lambda:invoke","Parameters":{"Payload":1}`), "/States/X/Parameters", "FunctionName"},
		"invoke with more":     {single(`"Type":"Task","Resource":"arn:aws:states:::lambda:invoke","Parameters":{"FunctionName":"f","InvocationType":"Event"}`), "/States/X/Parameters/InvocationType", "not supported"},
		"token elsewhere":      {single(pass + `,"Parameters":{"t.$":"$$.Task.Token"}`), "/States/X/Parameters", "exists only in"},
		"unknown context":      {single(pass + `,"Parameters":{"t.$":"$$.Map.Item"}`), "/States/X/Parameters", "has no $$.Map.Item"},
		"intrinsic function":   {single(pass + `,"Parameters":{"t.$":"States.UUID()"}`), "/States/X/Parameters/t.$", "intrinsic functions"},
		"a filter":             {single(pass + `,"InputPath":"$.a[?(@.b)]"`), "/States/X/InputPath", "brackets"},
		"two dots":             {single(pass + `,"OutputPath":"$..a"`), "/States/X/OutputPath", "plain reference paths"},
		"a wildcard":           {single(pass + `,"ResultPath":"$.*"`), "/States/X/ResultPath", "plain reference paths"},
		"no dollar":            {single(pass + `,"InputPath":"a"`), "/States/X/InputPath", "begins with $"},
		"result into context":  {single(pass + `,"ResultPath":"$$.State"`), "/States/X/ResultPath", "cannot be written"},
		"result into a list":   {single(pass + `,"ResultPath":"$.a[0]"`), "/States/X/ResultPath", "into a list"},
		"both forms of time":   {taskOf(`,"TimeoutSeconds":1,"TimeoutSecondsPath":"$.t"`), "/States/X/TimeoutSeconds", "only one"},
		"a timeout of nothing": {taskOf(`,"TimeoutSeconds":0`), "/States/X/TimeoutSeconds", "from 1 to"},
		"half a second":        {taskOf(`,"TimeoutSeconds":1.5`), "/States/X/TimeoutSeconds", "whole number"},
		"heartbeat too long":   {taskOf(`,"TimeoutSeconds":5,"HeartbeatSeconds":5`), "/States/X/HeartbeatSeconds", "shorter"},
		"ALL is not last":      {taskOf(`,"Retry":[{"ErrorEquals":["States.ALL"]},{"ErrorEquals":["A"]}]`), "/States/X/Retry/0/ErrorEquals/0", "come last"},
		"ALL is not alone":     {taskOf(`,"Retry":[{"ErrorEquals":["A","States.ALL"]}]`), "/States/X/Retry/0/ErrorEquals/1", "stand alone"},
		"backoff below one":    {taskOf(`,"Retry":[{"ErrorEquals":["A"],"BackoffRate":0.5}]`), "/States/X/Retry/0/BackoffRate", "at least 1.0"},
		"no such jitter":       {taskOf(`,"Retry":[{"ErrorEquals":["A"],"JitterStrategy":"HALF"}]`), "/States/X/Retry/0/JitterStrategy", "FULL or NONE"},
		"delay below interval": {taskOf(`,"Retry":[{"ErrorEquals":["A"],"IntervalSeconds":9,"MaxDelaySeconds":9}]`), "/States/X/Retry/0/MaxDelaySeconds", "longer"},
		"catch to nowhere":     {taskOf(`,"Catch":[{"ErrorEquals":["A"],"Next":"Y"}]`), "/States/X/Catch/0/Next", `no state "Y"`},
		"catch without errors": {taskOf(`,"Catch":[{"Next":"X"}]`), "/States/X/Catch/0", "ErrorEquals is missing"},
		"retry on a Pass":      {single(pass + `,"Retry":[]`), "/States/X/Retry", "not supported"},
		"two ways to wait":     {single(`"Type":"Wait","Seconds":1,"Timestamp":"2026-01-01T00:00:00Z"`), "/States/X", "exactly one of Seconds"},
		"a time without zone":  {single(`"Type":"Wait","Timestamp":"2026-01-01T00:00:00"`), "/States/X/Timestamp", "is not a time"},
		"Choice that ends":     {single(`"Type":"Choice","Choices":[{"Variable":"$","IsNull":true,"Next":"X"}]`), "/States/X/End", "not supported"},
		"Choice without rules": {`{"StartAt":"X","States":{"X":{"Type":"Choice"}}}`, "/States/X", "Choices is missing"},
		"no comparison":        {rule(`"Variable":"$.a"`), "/States/X/Choices/0", "comparison is missing"},
		"two comparisons":      {rule(`"Variable":"$.a","IsNull":true,"StringEquals":"b"`), "/States/X/Choices/0/StringEquals", "one comparison"},
		"unknown comparison":   {rule(`"Variable":"$.a","StringLike":"b"`), "/States/X/Choices/0/StringLike", "not supported"},
		"operand of a kind":    {rule(`"Variable":"$.a","NumericEquals":"1"`), "/States/X/Choices/0/NumericEquals", "does not fit"},
		"Next inside And":      {rule(`"And":[{"Variable":"$.a","IsNull":true,"Next":"X"}]`), "/States/X/Choices/0/And/0/Next", "not supported"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := states.Validate([]byte(c.definition))
			var bad *states.DefinitionError
			if !errors.As(err, &bad) {
				t.Fatalf("error %v, want a DefinitionError", err)
			}
			if bad.Path != c.at || !strings.Contains(bad.Problem, c.problem) {
				t.Errorf("refused for %q at %q, want %q at %q", bad.Problem, bad.Path, c.problem, c.at)
			}
		})
	}
}

func rule(fields string) string {
	return `{"StartAt":"X","States":{"X":{"Type":"Choice","Choices":[{` + fields + `,"Next":"Y"}]},"Y":{"Type":"Succeed"}}}`
}

// Whatever the bytes are, the parser answers with a definition or with a place, and what it accepts can be run from.
func FuzzDefinition(f *testing.F) {
	f.Add(`{"StartAt":"X","States":{"X":{"Type":"Succeed"}}}`)
	f.Add(taskOf(`,"Retry":[{"ErrorEquals":["States.ALL"],"BackoffRate":1.5}],"ResultPath":null`))
	f.Add(single(tokenTask + `,"HeartbeatSeconds":3,"TimeoutSecondsPath":"$.t"`))
	f.Add(rule(`"And":[{"Variable":"$.a['b'][0]","IsPresent":true},{"Not":{"Variable":"$.a","StringMatches":"a*\\*"}}]`))
	f.Add(single(`"Type":"Wait","TimestampPath":"$.until"`))
	f.Fuzz(func(t *testing.T, definition string) {
		err := states.Validate([]byte(definition))
		var bad *states.DefinitionError
		if err != nil && (!errors.As(err, &bad) || bad.Problem == "") {
			t.Fatalf("refused without a place and a reason: %v", err)
		}
		if again := states.Validate([]byte(definition)); (again == nil) != (err == nil) || err != nil && again.Error() != err.Error() {
			t.Fatalf("the same definition gave %v and then %v", err, again)
		}
	})
}
