package dynamo

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sync"

	"holdfast/internal/local/dynamo/store"
)

// tablesBucket holds the definitions by name.
var tablesBucket = []byte("tables")

// catalog is the set of tables, kept in memory as the store has it.
type catalog struct {
	change sync.Mutex // one change of the set at a time
	mu     sync.RWMutex
	byName map[string]*table
}

func (c *catalog) get(name string) *table {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.byName[name]
}

func (c *catalog) put(name string, t *table) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t == nil {
		delete(c.byName, name)
		return
	}
	c.byName[name] = t
}

func (c *catalog) names() []string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	names := make([]string, 0, len(c.byName))
	for name := range c.byName {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// load reads the definitions from the store.
func (c *catalog) load(s store.Store) error {
	byName := map[string]*table{}
	err := s.Admin(func(tx store.AdminTx) error {
		for _, name := range [][]byte{tablesBucket, tokensBucket, expiryBucket} {
			if tx.Bucket(name) != nil {
				continue
			}
			if err := tx.CreateBucket(name); err != nil {
				return err
			}
		}
		return tx.Bucket(tablesBucket).EachBytes(func(name, raw []byte) (bool, error) {
			d := &definition{}
			if err := json.Unmarshal(raw, d); err != nil {
				return false, fmt.Errorf("definition of table %s: %w", name, err)
			}
			byName[string(name)] = d.table()
			return false, nil
		})
	})
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.byName = byName
	return nil
}

// tableOf finds the request's table.
func (s *Server) tableOf(name string) (*table, error) {
	if t := s.tables.get(name); t != nil {
		return t, nil
	}
	if err := checkTableName(name); err != nil {
		return nil, err
	}
	return nil, unknownTable()
}

func (s *Server) namedTable(name string) (*table, error) {
	t, err := s.tableOf(name)
	if err != nil && asRefusal(err).name == "ResourceNotFoundException" {
		return nil, refuse("ResourceNotFoundException", "Requested resource not found: Table: %s not found", name)
	}
	return t, err
}

func (s *Server) createTable(q *request) (*tableAnswer, error) {
	if err := checkTableName(q.table); err != nil {
		return nil, err
	}
	d := q.definition
	if d == nil {
		d = &definition{}
	}
	if err := d.check(); err != nil {
		return nil, err
	}
	s.tables.change.Lock()
	defer s.tables.change.Unlock()
	if s.tables.get(q.table) != nil {
		return nil, refuse("ResourceInUseException", "Table already exists: %s", q.table)
	}
	d.TableName, d.TableId = q.table, s.options.NewID()
	d.Created = math.Round(float64(s.options.Clock.Now().UnixMilli())) / millisPerSecond
	t := d.table()
	if err := s.store.Admin(func(tx store.AdminTx) error { return makeTable(tx, t) }); err != nil {
		return nil, err
	}
	s.tables.put(q.table, t)
	return s.described("TableDescription", t, "ACTIVE")
}

const millisPerSecond = 1000

func (t *table) buckets() [][]byte {
	all := [][]byte{t.bucket}
	for _, ix := range t.indexes {
		all = append(all, ix.bucket)
	}
	return all
}

func makeTable(tx store.AdminTx, t *table) error {
	for _, name := range t.buckets() {
		if err := tx.CreateBucket(name); err != nil {
			return err
		}
	}
	return saveDefinition(tx, t.def)
}

func saveDefinition(tx store.AdminTx, d *definition) error {
	raw, err := json.Marshal(d)
	if err != nil {
		return err
	}
	return tx.Apply(store.Change{Bucket: tablesBucket, Key: []byte(d.TableName), Record: store.OfBytes(raw)})
}

func (s *Server) deleteTable(q *request) (*tableAnswer, error) {
	s.tables.change.Lock()
	defer s.tables.change.Unlock()
	t, err := s.namedTable(q.table)
	if err != nil {
		return nil, err
	}
	if t.def.DeletionProtectionEnabled {
		return nil, invalid("Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first.")
	}
	answer, err := s.described("TableDescription", t, "DELETING")
	if err != nil {
		return nil, err
	}
	err = s.store.Admin(func(tx store.AdminTx) error {
		for _, name := range t.buckets() {
			if err := tx.DeleteBucket(name); err != nil {
				return err
			}
		}
		return tx.Apply(store.Change{Bucket: tablesBucket, Key: []byte(t.name)})
	})
	if err != nil {
		return nil, err
	}
	s.tables.put(t.name, nil)
	return answer, nil
}

func (s *Server) describeTable(q *request) (*tableAnswer, error) {
	t, err := s.namedTable(q.table)
	if err != nil {
		return nil, err
	}
	return s.described("Table", t, "ACTIVE")
}

// listMax is the most names in one answer.
const listMax = 100

func (s *Server) listTables(q *request) (*listAnswer, error) {
	limit := listMax
	if q.hasLimit {
		if q.limit < 1 || q.limit > listMax {
			return nil, invalid("1 validation error detected: Value '%d' at 'limit' failed to satisfy constraint: Member must have value between 1 and %d", q.limit, listMax)
		}
		limit = int(q.limit)
	}
	names := s.tables.names()
	names = slices.DeleteFunc(names, func(name string) bool { return name <= q.list.after })
	if len(names) > limit {
		return &listAnswer{names[:limit], names[limit-1]}, nil
	}
	return &listAnswer{names, ""}, nil
}

func (s *Server) updateTTL(q *request) (*ttlAnswer, error) {
	if !q.hasTTL || q.ttlAttribute == "" {
		return nil, invalid("TimeToLiveSpecification with AttributeName and Enabled is required but was not present in the request")
	}
	s.tables.change.Lock()
	defer s.tables.change.Unlock()
	t, err := s.namedTable(q.table)
	if err != nil {
		return nil, err
	}
	d := *t.def
	switch {
	case q.ttlEnabled && d.TTL != "":
		return nil, invalid("TimeToLive is already enabled")
	case !q.ttlEnabled && d.TTL == "":
		return nil, invalid("TimeToLive is already disabled")
	case !q.ttlEnabled && d.TTL != q.ttlAttribute:
		return nil, invalid("TimeToLive is active on a different AttributeName: current AttributeName is %s", d.TTL)
	}
	d.TTL = ""
	if q.ttlEnabled {
		d.TTL = q.ttlAttribute
	}
	if err := s.store.Admin(func(tx store.AdminTx) error { return saveDefinition(tx, &d) }); err != nil {
		return nil, err
	}
	s.tables.put(t.name, d.table())
	return &ttlAnswer{q.ttlAttribute, q.ttlEnabled}, nil
}

func (s *Server) describeTTL(q *request) (*ttlState, error) {
	t, err := s.namedTable(q.table)
	if err != nil {
		return nil, err
	}
	return &ttlState{t.def.TTL}, nil
}
