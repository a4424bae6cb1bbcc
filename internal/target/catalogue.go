package target

import (
	"fmt"
	"strings"
	"time"

	"holdfast/internal/operation"
)

// Catalogue is the page docs/targets.md: for each target what is protected, for how long, and what happens when
// the answer is lost, with the page and the date behind each statement.
func Catalogue(profiles []*Profile) string {
	var out strings.Builder
	out.WriteString(catalogueHead)
	out.WriteString("| target | protected by | when the answer is lost |\n|---|---|---|\n")
	for _, p := range profiles {
		fmt.Fprintf(&out, "| [%s](#%s) | %s | %s |\n", p.Title, p.Name, p.protectedBy(), p.lostInShort())
	}
	for _, p := range profiles {
		p.describe(&out)
	}
	return out.String()
}

const catalogueHead = `# What each target protects, and what happens when its answer is lost

This page is generated from the profiles in ` + "`targets/`" + ` (` + "`go test ./internal/target -run Catalogue -update`" + `); do not edit it.

Each statement about a target ends with where it comes from. Grade A: read in the vendor's own pages; B: the vendor's
page as quoted elsewhere; C: a third party only. What nobody documents is treated as absent. *Accepted* is not
*delivered*.

Two things hold for every target. When no byte of a request was handed to the connection, it is proven that nothing
happened. And an answer that the profile does not list proves nothing: the operation is unknown until the target, its own
event, or a named person tells.

`

func (c Claim) String() string {
	if c.Doc == "contract" {
		return fmt.Sprintf("(your service's contract, %s)", c.Checked)
	}
	return fmt.Sprintf("([%s, checked %s](%s))", "grade "+c.Grade, c.Checked, c.Doc)
}

func (p *Profile) protectedBy() string {
	switch p.Protection.Kind {
	case operation.ProtectionKey:
		return fmt.Sprintf("a key, for %s", span(p.Protection.Window))
	case operation.ProtectionNatural:
		if p.Protection.From == NaturalContent {
			return "a unique value of the content, which others may hold too"
		}
		return "a unique value made from our own id, without end"
	}
	return "nothing"
}

func (p *Profile) lostInShort() string {
	o := p.Policy(Options{})
	switch {
	case o.Protection == operation.ProtectionKey:
		return "sent again under the same key while the window is open, then " + p.askOrHold(o)
	case o.Protection == operation.ProtectionNatural && o.Order == operation.OrderReplay:
		return "sent again: the target keeps one"
	case o.Lookup && o.AbsentCounts && o.Protection == operation.ProtectionNatural:
		return "looked up, sent again when it is not there"
	case o.Lookup:
		return "looked up: found, or held for a person"
	}
	return "held for a person"
}

func (p *Profile) askOrHold(o operation.Policy) string {
	if o.Lookup {
		return "looked up: found, or held for a person"
	}
	return "held for a person"
}

func (p *Profile) describe(out *strings.Builder) {
	fmt.Fprintf(out, "\n## %s\n\n**%s**, version %d. %s\n", p.Name, p.Title, p.Version, p.Summary)
	if p.Contract != "" {
		fmt.Fprintf(out, "\nWhat your service must do:\n\n```text\n%s\n```\n", p.Contract)
	}
	fmt.Fprintf(out, "\n- **Goes to** `%s %s%s`; authentication: %s. %s\n", p.Request.Method, p.address(), p.Request.Path.source(), p.Auth.words(), p.Request.Claim)
	p.describeProtection(out)
	p.describeLookup(out)
	fmt.Fprintf(out, "- **When the answer is lost:** %s.\n", p.lostAtLength())
	if p.Feed != nil {
		fmt.Fprintf(out, "- **The target's own events:** %s, joined by %s; they prove %s. %s\n", p.Feed.Event, p.Feed.Joins, p.Feed.Proves, p.Feed.Claim)
	}
	if p.Rate != nil {
		fmt.Fprintf(out, "- **Limit:** %d requests in %s. %s\n", p.Rate.Requests, span(p.Rate.Per), p.Rate.Claim)
	}
	fmt.Fprintf(out, "- **After a proven refusal that may pass:** at most %d attempts, %s to %s apart. One request ends after %s.\n",
		p.Retry.Attempts, span(p.Retry.First), span(p.Retry.Max), span(p.Timeout))
	p.describeAnswers(out)
}

func (p *Profile) address() string {
	if p.Destination.Base == "" {
		return "https://…"
	}
	return p.Destination.Base
}

func (a Auth) words() string {
	switch a.Kind {
	case AuthBearer:
		return fmt.Sprintf("the secret `%s` as a bearer token", a.Secret)
	case AuthHeader:
		return fmt.Sprintf("the secret `%s` in the header `%s`", a.Secret, a.Header)
	case AuthClientCredentials, AuthRefreshToken:
		return fmt.Sprintf("an OAuth token, asked with the secrets `%s` and `%s`", a.ClientID, a.Secret)
	}
	return "none"
}

func (p *Profile) describeProtection(out *strings.Builder) {
	switch k := p.Protection; k.Kind {
	case operation.ProtectionKey:
		where := "the header `" + k.KeyHeader + "`"
		if k.KeyJSON != "" {
			where = "the body at `" + string(k.KeyJSON) + "`"
		}
		fmt.Fprintf(out, "- **Protected by a key** in %s. %s\n", where, k.KeyClaim)
		fmt.Fprintf(out, "- **The key is remembered for** %s; we rely on it until %s before that. %s\n", span(k.Window), span(k.Margin), k.WindowAt)
	case operation.ProtectionNatural:
		fmt.Fprintf(out, "- **Unique in the target:** %s. %s\n", k.Natural, k.NaturalAt)
		if k.From == NaturalContent {
			fmt.Fprintln(out, "  It is not made from our own id, so it never lets a request be sent again by itself.")
		}
	default:
		fmt.Fprintln(out, "- **Not protected** against repeats.")
	}
	for _, s := range []struct {
		what string
		says *Statement
	}{{"The same with another body", p.Protection.OtherBody}, {"What is stored", p.Protection.Stored}, {"Two at once", p.Protection.Concurrent}} {
		if s.says != nil {
			fmt.Fprintf(out, "- **%s:** %s. %s\n", s.what, s.says.Says, s.says.Claim)
		}
	}
}

func (p *Profile) describeLookup(out *strings.Builder) {
	l := p.Lookup
	if l == nil {
		fmt.Fprintln(out, "- **Cannot be asked** by our id.")
		return
	}
	fmt.Fprintf(out, "- **Can be asked** with `%s %s`, every %s, at most %d times. Found counts only with our own mark on it. %s\n",
		l.Call.Method, l.Call.Path.source(), span(l.Every), l.Max, l.Call.Claim)
	if l.Visible == nil || l.Complete == nil {
		fmt.Fprintln(out, "- **Finding nothing proves nothing:** how soon, or how completely, the target shows an effect is not documented.")
		return
	}
	fmt.Fprintf(out, "- **An effect is visible** within %s %s; %s. %s Finding nothing still settles nothing.\n",
		span(l.Visible.After), l.Visible.Claim, l.Complete.Says, l.Complete.Claim)
}

func (p *Profile) lostAtLength() string {
	o := p.Policy(Options{})
	quiet := fmt.Sprintf("A person can say \"nothing happened\" only after %s, when an effect can no longer appear by itself", span(o.Quiet))
	switch {
	case o.Protection != operation.ProtectionNone && o.Order == operation.OrderReplay:
		text := fmt.Sprintf("the same bytes are sent again, at most %d times; the target keeps one effect and its answer gives the reference. ", o.ReplaysMax)
		if o.Protection == operation.ProtectionKey {
			text += "When the window is over, the key is no longer trusted: " + p.askOrHold(o) + ". "
		}
		return text + quiet
	case o.Lookup && o.AbsentCounts && o.Protection != operation.ProtectionNone:
		return "the target is asked first; what is not there is sent again, and the target keeps one effect. " + quiet
	case o.Lookup:
		return "the target is asked; what it shows with our mark is confirmed, and everything else is held for a named person. Nothing is sent again by itself. " + quiet
	}
	return "it is held for a named person. Nothing is sent again by itself. " + quiet
}

func (p *Profile) describeAnswers(out *strings.Builder) {
	out.WriteString("\n| answer | proves | because |\n|---|---|---|\n")
	words := map[RuleOutcome]string{RuleExecuted: "executed", RuleNotExecuted: "not executed", RuleUnknown: "nothing", RuleConflict: "nothing; somebody holds it already"}
	for _, r := range p.Answers {
		answer := strings.TrimSpace(r.Status.String() + " " + conditionWords(r.Where))
		fmt.Fprintf(out, "| %s | %s | %s |\n", answer, words[r.Outcome], r.Reason+" "+r.Claim.String())
	}
	out.WriteString("| anything else | nothing | not listed |\n")
}

func conditionWords(list []Condition) string {
	var out []string
	for _, c := range list {
		what := "`" + string(c.JSON) + c.Header + "`"
		switch {
		case c.Exists != nil && *c.Exists:
			out = append(out, what+" is there")
		case c.Exists != nil:
			out = append(out, what+" is not there")
		default:
			out = append(out, what+" is "+strings.Join(c.Equals, " or "))
		}
	}
	return strings.Join(out, ", ")
}

func (s statuses) String() string {
	var out []string
	for _, c := range s.codes {
		out = append(out, fmt.Sprint(c))
	}
	for _, c := range s.classes {
		out = append(out, fmt.Sprintf("%dxx", c))
	}
	return strings.Join(out, ", ")
}

// source gives a template back as it was written.
func (t text) source() string {
	var out strings.Builder
	for _, p := range t {
		out.WriteString(p.literal)
		if p.name != "" {
			out.WriteString("${" + p.name + "}")
		}
	}
	return out.String()
}

// span writes a duration as people say it.
func span(d time.Duration) string {
	for _, u := range []struct {
		of   time.Duration
		name string
	}{{24 * time.Hour, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}, {time.Second, "second"}} {
		if d >= u.of && d%u.of == 0 && (u.of != 24*time.Hour || d > u.of) {
			n := int(d / u.of)
			if n == 1 {
				return "1 " + u.name
			}
			return fmt.Sprintf("%d %ss", n, u.name)
		}
	}
	return d.String()
}
