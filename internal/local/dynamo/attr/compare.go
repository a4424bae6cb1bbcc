package attr

import (
	"slices"
	"strings"
)

// Equal says whether two values are the same: same kind, same content; sets and maps in any order.
func Equal(a, b *Value) bool {
	if a.Kind != b.Kind {
		return false
	}
	switch a.Kind {
	case KindString, KindNumber, KindBinary:
		return a.Text == b.Text
	case KindBool:
		return a.Flag == b.Flag
	case KindStringSet, KindNumberSet, KindBinarySet:
		return equalSets(a.Set, b.Set)
	case KindList:
		return equalLists(a.List, b.List)
	case KindMap:
		return equalItems(a.Map, b.Map)
	}
	return true
}

func equalSets(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	if slices.Equal(a, b) {
		return true
	}
	have := memberSet(b)
	for _, m := range a {
		if !have[m] {
			return false
		}
	}
	return true
}

func memberSet(members []string) map[string]bool {
	have := make(map[string]bool, len(members))
	for _, m := range members {
		have[m] = true
	}
	return have
}

func equalLists(a, b []Value) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !Equal(&a[i], &b[i]) {
			return false
		}
	}
	return true
}

func equalItems(a, b Item) bool {
	if len(a) != len(b) {
		return false
	}
	if len(a) > linearMax {
		return equalLarge(a, b)
	}
	for i := range a {
		other := &b[i].Value
		if a[i].Name != b[i].Name {
			other = b.Get(a[i].Name)
		}
		if other == nil || !Equal(&a[i].Value, other) {
			return false
		}
	}
	return true
}

func equalLarge(a, b Item) bool {
	byName := make(map[string]*Value, len(b))
	for i := range b {
		byName[b[i].Name] = &b[i].Value
	}
	for i := range a {
		other := byName[a[i].Name]
		if other == nil || !Equal(&a[i].Value, other) {
			return false
		}
	}
	return true
}

// Compare orders two values of the same ordered kind (S, N, B). ok is false for any other pair.
func Compare(a, b *Value) (order int, ok bool) {
	if a.Kind != b.Kind {
		return 0, false
	}
	switch a.Kind {
	case KindString, KindBinary:
		return strings.Compare(a.Text, b.Text), true
	case KindNumber:
		return CompareNumbers(a.Text, b.Text), true
	}
	return 0, false
}

// Contains is the function of that name: a substring, a member of a set, or an element of a list.
func Contains(holder, operand *Value) bool {
	switch {
	case holder.Kind == KindList:
		for i := range holder.List {
			if Equal(&holder.List[i], operand) {
				return true
			}
		}
		return false
	case holder.Kind.IsSet():
		return holder.Kind.Element() == operand.Kind && memberOf(holder.Set, operand.Text)
	case holder.Kind == KindString || holder.Kind == KindBinary:
		return holder.Kind == operand.Kind && strings.Contains(holder.Text, operand.Text)
	}
	return false
}

func memberOf(members []string, one string) bool {
	for _, m := range members {
		if m == one {
			return true
		}
	}
	return false
}

// Union adds to a set the members it does not have.
func Union(set, more []string) []string {
	have := memberSet(set)
	for _, m := range more {
		if !have[m] {
			set = append(set, m)
		}
	}
	return set
}

// Difference takes members out of a set.
func Difference(set, drop []string) []string {
	gone := memberSet(drop)
	var out []string
	for _, m := range set {
		if !gone[m] {
			out = append(out, m)
		}
	}
	return out
}
