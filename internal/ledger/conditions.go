package ledger

// Every condition of every conditional write. Revisions move with each change of a record, also with an entry
// in the inbox, so a condition on the revision pins everything that was read.
const (
	// absent lets one creator win.
	//
	//	A  put X ── ok
	//	B        put X ── refused, gets A's record and goes on with it
	//
	// A's answer lost: its repeat is refused with A's own record, whose write id says "that was me".
	absent = "attribute_not_exists(pk)"

	// revision lets one of several writers that read the same record win, and refuses a writer from before
	// a restored ledger was accepted.
	//
	//	A  read rev 4 ─────────── write rev 5 ── refused: B moved it to 5
	//	B     read rev 4 ── write rev 5 ── ok
	//
	//	old process (epoch 1)  read ──────────────────────────── write ── refused: the record carries epoch 2
	//	acceptance             epoch 2 ── adds an open attempt ──▲
	revision = "rev = :seen AND epoch <= :epoch"

	// notFinal is revision for every write that would leave something else than confirmed: confirmed is final
	// (R8), even if a defect elsewhere computed another status from the right revision.
	//
	//	run 1  ── confirmed, reference saved
	//	run 2                    └── late failure: write failed ── refused
	notFinal = revision + " AND #status <> :confirmed"

	// claim is revision, and nothing settled is ever claimed. The claim is the write-ahead mark: the sender
	// may put a byte on the wire only after this write won.
	//
	//	A  read ready, rev 7 ── claim rev 8 ── ok ── sends
	//	B  read ready, rev 7 ────── claim rev 8 ── refused: sends nothing, sees A's attempt and its lease
	//
	//	A  claim rev 8 ── committed, answer lost ── repeat ── refused with its own write id ── A holds the claim
	claim = revision + " AND #status <> :confirmed AND #status <> :failed AND #status <> :declined AND #status <> :abandoned"

	// inboxFree lets an outcome be recorded whatever else is written to the operation, once for each attempt.
	// It names no revision on purpose; the write moves the revision, so that nobody overwrites the entry.
	//
	//	sender  outcome ── refused (rev moved) ── … ── outcome into inbox.at_1 ── ok
	//	feed       write ── write ── write ─────────────────── write ── refused: reads again, folds the inbox
	inboxFree = "attribute_exists(pk) AND attribute_not_exists(inbox.#attempt) AND epoch <= :epoch"

	// slotFree lets the first content under one version and digest stand; equal bytes meet on it.
	//
	//	plan, first try   put content v1 ── crash
	//	plan, second try                         put content v1 ── refused: it is there already, go on
	slotFree = absent

	// guardOld replaces a repeat guard whose window had passed when it was read.
	//
	//	A  read guard of yesterday ── replace ── ok
	//	B  read guard of yesterday ───── replace ── refused: A's event stands in the guard, B is a repeat
	guardOld = "seen_at = :seen_at AND event_id = :event_id"

	// tryLeft bounds the wrong codes on one link, also when they are tried in parallel.
	//
	//	99 wrong codes at once ── each adds one ── the sixth and all later ones refused
	tryLeft = "attribute_exists(pk) AND tries < :tries_max"

	// tryCounted lets a try be given back only where one was counted, so that repeats of a lost answer never open
	// more than the bound.
	//
	//	right code  counted 0→1 ── compared ── given back 1→0
	//	                                          └── answer lost, given back again ── refused
	tryCounted = "attribute_exists(pk) AND tries > :none"

	// unboundOrSame binds a link to the first browser that proved to be its person's.
	//
	//	person's browser  bind b1 ── ok ── again b1 ── ok
	//	forwarded mail       bind b2 ── refused
	unboundOrSame = "attribute_exists(pk) AND (attribute_not_exists(#bound) OR #bound = :bound)"

	// present sets or clears the expiry of an item that exists; it must not bring a deleted one back as a stub.
	//
	//	housekeeping  ── deletes content
	//	settle            └── set expiry ── refused: nothing to keep
	present = "attribute_exists(pk)"

	// always is no condition: the latest value is the right one, and it only wakes.
	//
	//	Ask, first try   token t1 ── kept ── crash
	//	Ask, again                            token t2 ── replaces t1, which its execution has given up
	always = ""

	// sameRecord is the condition of the stack item, which carries no epoch of its own: two operators who accept
	// a restored table at once make one acceptance.
	//
	//	operator A  read rev 3 ── accept rev 4 ── ok
	//	operator B  read rev 3 ────── accept rev 4 ── refused
	sameRecord = "rev = :seen"
)
