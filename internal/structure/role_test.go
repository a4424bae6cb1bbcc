package structure

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/samtemplate"
)

type statement struct {
	sid       string
	actions   []string
	resources []any
}

// statements are what a role allows. A statement that says anything but Allow is an error: this template has none.
func statements(t *testing.T, parsed *samtemplate.Template, role string) []statement {
	t.Helper()
	p := parsed.Resources[role].Properties
	var all []statement
	for _, policy := range list(p["Policies"]) {
		document, _ := policy.(map[string]any)["PolicyDocument"].(map[string]any)
		for _, v := range list(document["Statement"]) {
			m, _ := v.(map[string]any)
			s := statement{sid: at(v, "Sid"), resources: list(m["Resource"])}
			for _, a := range list(m["Action"]) {
				s.actions = append(s.actions, fmt.Sprint(a))
			}
			if at(v, "Effect") != "Allow" || len(s.actions) == 0 || len(s.resources) == 0 {
				t.Errorf("%s: statement %q: want Allow, Action and Resource", role, s.sid)
			}
			all = append(all, s)
		}
	}
	if len(all) == 0 || p["ManagedPolicyArns"] != nil {
		t.Errorf("%s: want statements of its own and no managed policy", role)
	}
	return all
}

// roles are the functions' roles by the functions' short names.
func roles(t *testing.T, parsed *samtemplate.Template) map[string]string {
	t.Helper()
	all := map[string]string{}
	for id, r := range parsed.Resources {
		if r.Type != functionType {
			continue
		}
		name := strings.TrimSuffix(id, "Function")
		if refs := samtemplate.References(r.Properties["Role"]); !slices.Equal(refs, []string{name + "Role"}) || r.Properties["Policies"] != nil {
			t.Errorf("%s: its role is %v; want %sRole, and no policies beside it", id, refs, name)
		}
		all[strings.ToLower(name)] = name + "Role"
	}
	return all
}

func TestNoRoleReachesForEverything(t *testing.T) {
	t.Parallel()
	parsed := read(t)
	for id, r := range parsed.Resources {
		if r.Type != "AWS::IAM::Role" {
			continue
		}
		for _, s := range statements(t, parsed, id) {
			for _, a := range s.actions {
				if strings.Contains(a, "*") {
					t.Errorf("%s: statement %s: action %s", id, s.sid, a)
				}
			}
			// Log delivery has no narrower resource.
			if slices.Contains(s.resources, any("*")) && (id != "RunRole" || s.sid != "LogDelivery") {
				t.Errorf("%s: statement %s: resource *", id, s.sid)
			}
		}
	}
}

// TestWhoMay: for each thing that must stay with few, all who may do it. Anyone over or missing is red.
func TestWhoMay(t *testing.T) {
	t.Parallel()
	everybody := []string{"ask", "execute", "plan", "reconcile", "review", "sweep", "webhook"}
	asks := []string{"ask", "execute", "plan", "reconcile", "sweep"}
	tests := map[string]struct {
		action, resource string // the resource's end
		want             []string
	}{
		"read targets' secrets":        {"ssm:GetParameter", "/targets/*", []string{"execute", "reconcile"}},
		"read sources' secrets":        {"ssm:GetParameter", "/sources/*", []string{"webhook"}},
		"read the codes' key":          {"ssm:GetParameter", "/code-key", []string{"ask", "execute", "plan", "reconcile", "review", "sweep"}},
		"check the identity key":       {"ssm:GetParameter", "/identity-key", everybody},
		"read the ledger":              {"dynamodb:GetItem", "Ledger.Arn", everybody},
		"check whose table it is":      {"dynamodb:DescribeTable", "Ledger.Arn", everybody},
		"read the index":               {"dynamodb:Query", "/index/due", []string{"sweep"}},
		"scan the ledger":              {"dynamodb:Scan", "Ledger.Arn", []string{"sweep"}},
		"delete from the ledger":       {"dynamodb:DeleteItem", "", nil},
		"delete from it in a batch":    {"dynamodb:BatchWriteItem", "", nil},
		"start an execution":           {"states:StartExecution", ":stateMachine:${AWS::StackName}-run", []string{"review", "sweep", "webhook"}},
		"see how an execution stands":  {"states:DescribeExecution", ":execution:${AWS::StackName}-run:*", []string{"review", "sweep"}},
		"wake what waits with a token": {"states:SendTaskSuccess", ":stateMachine:${AWS::StackName}-run", []string{"ask", "review", "sweep"}},
		"stop an execution":            {"states:StopExecution", "", nil},
		"mail people":                  {"ses:SendEmail", ":identity/*", asks},
	}
	parsed := read(t)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, allowed(t, parsed, tt.action, tt.resource)); diff != "" {
				t.Errorf("want (-), template.yaml (+):\n%s", diff)
			}
		})
	}
}

func allowed(t *testing.T, parsed *samtemplate.Template, action, end string) []string {
	t.Helper()
	var who []string
	for name, role := range roles(t, parsed) {
		for _, s := range statements(t, parsed, role) {
			if slices.Contains(s.actions, action) && slices.ContainsFunc(s.resources, func(r any) bool { return strings.HasSuffix(text(r), end) }) {
				who = append(who, name)
				break
			}
		}
	}
	slices.Sort(who)
	return who
}

func text(v any) string {
	if c, ok := v.(samtemplate.Call); ok {
		return fmt.Sprint(c.Arg)
	}
	return fmt.Sprint(v)
}

// TestEveryRoleWritesItsOwnLog: a function writes to the log that its template names, and to no other.
func TestEveryRoleWritesItsOwnLog(t *testing.T) {
	t.Parallel()
	parsed := read(t)
	for name, role := range roles(t, parsed) {
		logs := strings.TrimSuffix(role, "Role") + "Logs"
		if got := allowed(t, parsed, "logs:PutLogEvents", "${"+logs+".Arn}:*"); !slices.Equal(got, []string{name}) {
			t.Errorf("%s is written by %v", logs, got)
		}
		function := strings.TrimSuffix(role, "Role") + "Function"
		if refs := samtemplate.References(parsed.Resources[function].Properties["LoggingConfig"]); !slices.Equal(refs, []string{logs}) {
			t.Errorf("%s logs to %v, want %s", function, refs, logs)
		}
		if parsed.Resources[logs].Properties["RetentionInDays"] == nil {
			t.Errorf("%s is kept for ever", logs)
		}
	}
}
