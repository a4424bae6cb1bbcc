package approval

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"holdfast/internal/ledger"
	"holdfast/internal/notify"
	"holdfast/internal/operation"
)

// invite makes each person's link and sends it, and the code apart from it.
func (d *Desk) invite(ctx context.Context, run operation.Run, q operation.Question, ops []operation.ID, stages []string) error {
	now := d.now()
	expires := q.Expires
	if expires == 0 || q.Kind == operation.QuestionResolve {
		expires = now.Add(holdLinkKept)
	}
	for _, person := range q.Reviewers {
		id, code := ledger.LinkID(d.NewID("l")), d.NewCode()
		link := ledger.Link{
			ID: id, Person: person, Question: q.ID, Operations: ops, Run: run.ID, Created: now,
			Expires: expires.Add(holdLinkKept), CodeHash: d.hash(id, code),
		}
		if _, err := d.Store.CreateLink(ctx, link); err != nil {
			return fmt.Errorf("make a link about %s: %w", run.ID, err)
		}
		if err := d.mail(ctx, &run, link, code, stages); err != nil {
			return err
		}
	}
	return nil
}

func (d *Desk) hash(id ledger.LinkID, code string) string {
	mac := hmac.New(sha256.New, d.CodeKey)
	fmt.Fprintf(mac, "%d:%s%s", len(id), id, code)
	return hex.EncodeToString(mac.Sum(nil))
}

// mail sends the link and the code apart. Their subjects tell runs apart and say nothing about the customer.
func (d *Desk) mail(ctx context.Context, run *operation.Run, link ledger.Link, code string, stages []string) error {
	about := subject(run, stages)
	text := fmt.Sprintf("A run of %s waits for your decision.\n\n%s/%s\n\nThe page shows what would be sent and what is known. Opening it decides nothing.\n"+
		"Your code comes in a message of its own.\n\nRun %s\n", run.Flow, d.Review, link.ID, run.ID)
	if err := d.Notifier.Notify(ctx, notify.Mail{To: string(link.Person), Subject: "Your decision is needed: " + about, Text: text}); err != nil {
		return err
	}
	return d.Notifier.Notify(ctx, notify.Mail{
		To: string(link.Person), Subject: "Your code for " + about,
		Text: fmt.Sprintf("Code: %s\n\nType it on the review page of run %s. It is for you alone.\n", code, run.ID),
	})
}

// runEnd is how many characters of a run's id tell it apart in a subject.
const runEnd = 6

// subject names the flow, what the question is about, and the end of the run's id.
func subject(run *operation.Run, stages []string) string {
	out := run.Flow
	if len(stages) > 0 {
		out += ", " + strings.Join(stages, " and ")
	}
	id := string(run.ID)
	return out + " (run …" + id[max(0, len(id)-runEnd):] + ")"
}

// stagesOf are the stages of the operations that are asked about.
func stagesOf(ops []operation.Operation, ids []operation.ID) []string {
	var out []string
	for i := range ops {
		if slices.Contains(ids, ops[i].ID) {
			out = append(out, ops[i].Stage)
		}
	}
	return out
}

// conflicts are the stages that a question about the run is about: those in conflict, else all.
func conflicts(run *operation.Run) []string {
	var out, all []string
	for _, s := range run.Stages {
		all = append(all, s.Name)
		if s.Conflict {
			out = append(out, s.Name)
		}
	}
	if len(out) == 0 {
		return all
	}
	return out
}
