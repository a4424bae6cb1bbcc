package expr

import (
	"encoding/binary"
	"sync"
)

// Bounds of a cache.
const (
	cachedMax        = 512     // expressions
	cachedBytesMax   = 8 << 10 // of one expression with all that it depends on; longer ones are parsed each time
	cacheKeyRoomSize = 2 << 10 // bytes that are there for the usual key
)

// Cache keeps parsed expressions, so that one that comes again costs no parse. It is safe for use by several
// goroutines; a nil cache parses every time.
//
// What it keeps depends on the text, the names, and the kinds of the values: all that a parse looks at. An expression
// whose check looked at a value itself is never kept, nor is one that failed.
type Cache struct {
	mu   sync.Mutex
	kept map[string]*parsed
}

// parsed is one kept expression; exactly one of the first three is set.
type parsed struct {
	condition  *Condition
	update     *Update
	projection *Projection
	// names and values are the placeholders it uses, by their places in the scope.
	names, values []int
}

// NewCache makes an empty cache.
func NewCache() *Cache { return &Cache{kept: map[string]*parsed{}} }

// Condition is ParseCondition.
func (c *Cache) Condition(text string, scope *Scope) (*Condition, error) {
	e, err := c.expression('c', text, scope, func(p *parser, e *parsed) (err error) {
		e.condition, err = p.condition()
		return err
	})
	return e.condition, err
}

// Update is ParseUpdate.
func (c *Cache) Update(text string, scope *Scope) (*Update, error) {
	e, err := c.expression('u', text, scope, func(p *parser, e *parsed) (err error) {
		e.update, err = p.update()
		return err
	})
	return e.update, err
}

// Projection is ParseProjection.
func (c *Cache) Projection(text string, scope *Scope) (*Projection, error) {
	e, err := c.expression('p', text, scope, func(p *parser, e *parsed) (err error) {
		e.projection, err = p.projection()
		return err
	})
	return e.projection, err
}

// expression finds a kept expression and marks what it uses, or parses it.
func (c *Cache) expression(form byte, text string, scope *Scope, parse func(*parser, *parsed) error) (*parsed, error) {
	var room [cacheKeyRoomSize]byte
	key := scope.appendForm(appendPart(append(room[:0], form), text))
	if e := c.find(key); e != nil {
		e.use(scope)
		return e, nil
	}
	e := &parsed{}
	p, err := newParser(text, scope)
	if err != nil {
		return e, err
	}
	if err := parse(p, e); err != nil {
		return e, err
	}
	if e.names, e.values = p.names, p.values; !p.looked {
		c.keep(key, e)
	}
	return e, nil
}

func (e *parsed) use(scope *Scope) {
	for _, i := range e.names {
		scope.Names[i].used = true
	}
	for _, i := range e.values {
		scope.Values[i].used = true
	}
}

func (c *Cache) find(key []byte) *parsed {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kept[string(key)]
}

// keep forgets all when it is full: what is still in use is soon there again.
func (c *Cache) keep(key []byte, e *parsed) {
	if c == nil || len(key) > cachedBytesMax {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.kept) >= cachedMax {
		clear(c.kept)
	}
	c.kept[string(key)] = e
}

// appendForm appends what a parse looks at in the scope: placeholders, names, and the kinds of the values.
func (s *Scope) appendForm(b []byte) []byte {
	if s.form == nil && len(s.Names)+len(s.Values) > 0 {
		form := binary.AppendUvarint(make([]byte, 0, cacheKeyRoomSize/2), uint64(len(s.Names)))
		for i := range s.Names {
			form = appendPart(appendPart(form, s.Names[i].Key), s.Names[i].Name)
		}
		for i := range s.Values {
			form = append(appendPart(form, s.Values[i].Key), byte(s.Values[i].Value.Kind))
		}
		s.form = form
	}
	return append(b, s.form...)
}

// appendPart appends a text so that no two texts run together.
func appendPart(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}
