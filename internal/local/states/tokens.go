package states

import (
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// tokenHead marks the tokens made here: text without it is no token, text with it may be one that is forgotten.
const (
	tokenHead     = "local-"
	tokenBytesMax = 2048
	errorCharsMax = 256    // a task failure's error
	causeCharsMax = 32_768 // a task failure's cause
)

// tokens finds the task that a token belongs to. A closed task's token is kept as long as its execution.
type tokens struct {
	mu    sync.Mutex
	tasks map[string]*tokenTask
}

// tokenTask is a task that waits for its token. Its first answer, or its end, closes it. The execution's mu guards it.
type tokenTask struct {
	x     *execution
	beat  time.Duration // 0: no heartbeat; fixed
	until time.Time     // the task's timeout; fixed

	answer   *answer // the one that was accepted
	closed   bool
	nextBeat time.Time
}

// answer is what SendTaskSuccess or SendTaskFailure brought.
type answer struct {
	out []byte
	bad *fault
}

func newTokens() *tokens { return &tokens{tasks: map[string]*tokenTask{}} }

// issue registers a task under a new token; it reports false when the token generator repeated itself.
func (t *tokens) issue(token string, task *tokenTask) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, taken := t.tasks[token]; taken {
		return false
	}
	t.tasks[token] = task
	return true
}

func (t *tokens) forget(all []string) {
	if len(all) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, token := range all {
		delete(t.tasks, token)
	}
}

func (t *tokens) find(token string) (*tokenTask, error) {
	if !strings.HasPrefix(token, tokenHead) || len(token) > tokenBytesMax {
		return nil, apiErrorf("InvalidToken", "Invalid Token: 'Invalid token'")
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if task := t.tasks[token]; task != nil {
		return task, nil
	}
	return nil, apiErrorf("TaskDoesNotExist", "Task does not exist")
}

// open checks under mu that the task still takes answers. Time is compared here and not left to the timer, so that an
// answer that comes after the due time is late even when the timer has not fired yet.
func (t *tokenTask) open(now time.Time) bool {
	late := !now.Before(t.until) || t.beat > 0 && !now.Before(t.nextBeat)
	return !t.closed && !late && t.x.status == StatusRunning
}

// settle accepts an answer, or refuses it. One that is accepted counts, whatever else happens before the runner's turn,
// unless the execution is closed or the server closes.
func (t *tokenTask) settle(a answer, now time.Time) error {
	t.x.mu.Lock()
	if !t.open(now) {
		t.x.mu.Unlock()
		return errTaskGone()
	}
	t.closed, t.answer = true, &a
	t.x.mu.Unlock()
	t.x.bell.Ring()
	return nil
}

func (t *tokenTask) heartbeat(now time.Time) error {
	t.x.mu.Lock()
	defer t.x.mu.Unlock()
	if !t.open(now) {
		return errTaskGone()
	}
	t.nextBeat = now.Add(t.beat)
	return nil
}

func errTaskGone() error {
	return apiErrorf("TaskTimedOut", "Task Timed Out: 'Provided task does not exist anymore'")
}

// end closes the task from the execution's side and returns the answer that was accepted before, if one was: it counts.
func (t *tokenTask) end() *answer {
	t.x.mu.Lock()
	defer t.x.mu.Unlock()
	t.closed = true
	return t.answer
}

// dueBeat is when the next heartbeat must have come.
func (t *tokenTask) dueBeat() time.Time {
	t.x.mu.Lock()
	defer t.x.mu.Unlock()
	return t.nextBeat
}

func checkFailure(errName, cause string) error {
	if utf8.RuneCountInString(errName) > errorCharsMax || utf8.RuneCountInString(cause) > causeCharsMax {
		return apiErrorf("ValidationException", "an error has at most %d characters and a cause at most %d", errorCharsMax, causeCharsMax)
	}
	return nil
}

// TokenOpen says that a task still waits for its token: nobody has answered it, and it has not ended.
func (s *Server) TokenOpen(token string) bool {
	s.tokens.mu.Lock()
	task := s.tokens.tasks[token]
	s.tokens.mu.Unlock()
	if task == nil {
		return false
	}
	task.x.mu.Lock()
	defer task.x.mu.Unlock()
	return !task.closed
}
