package expr

import (
	"strings"

	"holdfast/internal/local/dynamo/attr"
)

// Update is a parsed update expression.
type Update struct {
	sets    []assignment
	adds    []assignment
	deletes []assignment
	removes []Path
	// Paths are all places it changes, in the order written.
	Paths []Path
	read  []Path
	// order is the order in which sets are made; nil is the order written.
	order []int
	// inPlace says that whole attributes are changed where they are: numbers and sets are added to or taken from.
	inPlace bool
}

type assignment struct {
	path  Path
	value Operand
}

// ReadPaths are the paths whose values the update reads.
func (u *Update) ReadPaths() []Path { return u.read }

// ParseUpdate parses an update expression.
func ParseUpdate(text string, scope *Scope) (*Update, error) {
	p, err := newParser(text, scope)
	if err != nil {
		return nil, err
	}
	return p.update()
}

func (p *parser) update() (*Update, error) {
	u := &Update{}
	seen := map[string]bool{}
	for p.peek().kind != tokenEnd || len(seen) == 0 {
		section := strings.ToUpper(p.peek().text)
		read := p.section(u, section)
		if read == nil {
			return nil, p.unexpected()
		}
		p.at++
		if seen[section] {
			p.note(mistakeSection, fail(`The "%s" section can only be used once in an update expression;`, section))
		}
		seen[section] = true
		if err := p.actions(read); err != nil {
			return nil, err
		}
	}
	p.note(mistakeOverlap, clash(u.Paths))
	u.order, u.inPlace = setOrder(u.sets), len(u.adds)+len(u.deletes) > 0
	return u, p.finish()
}

func (p *parser) section(u *Update, name string) func(Path) error {
	switch name {
	case "SET":
		return func(path Path) error { return p.set(u, path) }
	case "REMOVE":
		return func(path Path) error {
			u.removes = append(u.removes, path)
			u.Paths = append(u.Paths, path)
			return nil
		}
	case "ADD":
		return func(path Path) error { return p.setOrNumber(u, "ADD", path, &u.adds) }
	case "DELETE":
		return func(path Path) error { return p.setOrNumber(u, "DELETE", path, &u.deletes) }
	}
	return nil
}

func (p *parser) actions(read func(Path) error) error {
	for {
		path, err := p.path()
		if err != nil {
			return err
		}
		p.operators++
		if err := read(path); err != nil {
			return err
		}
		if !p.symbol(",") {
			return nil
		}
	}
}

func (p *parser) set(u *Update, path Path) error {
	if err := p.expect("="); err != nil {
		return err
	}
	value, err := p.arithmetic()
	if err != nil {
		return err
	}
	u.sets = append(u.sets, assignment{path, value})
	u.Paths = append(u.Paths, path)
	u.read = append(u.read, operandPaths([]Operand{value})...)
	return nil
}

func (p *parser) arithmetic() (Operand, error) {
	left, err := p.setOperand()
	if err != nil {
		return left, err
	}
	op := p.peek().text
	if !p.symbol("+") && !p.symbol("-") {
		return left, nil
	}
	p.operators++
	right, err := p.setOperand()
	p.needKind(op, left, attr.KindNumber)
	p.needKind(op, right, attr.KindNumber)
	return Operand{Function: op, Args: []Operand{left, right}}, err
}

func (p *parser) setOperand() (Operand, error) {
	switch {
	case p.symbol("("):
		o, err := p.arithmetic()
		if err != nil {
			return o, err
		}
		return o, p.expect(")")
	case p.peek().kind == tokenValue:
		return p.given(), nil
	case p.isCall():
		return p.setFunction()
	}
	path, err := p.path()
	return Operand{Path: path}, err
}

func (p *parser) setFunction() (Operand, error) {
	name := p.peek().text
	p.at++
	args, err := p.args(p.setOperand)
	if err != nil {
		return Operand{}, err
	}
	p.operators++
	if name != "if_not_exists" && name != "list_append" {
		p.note(mistakeFunction, fail("Invalid function name; function: %s", name))
		return Operand{}, nil
	}
	p.checkCount(name, 2, len(args))
	if len(args) != 2 {
		return Operand{}, nil
	}
	if name == "if_not_exists" {
		p.needPath(name, args[0])
	} else {
		p.needKind(name, args[0], attr.KindList)
		p.needKind(name, args[1], attr.KindList)
	}
	return Operand{Function: name, Args: args}, nil
}

func (p *parser) setOrNumber(u *Update, section string, path Path, into *[]assignment) error {
	if p.peek().kind != tokenValue {
		return p.unexpected()
	}
	v := p.given()
	if kind := p.givenKind(v); kind != attr.KindNone && !kind.IsSet() && (section == "DELETE" || kind != attr.KindNumber) {
		p.note(mistakeType, fail("Incorrect operand type for operator or function; operator: %s, operand type: %s", section, longName(kind)))
	}
	*into = append(*into, assignment{path, v})
	u.Paths = append(u.Paths, path)
	return nil
}

func longName(k attr.Kind) string {
	switch k {
	case attr.KindString:
		return "STRING"
	case attr.KindNumber:
		return "NUMBER"
	case attr.KindBinary:
		return "BINARY"
	case attr.KindBool:
		return "BOOLEAN"
	case attr.KindList:
		return "LIST"
	case attr.KindMap:
		return "MAP"
	}
	return k.String()
}
