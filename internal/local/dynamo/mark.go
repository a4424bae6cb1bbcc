package dynamo

import (
	"errors"
	"maps"

	"holdfast/internal/local/dynamo/store"
)

// Mark is a state of a server in memory. The zero value is none.
type Mark struct {
	data   store.Mark
	tables map[string]*table
}

var errNoMark = errors.New("there is no state to return to: only a server in memory gives marks")

// Mark remembers everything as it is, at next to no cost, for any number of returns. A server that keeps its data in a
// file gives the zero value.
func (s *Server) Mark() Mark {
	s.tables.change.Lock()
	defer s.tables.change.Unlock()
	if s.memory == nil {
		return Mark{}
	}
	s.tables.mu.RLock()
	defer s.tables.mu.RUnlock()
	return Mark{s.memory.Mark(), maps.Clone(s.tables.byName)}
}

// Return makes everything as it was at the mark. OnWrite is not told.
func (s *Server) Return(to Mark) error {
	s.tables.change.Lock()
	defer s.tables.change.Unlock()
	if s.memory == nil || to.tables == nil {
		return errNoMark
	}
	s.tables.mu.Lock()
	defer s.tables.mu.Unlock()
	s.memory.Return(to.data)
	s.tables.byName = maps.Clone(to.tables)
	return nil
}
