package acceptance

import "holdfast/internal/flow"

func (p *plan) contradictions(s flow.Stage, at place) []trial { return nil }
