package target

import (
	"fmt"
	"io/fs"
	"net/textproto"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"holdfast/internal/operation"
)

const (
	timeoutMin   = time.Second
	timeoutMax   = 60 * time.Second
	waitMax      = 30 * 24 * time.Hour
	attemptsMax  = operation.AttemptsBound
	rulesMax     = 64
	fieldsMax    = 64
	profilesMax  = 100
	versionMax   = 1 << 20
	lookupsMax   = 50
	fieldSizeMax = valueBytesMax
)

var (
	secretShape = regexp.MustCompile(`^[a-z][a-z0-9-]{0,63}$`)
	fieldShape  = regexp.MustCompile(`^[a-z][a-z0-9_]{0,47}$`)
)

// Load reads every *.yaml file in the root of a file system as a profile, sorted by name. All faults of all files
// are reported at once.
func Load(files fs.FS) ([]*Profile, error) {
	names, err := fs.Glob(files, "*.yaml")
	if err != nil || len(names) > profilesMax {
		return nil, fmt.Errorf("the folder of profiles cannot be listed or has more than %d files: %v", profilesMax, err)
	}
	var out []*Profile
	all := &source{}
	for _, name := range names {
		src, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("profile %s cannot be read: %w", name, err)
		}
		p, err := Parse(name, src)
		if err != nil {
			all.faults = append(all.faults, err)
			continue
		}
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b *Profile) int { return strings.Compare(a.Name, b.Name) })
	return out, all.err()
}

// Parse reads one profile. The profile's name must be the file's, so that one name has one file. The error joins
// one *Fault for each mistake.
func Parse(file string, src []byte) (*Profile, error) {
	s := &source{file: file}
	root := s.root(src)
	if root == nil {
		return nil, s.err()
	}
	o := s.object(root, "profile")
	p := o.profile()
	if len(s.faults) == 0 {
		o.check(p)
	}
	if want := strings.TrimSuffix(path.Base(file), ".yaml"); p.Name != "" && p.Name != want {
		s.fault(o.at["profile"], "profile %q must stand in a file of its own name, %s.yaml", p.Name, p.Name)
	}
	if len(s.faults) > 0 {
		return nil, s.err()
	}
	return p, nil
}

func (o object) profile() *Profile {
	p := &Profile{
		Name:     o.matching("profile", nameShape, "lower-case letters, digits and '-', at most 48"),
		Version:  o.number("version", 1, versionMax),
		Title:    o.text("title"),
		Summary:  o.text("summary"),
		Contract: o.optional("contract"),
		Timeout:  o.duration("timeout", timeoutMin, timeoutMax),
	}
	p.Destination = o.destination()
	p.Auth = o.auth()
	p.Content = o.fields()
	if c, ok := o.child("request", "call"); ok {
		p.Request = c.call(methods, requestNames(p))
	} else {
		o.missing("request")
	}
	p.Answers = o.rules()
	p.Protection = o.protection()
	p.Lookup = o.lookup()
	p.Feed, p.Rate = o.feed(), o.rate()
	p.Retry, p.Recovery = o.retry(), o.recovery()
	return p
}

func requestNames(p *Profile) []string {
	out := []string{"operation", "account", "api_version"}
	for _, f := range p.Content {
		out = append(out, "content."+f.Name)
	}
	return out
}

func (o object) destination() Destination {
	d, ok := o.child("destination", "destination")
	if !ok {
		o.missing("destination")
		return Destination{}
	}
	out := Destination{Base: d.text("base_url"), Account: d.optional("account"), APIVersion: d.optional("api_version")}
	if out.Base == "configured" {
		out.Base = ""
	} else if err := checkBase(out.Base); err != nil || !strings.HasPrefix(out.Base, "https://") {
		d.s.fault(d.node, `base_url must be an https address without a final slash, or "configured" when every user has another`)
	}
	return out
}

func (o object) auth() Auth {
	a, ok := o.child("auth", "auth")
	if !ok {
		o.missing("auth")
		return Auth{}
	}
	kind := AuthKind(a.oneOf("kind", string(AuthNone), string(AuthBearer), string(AuthHeader), string(AuthClientCredentials), string(AuthRefreshToken)))
	out := Auth{Kind: kind, Claim: a.claim(), Scope: a.optional("scope")}
	needs := map[AuthKind][]string{
		AuthBearer: {"secret"}, AuthHeader: {"secret", "header"},
		AuthClientCredentials: {"secret", "client_id", "token_url"}, AuthRefreshToken: {"secret", "client_id", "token_url", "refresh_token"},
	}[kind]
	for _, key := range []string{"secret", "header", "client_id", "token_url", "refresh_token"} {
		if needed := slices.Contains(needs, key); needed {
			a.text(key)
		} else if a.has(key) {
			a.s.fault(a.at[key], "auth of kind %s has no %s", kind, key)
		}
	}
	out.Secret, out.ClientID, out.Refresh = a.secretName("secret"), a.secretName("client_id"), a.secretName("refresh_token")
	out.Header = textproto.CanonicalMIMEHeaderKey(a.optional("header"))
	if out.Header != "" && !headerName.MatchString(out.Header) {
		a.s.fault(a.at["header"], "header must be a header's name")
	}
	out.TokenURL = a.optional("token_url")
	if u := out.TokenURL; u != "" && !strings.HasPrefix(u, "https://") && !strings.HasPrefix(u, "/") {
		a.s.fault(a.at["token_url"], "token_url must be an https address, or a path that begins with / under the destination")
	}
	return out
}

func (o object) secretName(key string) string {
	v := o.optional(key)
	if v != "" && !secretShape.MatchString(v) {
		o.s.fault(o.at[key], "%s must be the name of a secret (lower-case letters, digits, '-'), never the secret itself", key)
	}
	return v
}

func (o object) fields() []Field {
	var out []Field
	seen := map[string]bool{}
	for _, n := range o.bounded("content", fieldsMax) {
		f := o.s.object(n, "field")
		field := Field{
			Name: f.matching("name", fieldShape, "lower-case letters, digits and '_'"),
			Type: FieldType(f.oneOf("type", string(FieldString), string(FieldInteger), string(FieldNumber), string(FieldBoolean), string(FieldStrings), string(FieldObject))),
		}
		field.Required = f.flag("required")
		if f.has("max") {
			field.Max = f.number("max", 1, fieldSizeMax)
		}
		if seen[field.Name] {
			f.s.fault(n, "field %q is there twice", field.Name)
		}
		seen[field.Name] = true
		out = append(out, field)
	}
	return out
}

func (o object) bounded(key string, bound int) []*yaml.Node {
	list := o.list(key)
	if len(list) > bound {
		o.s.fault(o.at[key], "%s has %d items, allowed are %d", key, len(list), bound)
		return list[:bound]
	}
	return list
}

func (o object) retry() Retry {
	r, ok := o.child("retry", "retry")
	if !ok {
		o.missing("retry")
		return Retry{}
	}
	out := Retry{
		Attempts: r.number("attempts", 1, attemptsMax),
		First:    r.duration("first", time.Second, waitMax),
		Max:      r.duration("max", time.Second, waitMax),
		Factor:   float64(r.number("factor", 1, 10)),
	}
	if out.Max < out.First {
		r.s.fault(r.node, "retry: max is below first")
	}
	return out
}

func (o object) recovery() Recovery {
	r, ok := o.child("recovery", "recovery")
	if !ok {
		o.missing("recovery")
		return Recovery{}
	}
	out := Recovery{Replays: r.number("replays", 0, attemptsMax), Quiet: r.duration("quiet", time.Second, waitMax)}
	if r.oneOf("order", "look_up", "replay") == "replay" {
		out.Order = operation.OrderReplay
	}
	return out
}

func (o object) rate() *Rate {
	r, ok := o.child("rate", "rate")
	if !ok {
		return nil
	}
	return &Rate{Requests: r.number("requests", 1, 1<<20), Per: r.duration("per", time.Second, 24*time.Hour), Claim: r.claim()}
}

func (o object) feed() *Feed {
	f, ok := o.child("feed", "feed")
	if !ok {
		return nil
	}
	return &Feed{Event: f.text("event"), Joins: f.text("joins"), Proves: f.text("proves"), Claim: f.claim()}
}
