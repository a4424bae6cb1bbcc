package samtemplate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/samtemplate"
)

const small = `
Parameters:
  Owner: { Type: String }
  Url: { Type: String, Default: "" }
Conditions:
  OwnUrl: !Not [!Equals [!Ref Url, ""]]
Globals:
  Function:
    Timeout: 10
    Environment:
      Variables:
        TABLE: !Ref Ledger
        OWNER: { Ref: Owner }
        URL: !If [OwnUrl, !Ref Url, !Sub "${Api.ApiEndpoint}/review"]
Resources:
  Ledger: { Type: AWS::DynamoDB::Table }
  Api: { Type: AWS::Serverless::HttpApi }
  Hook:
    Type: AWS::Serverless::Function
    Properties:
      Timeout: 20
      Environment: { Variables: { ARN: !Sub "arn:${AWS::Partition}:x:${!literal}", TABLE: !GetAtt Ledger.Arn } }
      Events:
        B: { Type: HttpApi, Properties: { ApiId: !Ref Api, Method: post, Path: "/b/{id}" } }
        A: { Type: HttpApi, Properties: { ApiId: !Ref Api, Method: GET, Path: "/b/{id}" } }
        Clock: { Type: ScheduleV2, Properties: { ScheduleExpression: rate(1 minute) } }
  Quiet: { Type: AWS::Serverless::Function }
`

func TestRoutes(t *testing.T) {
	t.Parallel()
	got, err := samtemplate.Routes([]byte(small))
	if err != nil {
		t.Fatal(err)
	}
	want := []samtemplate.Route{{Method: "GET", Path: "/b/{id}", Function: "Hook"}, {Method: "POST", Path: "/b/{id}", Function: "Hook"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestFunctions_OwnSettingsComeBeforeGlobalOnes(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		known samtemplate.Values
		want  map[string]map[string]string
	}{
		"defaults": {
			known: samtemplate.Values{"Ledger": "table-1", "Ledger.Arn": "arn:table-1", "Owner": "o@example.com", "Api.ApiEndpoint": "http://localhost", "AWS::Partition": "aws"},
			want: map[string]map[string]string{
				"Hook 20":  {"TABLE": "arn:table-1", "OWNER": "o@example.com", "URL": "http://localhost/review", "ARN": "arn:aws:x:${!literal}"},
				"Quiet 10": {"TABLE": "table-1", "OWNER": "o@example.com", "URL": "http://localhost/review"},
			},
		},
		"a parameter turns the condition": {
			known: samtemplate.Values{"Ledger": "t", "Ledger.Arn": "a", "Owner": "o", "AWS::Partition": "aws", "Url": "https://example.com"},
			want: map[string]map[string]string{
				"Hook 20":  {"TABLE": "a", "OWNER": "o", "URL": "https://example.com", "ARN": "arn:aws:x:${!literal}"},
				"Quiet 10": {"TABLE": "t", "OWNER": "o", "URL": "https://example.com"},
			},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, environments(t, small, tt.known)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func environments(t *testing.T, text string, known samtemplate.Values) map[string]map[string]string {
	t.Helper()
	parsed, err := samtemplate.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	functions, err := parsed.Functions()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]map[string]string{}
	for _, f := range functions {
		env, err := parsed.Environment(f, known)
		if err != nil {
			t.Fatal(err)
		}
		got[f.ID+map[int]string{10: " 10", 20: " 20"}[f.TimeoutS]] = env
	}
	return got
}

func TestEnvironment_NamesEverythingThatIsMissing(t *testing.T) {
	t.Parallel()
	parsed, err := samtemplate.Parse([]byte(small))
	if err != nil {
		t.Fatal(err)
	}
	functions, err := parsed.Functions()
	if err != nil {
		t.Fatal(err)
	}
	_, err = parsed.Environment(functions[0], nil)
	for _, name := range []string{"Owner", "Ledger.Arn", "Api.ApiEndpoint", "AWS::Partition"} {
		if err == nil || !strings.Contains(err.Error(), `"`+name+`"`) {
			t.Errorf("the error does not name %s: %v", name, err)
		}
	}
}

// A condition that needs itself ended the process; many conditions that each use the one before twice took for ever.
func TestEnvironment_ConditionsThatUseConditions(t *testing.T) {
	t.Parallel()
	text := strings.Builder{}
	text.WriteString("Conditions:\n  Own: !Equals [!If [Loop, x, y], z]\n  Loop: !Not [!Equals [!If [Own, x, y], z]]\n  C0: !Equals [a, a]\n")
	for n := 1; n <= 60; n++ {
		fmt.Fprintf(&text, "  C%d: !Equals [!If [C%d, x, y], !If [C%d, x, y]]\n", n, n-1, n-1)
	}
	text.WriteString("Resources:\n  F: { Type: AWS::Serverless::Function, Properties: { Timeout: 1, Environment: { Variables: { V: !If [C60, yes, no] } } } }\n")
	text.WriteString("  G: { Type: AWS::Serverless::Function, Properties: { Timeout: 1, Environment: { Variables: { V: !If [Loop, yes, no] } } } }\n")
	parsed, err := samtemplate.Parse([]byte(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	functions, err := parsed.Functions()
	if err != nil {
		t.Fatal(err)
	}
	got, err := parsed.Environment(functions[0], nil)
	if diff := cmp.Diff(map[string]string{"V": "yes"}, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if _, err := parsed.Environment(functions[1], nil); err == nil || !strings.Contains(err.Error(), "it needs itself") {
		t.Errorf("a condition that needs itself: %v", err)
	}
}

func TestWhatIsNotUnderstoodIsRefused(t *testing.T) {
	t.Parallel()
	event := func(method, path string) string {
		return "Resources: { F: { Type: AWS::Serverless::Function, Properties: { Events: { E: { Type: HttpApi, Properties: { Method: " +
			method + ", Path: \"" + path + "\" } } } } } }"
	}
	tests := map[string]struct{ text, want string }{
		"empty":            {"", "must have Resources"},
		"no resources":     {"Outputs: { A: b }", "no Resources"},
		"no type":          {"Resources: { A: { Properties: {} } }", "A has no Type"},
		"unknown function": {"Resources:\n  A: { Type: x, Properties: { B: !ImportValue c } }", "line 2: !ImportValue is not understood"},
		"unknown long":     {"Resources:\n  A: { Type: x, Properties: { B: { \"Fn::Join\": [] } } }", "line 2: !Join is not understood"},
		"not alone":        {"Resources:\n  A: { Type: x, Properties: { B: { Ref: c, D: e } } }", "line 2: Ref must stand alone"},
		"alias":            {"A: &a b\nC: *a\nResources: { A: { Type: x } }", "line 2: anchors and aliases"},
		"twice":            {"Resources: { A: { Type: x, Type: y } }", "Type"},
		"method":           {event("ANY", "/a"), `method "ANY": use one of`},
		"relative path":    {event("GET", "a"), `path "a": write one that begins with /`},
		"greedy path":      {event("GET", "/{rest+}"), "takes whole segments"},
		"same route twice": {strings.Replace(small, "Method: GET", "Method: POST", 1), "POST /b/{id} goes to Hook and to Hook"},
		"deep":             {strings.Repeat("[", 60) + strings.Repeat("]", 60), "nested deeper than 40"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := samtemplate.Routes([]byte(tt.text))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
}
