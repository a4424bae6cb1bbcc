package conformance

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// batches get and write several items, each for itself.
func batches(t *testing.T, s *suite) {
	table := s.table(t, "batches", "S")
	ctx := context.Background()
	write := func(n int) string {
		var reqs []types.WriteRequest
		for i := range n {
			reqs = append(reqs, types.WriteRequest{PutRequest: &types.PutRequest{Item: of(object{"pk": "b", "sk": fmt.Sprint(i), "a": 1, "b": 2})}})
		}
		_, err := s.db.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{*table: reqs}})
		return code(err)
	}
	same(t, "26 writes", bad, write(26))
	same(t, "25 writes", yes, write(25))
	get := func(keys types.KeysAndAttributes) (int, string, error) {
		out, err := s.db.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{*table: keys}})
		if err != nil || len(out.Responses[*table]) == 0 {
			return 0, "", err
		}
		return len(out.Responses[*table]), show(out.Responses[*table][0]), nil
	}
	var keys []item
	for i := range 100 {
		keys = append(keys, of(object{"pk": "b", "sk": fmt.Sprint(i)}))
	}
	n, first, err := get(types.KeysAndAttributes{Keys: keys, ConsistentRead: aws.Bool(true), ProjectionExpression: aws.String("#a"), ExpressionAttributeNames: map[string]string{"#a": "a"}})
	if err != nil || n != 25 {
		differs(t, "25 of 100 keys are there", fmt.Sprint(n, err))
	}
	same(t, "projection", "{a:1}", first)
	_, _, err = get(types.KeysAndAttributes{Keys: append(keys, of(object{"pk": "b", "sk": "100"}))})
	same(t, "101 keys", bad, code(err))
	_, _, err = get(types.KeysAndAttributes{Keys: []item{keys[0], keys[0]}})
	same(t, "one key twice", bad, code(err))
	_, err = s.db.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{*table + ".nope": {Keys: keys[:1]}}})
	same(t, "a table that is not there", "ResourceNotFoundException", code(err))
	_, err = s.db.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{*table: {
		{DeleteRequest: &types.DeleteRequest{Key: keys[0]}}, {PutRequest: &types.PutRequest{Item: keys[0]}},
	}}})
	same(t, "two writes of one item", bad, code(err))
}

// capacity is counted as documented: 1 KB a write unit, 4 KB a read unit, half for eventual reads, twice in transactions.
func capacity(t *testing.T, s *suite) {
	table := s.table(t, "capacity", "S")
	ctx, key := context.Background(), of(object{"pk": "c", "sk": "x"})
	big := of(object{"pk": "c", "sk": "x", "v": strings.Repeat("x", 5000)})
	units := func(c *types.ConsumedCapacity, err error) string {
		if err != nil || c == nil {
			return fmt.Sprint("none: ", err)
		}
		return fmt.Sprint(aws.ToFloat64(c.CapacityUnits))
	}
	get := func(consistent bool) string {
		out, err := s.db.GetItem(ctx, &dynamodb.GetItemInput{TableName: table, Key: key, ConsistentRead: &consistent, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal})
		return units(out.ConsumedCapacity, err)
	}
	same(t, "an absent item, consistent", "1", get(true))
	same(t, "an absent item, eventual", "0.5", get(false))
	put, err := s.db.PutItem(ctx, &dynamodb.PutItemInput{TableName: table, Item: big, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal})
	same(t, "a put of 5 KB", "5", units(put.ConsumedCapacity, err))
	same(t, "5 KB, consistent", "2", get(true))
	same(t, "5 KB, eventual", "1", get(false))
	update, err := s.db.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: table, Key: key, UpdateExpression: aws.String("SET v = :v"), ExpressionAttributeValues: of(object{":v": 1}), ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal})
	same(t, "an update counts the larger item", "5", units(update.ConsumedCapacity, err))
	update, err = s.db.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: table, Key: key, UpdateExpression: aws.String("SET gpk = :v"), ExpressionAttributeValues: of(object{":v": "g"}), ReturnConsumedCapacity: types.ReturnConsumedCapacityIndexes})
	same(t, "an update that enters one index", "2", units(update.ConsumedCapacity, err))
	if err == nil && update.ConsumedCapacity != nil {
		same(t, "of which the index", "1", fmt.Sprint(aws.ToFloat64(update.ConsumedCapacity.GlobalSecondaryIndexes["keys"].CapacityUnits)))
	}
	tx, err := s.db.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{{Put: &types.Put{TableName: table, Item: of(object{"pk": "t", "sk": "x"})}}}, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal})
	if err != nil || len(tx.ConsumedCapacity) != 1 {
		differs(t, "a put in a transaction", fmt.Sprint(err))
		return
	}
	same(t, "a put in a transaction", "2", units(&tx.ConsumedCapacity[0], nil))
	none, err := s.db.GetItem(ctx, &dynamodb.GetItemInput{TableName: table, Key: key})
	if err != nil || none.ConsumedCapacity != nil {
		differs(t, "capacity that was not asked for", fmt.Sprint(none, err))
	}
}

// tables are made, described, listed, given a time to live, and deleted.
func tables(t *testing.T, s *suite) {
	table, ctx := s.table(t, "tables", "N"), context.Background()
	d, err := s.db.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: table})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "status", "ACTIVE", string(d.Table.TableStatus))
	same(t, "billing", "PAY_PER_REQUEST", string(d.Table.BillingModeSummary.BillingMode))
	if aws.ToString(d.Table.TableId) == "" || !strings.HasSuffix(aws.ToString(d.Table.TableArn), ":table/"+*table) || d.Table.CreationDateTime == nil {
		differs(t, "id, ARN and time", fmt.Sprint(aws.ToString(d.Table.TableId), " ", aws.ToString(d.Table.TableArn), " ", d.Table.CreationDateTime))
	}
	if len(d.Table.AttributeDefinitions) != 5 || len(d.Table.KeySchema) != 2 || len(d.Table.GlobalSecondaryIndexes) != 3 {
		differs(t, "keys and indexes", fmt.Sprint(len(d.Table.AttributeDefinitions), len(d.Table.KeySchema), len(d.Table.GlobalSecondaryIndexes)))
	}
	for _, ix := range d.Table.GlobalSecondaryIndexes {
		same(t, aws.ToString(ix.IndexName), "ACTIVE", string(ix.IndexStatus))
	}
	nope := aws.String(*table + ".nope")
	for name, call := range map[string]func() error{
		"DescribeTable": func() error {
			_, err := s.db.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: nope})
			return err
		},
		"DeleteTable": func() error { return s.drop(nope) },
		"GetItem": func() error {
			_, err := s.db.GetItem(ctx, &dynamodb.GetItemInput{TableName: nope, Key: of(object{"pk": "a"})})
			return err
		},
		"PutItem": func() error {
			_, err := s.db.PutItem(ctx, &dynamodb.PutItemInput{TableName: nope, Item: of(object{"pk": "a"})})
			return err
		},
		"Query": func() error { _, err := s.db.Query(ctx, keyQuery(nope, "pk = :p", object{":p": "p"})); return err },
		"Scan":  func() error { _, err := s.db.Scan(ctx, &dynamodb.ScanInput{TableName: nope}); return err },
		"DescribeTTL": func() error {
			_, err := s.db.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: nope})
			return err
		},
	} {
		same(t, name+" of a table that is not there", "ResourceNotFoundException", code(call()))
	}
	_, err = s.db.CreateTable(ctx, simpleTable(*table))
	same(t, "a table that is there", "ResourceInUseException", code(err))
	_, err = s.db.CreateTable(ctx, simpleTable("x"))
	same(t, "a name of one letter", bad, code(err))
	listed(t, s, table)
	timeToLive(t, s, table)
}

func simpleTable(name string) *dynamodb.CreateTableInput {
	return &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: types.BillingModePayPerRequest, KeySchema: keySchema("pk", ""),
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("pk"), AttributeType: types.ScalarAttributeTypeS}},
	}
}

func listed(t *testing.T, s *suite, table *string) {
	found := 0
	in := &dynamodb.ListTablesInput{Limit: aws.Int32(1)}
	for range 1000 {
		out, err := s.db.ListTables(context.Background(), in)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range out.TableNames {
			if name == *table {
				found++
			}
		}
		if in.ExclusiveStartTableName = out.LastEvaluatedTableName; in.ExclusiveStartTableName == nil {
			break
		}
	}
	if found != 1 {
		differs(t, "the table is listed once", fmt.Sprint(found))
	}
}

func timeToLive(t *testing.T, s *suite, table *string) {
	t.Run("time to live", func(t *testing.T) {
		describe := func() string {
			out, err := s.db.DescribeTimeToLive(context.Background(), &dynamodb.DescribeTimeToLiveInput{TableName: table})
			if err != nil {
				return code(err)
			}
			return string(out.TimeToLiveDescription.TimeToLiveStatus) + " " + aws.ToString(out.TimeToLiveDescription.AttributeName)
		}
		same(t, "at first", "DISABLED ", describe())
		update := func() string {
			_, err := s.db.UpdateTimeToLive(context.Background(), &dynamodb.UpdateTimeToLiveInput{TableName: table, TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String("ttl"), Enabled: aws.Bool(true)}})
			return code(err)
		}
		same(t, "enable", yes, update())
		settles(t, "then", "ENABLED ttl", describe)
		same(t, "enable again", bad, update())
	})
}

// messages are DynamoDB's own, where people search for them.
func messages(t *testing.T, s *suite) {
	table := s.table(t, "messages", "S")
	s.put(t, table, object{"pk": "m", "sk": "x", "n": 1})
	for _, c := range []struct {
		condition, update string
		values            object
		want              string
	}{
		{"n = :x", "", nil, "Invalid ConditionExpression: An expression attribute value used in expression is not defined; attribute value: :x"},
		{"#q = :x", "", object{":x": 1}, "Invalid ConditionExpression: An expression attribute name used in the document path is not defined; attribute name: #q"},
		{"status = :x", "", object{":x": 1}, "Invalid ConditionExpression: Attribute name is a reserved keyword; reserved keyword: status"},
		{"n = = :x", "", object{":x": 1}, `Invalid ConditionExpression: Syntax error; token: "=", near: "= = :x"`},
		{"n =", "", nil, `Invalid ConditionExpression: Syntax error; token: "<EOF>", near: "="`},
		{"", "", nil, "Invalid ConditionExpression: The expression can not be empty;"},
		{"((n = :x))", "", object{":x": 1}, "Invalid ConditionExpression: The expression has redundant parentheses;"},
		{"foo(n)", "", nil, "Invalid ConditionExpression: Invalid function name; function: foo"},
		{"begins_with(n, :x)", "", object{":x": 1}, "Invalid ConditionExpression: Incorrect operand type for operator or function; operator or function: begins_with, operand type: N"},
		{"attribute_exists(n, m)", "", nil, "Invalid ConditionExpression: Incorrect number of operands for operator or function; operator or function: attribute_exists, number of operands: 2"},
		{"n = :x", "", object{":x": 1, ":y": 1}, "Value provided in ExpressionAttributeValues unused in expressions: keys: {:y}"},
		{"n = :x", "", object{":x": 2}, "The conditional request failed"},
		{"-", "SET pk = :x", object{":x": 2}, "One or more parameter values were invalid: Cannot update attribute pk. This attribute is part of the key"},
		{"-", "SET n = :x, n = :x", object{":x": 2}, "Invalid UpdateExpression: Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [n], path two: [n]"},
		{"-", "SET n = :x SET m = :x", object{":x": 2}, `Invalid UpdateExpression: The "SET" section can only be used once in an update expression;`},
		{"-", "SET a = b", nil, "The provided expression refers to an attribute that does not exist in the item"},
		{"-", "SET a.b = :x", object{":x": 2}, "The document path provided in the update expression is invalid for update"},
		{"-", "SET a = n + :x", object{":x": "2"}, "Invalid UpdateExpression: Incorrect operand type for operator or function; operator or function: +, operand type: S"},
		{"-", "ADD n :x", object{":x": "2"}, "Invalid UpdateExpression: Incorrect operand type for operator or function; operator: ADD, operand type: STRING"},
		{"-", "SET a = list_append(n, :x)", object{":x": list{}}, "An operand in the update expression has an incorrect data type"},
	} {
		t.Run(c.condition+c.update, func(t *testing.T) {
			in := &dynamodb.UpdateItemInput{TableName: table, Key: of(object{"pk": "m", "sk": "x"}), UpdateExpression: optional(c.update), ConditionExpression: aws.String(c.condition), ExpressionAttributeValues: bound(c.values)}
			if c.condition == "-" {
				in.ConditionExpression = nil
			}
			if strings.Contains(c.condition, "#q") {
				in.ExpressionAttributeNames = map[string]string{"#unused": "n"}
			}
			_, err := s.db.UpdateItem(context.Background(), in)
			same(t, "message", c.want, message(err))
		})
	}
}

// refusals: what is asked wrongly changes nothing and says so.
func refusals(t *testing.T, s *suite) {
	table, ctx := s.table(t, "refusals", "S"), context.Background()
	names := map[string]string{"#a": "a"}
	_, err := s.db.PutItem(ctx, &dynamodb.PutItemInput{TableName: table, Item: of(object{"pk": "a", "sk": "x"}), ExpressionAttributeNames: names})
	same(t, "names without expression", bad, code(err))
	_, err = s.db.PutItem(ctx, &dynamodb.PutItemInput{TableName: table, Item: of(object{"pk": "a", "sk": "x"}), ExpressionAttributeValues: of(object{":v": 1})})
	same(t, "values without expression", bad, code(err))
	_, err = s.db.PutItem(ctx, &dynamodb.PutItemInput{TableName: table, Item: of(object{"pk": "a", "sk": "x"}), ConditionExpression: aws.String("attribute_not_exists(pk)"), ExpressionAttributeNames: names})
	same(t, "a name that is not used", bad, code(err))
	_, err = s.db.GetItem(ctx, &dynamodb.GetItemInput{TableName: table, Key: of(object{"pk": "a"})})
	same(t, "a key without sort key", bad, code(err))
	_, err = s.db.GetItem(ctx, &dynamodb.GetItemInput{TableName: table, Key: of(object{"pk": "a", "sk": "x", "more": "y"})})
	same(t, "a key with too much", bad, code(err))
	_, err = s.db.GetItem(ctx, &dynamodb.GetItemInput{TableName: table, Key: of(object{"pk": "a", "sk": 1})})
	same(t, "a key of the wrong type", bad, code(err))
	_, err = s.db.Query(ctx, &dynamodb.QueryInput{TableName: table})
	same(t, "a query without condition", bad, code(err))
	in := keyQuery(table, "pk = :p", object{":p": "p"})
	in.Limit = aws.Int32(0)
	same(t, "a limit of zero", bad, s.sortKeys(in))
	same(t, "and nothing was written", "none", show(s.get(t, table, "a", "x")))
}
