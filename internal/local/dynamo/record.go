package dynamo

import (
	"encoding/binary"
	"errors"
	"slices"

	"holdfast/internal/local/dynamo/attr"
)

// record is a stored item: its size by DynamoDB's rules, then the item as the wire has it.
type record struct {
	size int
	json []byte
}

func encodeRecord(it attr.Item) []byte {
	buf := binary.AppendUvarint(make([]byte, 0, itemBytesGuess), uint64(it.Size()))
	return attr.AppendItem(buf, it)
}

// itemBytesGuess is room for the usual item, in bytes.
const itemBytesGuess = 1024

func decodeRecord(raw []byte) (record, error) {
	size, n := binary.Uvarint(raw)
	if n <= 0 {
		return record{}, errors.New("a stored item is damaged; restore the data directory from a copy")
	}
	return record{size: int(size), json: raw[n:]}, nil
}

func (r record) item() (attr.Item, error) {
	if r.json == nil {
		return nil, nil
	}
	return attr.ParseItem(r.json)
}

// copied outlives the transaction it was read in.
func (r record) copied() record { return record{r.size, slices.Clone(r.json)} }
