// Package store keeps ordered bytes in one embedded file and commits concurrent writers together.
//
// It promises that a writer decides on what all earlier writers left, that its changes appear whole or not at all,
// and that Write returns only after they are committed: with Sync on the disk, without it in the operating system, so
// that the end of this process loses nothing. Without Sync a power cut can damage the file. It never runs anything in
// the background.
package store

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"go.etcd.io/bbolt"
)

const (
	groupWritesMax  = 256         // writers in one commit
	mapBytesInitial = 64 << 20    // address space mapped at first
	lockWait        = time.Second // for another process to let go of the file
	fileMode        = 0o600
	fileName        = "dynamo.db"
)

// Bucket reads one ordered set of keys. Slices are valid until the function that was given it returns.
type Bucket = bbolt.Bucket

// Tx reads a consistent state of everything.
type Tx = bbolt.Tx

// Change puts a value, or deletes the key when Value is nil.
type Change struct {
	Bucket     []byte
	Key, Value []byte
}

// Plan reads and says what to change. With an error nothing changes.
type Plan func(*Tx) ([]Change, error)

// Store is an open file. It is safe for use by several goroutines.
type Store struct {
	dir  string
	sync bool
	open sync.RWMutex // held for writing while the file is swapped
	db   *bbolt.DB

	mu      sync.Mutex
	leading bool
	queue   []*write
}

type write struct {
	plan Plan
	err  error
	done chan struct{} // closed when decided
	lead chan struct{} // closed when this writer must lead the next group
}

// Open opens or makes the file in dir. With sync every commit waits for the disk.
func Open(dir string, sync bool) (*Store, error) {
	s := &Store{dir: dir, sync: sync}
	return s, s.start()
}

func (s *Store) start() error {
	db, err := bbolt.Open(filepath.Join(s.dir, fileName), fileMode, &bbolt.Options{
		Timeout: lockWait, NoSync: !s.sync, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType,
		InitialMmapSize: mapBytesInitial,
	})
	if err != nil {
		return fmt.Errorf("open %s (is another server using this directory?): %w", filepath.Join(s.dir, fileName), err)
	}
	s.db = db
	return nil
}

// Close closes the file; the store is of no use afterwards.
func (s *Store) Close() error {
	s.open.Lock()
	defer s.open.Unlock()
	return s.db.Close()
}

// View reads one consistent state.
func (s *Store) View(read func(*Tx) error) error {
	s.open.RLock()
	defer s.open.RUnlock()
	return s.db.View(read)
}

// Admin changes the buckets themselves, alone.
func (s *Store) Admin(change func(*Tx) error) error {
	s.open.RLock()
	defer s.open.RUnlock()
	return s.db.Update(change)
}

// Write runs the plan after all earlier ones and commits what it says, together with its neighbours.
func (s *Store) Write(plan Plan) error {
	s.open.RLock()
	defer s.open.RUnlock()
	w := &write{plan: plan, done: make(chan struct{}), lead: make(chan struct{})}
	s.mu.Lock()
	s.queue = append(s.queue, w)
	first := !s.leading
	s.leading = true
	s.mu.Unlock()
	if !first {
		select {
		case <-w.done:
			return w.err
		case <-w.lead:
		}
	}
	s.commit(s.take())
	return w.err
}

// take removes the next group from the queue.
func (s *Store) take() []*write {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := min(len(s.queue), groupWritesMax)
	group := s.queue[:n:n]
	s.queue = append([]*write(nil), s.queue[n:]...)
	return group
}

// commit decides a group, then hands the lead to the first writer that came meanwhile.
func (s *Store) commit(group []*write) {
	failed := fmt.Errorf("a writer of the same commit failed; nothing of it was written")
	defer func() {
		for _, w := range group {
			if failed != nil && w.err == nil {
				w.err = failed
			}
			close(w.done)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.leading = len(s.queue) > 0
		if s.leading {
			close(s.queue[0].lead)
		}
	}()
	failed = s.db.Update(func(tx *Tx) error {
		for _, w := range group {
			if err := w.run(tx); err != nil {
				return err
			}
		}
		return nil
	})
}

// run plans and applies. Only a failure to apply spoils the group: a plan's own error changed nothing.
func (w *write) run(tx *Tx) error {
	changes, err := w.plan(tx)
	if err != nil {
		w.err = err
		return nil
	}
	for _, c := range changes {
		if err := apply(tx.Bucket(c.Bucket), c); err != nil {
			return err
		}
	}
	return nil
}

func apply(b *Bucket, c Change) error {
	if c.Value == nil {
		return b.Delete(c.Key)
	}
	return b.Put(c.Key, c.Value)
}

// Snapshot writes a consistent copy of the whole file.
func (s *Store) Snapshot(w io.Writer) error {
	return s.View(func(tx *Tx) error {
		_, err := tx.WriteTo(w)
		return err
	})
}

// Restore replaces everything by a snapshot. Calls in flight end first.
func (s *Store) Restore(r io.Reader) error {
	s.open.Lock()
	defer s.open.Unlock()
	path := filepath.Join(s.dir, fileName)
	if err := writeFile(path+".new", r); err != nil {
		return err
	}
	if err := s.db.Close(); err != nil {
		return err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return err
	}
	return s.start()
}

func writeFile(path string, r io.Reader) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, fileMode)
	if err != nil {
		return err
	}
	if _, err := io.Copy(f, r); err != nil {
		_ = f.Close()
		return err
	}
	if err := f.Sync(); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}
