package web

import (
	"net/http"
	"strings"

	"holdfast/internal/approval"
	"holdfast/internal/operation"
)

// told is the status and the words for what became of a decision.
func told(r approval.Result) (int, notice) {
	switch r.Verdict {
	case approval.Decided:
		return http.StatusOK, notice{"good", "Your decision is recorded. You can close this page; the work goes on behind it."}
	case approval.Standing:
		return http.StatusOK, notice{"info", "Already " + decided(r.Standing) + ". It stands; nothing was done twice."}
	case approval.Opposed:
		return http.StatusConflict, bad("Another decision stands: " + decided(r.Standing) + ". Yours was not recorded, and nothing was changed.")
	}
	return statusOf(r.Reason), bad(capital(sentence(r.Reason)) + " Nothing was changed.")
}

func statusOf(r operation.Reason) int {
	switch r {
	case approval.ReasonWrongCode, approval.ReasonTriesSpent, operation.ReasonNotReviewer:
		return http.StatusForbidden
	case approval.ReasonNoCodes:
		return http.StatusServiceUnavailable
	}
	return http.StatusConflict
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
