package dynamo

import (
	"encoding/json"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"holdfast/internal/local/dynamo/attr"
	"holdfast/internal/local/dynamo/store"
)

// failed is the error that the SDK's client hands out for an operation; nil for none.
func failed(op string, err error) error {
	if err == nil {
		return nil
	}
	return &smithy.OperationError{ServiceID: "DynamoDB", OperationName: op, Err: err}
}

// typed is the refusal as the SDK's error: one of its own types where there is one of the name.
func (e *refusal) typed() error {
	text := &e.message
	switch e.name {
	case "ConditionalCheckFailedException":
		item, err := typedRecord(e.item)
		if err != nil {
			return err
		}
		return &types.ConditionalCheckFailedException{Message: text, Item: item}
	case "TransactionCanceledException":
		reasons, err := typedReasons(e.reasons)
		if err != nil {
			return err
		}
		return &types.TransactionCanceledException{Message: text, CancellationReasons: reasons}
	case "ResourceNotFoundException":
		return &types.ResourceNotFoundException{Message: text}
	case "ResourceInUseException":
		return &types.ResourceInUseException{Message: text}
	case "IdempotentParameterMismatchException":
		return &types.IdempotentParameterMismatchException{Message: text}
	case "InternalServerError":
		return &types.InternalServerError{Message: text}
	}
	return e.scripted()
}

// scripted are the errors that only an Around answers with.
func (e *refusal) scripted() error {
	text := &e.message
	switch e.name {
	case "TransactionConflictException":
		return &types.TransactionConflictException{Message: text}
	case "TransactionInProgressException":
		return &types.TransactionInProgressException{Message: text}
	case "ProvisionedThroughputExceededException":
		return &types.ProvisionedThroughputExceededException{Message: text}
	case "RequestLimitExceeded":
		return &types.RequestLimitExceeded{Message: text}
	case "ThrottlingException":
		return &types.ThrottlingException{Message: text}
	case "LimitExceededException":
		return &types.LimitExceededException{Message: text}
	case "ItemCollectionSizeLimitExceededException":
		return &types.ItemCollectionSizeLimitExceededException{Message: text}
	case "ReplicatedWriteConflictException":
		return &types.ReplicatedWriteConflictException{Message: text}
	}
	return &smithy.GenericAPIError{Code: e.name, Message: e.message}
}

func typedReasons(reasons []cancellation) ([]types.CancellationReason, error) {
	out := make([]types.CancellationReason, len(reasons))
	for i, r := range reasons {
		if r.code == "" {
			none := "None"
			out[i].Code = &none
			continue
		}
		item, err := typedRecord(r.item)
		if err != nil {
			return nil, err
		}
		out[i] = types.CancellationReason{Code: &r.code, Message: &r.message, Item: item}
	}
	return out, nil
}

// wireError is an error of the wire's form, as an Around may answer with.
type wireError struct {
	Type                string `json:"__type"`
	Message             string // any spelling
	Item                json.RawMessage
	CancellationReasons []struct {
		Code, Message string
		Item          json.RawMessage
	}
}

// refusalOf reads an error as the SDK would: what is not one gets the SDK's name for that.
func refusalOf(body []byte) *refusal {
	var w wireError
	if err := json.Unmarshal(body, &w); err != nil || w.Type == "" {
		return refuse("UnknownError", "%s", w.Message)
	}
	e := refuse(w.Type[strings.LastIndexByte(w.Type, '#')+1:], "%s", w.Message)
	e.item = recordOf(w.Item)
	for _, r := range w.CancellationReasons {
		c := cancellation{code: r.Code, message: r.Message, item: recordOf(r.Item)}
		if r.Code == "None" {
			c = cancellation{}
		}
		e.reasons = append(e.reasons, c)
	}
	return e
}

// recordOf reads an item of the wire; nil when there is none.
func recordOf(raw []byte) *store.Record {
	if raw == nil {
		return nil
	}
	it, err := attr.ParseItem(raw)
	if err != nil {
		return nil
	}
	return store.OfItem(it, it.Size())
}
