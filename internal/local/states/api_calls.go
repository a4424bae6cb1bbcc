package states

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"
)

const (
	pageDefault = 100  // items on a page of a listing
	pageMax     = 1000 // items on a page that a caller may ask for

	whyNoRedrive = "executions on the laptop cannot be redriven; start the next generation"
)

// epoch writes a time as the API does: seconds since 1970 with milliseconds.
func epoch(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return json.Number(strconv.FormatFloat(float64(t.UnixMilli())/1000, 'f', 3, 64))
}

// shown leaves out the fields that are not set.
func shown(fields map[string]any) map[string]any {
	for name, v := range fields {
		if v == nil || v == "" {
			delete(fields, name)
		}
	}
	return fields
}

func (s *Server) apiCreateStateMachine(body []byte) (any, error) {
	in, err := read[struct {
		Name, Definition, RoleArn, Type string
		TracingConfiguration            any
		LoggingConfiguration            any
		Tags                            any
	}](body)
	if err != nil {
		return nil, err
	}
	if in.Type != "" && in.Type != "STANDARD" {
		return nil, apiErrorf("ValidationException", "the type %s is not supported; only STANDARD is", in.Type)
	}
	m, err := s.createMachine(in.Name, []byte(in.Definition))
	var bad *DefinitionError
	if errors.As(err, &bad) {
		return nil, apiErrorf("InvalidDefinition", "Invalid State Machine Definition: '%v'", bad)
	}
	if err != nil {
		return nil, err
	}
	return map[string]any{"stateMachineArn": m.arn, "creationDate": epoch(m.created)}, nil
}

func (s *Server) apiDescribeStateMachine(body []byte) (any, error) {
	in, err := read[struct{ StateMachineArn, IncludedData string }](body)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	m := s.machines[in.StateMachineArn]
	s.mu.Unlock()
	if m == nil {
		return nil, apiErrorf("StateMachineDoesNotExist", "State Machine Does Not Exist: '%s'", in.StateMachineArn)
	}
	return map[string]any{
		"stateMachineArn": m.arn, "name": m.name, "status": "ACTIVE", "definition": string(m.definition.text),
		"roleArn": roleArn, "type": "STANDARD", "creationDate": epoch(m.created),
	}, nil
}

func (s *Server) apiStartExecution(body []byte) (any, error) {
	in, err := read[struct{ StateMachineArn, Name, Input, TraceHeader string }](body)
	if err != nil {
		return nil, err
	}
	started, err := s.startNamed(in.StateMachineArn, in.Name, in.Input)
	if err != nil {
		return nil, err
	}
	return map[string]any{"executionArn": started.Arn, "startDate": epoch(started.Date)}, nil
}

func (s *Server) apiDescribeExecution(body []byte) (any, error) {
	in, err := read[struct{ ExecutionArn, IncludedData string }](body)
	if err != nil {
		return nil, err
	}
	d, err := s.Describe(in.ExecutionArn)
	if err != nil {
		return nil, err
	}
	included := map[string]any{"included": true}
	out := map[string]any{
		"executionArn": d.Arn, "stateMachineArn": d.MachineArn, "name": d.Name, "status": string(d.Status),
		"startDate": epoch(d.Started), "stopDate": epoch(d.Stopped), "input": string(d.Input), "inputDetails": included,
		"error": d.Error, "cause": d.Cause, "redriveCount": 0, "redriveStatus": "NOT_REDRIVABLE",
		"redriveStatusReason": whyNoRedrive,
	}
	if d.Output != nil {
		out["output"], out["outputDetails"] = string(d.Output), included
	}
	return shown(out), nil
}

func (s *Server) apiListExecutions(body []byte) (any, error) {
	in, err := read[struct {
		StateMachineArn, StatusFilter, NextToken string
		MaxResults                               int
	}](body)
	if err != nil {
		return nil, err
	}
	max, before, err := pageOf(in.MaxResults, in.NextToken)
	if err == nil {
		err = checkFilter(Status(in.StatusFilter))
	}
	if err != nil {
		return nil, err
	}
	page, next, err := s.list(in.StateMachineArn, Status(in.StatusFilter), int64(before), max)
	if err != nil {
		return nil, err
	}
	items := make([]any, 0, len(page))
	for _, d := range page {
		items = append(items, shown(map[string]any{
			"executionArn": d.Arn, "stateMachineArn": d.MachineArn, "name": d.Name, "status": string(d.Status),
			"startDate": epoch(d.Started), "stopDate": epoch(d.Stopped), "redriveCount": 0,
		}))
	}
	return shown(map[string]any{"executions": items, "nextToken": tokenOf(int(next))}), nil
}

// checkFilter refuses a status that no execution here can have, rather than finding none with it.
func checkFilter(status Status) error {
	switch status {
	case "", StatusRunning, StatusSucceeded, StatusFailed, StatusTimedOut, StatusAborted:
		return nil
	}
	return apiErrorf("ValidationException", "no execution on the laptop has the status %s", status)
}

// pageOf reads a page's size and where it begins; tokenOf writes where the next one does, "" at the end.
func pageOf(max int, token string) (size, from int, err error) {
	if max < 0 || max > pageMax {
		return 0, 0, apiErrorf("ValidationException", "maxResults is a number from 0 to %d", pageMax)
	}
	if max == 0 {
		max = pageDefault
	}
	if token == "" {
		return max, 0, nil
	}
	text, ok := strings.CutPrefix(token, "from-")
	from, err = strconv.Atoi(text)
	if !ok || err != nil || from <= 0 {
		return 0, 0, apiErrorf("InvalidToken", "Invalid Token: 'Invalid token'")
	}
	return max, from, nil
}

func tokenOf(from int) string {
	if from <= 0 {
		return ""
	}
	return "from-" + strconv.Itoa(from)
}

func (s *Server) apiStopExecution(body []byte) (any, error) {
	in, err := read[struct{ ExecutionArn, Error, Cause string }](body)
	if err != nil {
		return nil, err
	}
	at, err := s.Stop(in.ExecutionArn, in.Error, in.Cause)
	if err != nil {
		return nil, err
	}
	return map[string]any{"stopDate": epoch(at)}, nil
}

func (s *Server) apiSendTaskSuccess(body []byte) (any, error) {
	in, err := read[struct{ TaskToken, Output string }](body)
	if err == nil {
		err = s.SucceedTask(in.TaskToken, []byte(in.Output))
	}
	return struct{}{}, err
}

func (s *Server) apiSendTaskFailure(body []byte) (any, error) {
	in, err := read[struct{ TaskToken, Error, Cause string }](body)
	if err == nil {
		err = s.FailTask(in.TaskToken, in.Error, in.Cause)
	}
	return struct{}{}, err
}

func (s *Server) apiSendTaskHeartbeat(body []byte) (any, error) {
	in, err := read[struct{ TaskToken string }](body)
	if err == nil {
		err = s.BeatTask(in.TaskToken)
	}
	return struct{}{}, err
}
