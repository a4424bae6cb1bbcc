package target

import "net/url"

// Advice is what a person is told who has to find out what happened in a target. It holds no secret.
type Advice struct {
	Mark      string // where our own id stands in the effect; "" when nothing of that kind is documented
	Ask       string // the request that finds the effect, with ${operation} and ${api_version} in it; "" when there is none
	Protected string // what the target does about repeats
	Lost      string // what is done when the answer is lost
}

// Advice gives the words of a profile.
func (p *Profile) Advice() Advice {
	a := Advice{Protected: "protected by " + p.protectedBy(), Lost: p.lostAtLength()}
	if p.Protection.From == NaturalOperation {
		a.Mark = p.Protection.Natural
	}
	if p.Lookup != nil {
		a.Ask = p.Lookup.Call.Method + " " + p.Lookup.Call.Path.source()
		for i, q := range p.Lookup.Call.Query {
			sign := "&"
			if i == 0 {
				sign = "?"
			}
			a.Ask += sign + url.QueryEscape(q.name) + "=" + q.value.source()
		}
	}
	return a
}

// Mark is the text that stands in a request until the hole is filled.
func (h Hole) Mark() string {
	if h.Stage == "" {
		return markKey
	}
	return HoleReference(h.Stage)
}
