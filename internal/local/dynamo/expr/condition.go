package expr

import (
	"slices"
	"strings"

	"holdfast/internal/local/dynamo/attr"
)

// Condition is a parsed condition, filter or key condition.
type Condition struct {
	// Op is AND, OR, NOT, a comparator, BETWEEN, IN, or a function's name.
	Op   string
	Kids []*Condition
	Args []Operand
	// paths are all paths of a whole condition; its parts have none of their own.
	paths []Path
}

// ParseCondition parses a condition or a filter.
func ParseCondition(text string, scope *Scope) (*Condition, error) {
	p, err := newParser(text, scope)
	if err != nil {
		return nil, err
	}
	return p.condition()
}

func (p *parser) condition() (*Condition, error) {
	n, err := p.or()
	if err != nil {
		return nil, err
	}
	c, err := p.whole(n)
	if err != nil {
		return nil, err
	}
	c.paths = c.allPaths()
	return c, p.finish()
}

// node is either a condition or an operand: only what follows tells what an opening parenthesis began.
type node struct {
	cond    *Condition
	operand *Operand
	parens  bool
}

// whole insists that the node is a condition.
func (p *parser) whole(n node) (*Condition, error) {
	switch {
	case n.cond != nil:
		return n.cond, nil
	case n.operand.Function != "":
		p.note(mistakeMisuse, misused(n.operand.Function))
		return &Condition{}, nil
	}
	return nil, p.unexpected()
}

func misused(function string) error {
	return fail("The function is not allowed to be used this way in an expression; function: %s", function)
}

func (p *parser) or() (node, error)  { return p.chain("OR", p.and) }
func (p *parser) and() (node, error) { return p.chain("AND", p.not) }

func (p *parser) chain(op string, part func() (node, error)) (node, error) {
	left, err := part()
	if err != nil {
		return left, err
	}
	for p.isKeyword(op) {
		kid, err := p.whole(left)
		if err != nil {
			return left, err
		}
		p.at++
		p.operators++
		right, err := part()
		if err != nil {
			return left, err
		}
		other, err := p.whole(right)
		if err != nil {
			return left, err
		}
		left = node{cond: &Condition{Op: op, Kids: []*Condition{kid, other}}}
	}
	return left, nil
}

func (p *parser) isKeyword(word string) bool {
	t := p.peek()
	return t.kind == tokenName && strings.EqualFold(t.text, word)
}

func (p *parser) not() (node, error) {
	if !p.isKeyword("NOT") {
		return p.compared()
	}
	p.at++
	p.operators++
	n, err := p.not()
	if err != nil {
		return n, err
	}
	kid, err := p.whole(n)
	return node{cond: &Condition{Op: "NOT", Kids: []*Condition{kid}}}, err
}

// compared reads an operand and, if one follows, its comparison.
func (p *parser) compared() (node, error) {
	left, err := p.primary()
	if err != nil {
		return left, err
	}
	t := p.peek()
	switch {
	case t.kind == tokenSymbol && slices.Contains([]string{"=", "<>", "<", "<=", ">", ">="}, t.text):
		p.at++
		return p.comparison(t.text, left)
	case p.isKeyword("BETWEEN"):
		return p.between(left)
	case p.isKeyword("IN"):
		return p.in(left)
	}
	return left, nil
}

// asOperand insists that the node is an operand.
func (p *parser) asOperand(n node) (Operand, error) {
	switch {
	case n.operand != nil:
		return *n.operand, nil
	case n.cond.Args != nil && !n.parens && isFunction(n.cond.Op):
		p.note(mistakeMisuse, misused(n.cond.Op))
		return Operand{Given: undefined}, nil
	}
	return Operand{}, p.unexpected()
}

func isFunction(op string) bool { return op != "BETWEEN" && op != "IN" && isWord(op[0]) }

func (p *parser) comparison(op string, left node) (node, error) {
	p.operators++
	one, err := p.asOperand(left)
	if err != nil {
		return left, err
	}
	two, err := p.operand()
	if err != nil {
		return left, err
	}
	args := []Operand{one, two}
	p.checkDistinct(op, args)
	if op[0] == '<' && op != "<>" || op[0] == '>' {
		for _, a := range args {
			p.needKind(op, a, attr.KindString, attr.KindNumber, attr.KindBinary)
		}
	}
	return node{cond: &Condition{Op: op, Args: args}}, nil
}

func (p *parser) between(left node) (node, error) {
	p.at++
	p.operators++
	args := make([]Operand, 3)
	var err error
	if args[0], err = p.asOperand(left); err != nil {
		return left, err
	}
	if args[1], err = p.operand(); err != nil {
		return left, err
	}
	if !p.keyword("AND") {
		return left, p.unexpected()
	}
	if args[2], err = p.operand(); err != nil {
		return left, err
	}
	for _, a := range args {
		p.needKind("BETWEEN", a, attr.KindString, attr.KindNumber, attr.KindBinary)
	}
	p.checkBounds(args[1], args[2])
	return node{cond: &Condition{Op: "BETWEEN", Args: args}}, nil
}

func (p *parser) checkBounds(from, to Operand) {
	if from.Given <= 0 || to.Given <= 0 {
		return
	}
	p.looked = true
	low, high := from.find(nil, p.scope), to.find(nil, p.scope)
	order, ok := attr.Compare(low, high)
	bounds := "lower bound operand: AttributeValue: " + shown(low) + ", upper bound operand: AttributeValue: " + shown(high)
	switch {
	case !ok:
		p.note(mistakeType, fail("The BETWEEN operator requires same data type for lower and upper bounds; %s", bounds))
	case order > 0:
		p.note(mistakeType, fail("The BETWEEN operator requires upper bound to be greater than or equal to lower bound; %s", bounds))
	}
}

func shown(v *attr.Value) string { return "{" + v.Kind.String() + ":" + v.Text + "}" }

// inMax is DynamoDB's limit on the list of IN.
const inMax = 100

func (p *parser) in(left node) (node, error) {
	p.at++
	p.operators++
	one, err := p.asOperand(left)
	if err != nil {
		return left, err
	}
	args, err := p.args(p.operand)
	if err != nil {
		return left, err
	}
	if len(args) > inMax {
		p.checkCount("IN", 0, len(args)+1)
	}
	return node{cond: &Condition{Op: "IN", Args: append([]Operand{one}, args...)}}, nil
}

func (p *parser) operand() (Operand, error) {
	n, err := p.primary()
	if err != nil {
		return Operand{}, err
	}
	return p.asOperand(n)
}

func (p *parser) primary() (node, error) {
	t := p.peek()
	switch {
	case p.symbol("("):
		return p.parenthesis()
	case t.kind == tokenValue:
		given := p.given()
		return node{operand: &given}, nil
	case p.isCall():
		return p.call()
	}
	if t.kind == tokenName && slices.Contains([]string{"AND", "OR", "NOT", "BETWEEN", "IN"}, strings.ToUpper(t.text)) {
		return node{}, p.unexpected()
	}
	path, err := p.path()
	return node{operand: &Operand{Path: path}}, err
}

func (p *parser) parenthesis() (node, error) {
	n, err := p.or()
	if err != nil {
		return n, err
	}
	if err := p.expect(")"); err != nil {
		return n, err
	}
	if n.parens {
		p.note(mistakeParens, fail("The expression has redundant parentheses;"))
	}
	n.parens = true
	return n, nil
}

func (p *parser) call() (node, error) {
	name := p.peek().text
	p.at++
	args, err := p.args(p.operand)
	if err != nil {
		return node{}, err
	}
	p.operators++
	p.checkCall(name, args)
	if name == "size" {
		return node{operand: &Operand{Function: name, Args: args}}, nil
	}
	return node{cond: &Condition{Op: name, Args: args}}, nil
}

func (p *parser) checkCall(name string, args []Operand) {
	want := 2
	switch name {
	case "attribute_exists", "attribute_not_exists", "size":
		want = 1
	case "attribute_type", "begins_with", "contains":
	default:
		p.note(mistakeFunction, fail("Invalid function name; function: %s", name))
		return
	}
	p.checkCount(name, want, len(args))
	if len(args) != want {
		return
	}
	p.checkDistinct(name, args)
	switch name {
	case "attribute_exists", "attribute_not_exists":
		p.needPath(name, args[0])
	case "begins_with":
		p.needKind(name, args[0], attr.KindString, attr.KindBinary)
		p.needKind(name, args[1], attr.KindString, attr.KindBinary)
	case "size":
		p.checkSize(args[0])
	case "attribute_type":
		p.checkTypeName(args[0], args[1])
	}
}

func (p *parser) checkSize(o Operand) {
	if k := p.givenKind(o); k == attr.KindNumber || k == attr.KindBool || k == attr.KindNull {
		p.note(mistakeType, wrongType("size", k.String()))
	}
}

func (p *parser) checkTypeName(subject, o Operand) {
	p.needPath("attribute_type", subject)
	switch k := p.givenKind(o); {
	case o.Given == undefined: // noted already
	case k == attr.KindNone:
		p.note(mistakeType, wrongType("attribute_type", "{NS,SS,L,BS,N,M,B,BOOL,NULL,S}"))
	case k != attr.KindString:
		p.note(mistakeType, wrongType("attribute_type", k.String()))
	default:
		p.looked = true
		if name := o.find(nil, p.scope).Text; attr.KindOf(name) == attr.KindNone {
			p.note(mistakeType, fail("Invalid attribute type name found; type: %s, valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}", name))
		}
	}
}

func (p *parser) checkDistinct(op string, args []Operand) {
	if len(args) == 2 && args[0].Path != nil && args[1].Path != nil && args[0].Path.equal(args[1].Path) {
		p.note(mistakeDistinct, fail("The first operand must be distinct from the remaining operands for this operator or function; operator: %s, first operand: %s", op, args[0].Path))
	}
}
