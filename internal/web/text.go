package web

import (
	"strings"

	"holdfast/internal/approval"
	"holdfast/internal/flow"
	"holdfast/internal/intake"
	"holdfast/internal/operation"
	"holdfast/internal/runner"
)

// sentences are the page's words for each reason; a reason without one is shown by its code.
var sentences = map[operation.Reason]string{
	operation.ReasonNeverSent:         "nothing was ever sent.",
	operation.ReasonNotExecuted:       "every earlier attempt is proven not executed.",
	operation.ReasonAttested:          "a named person attested that nothing happened.",
	operation.ReasonProtected:         "the target collapses a repeat.",
	operation.ReasonOutcomeUnknown:    "nobody knows yet whether it happened; the target is asked.",
	operation.ReasonLastLookup:        "the target is asked once more before it is sent again.",
	operation.ReasonAttemptRunning:    "an attempt may still be running.",
	operation.ReasonBackoff:           "it waits, as the target's policy says.",
	operation.ReasonNotVisible:        "finding nothing does not count yet.",
	operation.ReasonConfirmed:         "it is confirmed.",
	operation.ReasonConfirmedByOther:  "it is confirmed, but another attempt is still open: it may have had an effect too.",
	operation.ReasonClosed:            "it is closed.",
	operation.ReasonApprovalMissing:   "nobody has approved this content yet.",
	operation.ReasonApprovalOther:     "the approval was for other content.",
	operation.ReasonApprovalLapsed:    "the approval is too old to be used.",
	operation.ReasonApprovalExpired:   "nobody answered in time. That is no yes: nothing was sent.",
	operation.ReasonSendByPassed:      "it is later than the flow allows for this event. Approve again only if it should still be sent.",
	operation.ReasonNoProtection:      "the target does not collapse repeats: sending again could be a second effect.",
	operation.ReasonWindowClosed:      "the target may have forgotten the key: sending again could be a second effect.",
	operation.ReasonStoredError:       "the target has stored an error under this key and answers every repeat with it.",
	operation.ReasonBytesDiffer:       "an open attempt is not known to have sent these bytes.",
	operation.ReasonReplaysSpent:      "repeating inside the target's protection did not settle it.",
	operation.ReasonLookupsSpent:      "asking the target did not settle it.",
	operation.ReasonAbsentNeverCounts: "the target found nothing, and documents no time after which that would mean anything.",
	operation.ReasonAbsent:            "the target found nothing. That is no proof that nothing will appear, and it does not collapse repeats.",
	operation.ReasonLookupConflict:    "the target shows several matches, or one without our mark.",
	operation.ReasonAttemptsSpent:     "the policy's attempts are used up.",
	operation.ReasonPermanent:         "the target rejected it for good, before any effect.",
	operation.ReasonStoryFull:         "its story has reached its bound.",
	operation.ReasonTwoReferences:     "two effects were reported for one operation.",
	operation.ReasonSharedReference:   "another operation holds the same reference.",
	operation.ReasonEffectUnproven:    "an effect exists although no attempt can have made it.",
	operation.ReasonEffectOnClosed:    "an effect exists of something closed as not done.",
	operation.ReasonDigestMismatch:    "the stored bytes are not the frozen ones. Nothing was sent.",
	operation.ReasonProfileMissing:    "the target's profile is no longer there.",
	operation.ReasonReferenceMissing:  "an earlier stage's reference is needed and not there.",
	operation.ReasonNotOver:           "an attempt may still be running.",
	operation.ReasonNoReference:       "the target's reference is needed.",
	operation.ReasonNoQuestion:        "this question is no longer open.",
	operation.ReasonOtherRound:        "the question was asked anew; answer the new one.",
	operation.ReasonOtherContent:      "the content is not the one you saw. Read it again.",
	operation.ReasonOtherRevision:     "something became known after you opened the page. Read it again, then decide.",
	operation.ReasonNotReviewer:       "this question is not put to you.",
	operation.ReasonDecided:           "it is decided already.",
	operation.ReasonExpired:           "the time to answer is over. That is no yes.",
	operation.ReasonNotLegal:          "this answer is not possible here.",
	operation.ReasonNotYet:            "not possible yet: an effect could still appear.",
	operation.ReasonNoLookup:          "the target cannot be asked.",
	operation.ReasonKeyStillOpen:      "not possible: the key still protects. Sending under a new key could be a second effect.",
	operation.ReasonNothingOpen:       "not possible: no attempt is open.",
	operation.ReasonAttemptOpen:       "not possible while an attempt is open: first say what happened.",
	operation.ReasonSettled:           "it is settled already.",
	operation.ReasonWordMissing:       "say how you know.",
	operation.ReasonWithdrawn:         "a person withdrew it before it was sent.",
	operation.ReasonDeclined:          "a person declined it.",
	operation.ReasonPersonClosed:      "a person closed it without proof.",
	operation.ReasonRunAgain:          "a person pressed run again.",
	operation.ReasonAnswered:          "a person answered.",
	operation.ReasonLaunch:            "its execution is about to go on.",
	operation.ReasonStateFailed:       "a step of the execution failed; it is tried again.",
	operation.ReasonAborted:           "a person stopped the execution. It is not started again without a decision.",
	operation.ReasonStageFailed:       "an earlier stage failed.",
	operation.ReasonDataRejected:      "the event lacks data that the flow requires.",
	operation.ReasonFlowMissing:       "the flow is no longer there.",
	operation.ReasonRunMissing:        "the run that it was made for is not in the ledger, so nothing carries it on by itself. It may have been lost with a restored table.",
	operation.ReasonEventMissing:      "what came from the source is not in the ledger, so nobody knows what is to be done. It may have been lost with a restored table.",
	operation.ReasonSameKey:           "another event already asked for this with other content: rely on what exists, or make a deliberate second.",
	operation.ReasonStageWaits:        "it waits for an earlier stage.",
	operation.ReasonContradiction:     "two facts cannot both be true: it is never sent again by itself.",
	operation.ReasonRestored:          "the ledger was restored: what was sent after the copy was made is unknown.",
	operation.ReasonLost:              "it may not be sent now.",
	operation.ReasonUnknownAttempt:    "no such attempt is known.",
	operation.ReasonRecorded:          "its result is recorded already.",
	operation.ReasonStands:            "the question is still open.",
	flow.ReasonTrigger:                "the flow is not meant for this event.",
	flow.ReasonAccount:                "the flow is meant for another account of the source.",
	flow.ReasonMissing:                "the event lacks data that the flow requires.",
	flow.ReasonIdentity:               "a part of the business key is missing, blank or ambiguous.",
	flow.ReasonExpression:             "an expression of the flow cannot be evaluated on this event.",
	flow.ReasonContent:                "the content does not fit what the target allows.",
	flow.ReasonBody:                   "the body of the event cannot be read.",
	intake.ReasonIncomplete:           "what names the event is missing, blank or ambiguous.",
	intake.ReasonOversize:             "the event is too large to be read.",
	intake.ReasonPossibleRepeat:       "nothing tells whether it repeats an earlier event.",
	intake.ReasonConflict:             "the same delivery came with another body.",
	approval.ReasonWrongCode:          "that is not the code that was sent to you.",
	approval.ReasonTriesSpent:         "too many codes were tried on this link. The owner sends a new one with `holdfast remind RUN`.",
	approval.ReasonNoCodes:            "this stack has no way to prove who decides, so nobody can. Configure codes or an identity provider.",
}

// sentence is the page's words for a reason.
func sentence(r operation.Reason) string {
	if s, ok := sentences[r]; ok {
		return s
	}
	return string(r)
}

// Sentence is the page's words for a reason; other commands and pages use the same ones.
func Sentence(r operation.Reason) string { return sentence(r) }

type answerText struct{ label, help, done string }

var answerTexts = map[operation.Answer]answerText{
	operation.AnswerApprove:         {"Approve", "Exactly what is shown is sent, byte for byte.", "approved"},
	operation.AnswerDecline:         {"Decline", "Nothing is sent.", "declined"},
	operation.AnswerExists:          {"It exists", "You found it in the target. Give its reference.", "found in the target"},
	operation.AnswerNothingHappened: {"Nothing happened", "You looked and it is not there. It may be sent again; say how you know.", "attested that nothing happened"},
	operation.AnswerNewKey:          {"Nothing happened, send under a new key", "Only when the old key no longer protects. Say how you know.", "released under a new key"},
	operation.AnswerCheckAgain:      {"Check again", "Ask the target once more.", "check again"},
	operation.AnswerClose:           {"Close without proof", "Nobody will know. It counts neither as done nor as failed. Say why.", "closed without proof"},
	operation.AnswerAcknowledge:     {"I have dealt with it", "The contradiction was seen and dealt with outside. Say how.", "acknowledged"},
	operation.AnswerReuse:           {"Reuse what exists", "The run relies on the operation that exists, with its content.", "reuse"},
	operation.AnswerSecond:          {"Make a deliberate second", "A second operation with its own identity and its own approval. Say why.", "deliberate second"},
	operation.AnswerContinue:        {"Go on", "The next stage starts all the same. Say why.", "continue"},
	operation.AnswerStop:            {"Stop", "What is not yet sent is withdrawn. Say why.", "stopped"},
	operation.AnswerRetry:           {"Start again", "The run goes on from where it stands. Say why.", "started again"},
	operation.AnswerExpired:         {done: "expired without an answer"},
	operation.AnswerSuperseded:      {done: "no longer needed"},
}

func decisionText(a operation.Answer) string {
	if t, ok := answerTexts[a]; ok {
		return t.done
	}
	return string(a)
}

var evidenceTexts = map[operation.EvidenceKind]string{
	operation.EvidencePlanned:        "Planned",
	operation.EvidenceClaimed:        "Attempt claimed",
	operation.EvidenceAnswer:         "The target answered",
	operation.EvidenceNoByteSent:     "No byte of the request was sent",
	operation.EvidenceNoAnswer:       "The request may have arrived; nothing is proven",
	operation.EvidenceLeaseOver:      "The attempt's time is over without a result",
	operation.EvidenceLookupFound:    "Found in the target",
	operation.EvidenceLookupAbsent:   "The target found nothing; this settles nothing",
	operation.EvidenceLookupConflict: "The target shows something that is not clearly ours",
	operation.EvidenceLookupFailed:   "The target could not be asked",
	operation.EvidenceFeed:           "The target's own event",
	operation.EvidenceApproved:       "Approved",
	operation.EvidenceDeclined:       "Declined",
	operation.EvidenceExpired:        "Nobody answered in time",
	operation.EvidenceWithdrawn:      "Withdrawn before it was sent",
	operation.EvidenceAsked:          "A person was asked",
	operation.EvidenceAttested:       "A person says nothing happened (not proof)",
	operation.EvidencePersonFound:    "A person found it in the target",
	operation.EvidenceCheckAgain:     "A person asked for another look",
	operation.EvidenceAbandoned:      "Closed without proof",
	operation.EvidenceKeyReleased:    "A person opened a new key",
	operation.EvidenceEdited:         "The content was edited",
	operation.EvidenceContradiction:  "Contradiction",
	operation.EvidenceRestored:       "The ledger was restored: what happened after the copy is unknown",
	operation.EvidenceRelaunched:     "The run goes on with its next execution",
	operation.EvidenceReused:         "Another run relies on it",
	operation.EvidencePolicySpent:    "No further attempt is allowed",
	operation.EvidenceUnfit:          "Not sent: what is stored may not be sent as it is",
}

func evidenceText(e operation.Evidence) string {
	parts := []string{evidenceTexts[e.Kind]}
	if parts[0] == "" {
		parts[0] = string(e.Kind)
	}
	if e.Detail != "" {
		parts = append(parts, detailText(e.Detail))
	}
	if e.Reference != "" {
		parts = append(parts, "reference "+string(e.Reference))
	}
	if e.Attempt != "" {
		parts = append(parts, string(e.Attempt))
	}
	return strings.Join(parts, " · ")
}

// EvidenceText is one line of an operation's story.
func EvidenceText(e operation.Evidence) string { return evidenceText(e) }

var statusTexts = map[operation.Status]string{
	operation.StatusProposed:  "Not sent yet",
	operation.StatusInFlight:  "Being sent",
	operation.StatusReady:     "Proven not executed; may be sent again",
	operation.StatusUnknown:   "Unknown: it may have happened",
	operation.StatusHeld:      "Held: a named person decides",
	operation.StatusConfirmed: "Confirmed",
	operation.StatusFailed:    "Failed: proven not executed",
	operation.StatusDeclined:  "Declined: never sent",
	operation.StatusAbandoned: "Closed without proof",
}

var runTexts = map[operation.RunStatus]string{
	operation.RunStarted:       "At work",
	operation.RunDone:          "Done",
	operation.RunNotApplicable: "Not meant for this event",
	operation.RunHeld:          "Held: a named person decides",
	operation.RunStopped:       "Stopped",
}

var questionTexts = map[operation.QuestionKind]string{
	operation.QuestionApprove:       "May this be sent?",
	operation.QuestionResolve:       "What happened?",
	operation.QuestionContradiction: "Two facts cannot both be true. What is true?",
	operation.QuestionUnsettled:     "It is confirmed, but another attempt is open. Did that one have an effect too?",
}

var actionTexts = map[operation.Action]string{
	operation.ActionAsk:    "A named person decides",
	operation.ActionWait:   "Wait",
	operation.ActionLookUp: "Ask the target what happened",
	operation.ActionSend:   "Send",
	operation.ActionReplay: "Send the same bytes again inside the target's protection",
	operation.ActionDone:   "Nothing is left to do",
}

var outcomeTexts = map[operation.Outcome]string{
	operation.OutcomeUnknown:     "Unknown: nothing is proven",
	operation.OutcomeNotExecuted: "Proven not executed",
	operation.OutcomeExecuted:    "Proven executed",
}

var doingTexts = map[runner.Doing]string{
	runner.DoReuse:     "Reuse: nothing is sent, the saved reference stands",
	runner.DoSend:      "Send: it was never sent",
	runner.DoRetry:     "Retry: every earlier attempt is proven not executed",
	runner.DoReconcile: "Reconcile: the target is asked first, nothing is sent before its answer",
	runner.DoHold:      "Hold: a named person decides first, nothing is sent before",
	runner.DoWait:      "Wait, then send",
	runner.DoNothing:   "Nothing: it is closed",
}

// evidenceColours say what weight a fact has: proof, doubt, or a person's word. Colour is never the only sign.
var evidenceColours = map[operation.EvidenceKind]string{
	operation.EvidenceLookupFound: "proof", operation.EvidenceFeed: "proof", operation.EvidenceAnswer: "proof", operation.EvidenceNoByteSent: "proof",
	operation.EvidenceNoAnswer: "doubt", operation.EvidenceLeaseOver: "doubt", operation.EvidenceLookupAbsent: "doubt", operation.EvidenceLookupConflict: "doubt",
	operation.EvidenceLookupFailed: "doubt", operation.EvidenceContradiction: "doubt", operation.EvidenceRestored: "doubt", operation.EvidenceUnfit: "doubt",
	operation.EvidenceApproved: "person", operation.EvidenceDeclined: "person", operation.EvidenceAttested: "person", operation.EvidencePersonFound: "person",
	operation.EvidenceCheckAgain: "person", operation.EvidenceAbandoned: "person", operation.EvidenceKeyReleased: "person", operation.EvidenceWithdrawn: "person",
	operation.EvidenceEdited: "person",
}
