package dynamo

import "strings"

// checkPlaceholders checks names and values against the expressions that could use them.
func (q *request) checkPlaceholders() error {
	names := q.condition != nil || q.update != nil || q.projection != nil || q.filter != nil || q.keyCondition != nil
	values := q.condition != nil || q.update != nil || q.filter != nil || q.keyCondition != nil
	switch {
	case q.hasNames && !names:
		return invalid("ExpressionAttributeNames can only be specified when using expressions")
	case q.hasValues && !values:
		return invalid("ExpressionAttributeValues can only be specified when using expressions: %s", absentExpressions(q.op))
	case q.hasNames && len(q.scope.Names) == 0:
		return invalid("ExpressionAttributeNames must not be empty")
	case q.hasValues && len(q.scope.Values) == 0:
		return invalid("ExpressionAttributeValues must not be empty")
	}
	return q.scope.CheckKeys()
}

func absentExpressions(op string) string {
	switch op {
	case "UpdateItem", "Update":
		return "UpdateExpression and ConditionExpression are null"
	case "Query":
		return "FilterExpression and KeyConditionExpression are null"
	case "Scan":
		return "FilterExpression is null"
	}
	return "ConditionExpression is null"
}

func oneOf(member, value, choices string) error {
	if value == "" || hasWord(choices, value) {
		return nil
	}
	return invalid("1 validation error detected: Value '%s' at '%s' failed to satisfy constraint: Member must satisfy enum value set: [%s]", value, member, strings.ReplaceAll(choices, " ", ", "))
}

func (q *request) checkReturns() error {
	if err := oneOf("returnConsumedCapacity", q.returnCapacity, "INDEXES TOTAL NONE"); err != nil {
		return err
	}
	if err := oneOf("returnValuesOnConditionCheckFailure", q.returnOnFailure, "ALL_OLD NONE"); err != nil {
		return err
	}
	if err := oneOf("returnValues", q.returnValues, "ALL_NEW UPDATED_OLD ALL_OLD NONE UPDATED_NEW"); err != nil {
		return err
	}
	if q.returnValues == "NONE" {
		q.returnValues = ""
	}
	if q.op != "UpdateItem" && q.returnValues != "" && q.returnValues != "ALL_OLD" {
		return invalid("ReturnValues can only be ALL_OLD or NONE")
	}
	return nil
}
