package expr

import (
	"slices"

	"holdfast/internal/local/dynamo/attr"
)

const (
	reasonPath  = "The document path provided in the update expression is invalid for update"
	reasonType  = "An operand in the update expression has an incorrect data type"
	reasonNoSrc = "The provided expression refers to an attribute that does not exist in the item"
)

// Apply makes the changes to a copy of the item: every value is read from the item as it was before, and from the
// scope. What stays as it was is shared with the old item and the scope, and must not be changed in any of them.
func (u *Update) Apply(old attr.Item, s *Scope) (attr.Item, error) {
	values := make([]*attr.Value, len(u.sets))
	for i := range u.sets {
		v, err := u.sets[i].value.eval(old, s)
		if err != nil {
			return nil, err
		}
		values[i] = v
	}
	e := edit{item: u.owned(old)}
	for n := range u.sets {
		i := n
		if u.order != nil {
			i = u.order[n]
		}
		if err := e.set(u.sets[i].path, *values[i]); err != nil {
			return nil, err
		}
	}
	for i := range u.adds {
		if err := e.add(u.adds[i].path, u.adds[i].value.find(old, s)); err != nil {
			return nil, err
		}
	}
	for i := range u.deletes {
		if err := e.delete(u.deletes[i].path, u.deletes[i].value.find(old, s)); err != nil {
			return nil, err
		}
	}
	return e.item, e.removeAll(u.removes)
}

// owned is a copy of the item of which every part that the update changes is its own.
func (u *Update) owned(old attr.Item) attr.Item {
	more := 0
	for _, path := range u.Paths {
		if len(path) == 1 && old.Get(path[0].Name) == nil {
			more++
		}
	}
	it := make(attr.Item, len(old), len(old)+more)
	copy(it, old)
	for _, path := range u.Paths {
		if len(path) == 1 && !u.inPlace {
			continue
		}
		if v := it.Get(path[0].Name); v != nil {
			*v = v.Clone()
		}
	}
	return it
}

// setOrder makes elements beyond the end of a list arrive in the order of their indexes; nil is the order written.
func setOrder(sets []assignment) []int {
	if !slices.ContainsFunc(sets, func(a assignment) bool { return a.path[len(a.path)-1].IsIndex }) {
		return nil
	}
	order := make([]int, len(sets))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		one, two := sets[a].path, sets[b].path
		return one[len(one)-1].Index - two[len(two)-1].Index
	})
	return order
}

func (o *Operand) eval(it attr.Item, s *Scope) (*attr.Value, error) {
	switch o.Function {
	case "":
		return found(o.find(it, s))
	case "if_not_exists":
		if v := o.Args[0].Path.Find(it); v != nil {
			return v, nil
		}
		return o.Args[1].eval(it, s)
	}
	left, err := o.Args[0].eval(it, s)
	if err != nil {
		return nil, err
	}
	right, err := o.Args[1].eval(it, s)
	if err != nil {
		return nil, err
	}
	if o.Function == "list_append" {
		return appendLists(left, right)
	}
	return arithmetic(o.Function, left, right)
}

func found(v *attr.Value) (*attr.Value, error) {
	if v == nil {
		return nil, fail(reasonNoSrc)
	}
	return v, nil
}

func appendLists(left, right *attr.Value) (*attr.Value, error) {
	if left.Kind != attr.KindList || right.Kind != attr.KindList {
		return nil, fail(reasonType)
	}
	return &attr.Value{Kind: attr.KindList, List: slices.Concat(left.List, right.List)}, nil
}

func arithmetic(op string, left, right *attr.Value) (*attr.Value, error) {
	if left.Kind != attr.KindNumber || right.Kind != attr.KindNumber {
		return nil, fail(reasonType)
	}
	sum, err := attr.AddNumbers(left.Text, right.Text, op == "-")
	v := attr.Number(sum)
	return &v, err
}

// edit changes one item that it owns.
type edit struct{ item attr.Item }

// parent is the value that holds the path's last step; nil stands for the item itself.
func (e *edit) parent(path Path) (*attr.Value, error) {
	if len(path) == 1 {
		return nil, nil
	}
	holder := path[:len(path)-1].Find(e.item)
	want := attr.KindMap
	if path[len(path)-1].IsIndex {
		want = attr.KindList
	}
	if holder == nil || holder.Kind != want {
		return nil, fail(reasonPath)
	}
	return holder, nil
}

func (e *edit) set(path Path, v attr.Value) error {
	holder, err := e.parent(path)
	if err != nil {
		return err
	}
	last := path[len(path)-1]
	switch {
	case holder == nil:
		e.item = e.item.With(last.Name, v)
	case !last.IsIndex:
		holder.Map = holder.Map.With(last.Name, v)
	case last.Index < len(holder.List):
		holder.List[last.Index] = v
	default:
		holder.List = append(holder.List, v)
	}
	return nil
}

func (e *edit) remove(path Path) error {
	holder, err := e.parent(path)
	if err != nil {
		return err
	}
	last := path[len(path)-1]
	switch {
	case holder == nil:
		e.item = e.item.Without(last.Name)
	case !last.IsIndex:
		holder.Map = holder.Map.Without(last.Name)
	case last.Index < len(holder.List):
		holder.List = slices.Delete(holder.List, last.Index, last.Index+1)
	}
	return nil
}

// removeAll goes from the back, so that every index means what it meant before the update.
func (e *edit) removeAll(paths []Path) error {
	sorted := slices.Clone(paths)
	slices.SortFunc(sorted, func(a, b Path) int { return b.compare(a) })
	for _, path := range sorted {
		if err := e.remove(path); err != nil {
			return err
		}
	}
	return nil
}

func (e *edit) add(path Path, v *attr.Value) error {
	if _, err := e.parent(path); err != nil {
		return err
	}
	old := path.Find(e.item)
	switch {
	case old == nil:
		return e.set(path, *v)
	case old.Kind != v.Kind:
		return fail(reasonType)
	case v.Kind != attr.KindNumber:
		old.Set = attr.Union(old.Set, v.Set)
		return nil
	}
	sum, err := attr.AddNumbers(old.Text, v.Text, false)
	old.Text = sum
	return err
}

func (e *edit) delete(path Path, v *attr.Value) error {
	if _, err := e.parent(path); err != nil {
		return err
	}
	old := path.Find(e.item)
	switch {
	case old == nil:
		return nil
	case old.Kind != v.Kind:
		return fail(reasonType)
	}
	old.Set = attr.Difference(old.Set, v.Set)
	if len(old.Set) == 0 {
		return e.remove(path)
	}
	return nil
}
