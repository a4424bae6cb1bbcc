package expr

import "holdfast/internal/local/dynamo/attr"

// Projection is a set of paths to keep; nil keeps all.
type Projection struct {
	Paths []Path
	root  *branch
}

// branch says which parts below one place are kept.
type branch struct {
	whole bool
	names map[string]*branch
	index map[int]*branch
}

// ParseProjection parses a list of paths.
func ParseProjection(text string, scope *Scope) (*Projection, error) {
	p, err := newParser(text, scope)
	if err != nil {
		return nil, err
	}
	return p.projection()
}

func (p *parser) projection() (*Projection, error) {
	var paths []Path
	for {
		path, err := p.path()
		if err != nil {
			return nil, err
		}
		paths = append(paths, path)
		if !p.symbol(",") {
			break
		}
	}
	p.note(mistakeOverlap, clash(paths))
	return NewProjection(paths), p.finish()
}

// NewProjection keeps the given paths.
func NewProjection(paths []Path) *Projection {
	root := &branch{}
	for _, path := range paths {
		b := root
		for _, step := range path {
			b = b.step(step)
		}
		b.whole = true
	}
	return &Projection{Paths: paths, root: root}
}

func (b *branch) step(s Step) *branch {
	if b.names == nil {
		b.names, b.index = map[string]*branch{}, map[int]*branch{}
	}
	next := b.names[s.Name]
	if s.IsIndex {
		next = b.index[s.Index]
	}
	if next != nil {
		return next
	}
	next = &branch{}
	if s.IsIndex {
		b.index[s.Index] = next
	} else {
		b.names[s.Name] = next
	}
	return next
}

// Of is the part of the item that is kept. Elements of a list close up.
func (p *Projection) Of(it attr.Item) attr.Item {
	if p == nil {
		return it
	}
	return p.root.ofItem(it)
}

func (b *branch) ofItem(it attr.Item) attr.Item {
	out := make(attr.Item, 0, min(len(it), len(b.names)))
	for i := range it {
		if next := b.names[it[i].Name]; next != nil {
			if v, ok := next.of(it[i].Value); ok {
				out = append(out, attr.Field{Name: it[i].Name, Value: v})
			}
		}
	}
	return out
}

func (b *branch) of(v attr.Value) (attr.Value, bool) {
	if b.whole {
		return v, true
	}
	switch v.Kind {
	case attr.KindMap:
		v.Map = b.ofItem(v.Map)
		return v, len(v.Map) > 0
	case attr.KindList:
		v.List = b.ofList(v.List)
		return v, len(v.List) > 0
	}
	return v, false
}

func (b *branch) ofList(list []attr.Value) []attr.Value {
	var out []attr.Value
	for i := range list {
		if next := b.index[i]; next != nil {
			if v, ok := next.of(list[i]); ok {
				out = append(out, v)
			}
		}
	}
	return out
}
