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

// File is a store in one embedded file.
type File struct {
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
func Open(dir string, sync bool) (*File, error) {
	s := &File{dir: dir, sync: sync}
	return s, s.start()
}

func (s *File) start() error {
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

// Close implements Store.
func (s *File) Close() error {
	s.open.Lock()
	defer s.open.Unlock()
	return s.db.Close()
}

// View implements Store.
func (s *File) View(read func(Tx) error) error {
	s.open.RLock()
	defer s.open.RUnlock()
	return s.db.View(func(tx *bbolt.Tx) error { return read(fileTx{tx}) })
}

// Admin implements Store.
func (s *File) Admin(change func(AdminTx) error) error {
	s.open.RLock()
	defer s.open.RUnlock()
	return s.db.Update(func(tx *bbolt.Tx) error { return change(fileTx{tx}) })
}

// Write implements Store. The changes are committed together with those of its neighbours.
func (s *File) Write(plan Plan) error {
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
func (s *File) take() []*write {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := min(len(s.queue), groupWritesMax)
	group := s.queue[:n:n]
	s.queue = append([]*write(nil), s.queue[n:]...)
	return group
}

// commit decides a group, then hands the lead to the first writer that came meanwhile.
func (s *File) commit(group []*write) {
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
	failed = s.db.Update(func(tx *bbolt.Tx) error {
		for _, w := range group {
			if err := w.run(fileTx{tx}); err != nil {
				return err
			}
		}
		return nil
	})
}

// run plans and applies. Only a failure to apply spoils the group: a plan's own error changed nothing.
func (w *write) run(tx fileTx) error {
	changes, err := w.plan(tx)
	if err != nil {
		w.err = err
		return nil
	}
	for _, c := range changes {
		if err := tx.Apply(c); err != nil {
			return err
		}
	}
	return nil
}

// Snapshot implements Store: the copy is the file as it would be.
func (s *File) Snapshot(w io.Writer) error {
	s.open.RLock()
	defer s.open.RUnlock()
	return s.db.View(func(tx *bbolt.Tx) error {
		_, err := tx.WriteTo(w)
		return err
	})
}

// Restore implements Store.
func (s *File) Restore(r io.Reader) error {
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
