package sim

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"

	"holdfast/internal/operation"
)

// story collects what happened, in plain words, when somebody wants to read it.
type story struct {
	lines []string
}

// linesMax bounds a story.
const linesMax = 5000

// tell adds a line.
func (w *world) tell(format string, args ...any) {
	if w.story == nil || len(w.story.lines) >= linesMax {
		return
	}
	who := "world"
	if w.me != nil {
		who = w.me.name
	}
	w.story.lines = append(w.story.lines, fmt.Sprintf("%12s  %-28s %s", w.now.Sub(start).Round(time.Millisecond), who, fmt.Sprintf(format, args...)))
}

// struck is told of every choice of the adversary.
func (w *world) struck(a *actor, k kind, option int, where string) {
	switch k {
	case kindWrite, kindArrive, kindAnswer, kindDial:
		w.reach("R2")
	}
	if a.call != nil && !(k == kindStore && (option == storeYield || option == storeRepeated || option == storeForget)) {
		a.call.hindered = true
	}
	if w.story == nil {
		return
	}
	w.tell("ADVERSARY: %s %s", options[k][option-1].says, where)
}

// tellOperation says what a write of an operation changed.
func (w *world) tellOperation(old, op *operation.Operation) {
	if w.story == nil {
		return
	}
	if n := len(op.Evidence); told(op) != told(old) {
		e := op.Evidence[n-1]
		w.tell("%s: %s -> %s: %s %s %s", op.ID, old.Status, op.Status, e.Kind, e.Attempt, e.Detail)
	} else if old.Status != op.Status {
		w.tell("%s: %s -> %s", op.ID, old.Status, op.Status)
	}
}

// tellPage says what a person pressed and what the page answered.
func (w *world) tellPage(method string, form url.Values, out []byte, err error) {
	if w.story == nil {
		return
	}
	notice := ""
	if f := noticeText.FindSubmatch(out); f != nil {
		notice = string(f[1])
	}
	if err != nil {
		notice = "no page came: " + err.Error()
	}
	w.tell("%s %s %s: %s", method, form.Get("do"), form.Get("answer"), notice)
}

var noticeText = regexp.MustCompile(`role=\\?"status\\?"\\?u?0?0?3?e?>?([^<\\]*)`)

func (s *story) String() string { return strings.Join(s.lines, "\n") }
