package acceptance

import (
	"context"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"holdfast/internal/local/outbox"
	"holdfast/internal/operation"
)

// decision is what a person sends from the review page.
type decision struct {
	answer    operation.Answer
	reference string
	how       string
}

// invite is a link with the code that was sent apart from it.
type invite struct{ person, link, code string }

var (
	codeLine  = regexp.MustCompile(`(?m)^Code: (\S+)\s*$`)
	formShape = regexp.MustCompile(`(?s)<form\b.*?</form>`)
	tagShape  = regexp.MustCompile(`(?s)<(?:input|button)\b[^>]*>`)
	attrPart  = regexp.MustCompile(`([a-z-]+)(?:="([^"]*)")?`)
)

// invites pairs the links and the codes that each person was sent, oldest first.
func (s *site) invites(ctx context.Context) ([]invite, error) {
	var box struct {
		Messages []outbox.Message `json:"messages"`
	}
	if err := s.json(ctx, http.MethodGet, s.Addresses.Outbox+".json", nil, &box); err != nil {
		return nil, err
	}
	links := map[string]string{}
	var out []invite
	for _, m := range box.Messages {
		person := strings.Join(m.To, ",")
		for _, link := range m.Links {
			if strings.HasPrefix(link, s.Review+"/") {
				links[person] = link
			}
		}
		if code := codeLine.FindStringSubmatch(m.Text); code != nil && links[person] != "" {
			out = append(out, invite{person, links[person], code[1]})
		}
	}
	return out, nil
}

// decide answers the newest question that can be answered so: mail, page, code, form.
func (s *site) decide(ctx context.Context, d decision) error {
	all, err := s.invites(ctx)
	if err != nil {
		return err
	}
	return s.decideBy(ctx, all, d)
}

func (s *site) decideBy(ctx context.Context, all []invite, d decision) error {
	for _, i := range slices.Backward(all) {
		form, ok, err := s.form(ctx, i.link, d.answer)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		form.Set("code", i.code)
		form.Set("answer", string(d.answer))
		form.Set("reference", d.reference)
		form.Set("how", d.how)
		form.Set("minutes", "2")
		status, page, err := s.call(ctx, http.MethodPost, i.link, http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, []byte(form.Encode()))
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("the review page answered %s with %d: %s", d.answer, status, words(page))
		}
		return err
	}
	return fmt.Errorf("no review page of %d offers the answer %s now", len(all), d.answer)
}

// form reads the page of a link; ok says that the answer can be given on it now.
func (s *site) form(ctx context.Context, link string, want operation.Answer) (form url.Values, ok bool, err error) {
	status, page, err := s.call(ctx, http.MethodGet, link, nil, nil)
	if err != nil {
		return nil, false, err
	}
	if status == http.StatusNotFound {
		return nil, false, nil
	}
	if status != http.StatusOK {
		return nil, false, fmt.Errorf("the review page answered %d: %s", status, words(page))
	}
	for _, f := range formShape.FindAllString(string(page), -1) {
		if form, ok = fields(f, want); ok {
			return form, true, nil
		}
	}
	return nil, false, nil
}

// fields are the hidden fields of one form; ok says that it offers the answer.
func fields(text string, want operation.Answer) (form url.Values, ok bool) {
	form = url.Values{}
	for _, tag := range tagShape.FindAllString(text, -1) {
		a := attributes(tag)
		switch _, disabled := a["disabled"]; {
		case a["type"] == "hidden":
			form.Set(a["name"], a["value"])
		case a["name"] == "answer" && a["value"] == string(want) && !disabled:
			ok = true
		}
	}
	return form, ok
}

func attributes(tag string) map[string]string {
	out := map[string]string{}
	for _, m := range attrPart.FindAllStringSubmatch(tag, -1) {
		out[m[1]] = html.UnescapeString(m[2])
	}
	return out
}

var markup = regexp.MustCompile(`(?s)<style.*?</style>|<[^>]*>`)

// words are the first words of a page, for an error.
func words(page []byte) string {
	text := strings.Join(strings.Fields(markup.ReplaceAllString(string(page), " ")), " ")
	return fmt.Sprintf("%.200s", html.UnescapeString(text))
}

// resolve answers what the held run asks as a person would who looked into the simulated target: with the reference
// of the effect that is there, or that nothing is there.
func (s *site) resolve(ctx context.Context, r rest) (string, error) {
	for i := range r.ops {
		op := &r.ops[i]
		if op.Question == nil || op.Status.Settled() {
			continue
		}
		found, err := s.effectsOf(ctx, *op)
		if err != nil {
			return "", err
		}
		if len(found) == 0 {
			return "", fmt.Errorf("%s is held and the target shows no effect of it", op.ID)
		}
		ref := found[0].Reference
		return ref, s.decide(ctx, decision{answer: operation.AnswerExists, reference: ref, how: "found in the simulated target"})
	}
	return "", errors.New("nothing is held by an operation of the run")
}
