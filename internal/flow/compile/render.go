package compile

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"holdfast/internal/flow"
	"holdfast/internal/operation"
)

// Bounds of what one event may make.
const (
	ContentBytesMax = 256 << 10 // bytes of all texts of one plan
	valueDepthMax   = bodyDepthMax
)

var errNull = errors.New("the expression gives null on this event")

// blank also counts what is invisible without being white space.
func blank(s string) bool {
	return strings.TrimFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) }) == ""
}

// content renders the stage's content; what does not fit the profile is a problem.
func (p *planning) content(s *stage) map[string]any {
	out := make(map[string]any, len(s.content))
	for _, m := range s.content {
		before := len(p.planned.Problems)
		v := p.render(m.value)
		if len(p.planned.Problems) == before {
			p.fits(m, s.rules[m.name], v)
		}
		out[m.name] = v
	}
	return out
}

func (p *planning) render(v value) any {
	switch v.kind {
	case flow.ValueText:
		return p.text(v)
	case flow.ValueList:
		list := make([]any, len(v.items))
		for i, item := range v.items {
			list[i] = p.render(item)
		}
		return list
	case flow.ValueObject:
		object := make(map[string]any, len(v.members))
		for _, m := range v.members {
			object[m.name] = p.render(m.value)
		}
		return object
	}
	return v.literal
}

// text keeps the type of a text that is one expression, and joins everything else.
func (p *planning) text(v value) any {
	if v.whole() {
		return p.piece(v.pieces[0].expression)
	}
	var b strings.Builder
	holes := 0
	for _, piece := range v.pieces {
		switch {
		case piece.expression != nil:
			b.WriteString(p.inline(piece.expression))
		case piece.hole != "":
			holes++
			b.WriteString(p.mark(v, piece.hole))
		default:
			b.WriteString(piece.literal)
		}
	}
	p.spend(v.at, b.Len())
	if p.marked(b.String()) > holes {
		p.problem(flow.ReasonContent, "", v.at, "the text "+errMark.Error()) // put together from pieces
	}
	return b.String()
}

func (p *planning) mark(v value, stage string) string {
	mark, ok := p.holes[stage]
	if !ok {
		p.problem(flow.ReasonContent, "", v.at, "the reference of stage "+stage+" cannot be left open here")
	}
	return mark
}

// piece is the value of an expression, as JSON has it; nil when there is a problem.
func (p *planning) piece(e *expression) any {
	v, err := e.evaluate(p.vars)
	if err != nil {
		p.failed(e, p.reason(e), err)
		return nil
	}
	if v == types.NullValue {
		p.failed(e, flow.ReasonMissing, errNull)
		return nil
	}
	raw, err := plain(v)
	if err == nil {
		err = p.clean(raw)
	}
	if err != nil {
		p.problem(flow.ReasonContent, "", e.at, fmt.Sprintf("${%s} %s", e.source, err))
		return nil
	}
	p.spend(e.at, size(raw))
	return raw
}

// reason tells data that is missing from an expression that cannot work on this event.
func (p *planning) reason(e *expression) operation.Reason {
	if len(e.missing(p.body)) > 0 {
		return flow.ReasonMissing
	}
	return flow.ReasonExpression
}

// inline is the text of an expression inside of a longer text; numbers keep their digits.
func (p *planning) inline(e *expression) string {
	switch v := p.piece(e).(type) {
	case nil:
		return ""
	case string:
		return v
	case json.Number:
		return string(v)
	case bool:
		return strconv.FormatBool(v)
	}
	p.problem(flow.ReasonContent, "", e.at, fmt.Sprintf("${%s} is a list or an object; it cannot stand inside of a text", e.source))
	return ""
}

// spend keeps an event from making content without end.
func (p *planning) spend(at flow.Position, n int) {
	before := p.bytes
	p.bytes += n
	if before <= ContentBytesMax && p.bytes > ContentBytesMax {
		p.problem(flow.ReasonContent, "", at, fmt.Sprintf("the contents have more than %d bytes in all", ContentBytesMax))
	}
}

func size(v any) int {
	switch x := v.(type) {
	case string:
		return len(x)
	case json.Number:
		return len(x)
	case []any:
		n := 2
		for _, item := range x {
			n += 1 + size(item)
		}
		return n
	case map[string]any:
		n := 2
		for name, item := range x {
			n += len(name) + 4 + size(item)
		}
		return n
	}
	return len("false")
}

var errMark = errors.New("holds the mark of an open reference; the event must not bring one")

// clean refuses an event's text that would pass for one of our open references.
func (p *planning) clean(v any) error {
	switch x := v.(type) {
	case string:
		if p.marked(x) > 0 {
			return errMark
		}
	case []any:
		for _, item := range x {
			if err := p.clean(item); err != nil {
				return err
			}
		}
	case map[string]any:
		for name, item := range x {
			if p.clean(name) != nil || p.clean(item) != nil {
				return errMark
			}
		}
	}
	return nil
}

// marked counts the open references in a text.
func (p *planning) marked(text string) int {
	n := 0
	for _, mark := range p.forbidden {
		n += strings.Count(text, mark)
	}
	return n
}

// plain is a value of an expression as decoded JSON has it. Floating-point numbers are refused: their digits are
// not the event's.
func plain(v ref.Val) (any, error) {
	c := copying{left: ContentBytesMax}
	return c.value(v, 0)
}

// copying writes a value out. A short expression can name one large part of an event many times over, so that what it
// makes is counted while it is made.
type copying struct{ left int }

var errLarge = fmt.Errorf("makes more than %d bytes on this event", ContentBytesMax)

func (c *copying) value(v ref.Val, depth int) (any, error) {
	if depth > valueDepthMax {
		return nil, fmt.Errorf("goes deeper than %d levels", valueDepthMax)
	}
	switch x := v.(type) {
	case types.Null:
		return nil, c.spend(len("null"))
	case types.String:
		return string(x), c.spend(len(x))
	case types.Bool:
		return bool(x), c.spend(len("true"))
	case types.Int:
		return c.number(strconv.FormatInt(int64(x), 10))
	case types.Uint:
		return c.number(strconv.FormatUint(uint64(x), 10))
	case number:
		return c.number(x.literal)
	case types.Timestamp:
		return x.UTC().Format(time.RFC3339Nano), c.spend(len(time.RFC3339Nano))
	case traits.Lister:
		return c.list(x, depth)
	case traits.Mapper:
		return c.object(x, depth)
	}
	return nil, errors.New("is no JSON value with exact digits: text, a whole number, true or false, a list or an object")
}

func (c *copying) spend(n int) error {
	if c.left -= n; c.left < 0 {
		return errLarge
	}
	return nil
}

func (c *copying) number(literal string) (any, error) {
	if strings.ContainsAny(literal, "eE") {
		return nil, errors.New("is a number with an exponent; plain digits are needed")
	}
	return json.Number(literal), c.spend(len(literal))
}

func (c *copying) list(l traits.Lister, depth int) (any, error) {
	list := []any{}
	for i := l.Iterator(); i.HasNext() == types.True; {
		if err := c.spend(len(",")); err != nil {
			return nil, err
		}
		v, err := c.value(i.Next(), depth+1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

func (c *copying) object(m traits.Mapper, depth int) (any, error) {
	object := map[string]any{}
	for i := m.Iterator(); i.HasNext() == types.True; {
		key := i.Next()
		name, ok := key.(types.String)
		if !ok {
			return nil, errors.New("is an object with a name that is no text")
		}
		if err := c.spend(len(name) + len(`"":,`)); err != nil {
			return nil, err
		}
		v, err := c.value(m.Get(key), depth+1)
		if err != nil {
			return nil, err
		}
		object[string(name)] = v
	}
	return object, nil
}

// fits holds a rendered field against the profile's rule.
func (p *planning) fits(m member, rule FieldRule, v any) {
	text, _ := v.(string)
	list, _ := v.([]any)
	types := typesOf(v)
	field, at := m.value.field(), m.value.at
	switch {
	case !slices.Contains(types, rule.Type):
		p.problem(flow.ReasonContent, field, at, fmt.Sprintf("the type of field `%s` must be %s, and on this event it is %s", m.name, rule.Type, types[0]))
	case rule.Type == FieldString && rule.Required && blank(text):
		p.problem(flow.ReasonMissing, field, at, fmt.Sprintf("the field `%s` would be blank", m.name))
	case rule.Max > 0 && len(text) > rule.Max && !m.value.open():
		p.problem(flow.ReasonContent, field, at, fmt.Sprintf("the field `%s` would have more than %d bytes", m.name, rule.Max))
	case rule.Max > 0 && len(list) > rule.Max:
		p.problem(flow.ReasonContent, field, at, fmt.Sprintf("the field `%s` would have more than %d items", m.name, rule.Max))
	}
}

// field is the one field of the body that the value is; "" when it is not so simple.
func (v value) field() string {
	if !v.whole() || len(v.pieces[0].expression.paths) != 1 {
		return ""
	}
	return "body." + strings.Join(v.pieces[0].expression.paths[0], ".")
}

// open says that the text has a hole, so that its length is not known yet.
func (v value) open() bool {
	for _, piece := range v.pieces {
		if piece.hole != "" {
			return true
		}
	}
	return false
}
