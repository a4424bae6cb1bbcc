package sim

// kind is one kind of boundary at which the adversary may act.
type kind int

const (
	kindStore   kind = iota // a call to the ledger's table
	kindStates              // a call to Step Functions
	kindInvoke              // Step Functions calls a function
	kindDial                // a connection to a target is made
	kindWrite               // the request is written
	kindArrive              // the request arrives at the target
	kindTarget              // the target carries it out
	kindAnswer              // the answer is read
	kindMail                // a mail is handed to the mail server
	kindPerson              // a person acts
	kindSender              // a sender delivers
	kindOutside             // somebody acts from outside: an operator, the clock, the table
	kindOrder               // who goes on
	kinds
)

// option is one thing that the adversary can do at a boundary.
type option struct {
	name     string
	perMille float64 // how often in a thousand, at ordinary strength
	says     string  // in a story
}

// What the adversary can do. Option 0, nothing, is not listed. The order is part of a schedule's meaning.
const (
	storeYield = 1 + iota
	storeLate
	storeFreeze
	storeFailed
	storeThrottled
	storeLost
	storeRepeated
	storeCrashBefore
	storeCrashAfter
	storeForget
)

const (
	statesYield = 1 + iota
	statesFailed
	statesLost
	statesCrashBefore
	statesCrashAfter
)

const (
	invokeThrottled = 1 + iota
	invokeUnclear
	invokeTwice
	invokeCrash
)

const (
	dialRefused = 1 + iota
	dialHangs
	dialFreeze
	dialCrash
)

const (
	writeFails = 1 + iota
	writeCut
	writeCrash
	writeFreeze
	writeFailsAfter
)

const (
	arriveLate = 1 + iota
	arriveNever
	arriveAfterAll
)

const (
	targetUnavailable = 1 + iota
	targetLimited
	targetBroken
	targetBrokenAfter
	targetProxy
	targetProxyAfter
	targetStoredError
	targetSlowToShow
	targetUnreadable
	targetRedirect
	targetTruncated
	targetSeveral
)

const (
	answerLost = 1 + iota
	answerHangs
	answerHalf
	answerCrash
	answerFreeze
	answerLate
)

const (
	mailFailed = 1 + iota
	mailFailedAfter
)

const (
	personLate = 1 + iota
	personTwice
	personWrongCode
	personNever
	personDeclines
	personLooksOnly
	personStops
	personAgain
	personSecond
	personOtherPage
	personOldLink
	personGuesses
)

const (
	senderTwice = 1 + iota
	senderAgain
	senderDeaf
	senderRubbish
	senderForged
	senderGivesUp
	senderStale
)

const (
	outsideAbort = 1 + iota
	outsideSkew
	outsideRestore
	outsideSweep
	outsideAudit
	outsideOutage
)

var options = [kinds][]option{
	kindStore: {
		{"yield", 60, "others go first"},
		{"late", 10, "the call takes two seconds"},
		{"freeze", 2, "the process is frozen past its lease"},
		{"failed", 8, "the call fails, nothing is written"},
		{"throttled", 4, "the table takes no more requests"},
		{"lost", 10, "the call is carried out, its answer is lost"},
		{"repeated", 6, "the answer is lost and the SDK repeats the call"},
		{"crash-before", 4, "the process ends before the call"},
		{"crash-after", 4, "the process ends after the call"},
		{"forget", 20, "the index does not show an entry"},
	},
	kindStates: {
		{"yield", 60, "others go first"},
		{"failed", 15, "the call fails"},
		{"lost", 15, "the call is carried out, its answer is lost"},
		{"crash-before", 6, "the process ends before the call"},
		{"crash-after", 6, "the process ends after the call"},
	},
	kindInvoke: {
		{"throttled", 10, "the function is not called: too many requests"},
		{"unclear", 10, "the function is called, its answer is lost"},
		{"twice", 10, "the function is called twice"},
		{"crash", 6, "the function's process ends at once"},
	},
	kindDial: {
		{"refused", 12, "the connection is refused"},
		{"hangs", 6, "no connection is made before the deadline"},
		{"freeze", 6, "the process is frozen past its lease before it sends"},
		{"crash", 6, "the process ends before it sends"},
	},
	kindWrite: {
		{"fails", 8, "the connection breaks at the first byte"},
		{"cut", 10, "the connection breaks inside the request"},
		{"crash", 10, "the process ends right after the request was sent"},
		{"freeze", 6, "the process is frozen right after the request was sent"},
		{"fails-after", 8, "the whole request leaves, and the write is told to have failed"},
	},
	kindArrive: {
		{"late", 15, "the request arrives after the caller gave up"},
		{"never", 15, "the request never arrives"},
		{"after-all", 8, "the request arrives much later"},
	},
	kindTarget: {
		{"unavailable", 15, "the target refuses before any effect, as documented"},
		{"limited", 8, "the target asks to come later"},
		{"broken", 10, "the target answers 500 without effect"},
		{"broken-after", 10, "the target answers 500 after the effect"},
		{"proxy", 6, "a firewall answers 403, without effect"},
		{"proxy-after", 6, "a firewall answers 403, after the effect"},
		{"stored-error", 6, "the target stores an error under the key"},
		{"slow-to-show", 15, "the effect is shown late"},
		{"unreadable", 6, "the target answers 200 with something unreadable"},
		{"redirect", 6, "the target points to another place, without effect"},
		{"truncated", 8, "the target's list stops half-way and says so"},
		{"several", 5, "the target shows two where one is looked for"},
	},
	kindAnswer: {
		{"lost", 25, "the answer is lost"},
		{"hangs", 10, "the answer never comes"},
		{"half", 8, "half of the answer comes"},
		{"crash", 12, "the process ends before it reads the answer"},
		{"freeze", 8, "the process is frozen past its lease, then reads the answer"},
		{"late", 8, "the answer comes after the deadline"},
	},
	kindMail: {
		{"failed", 15, "the mail server does not take the mail"},
		{"failed-after", 10, "the mail is sent, the server's answer is lost"},
	},
	kindPerson: {
		{"late", 150, "answers a day later"},
		{"twice", 80, "presses twice at once"},
		{"wrong-code", 40, "mistypes the code"},
		{"never", 40, "does not answer"},
		{"declines", 50, "says no"},
		{"looks-only", 60, "opens the page, with an answer in its address, and goes away"},
		{"stops", 20, "stops the run"},
		{"again", 40, "runs it again"},
		{"second", 25, "asks for a deliberate second, with a double click"},
		{"other-page", 30, "answers from a page that showed other content, then from the right one"},
		{"old-link", 30, "answers with the links of earlier mails first"},
		{"guesses", 5, "somebody tries out codes until the link takes none"},
	},
	kindSender: {
		{"twice", 150, "delivers twice at once"},
		{"again", 150, "delivers once more after the answer"},
		{"deaf", 60, "does not hear the answer and delivers again"},
		{"rubbish", 20, "sends rubbish first"},
		{"forged", 20, "sends a forged copy first"},
		{"gives-up", 40, "delivers once and never again, whatever it hears"},
		{"stale", 20, "sends a copy that was signed an hour ago first"},
	},
	kindOutside: {
		{"abort", 40, "an operator aborts the execution"},
		{"skew", 60, "a process's clock is off within the bound"},
		{"restore", 15, "the table is restored from an older copy"},
		{"sweep", 60, "the sweep comes early"},
		{"audit", 30, "the audit reads the whole ledger"},
		{"outage", 30, "for more than a day no function can be called"},
	},
	kindOrder: {},
}
