package target

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
)

// Destination is where a target is: the address, the account and the API version. It is part of the content.
type Destination struct {
	Base       string // https, or http on this machine only; no final slash
	Account    string
	APIVersion string
}

// To joins the profile's destination with what configuration says; a field that configuration leaves empty
// keeps the profile's value.
func (p *Profile) To(configured Destination) (Destination, error) {
	d := p.Destination
	if configured.Base != "" {
		d.Base = strings.TrimSuffix(configured.Base, "/")
	}
	if configured.Account != "" {
		d.Account = configured.Account
	}
	if configured.APIVersion != "" {
		d.APIVersion = configured.APIVersion
	}
	if d.Base == "" {
		return Destination{}, fmt.Errorf("target %s has no address of its own: configure one with --target %s=https://…", p.Name, p.Name)
	}
	if err := checkBase(d.Base); err != nil {
		return Destination{}, fmt.Errorf("target %s: %w", p.Name, err)
	}
	return d, nil
}

// ParseOverrides reads NAME=URL texts, as --target gives them, into destinations by profile name.
func ParseOverrides(texts []string) (map[string]Destination, error) {
	out := map[string]Destination{}
	for _, text := range texts {
		name, address, ok := strings.Cut(text, "=")
		if !ok || !nameShape.MatchString(name) {
			return nil, fmt.Errorf("--target %q is not NAME=URL, such as generic-key=http://127.0.0.1:8080", text)
		}
		if _, twice := out[name]; twice {
			return nil, fmt.Errorf("--target names %s twice", name)
		}
		base := strings.TrimSuffix(address, "/")
		if err := checkBase(base); err != nil {
			return nil, fmt.Errorf("--target %s: %w", name, err)
		}
		out[name] = Destination{Base: base}
	}
	return out, nil
}

// checkBase allows https anywhere and http on this machine only, so that neither content nor a secret can leave
// it in the clear.
func checkBase(base string) error {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Hostname() == "" {
		return errors.New("the base address is not an absolute https address")
	}
	if u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.HasSuffix(base, "/") || u.String() != base {
		return errors.New("the base address must be scheme, host, port and path only, without a final slash")
	}
	if u.Scheme == "https" || u.Scheme == "http" && isLoopback(u.Hostname()) {
		return nil
	}
	return errors.New("the base address must be https; http is allowed for 127.0.0.1, [::1] and localhost only")
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
