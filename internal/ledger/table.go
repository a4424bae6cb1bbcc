package ledger

import (
	"fmt"
	"hash/fnv"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"holdfast/internal/operation"
)

const (
	// DueIndex is the one index: sparse, keys only, a list of hints.
	DueIndex = "due"
	// Shards is the number of partitions of the due index.
	Shards = 8
	// TTLAttribute is in seconds since 1970, as DynamoDB's TTL reads it.
	TTLAttribute = "ttl_epoch_s"

	schemaVersion = 1
)

// TableInput is the table that the ledger needs; the deployed template declares the same one.
func TableInput(name string) *dynamodb.CreateTableInput {
	text := func(n string) types.AttributeDefinition {
		return types.AttributeDefinition{AttributeName: aws.String(n), AttributeType: types.ScalarAttributeTypeS}
	}
	keys := func(hash, sort string) []types.KeySchemaElement {
		return []types.KeySchemaElement{
			{AttributeName: aws.String(hash), KeyType: types.KeyTypeHash},
			{AttributeName: aws.String(sort), KeyType: types.KeyTypeRange},
		}
	}
	return &dynamodb.CreateTableInput{
		TableName:            aws.String(name),
		BillingMode:          types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{text("pk"), text("sk"), text("due_shard"), text("due")},
		KeySchema:            keys("pk", "sk"),
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{
			IndexName:  aws.String(DueIndex),
			KeySchema:  keys("due_shard", "due"),
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly},
		}},
	}
}

// key is the table's key of one item.
type key struct{ pk, sk string }

func (k key) attributes() item { return item{"pk": str(k.pk), "sk": str(k.sk)} }

func (k key) String() string { return k.pk + "/" + k.sk }

func operationKey(id operation.ID) key  { return key{"op#" + string(id), "op"} }
func eventKey(id operation.EventID) key { return key{"ev#" + string(id), "ev"} }
func runKey(id operation.RunID) key     { return key{"run#" + string(id), "run"} }
func planKey(id operation.RunID) key    { return key{"run#" + string(id), "plan"} }
func linkKey(id LinkID) key             { return key{"link#" + string(id), "link"} }
func guardKey(digest string) key        { return key{"repeat#" + digest, "repeat"} }
func shapeKey(flow, stage string) key   { return key{"shape#" + flow + "#" + stage, "shape"} }
func stackKey() key                     { return key{"stack", "stack"} }
func tokenKey(id operation.RunID, n int) key {
	return key{"run#" + string(id), fmt.Sprintf("token#%04d", n)}
}

// The digest is part of the key, so that two plans with other bytes never meet on one item.

func contentKey(id operation.ID, c operation.Content) key {
	return key{"op#" + string(id), fmt.Sprintf("content#%04d#%s", c.Version, c.Digest)}
}

func filledKey(id operation.ID, f operation.Filled) key {
	return key{"op#" + string(id), fmt.Sprintf("filled#%04d#%04d#%s", f.Version, f.Generation, f.Digest)}
}

func payloadPrefix(d operation.Digest) string { return "payload#" + string(d) + "#" }

func payloadKey(id operation.EventID, d operation.Digest, part int) key {
	return key{"ev#" + string(id), payloadPrefix(d) + strconv.Itoa(part)}
}

// shardOf spreads records over the due index by their key; it is permanent for a record.
func shardOf(pk string) string {
	h := fnv.New32a()
	h.Write([]byte(pk))
	return strconv.Itoa(int(h.Sum32() % Shards))
}
