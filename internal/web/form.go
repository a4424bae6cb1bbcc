package web

import (
	"encoding/base64"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"holdfast/internal/approval"
	"holdfast/internal/ledger"
	"holdfast/internal/operation"
	"holdfast/internal/target"
)

// Bounds of what a person sends.
const (
	formBytesMax = 64 << 10
	howBytesMax  = 2000
	minutesMax   = 24 * 60
)

// typed is what a person wrote into a form; it is given back to them when something is missing. It never holds the code.
type typed struct {
	Form, Answer, Reference, How, Minutes string
}

func formOf(req events.APIGatewayV2HTTPRequest) (url.Values, error) {
	body := req.Body
	if req.IsBase64Encoded {
		raw, err := base64.StdEncoding.DecodeString(body)
		if err != nil {
			return nil, err
		}
		body = string(raw)
	}
	if len(body) > formBytesMax {
		return nil, errors.New("form too large")
	}
	return url.ParseQuery(body)
}

func typedOf(form url.Values) typed {
	return typed{
		Form: form.Get("form"), Answer: form.Get("answer"), Reference: strings.TrimSpace(form.Get("reference")),
		How: strings.TrimSpace(form.Get("how")), Minutes: strings.TrimSpace(form.Get("minutes")),
	}
}

// narrow is the link with only the operations that the form answers for. An answer that names none, or one that the
// link is not about, is no answer.
func narrow(link ledger.Link, form url.Values) (ledger.Link, bool) {
	if len(link.Operations) == 0 {
		return link, true
	}
	var ids []operation.ID
	for id := range strings.FieldsSeq(form.Get("for")) {
		if !slices.Contains(link.Operations, operation.ID(id)) || slices.Contains(ids, operation.ID(id)) {
			return link, false
		}
		ids = append(ids, operation.ID(id))
	}
	link.Operations = ids
	return link, len(ids) > 0
}

// inputOf reads the form of a decision. Its second result says what the person has to fill in.
func inputOf(link ledger.Link, form url.Values) (approval.Input, string) {
	t := typedOf(form)
	in := approval.Input{
		Code: form.Get("code"), Answer: operation.Answer(t.Answer), Reference: operation.Reference(t.Reference), How: t.How,
		Seen: map[string]approval.Seen{},
	}
	if in.Answer != operation.AnswerExists {
		in.Reference = "" // it belongs to no other answer
	}
	minutes, err := strconv.Atoi(t.Minutes)
	if t.Minutes != "" && (err != nil || minutes < 0 || minutes > minutesMax) {
		return in, "Minutes of work must be a whole number from 0 to 1440."
	}
	in.Minutes = minutes
	ids := []string{string(link.Run)}
	if len(link.Operations) > 0 {
		ids = ids[:0]
		for _, id := range link.Operations {
			ids = append(ids, string(id))
		}
	}
	for _, id := range ids {
		rev, err := strconv.ParseInt(form.Get("rev."+id), 10, 64)
		if err != nil {
			return in, "The form does not say which state you saw. Open the page again."
		}
		in.Seen[id] = approval.Seen{Digest: operation.Digest(form.Get("digest." + id)), Rev: rev}
	}
	return in, missing(in)
}

func missing(in approval.Input) string {
	switch {
	case in.Answer == "":
		return "Choose an answer."
	case strings.TrimSpace(in.Code) == "":
		return "Type the code that was sent to you apart from the link."
	case in.Answer == operation.AnswerExists && in.Reference == "":
		return "Give the target's reference of what exists."
	case in.Answer == operation.AnswerExists && target.CheckReference(in.Reference) != nil:
		return "A reference is the target's own id: 1 to 256 visible characters without spaces. Copy it from the target."
	case needsHow(in.Answer) && in.How == "":
		return "Say how you know, or why."
	case len(in.How) > howBytesMax:
		return "Say it in at most 2000 bytes."
	}
	return ""
}

func needsHow(a operation.Answer) bool {
	switch a {
	case operation.AnswerApprove, operation.AnswerDecline, operation.AnswerExists, operation.AnswerCheckAgain:
		return false
	}
	return true
}
