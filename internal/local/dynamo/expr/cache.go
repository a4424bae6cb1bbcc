package expr

import (
	"encoding/binary"
	"sync"
)

// Bounds of a cache.
const (
	cachedMax      = 512     // expressions
	cachedBytesMax = 8 << 10 // of one expression with all that it depends on; longer ones are parsed each time
)

// Cache keeps parsed expressions, so that one that comes again costs no parse. It is safe for use by several
// goroutines; a nil cache parses every time.
//
// What it keeps depends on the text, the names, and the kinds of the values: all that a parse looks at. An expression
// whose check looked at a value itself is never kept, nor is one that failed.
type Cache struct {
	mu   sync.Mutex
	kept map[string]*parsed
	key  []byte // the last key asked for; its room is used again
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
	if e := c.find(form, text, scope); e != nil {
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
		c.keep(form, text, scope, e)
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

func (c *Cache) find(form byte, text string, scope *Scope) *parsed {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kept[string(c.keyOf(form, text, scope))]
}

// keyOf spells out all that a parse looks at: text, placeholders, names, and the kinds of the values.
func (c *Cache) keyOf(form byte, text string, scope *Scope) []byte {
	key := appendPart(append(c.key[:0], form), text)
	key = binary.AppendUvarint(key, uint64(len(scope.Names)))
	for i := range scope.Names {
		key = appendPart(appendPart(key, scope.Names[i].Key), scope.Names[i].Name)
	}
	for i := range scope.Values {
		key = append(appendPart(key, scope.Values[i].Key), byte(scope.Values[i].Value.Kind))
	}
	if len(key) <= cachedBytesMax {
		c.key = key
	}
	return key
}

// keep forgets all when it is full: what is still in use is soon there again.
func (c *Cache) keep(form byte, text string, scope *Scope, e *parsed) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	key := c.keyOf(form, text, scope)
	if len(key) > cachedBytesMax {
		return
	}
	if len(c.kept) >= cachedMax {
		clear(c.kept)
	}
	c.kept[string(key)] = e
}

// appendPart appends a text so that no two texts run together.
func appendPart(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}
