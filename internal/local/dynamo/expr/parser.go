package expr

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"holdfast/internal/local/dynamo/attr"
)

// Operand is something with a value: a path, a given value, or a function of others.
type Operand struct {
	Path Path
	// Given is the place of the given value among the scope's, counted from 1; 0 for other operands.
	Given int
	// Function is size, if_not_exists, list_append, + or -; empty for a path or a value.
	Function string
	Args     []Operand
}

// mistake ranks the errors of a well-formed expression: DynamoDB reports the lowest one there is.
type mistake int

const (
	mistakeParens mistake = iota
	mistakeReserved
	mistakeFunction
	mistakeMisuse
	mistakeSection
	mistakeUndefined
	mistakeOverlap
	mistakeOperands
	mistakeDistinct
	mistakeType
	mistakeCount
)

type parser struct {
	text      string
	tokens    []token
	at        int
	scope     *Scope
	mistakes  [mistakeCount]error
	operators int
	// names and values are the placeholders used, by their places.
	names, values []int
	// looked says that a check depended on what a given value is, not only on its kind.
	looked bool
}

func newParser(text string, scope *Scope) (*parser, error) {
	if text == "" {
		return nil, fail("The expression can not be empty;")
	}
	if len(text) > expressionBytesMax {
		return nil, fail("Expression size has exceeded the maximum allowed size; expression size: %d", len(text))
	}
	tokens, err := lex(text)
	return &parser{text: text, tokens: tokens, scope: scope}, err
}

// finish checks that all was read, and reports the most important mistake.
func (p *parser) finish() error {
	if p.peek().kind != tokenEnd {
		return p.unexpected()
	}
	for _, err := range p.mistakes {
		if err != nil {
			return err
		}
	}
	if p.operators > operatorsMax {
		return fail("The expression contains too many operators; maximum allowed: %d", operatorsMax)
	}
	return nil
}

func (p *parser) note(m mistake, err error) {
	if err != nil && p.mistakes[m] == nil {
		p.mistakes[m] = err
	}
}

func (p *parser) peek() token { return p.tokens[p.at] }

func (p *parser) unexpected() error { return syntaxError(p.text, p.tokens, p.at) }

func (p *parser) symbol(text string) bool {
	if t := p.peek(); t.kind != tokenSymbol || t.text != text {
		return false
	}
	p.at++
	return true
}

func (p *parser) expect(text string) error {
	if !p.symbol(text) {
		return p.unexpected()
	}
	return nil
}

func (p *parser) keyword(word string) bool {
	if t := p.peek(); t.kind != tokenName || !strings.EqualFold(t.text, word) {
		return false
	}
	p.at++
	return true
}

// isCall says that a name and an opening parenthesis follow.
func (p *parser) isCall() bool {
	return p.peek().kind == tokenName && p.tokens[p.at+1].text == "("
}

func (p *parser) path() (Path, error) {
	first, err := p.pathName()
	if err != nil {
		return nil, err
	}
	path := Path{first}
	for {
		switch {
		case p.symbol("."):
			step, err := p.pathName()
			if err != nil {
				return nil, err
			}
			path = append(path, step)
		case p.symbol("["):
			step, err := p.pathIndex()
			if err != nil {
				return nil, err
			}
			path = append(path, step)
		default:
			return path, nil
		}
	}
}

func (p *parser) pathName() (Step, error) {
	t := p.peek()
	switch t.kind {
	case tokenName:
		p.at++
		if isReserved(t.text) {
			p.note(mistakeReserved, fail("Attribute name is a reserved keyword; reserved keyword: %s", t.text))
		}
		return Step{Name: t.text}, nil
	case tokenAlias:
		p.at++
		i := p.scope.name(t.text)
		if i < 0 {
			p.note(mistakeUndefined, fail("An expression attribute name used in the document path is not defined; attribute name: %s", t.text))
			return Step{}, nil
		}
		p.scope.Names[i].used = true
		p.names = append(p.names, i)
		return Step{Name: p.scope.Names[i].Name}, nil
	}
	return Step{}, p.unexpected()
}

func (p *parser) pathIndex() (Step, error) {
	t := p.peek()
	if t.kind != tokenIndex {
		return Step{}, p.unexpected()
	}
	index, err := strconv.Atoi(t.text)
	if err != nil || index > math.MaxInt32 {
		return Step{}, fail("List index is not within the allowable range; index: [%s]", t.text)
	}
	p.at++
	return Step{Index: index, IsIndex: true}, p.expect("]")
}

// undefined stands for a given value of which the mistake is noted already.
const undefined = -1

// given reads a value's placeholder.
func (p *parser) given() Operand {
	t := p.peek()
	p.at++
	i := p.scope.value(t.text)
	if i < 0 {
		p.note(mistakeUndefined, fail("An expression attribute value used in expression is not defined; attribute value: %s", t.text))
		return Operand{Given: undefined}
	}
	p.scope.Values[i].used = true
	p.values = append(p.values, i)
	return Operand{Given: i + 1}
}

func (p *parser) args(operand func() (Operand, error)) ([]Operand, error) {
	if err := p.expect("("); err != nil {
		return nil, err
	}
	var args []Operand
	for {
		arg, err := operand()
		if err != nil {
			return nil, err
		}
		args = append(args, arg)
		if !p.symbol(",") {
			return args, p.expect(")")
		}
	}
}

func (p *parser) checkCount(function string, want, got int) {
	if want != got {
		p.note(mistakeOperands, fail("Incorrect number of operands for operator or function; operator or function: %s, number of operands: %d", function, got))
	}
}

func wrongType(function string, kind string) error {
	return fail("Incorrect operand type for operator or function; operator or function: %s, operand type: %s", function, kind)
}

// givenKind is the kind of an operand known before any item is: of a given value, or of what a function returns.
func (p *parser) givenKind(o Operand) attr.Kind {
	switch {
	case o.Function == "size", o.Function == "+", o.Function == "-":
		return attr.KindNumber
	case o.Function == "list_append":
		return attr.KindList
	case o.Given > 0:
		return p.scope.Values[o.Given-1].Value.Kind
	}
	return attr.KindNone
}

func (p *parser) needKind(function string, o Operand, kinds ...attr.Kind) {
	if k := p.givenKind(o); k != attr.KindNone && !slices.Contains(kinds, k) {
		p.note(mistakeType, wrongType(function, k.String()))
	}
}

func (p *parser) needPath(function string, o Operand) {
	if o.Path == nil {
		p.note(mistakeType, fail("Operator or function requires a document path; operator or function: %s", function))
	}
}
