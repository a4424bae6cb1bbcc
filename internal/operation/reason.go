package operation

// Reason is a stable code that says why; pages own the sentence.
type Reason string

// Reasons of a move, of a hold and of a refusal. Permanent: they are stored.
const (
	// Why something is sent or asked of the target.
	ReasonNeverSent        Reason = "never_sent"          // the first request
	ReasonNotExecuted      Reason = "proven_not_executed" // every earlier attempt is proven not executed
	ReasonAttested         Reason = "attested"            // a named person attested that nothing happened
	ReasonProtected        Reason = "protected"           // the target collapses a repeat
	ReasonOutcomeUnknown   Reason = "outcome_unknown"     // ask the target what happened
	ReasonLastLookup       Reason = "last_lookup"         // once more before a resend that rests on a person's word
	ReasonAttemptRunning   Reason = "attempt_running"     // an attempt's lease may still run
	ReasonBackoff          Reason = "backoff"             // the policy or the target asked to wait
	ReasonNotVisible       Reason = "not_visible_yet"     // "nothing found" counts only after the documented delay
	ReasonConfirmed        Reason = "confirmed"
	ReasonConfirmedByOther Reason = "confirmed_unsettled" // confirmed, but another attempt is open
	ReasonClosed           Reason = "closed"

	// Why a person is asked.
	ReasonApprovalMissing   Reason = "approval_missing"
	ReasonApprovalOther     Reason = "approval_for_other_content"
	ReasonApprovalLapsed    Reason = "approval_lapsed"
	ReasonApprovalExpired   Reason = "approval_expired"
	ReasonSendByPassed      Reason = "send_by_passed"
	ReasonNoProtection      Reason = "no_protection"     // a repeat could be a second effect
	ReasonWindowClosed      Reason = "key_window_closed" // the target may have forgotten the key
	ReasonStoredError       Reason = "stored_error"      // the target answers every replay with its first error
	ReasonBytesDiffer       Reason = "bytes_differ"      // an open attempt is not known to have sent these bytes
	ReasonReplaysSpent      Reason = "replays_spent"
	ReasonLookupsSpent      Reason = "lookups_spent"
	ReasonAbsentNeverCounts Reason = "absent_never_counts" // found, or held: the target documents no visibility delay
	ReasonAbsent            Reason = "absent"              // a counted lookup found nothing, and the target does not collapse repeats
	ReasonLookupConflict    Reason = "lookup_conflict"     // several matches, or one without our mark
	ReasonAttemptsSpent     Reason = "attempts_spent"
	ReasonPermanent         Reason = "rejected_for_good"
	ReasonStoryFull         Reason = "story_full"
	ReasonContradiction     Reason = "contradiction"   // two facts contradicted each other: it is never sent again
	ReasonDigestMismatch    Reason = "digest_mismatch" // the stored bytes are not the approved ones
	ReasonProfileMissing    Reason = "profile_missing"
	ReasonReferenceMissing  Reason = "reference_missing" // an earlier stage's reference is needed and not there

	// Why two facts contradict each other.
	ReasonTwoReferences   Reason = "two_references"         // one operation, two references
	ReasonSharedReference Reason = "shared_reference"       // two operations, one reference
	ReasonEffectUnproven  Reason = "effect_without_attempt" // an effect although no attempt can have made it
	ReasonEffectOnClosed  Reason = "effect_on_closed"       // an effect of something closed as not done

	// Why a fact was refused. Nothing changed.
	ReasonLost           Reason = "claim_not_possible" // Next does not allow a claim now
	ReasonUnknownAttempt Reason = "unknown_attempt"
	ReasonRecorded       Reason = "already_recorded"
	ReasonNotOver        Reason = "attempt_not_over"
	ReasonNoReference    Reason = "reference_required"
	ReasonNoQuestion     Reason = "no_open_question"
	ReasonOtherRound     Reason = "answers_another_round"
	ReasonOtherContent   Reason = "answers_other_content"
	ReasonOtherRevision  Reason = "revision_changed"
	ReasonNotReviewer    Reason = "not_asked" // the question is not put to this person
	ReasonDecided        Reason = "already_decided"
	ReasonExpired        Reason = "question_expired"
	ReasonStands         Reason = "question_stands"  // its time has not ended
	ReasonNotLegal       Reason = "answer_not_legal" // Choices says why
	ReasonNotYet         Reason = "answer_could_still_appear"
	ReasonNoLookup       Reason = "no_lookup"
	ReasonKeyStillOpen   Reason = "key_still_protects"
	ReasonNothingOpen    Reason = "no_open_attempt"
	ReasonAttemptOpen    Reason = "attempt_open" // only possible when no attempt is open
	ReasonSettled        Reason = "already_settled"
	ReasonWordMissing    Reason = "say_how_you_know"
	ReasonWithdrawn      Reason = "withdrawn"
	ReasonDeclined       Reason = "declined"
	ReasonPersonClosed   Reason = "closed_without_proof"
	ReasonRestored       Reason = "restored_ledger" // unknown what was sent after the copy was made
)

// Action is what Next answers. Its zero value asks a person: a forgotten case stops, it never acts.
type Action uint8

// The actions.
const (
	ActionAsk    Action = iota // a named person decides
	ActionWait                 // nothing may be done before Due
	ActionLookUp               // ask the target what happened
	ActionSend                 // first send, or a retry after proof
	ActionReplay               // send the same bytes again inside the target's protection
	ActionDone                 // nothing is left to do
	actionCount
)
