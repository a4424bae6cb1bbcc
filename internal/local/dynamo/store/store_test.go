package store_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"sync"
	"testing"

	"holdfast/internal/local/dynamo/store"
)

var bucket = []byte("b")

// both runs a test on a store of each kind.
func both(t *testing.T, test func(*testing.T, store.Store)) {
	t.Parallel()
	t.Run("file", func(t *testing.T) {
		t.Parallel()
		s, err := store.Open(t.TempDir(), false)
		if err != nil {
			t.Fatal(err)
		}
		test(t, prepared(t, s))
	})
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		test(t, prepared(t, store.NewMemory()))
	})
}

func prepared(t *testing.T, s store.Store) store.Store {
	t.Helper()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := s.Admin(func(tx store.AdminTx) error { return tx.CreateBucket(bucket) }); err != nil {
		t.Fatal(err)
	}
	return s
}

func read(t *testing.T, s store.Store, key string) []byte {
	t.Helper()
	var value []byte
	err := s.View(func(tx store.Tx) error {
		value = bytes.Clone(tx.Bucket(bucket).Bytes([]byte(key)))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// Writers in one commit see each other's changes, and one that refuses spoils none of the others.
func TestWritersShareACommit(t *testing.T) {
	both(t, func(t *testing.T, s store.Store) {
		refused := errors.New("refused")
		const writers = 2000
		var wg sync.WaitGroup
		for i := range writers {
			wg.Go(func() {
				err := s.Write(func(tx store.Tx) ([]store.Change, error) {
					if i%2 == 0 {
						return nil, refused
					}
					var n uint64
					if raw := tx.Bucket(bucket).Bytes([]byte("n")); raw != nil {
						n = binary.BigEndian.Uint64(raw)
					}
					return []store.Change{{Bucket: bucket, Key: []byte("n"), Record: store.OfBytes(binary.BigEndian.AppendUint64(nil, n+1))}}, nil
				})
				if errors.Is(err, refused) != (i%2 == 0) || i%2 != 0 && err != nil {
					t.Errorf("writer %d: %v", i, err)
				}
			})
		}
		wg.Wait()
		if n := binary.BigEndian.Uint64(read(t, s, "n")); n != writers/2 {
			t.Errorf("%d of %d additions", n, writers/2)
		}
	})
}

// A writer is answered only when what it wrote can be read.
func TestAnsweredIsCommitted(t *testing.T) {
	both(t, func(t *testing.T, s store.Store) {
		var wg sync.WaitGroup
		for i := range 200 {
			wg.Go(func() {
				key := string(rune('a' + i))
				if err := s.Write(func(store.Tx) ([]store.Change, error) {
					return []store.Change{{Bucket: bucket, Key: []byte(key), Record: store.OfBytes([]byte{1})}}, nil
				}); err != nil {
					t.Error(err)
				}
				if read(t, s, key) == nil {
					t.Errorf("write %d was answered and cannot be read", i)
				}
			})
		}
		wg.Wait()
	})
}

// A change that cannot be applied fails its commit whole, and the next writer is served.
func TestFailedCommit(t *testing.T) {
	both(t, func(t *testing.T, s store.Store) {
		err := s.Write(func(store.Tx) ([]store.Change, error) {
			return []store.Change{{Bucket: bucket, Key: []byte("kept"), Record: store.OfBytes([]byte{1})}, {Bucket: bucket, Key: nil, Record: store.OfBytes([]byte{1})}}, nil
		})
		if err == nil || read(t, s, "kept") != nil {
			t.Errorf("half a change was kept (%v)", err)
		}
		if err := s.Write(func(store.Tx) ([]store.Change, error) {
			return []store.Change{{Bucket: bucket, Key: []byte("next"), Record: store.OfBytes([]byte{1})}}, nil
		}); err != nil || read(t, s, "next") == nil {
			t.Errorf("the next writer: %v", err)
		}
	})
}
