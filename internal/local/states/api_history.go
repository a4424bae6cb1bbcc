package states

import "strings"

func (s *Server) apiGetExecutionHistory(body []byte) (any, error) {
	in, err := read[struct {
		ExecutionArn, NextToken string
		MaxResults              int
		ReverseOrder            bool
		IncludeExecutionData    *bool
	}](body)
	if err != nil {
		return nil, err
	}
	max, from, err := pageOf(in.MaxResults, in.NextToken)
	if err != nil {
		return nil, err
	}
	events, err := s.History(in.ExecutionArn)
	if err != nil {
		return nil, err
	}
	withData := in.IncludeExecutionData == nil || *in.IncludeExecutionData
	items := []any{}
	for i := from; i < len(events) && len(items) < max; i++ {
		e := events[i]
		if in.ReverseOrder {
			e = events[len(events)-1-i]
		}
		items = append(items, e.shown(withData))
	}
	next := from + len(items)
	if next >= len(events) {
		next = 0
	}
	return shown(map[string]any{"events": items, "nextToken": tokenOf(next)}), nil
}

// shown writes an event as GetExecutionHistory does.
func (e Event) shown(withData bool) map[string]any {
	out := map[string]any{"id": e.ID, "previousEventId": e.PreviousID, "type": e.Type, "timestamp": epoch(e.Time)}
	field, details := e.details(withData)
	if details != nil {
		out[field] = shown(details)
	}
	return out
}

func (e Event) details(withData bool) (field string, details map[string]any) {
	switch {
	case strings.HasSuffix(e.Type, "StateEntered"):
		return "stateEnteredEventDetails", e.data(withData, "input", map[string]any{"name": e.State})
	case strings.HasSuffix(e.Type, "StateExited"):
		return "stateExitedEventDetails", e.data(withData, "output", map[string]any{"name": e.State})
	case e.Type == "LambdaFunctionStarted":
		return "", nil
	}
	details = map[string]any{"error": e.Error, "cause": e.Cause}
	switch e.Type {
	case "ExecutionStarted":
		details = e.data(withData, "input", map[string]any{"roleArn": roleArn})
	case "ExecutionSucceeded", "LambdaFunctionSucceeded":
		details = e.data(withData, "output", details)
	case "LambdaFunctionScheduled":
		details = e.data(withData, "input", e.times(map[string]any{"resource": e.Resource}))
	}
	if strings.HasPrefix(e.Type, "Task") {
		details = e.taskDetails(withData, details)
	}
	return strings.ToLower(e.Type[:1]) + e.Type[1:] + "EventDetails", details
}

func (e Event) taskDetails(withData bool, details map[string]any) map[string]any {
	details["resource"], details["resourceType"] = e.Resource, "lambda"
	switch e.Type {
	case "TaskScheduled":
		details["region"], details["parameters"] = region, "{}"
		if withData {
			details["parameters"] = string(e.Data)
		}
		return e.times(details)
	case "TaskSucceeded", "TaskSubmitted":
		return e.data(withData, "output", details)
	}
	return details
}

func (e Event) data(withData bool, name string, details map[string]any) map[string]any {
	if withData {
		details[name] = string(e.Data)
		details[name+"Details"] = map[string]any{"truncated": false}
	}
	return details
}

func (e Event) times(details map[string]any) map[string]any {
	if e.TimeoutSeconds > 0 {
		details["timeoutInSeconds"] = e.TimeoutSeconds
	}
	if e.HeartbeatSeconds > 0 {
		details["heartbeatInSeconds"] = e.HeartbeatSeconds
	}
	return details
}
