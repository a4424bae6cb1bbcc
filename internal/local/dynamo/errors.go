package dynamo

import (
	"errors"
	"fmt"
	"net/http"

	"holdfast/internal/local/dynamo/attr"
	"holdfast/internal/local/dynamo/expr"
	"holdfast/internal/local/dynamo/store"
)

// Namespaces of the wire's error types.
const (
	spaceDynamo     = "com.amazonaws.dynamodb.v20120810#"
	spaceValidation = "com.amazon.coral.validate#"
	spaceService    = "com.amazon.coral.service#"
)

const (
	reasonCondition = "The conditional request failed"
	reasonItemSize  = "Item size has exceeded the maximum allowed size"
	reasonUpdate    = "Item size to update has exceeded the maximum allowed size"
	reasonKeySchema = "The provided key element does not match the schema"
	reasonInvalid   = "One or more parameter values were invalid: "
)

// refusal is an answer other than success, as the wire has it.
type refusal struct {
	status  int
	space   string
	name    string
	message string
	// item is the stored item of a failed condition, if it was asked for.
	item *store.Record
	// reasons are the cancellation reasons of a transaction.
	reasons []cancellation
}

// Error implements error.
func (e *refusal) Error() string { return e.name + ": " + e.message }

func refuse(name, format string, args ...any) *refusal {
	message := format
	if len(args) > 0 {
		message = fmt.Sprintf(format, args...)
	}
	return &refusal{status: http.StatusBadRequest, space: spaceDynamo, name: name, message: message}
}

func invalid(format string, args ...any) *refusal {
	e := refuse("ValidationException", format, args...)
	e.space = spaceValidation
	return e
}

func unknownTable() *refusal {
	return refuse("ResourceNotFoundException", "Requested resource not found")
}

// asRefusal turns whatever went wrong into what the caller is told.
func asRefusal(err error) *refusal {
	var known *refusal
	var value *attr.Invalid
	var json *attr.Malformed
	var expression *expr.Error
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &value):
		return invalid("%s", value.Reason)
	case errors.As(err, &expression):
		return invalid("%s", expression.Reason)
	case errors.As(err, &json):
		e := refuse("SerializationException", "%s", json.Reason)
		e.space = spaceService
		return e
	}
	e := refuse("InternalServerError", "The local DynamoDB server failed: %v", err)
	e.status = http.StatusInternalServerError
	return e
}

// body is the refusal as the wire has it.
func (e *refusal) body() []byte {
	b := attr.AppendText([]byte(`{"__type":`), e.space+e.name)
	key := `,"message":`
	if e.reasons != nil || e.space == spaceService {
		key = `,"Message":`
	}
	b = attr.AppendText(append(b, key...), e.message)
	if e.item != nil {
		b = e.item.AppendJSON(append(b, `,"Item":`...))
	}
	if e.reasons != nil {
		b = appendReasons(append(b, `,"CancellationReasons":`...), e.reasons)
	}
	return append(b, '}')
}

// cancellation is one reason of a cancelled transaction; the zero value is "None".
type cancellation struct {
	code, message string
	item          *store.Record
}

func appendReasons(b []byte, reasons []cancellation) []byte {
	b = append(b, '[')
	for i, r := range reasons {
		if i > 0 {
			b = append(b, ',')
		}
		if r.code == "" {
			b = append(b, `{"Code":"None"}`...)
			continue
		}
		b = attr.AppendText(append(b, `{"Code":`...), r.code)
		b = attr.AppendText(append(b, `,"Message":`...), r.message)
		if r.item != nil {
			b = r.item.AppendJSON(append(b, `,"Item":`...))
		}
		b = append(b, '}')
	}
	return append(b, ']')
}
