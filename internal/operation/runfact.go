package operation

import (
	"slices"
	"time"
)

// Answers to a question about a run itself.
const (
	AnswerReuse    Answer = "reuse"    // rely on the operation that exists, with its content
	AnswerSecond   Answer = "second"   // a deliberate second operation with its own identity and approval
	AnswerContinue Answer = "continue" // go on although an earlier stage failed or was closed without proof
	AnswerStop     Answer = "stop"     // withdraw what is not yet sent
	AnswerRetry    Answer = "retry"    // start again from where it stands
)

// Reasons of runs and events.
const (
	ReasonAborted      Reason = "execution_aborted" // a person stopped the execution
	ReasonStageFailed  Reason = "stage_failed"
	ReasonDataRejected Reason = "data_rejected"
	ReasonRunAgain     Reason = "run_again"
	ReasonAnswered     Reason = "answered"
	ReasonLaunch       Reason = "launch"
	ReasonFlowMissing  Reason = "flow_missing"
	ReasonRunMissing   Reason = "run_missing"   // no run that could carry the operation on knows it
	ReasonEventMissing Reason = "event_missing" // the event, or its body, is not in the ledger
	ReasonStateFailed  Reason = "state_failed"
	ReasonSameKey      Reason = "same_key_other_content" // another event already asked for this, with other content
	ReasonStageWaits   Reason = "waits_for_stage"        // an earlier stage of the run is not settled
)

// Ended says that nothing is left to do for the run.
func (r *Run) Ended() bool {
	return r.Status == RunDone || r.Status == RunNotApplicable || r.Status == RunStopped
}

// Launch is the step of a run whose execution should be running.
func (r *Run) Launch(now Time) {
	r.Step = Step{Action: ActionWait, Reason: ReasonLaunch, Due: now.Add(stepGrace), Owner: r.Owner}
}

// Planned pins the plan's version and stages.
func (r *Run) Planned(version int, stages []StageRef, now Time) {
	r.Version, r.Stages = version, stages
	r.note(Evidence{Kind: EvidencePlanned, At: now})
	r.Launch(now)
}

// Hold stops the run for a person. It is false when the run is held for that reason already, or ended.
func (r *Run) Hold(why Reason, now Time) bool {
	if r.Ended() || (r.Status == RunHeld && r.Reason == why) {
		return false
	}
	if r.HeldSince == 0 {
		r.HeldSince = now
	}
	r.Status, r.Reason = RunHeld, why
	r.Step = Step{Action: ActionAsk, Reason: why, Due: now.Add(RemindEvery), Owner: r.Owner}
	r.note(Evidence{Kind: EvidenceAsked, At: now, Detail: string(why)})
	return true
}

// Finish ends the run. It is false when it has ended already.
func (r *Run) Finish(end RunStatus, why Reason, now Time) bool {
	if r.Ended() {
		return false
	}
	r.unhold(now)
	r.Status, r.Reason, r.Finished, r.Question = end, why, now, nil
	r.Step = Step{Action: ActionDone, Reason: why, Owner: r.Owner}
	return true
}

func (r *Run) unhold(now Time) {
	if r.HeldSince != 0 {
		r.HeldFor += max(int64(now-r.HeldSince), 0)
		r.HeldSince = 0
	}
}

// Relaunch opens the next generation: the execution of the one before has ended, or a decision needs one. A run that
// has ended stays ended.
func (r *Run) Relaunch(why Reason, now Time) bool {
	if r.Ended() {
		return false
	}
	r.unhold(now)
	r.Status, r.Reason, r.Missing = RunStarted, "", nil
	r.Generation++
	r.Failures = 0
	r.Launched = 0
	r.note(Evidence{Kind: EvidenceRelaunched, At: now, Detail: string(why)})
	r.Launch(now)
	return true
}

// Caught says that a state of the execution failed, and answers when its next step is due: first, then twice as late
// with each further failure since the generation began, and never later than most.
func (r *Run) Caught(now Time, first, most time.Duration) Time {
	r.Failures++
	wait := first << min(r.Failures-1, 16)
	if wait > most || wait <= 0 {
		wait = most
	}
	until := now.Add(wait)
	r.Step = Step{Action: ActionWait, Reason: ReasonStateFailed, Due: until.Add(stepGrace), Owner: r.Owner}
	return until
}

// Close ends the event.
func (e *Event) Close(s EventStatus, now Time) {
	e.Status, e.HeldSince = s, 0
	e.Step = Step{Action: ActionDone, Reason: ReasonClosed, Owner: e.Owner}
}

// Await makes the event due: its runs are to be made and planned.
func (e *Event) Await(now Time) {
	e.Status, e.Reason = EventReceived, ""
	e.Step = Step{Action: ActionWait, Reason: ReasonLaunch, Due: now.Add(stepGrace), Owner: e.Owner}
}

// Hold stops the event for its owner.
func (e *Event) Hold(why Reason, now Time) {
	if e.HeldSince == 0 {
		e.HeldSince = now
	}
	e.Status, e.Reason = EventHeld, why
	e.Step = Step{Action: ActionAsk, Reason: why, Due: now.Add(RemindEvery), Owner: e.Owner}
	e.Evidence = append(e.Evidence, Evidence{Kind: EvidenceAsked, At: now, Detail: string(why)})
}

// Decide is a person's word about a held event: release it to be planned at once, or refuse it.
func (e *Event) Decide(release bool, by Person, how string, now Time) bool {
	if e.Status != EventHeld || (release && len(e.Flows) == 0) {
		return false
	}
	detail := "refused: " + how
	if release {
		detail = "released: " + how
		e.Await(now)
		e.Step.Due, e.HeldSince = now, 0
	} else {
		e.Close(EventRefused, now)
	}
	e.Evidence = append(e.Evidence, Evidence{Kind: EvidenceCheckAgain, At: now, By: by, Detail: detail})
	return true
}

// Supplied closes the question about missing data because another notification of the event has it: the run is
// planned again by its next generation.
func (r *Run) Supplied(now Time) bool {
	if r.Question != nil {
		q := *r.Question
		q.Decision = &Decision{Answer: AnswerSuperseded, At: now}
		r.Answered, r.Question = append(r.Answered, q), nil
	}
	return r.Relaunch(ReasonAnswered, now)
}

// Again reopens a run for a person who pressed "run again"; finished operations are reused by it.
func (r *Run) Again(by Person, now Time) bool {
	if r.Status == RunNotApplicable {
		return false
	}
	r.Status, r.Finished = RunStarted, 0
	r.note(Evidence{Kind: EvidenceCheckAgain, At: now, By: by, Detail: string(ReasonRunAgain)})
	return r.Relaunch(ReasonRunAgain, now)
}

// note appends to the run's story; it is bounded by folding equal entries and dropping the oldest re-launches.
func (r *Run) note(e Evidence) {
	if n := len(r.Evidence); n > 0 {
		last := &r.Evidence[n-1]
		if last.Kind == e.Kind && last.By == e.By && last.Detail == e.Detail {
			last.Count, last.Last = max(last.Count, 1)+1, e.At
			return
		}
	}
	if len(r.Evidence) >= EvidenceBound {
		for i := range r.Evidence {
			if r.Evidence[i].By == "" {
				r.Evidence = slices.Delete(r.Evidence, i, i+1)
				break
			}
		}
	}
	r.Evidence = append(r.Evidence, e)
}

// RunChoices lists the answers to a run's open question.
func RunChoices(r *Run) []Choice {
	if r.Question == nil {
		return nil
	}
	var answers []Answer
	switch r.Question.Reason {
	case ReasonSameKey, ReasonOtherContent: // the second one: asked by an earlier release
		answers = []Answer{AnswerReuse, AnswerSecond, AnswerStop}
	case ReasonPersonClosed, ReasonStageFailed, ReasonAttemptsSpent:
		answers = []Answer{AnswerContinue, AnswerStop}
	default:
		answers = []Answer{AnswerRetry, AnswerStop}
	}
	out := make([]Choice, len(answers))
	for i, a := range answers {
		out[i] = Choice{Answer: a, Legal: true}
	}
	return out
}

// AskAboutRun puts a question about the run itself. It is false when the same question stands.
func AskAboutRun(r *Run, q Question, now Time) bool {
	if r.Ended() || r.Question != nil {
		return false
	}
	q.Kind, q.Asked, q.Round = QuestionResolve, now, len(r.Answered)+1
	r.Question = &q
	return true
}

// DecideRun checks who answers what about a run and keeps the decision; its caller carries it out on stages and
// operations in the same or a following write.
func DecideRun(r *Run, d Decided) *Refusal {
	q := r.Question
	if q == nil || q.ID != d.Question {
		for i := range r.Answered {
			if r.Answered[i].ID == d.Question {
				return &Refusal{Reason: ReasonDecided, Standing: r.Answered[i].Decision}
			}
		}
		return refuse(ReasonNoQuestion)
	}
	switch {
	case d.Round != q.Round:
		return refuse(ReasonOtherRound)
	case d.Rev != r.Rev:
		return refuse(ReasonOtherRevision)
	case d.By == "" || !slices.Contains(q.Reviewers, d.By):
		return refuse(ReasonNotReviewer)
	case !slices.ContainsFunc(RunChoices(r), func(c Choice) bool { return c.Answer == d.Answer }):
		return refuse(ReasonNotLegal)
	case d.How == "":
		return refuse(ReasonWordMissing)
	}
	done := *q
	done.Decision = &Decision{Answer: d.Answer, By: d.By, At: d.At, How: d.How, Minutes: d.Minutes}
	r.Answered, r.Question = append(r.Answered, done), nil
	r.note(Evidence{Kind: EvidenceCheckAgain, At: d.At, By: d.By, Detail: string(d.Answer) + ": " + d.How})
	r.Step = Step{Action: ActionWait, Reason: ReasonAnswered, Due: d.At.Add(stepGrace), Owner: r.Owner}
	carryOutOnStages(r, d.Answer)
	return nil
}

func carryOutOnStages(r *Run, a Answer) {
	for i := range r.Stages {
		s := &r.Stages[i]
		switch {
		case a == AnswerReuse && s.Conflict:
			s.Conflict, s.Reused = false, true
		case a == AnswerContinue:
			s.Continue = true
		}
	}
}
