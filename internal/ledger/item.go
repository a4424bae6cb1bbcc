package ledger

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	json2 "github.com/go-json-experiment/json"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"holdfast/internal/operation"
)

type item = map[string]types.AttributeValue

func str(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
func num(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}
func blob(b []byte) types.AttributeValue { return &types.AttributeValueMemberB{Value: b} }
func emptyMap() types.AttributeValue     { return &types.AttributeValueMemberM{Value: item{}} }

func textOf(it item, name string) string {
	if v, ok := it[name].(*types.AttributeValueMemberS); ok {
		return v.Value
	}
	return ""
}

func numberOf(it item, name string) (int64, error) {
	v, ok := it[name].(*types.AttributeValueMemberN)
	if !ok {
		return 0, fmt.Errorf("%w: attribute %s is no number", ErrCorrupt, name)
	}
	n, err := strconv.ParseInt(v.Value, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%w: attribute %s: %v", ErrCorrupt, name, err)
	}
	return n, nil
}

func bytesOf(it item, name string) []byte {
	if v, ok := it[name].(*types.AttributeValueMemberB); ok {
		return v.Value
	}
	return nil
}

// record is an item that holds one noun: the document, and beside it what conditions and the index need.
type record struct {
	key
	kind     string
	doc      []byte
	rev      int64
	epoch    int64
	writeIDs [writeIDsKept]string // of the latest revisions, each at its revision modulo the size
	due      operation.Time
	status   string
	owner    string
	flow     string
	question string
	inbox    map[string][]byte
}

// writeID is the id of the write that made this revision; a ring keeps the latest few, so that a writer finds its
// own also after others wrote on top of it.
func (r *record) writeID() string { return r.writeIDs[r.rev%writeIDsKept] }

// wrote says that there is a revision of this record that was written with this id.
func (r *record) wrote(writeID string) bool { return slices.Contains(r.writeIDs[:], writeID) }

func ringName(slot int64) string { return "write_id_" + strconv.FormatInt(slot%writeIDsKept, 10) }

// item is the record as a new item.
func (r *record) item() item {
	it := make(item, len(columns)+2)
	it["pk"], it["sk"] = str(r.pk), str(r.sk)
	for i := range columns {
		if v := columns[i].of(r); v != nil {
			it[columns[i].name] = v
		}
	}
	it[ringName(r.rev)] = str(r.writeID())
	return it
}

// column is an attribute that every write of a record sets, or removes where the record has nothing for it.
type column struct {
	name, sharp, colon string // the name, and what stands for it and for its value in an expression
	of                 func(*record) types.AttributeValue
}

func columnOf(name string, of func(*record) types.AttributeValue) column {
	return column{name, "#" + name, ":" + name, of}
}

// columns are all but the key and the ring of write ids, of which a write sets one and leaves the older ones.
var columns = [...]column{
	columnOf("doc", func(r *record) types.AttributeValue { return str(string(r.doc)) }),
	columnOf("due", func(r *record) types.AttributeValue { return set(r.due.String()) }),
	columnOf("due_shard", func(r *record) types.AttributeValue {
		if r.due == 0 {
			return nil
		}
		return str(shardOf(r.pk))
	}),
	columnOf("epoch", func(r *record) types.AttributeValue { return num(r.epoch) }),
	columnOf("flow", func(r *record) types.AttributeValue { return set(r.flow) }),
	columnOf("inbox", func(*record) types.AttributeValue { return emptyMap() }),
	columnOf("kind", func(r *record) types.AttributeValue { return str(r.kind) }),
	columnOf("owner", func(r *record) types.AttributeValue { return set(r.owner) }),
	columnOf("question", func(r *record) types.AttributeValue { return set(r.question) }),
	columnOf("rev", func(r *record) types.AttributeValue { return num(r.rev) }),
	columnOf("status", func(r *record) types.AttributeValue { return str(r.status) }),
	columnOf("v", func(*record) types.AttributeValue { return num(schemaVersion) }),
}

// set is a text, or nothing.
func set(text string) types.AttributeValue {
	if text == "" {
		return nil
	}
	return str(text)
}

// update sets the record's attributes over an older revision. The values leave room for those of a condition.
func (r *record) update() (expression string, names map[string]string, values item) {
	ring := ringName(r.rev)
	names, values = make(map[string]string, len(columns)+1), make(item, 2*len(columns))
	put, remove := make([]byte, 0, expressionBytes), make([]byte, 0, expressionBytes)
	put = append(put, "SET #"+ring+" = :"+ring...)
	names["#"+ring], values[":"+ring] = ring, str(r.writeID())
	for i := range columns {
		c := &columns[i]
		names[c.sharp] = c.name
		if v := c.of(r); v != nil {
			values[c.colon] = v
			put = append(append(append(append(put, ", "...), c.sharp...), " = "...), c.colon...)
			continue
		}
		if len(remove) > 0 {
			remove = append(remove, ", "...)
		}
		remove = append(remove, c.sharp...)
	}
	if len(remove) > 0 {
		put = append(append(put, " REMOVE "...), remove...)
	}
	return string(put), names, values
}

// expressionBytes has room for an update expression.
const expressionBytes = 256

// recordOf reads an item and refuses what this release does not write.
func recordOf(it item) (record, error) {
	r := record{key: key{textOf(it, "pk"), textOf(it, "sk")}, kind: textOf(it, "kind"), doc: []byte(textOf(it, "doc")),
		status: textOf(it, "status"), owner: textOf(it, "owner"), flow: textOf(it, "flow"), question: textOf(it, "question")}
	for slot := range r.writeIDs {
		r.writeIDs[slot] = textOf(it, ringName(int64(slot)))
	}
	v, err := numberOf(it, "v")
	if err != nil || v != schemaVersion {
		return r, fmt.Errorf("%w: %s has version %d, this release reads version %d", ErrCorrupt, r.key, v, schemaVersion)
	}
	if r.rev, err = numberOf(it, "rev"); err != nil {
		return r, fmt.Errorf("%s: %w", r.key, err)
	}
	if r.epoch, err = numberOf(it, "epoch"); err != nil {
		return r, fmt.Errorf("%s: %w", r.key, err)
	}
	if r.due, err = operation.ParseTime(textOf(it, "due")); err != nil {
		return r, fmt.Errorf("%w: %s: due: %v", ErrCorrupt, r.key, err)
	}
	r.inbox, err = inboxOf(it)
	return r, err
}

func inboxOf(it item) (map[string][]byte, error) {
	m, ok := it["inbox"].(*types.AttributeValueMemberM)
	if !ok {
		return nil, fmt.Errorf("%w: %s has no inbox", ErrCorrupt, textOf(it, "pk"))
	}
	out := make(map[string][]byte, len(m.Value))
	for attempt, v := range m.Value {
		b, ok := v.(*types.AttributeValueMemberB)
		if !ok {
			return nil, fmt.Errorf("%w: %s: inbox entry %s is no binary", ErrCorrupt, textOf(it, "pk"), attempt)
		}
		out[attempt] = b.Value
	}
	return out, nil
}

// strict: a name is spelled as it is written, and one that is unknown or there twice is an error. Durations are whole
// nanoseconds, as they are written.
var strict = json2.JoinOptions(json2.RejectUnknownMembers(true), jsonv1.FormatDurationAsNano(true))

// decode reads a document strictly: a field or value that this release does not know is an error.
func decode(doc []byte, into any) error {
	if err := json2.Unmarshal(doc, into, strict); err != nil {
		return fmt.Errorf("%w: %v", ErrCorrupt, err)
	}
	return nil
}

func encode(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrRefused, err)
	}
	if len(b) > DocBytesMax {
		return nil, fmt.Errorf("%w: %d bytes of at most %d", ErrTooLarge, len(b), DocBytesMax)
	}
	return b, nil
}
