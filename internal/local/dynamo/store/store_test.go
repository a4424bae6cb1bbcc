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

func open(t *testing.T) *store.Store {
	t.Helper()
	s, err := store.Open(t.TempDir(), false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	err = s.Admin(func(tx *store.Tx) error {
		_, err := tx.CreateBucket(bucket)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func read(t *testing.T, s *store.Store, key string) []byte {
	t.Helper()
	var value []byte
	err := s.View(func(tx *store.Tx) error {
		value = bytes.Clone(tx.Bucket(bucket).Get([]byte(key)))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// Writers in one commit see each other's changes, and one that refuses spoils none of the others.
func TestWritersShareACommit(t *testing.T) {
	t.Parallel()
	s := open(t)
	refused := errors.New("refused")
	const writers = 2000
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			err := s.Write(func(tx *store.Tx) ([]store.Change, error) {
				if i%2 == 0 {
					return nil, refused
				}
				var n uint64
				if raw := tx.Bucket(bucket).Get([]byte("n")); raw != nil {
					n = binary.BigEndian.Uint64(raw)
				}
				return []store.Change{{Bucket: bucket, Key: []byte("n"), Value: binary.BigEndian.AppendUint64(nil, n+1)}}, nil
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
}

// A writer is answered only when what it wrote can be read.
func TestAnsweredIsCommitted(t *testing.T) {
	t.Parallel()
	s := open(t)
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			key := string(rune('a' + i))
			if err := s.Write(func(*store.Tx) ([]store.Change, error) {
				return []store.Change{{Bucket: bucket, Key: []byte(key), Value: []byte{1}}}, nil
			}); err != nil {
				t.Error(err)
			}
			if read(t, s, key) == nil {
				t.Errorf("write %d was answered and cannot be read", i)
			}
		})
	}
	wg.Wait()
}

// A change that cannot be applied fails its commit whole, and the next writer is served.
func TestFailedCommit(t *testing.T) {
	t.Parallel()
	s := open(t)
	err := s.Write(func(*store.Tx) ([]store.Change, error) {
		return []store.Change{{Bucket: bucket, Key: []byte("kept"), Value: []byte{1}}, {Bucket: bucket, Key: nil, Value: []byte{1}}}, nil
	})
	if err == nil || read(t, s, "kept") != nil {
		t.Errorf("half a change was kept (%v)", err)
	}
	if err := s.Write(func(*store.Tx) ([]store.Change, error) {
		return []store.Change{{Bucket: bucket, Key: []byte("next"), Value: []byte{1}}}, nil
	}); err != nil || read(t, s, "next") == nil {
		t.Errorf("the next writer: %v", err)
	}
}
