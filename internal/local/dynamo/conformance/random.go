package conformance

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// generator makes random requests over a few names and values, mostly valid ones.
type generator struct {
	*rand.Rand
	values object
}

func newGenerator(seed uint64) *generator { return &generator{Rand: rand.New(rand.NewPCG(seed, 0))} }

func (g *generator) pick(choices ...string) string { return choices[g.IntN(len(choices))] }

func (g *generator) path() string {
	return g.pick("a", "b", "c", "d", "m.a", "m.b", "m.c.a", "l[0]", "l[1]", "l[2]", "l[7]", "m.l[1]", "#a", "l", "m", "z")
}

func (g *generator) scalar() any {
	switch g.IntN(6) {
	case 0:
		return g.pick("", "a", "ab", "b", "é")
	case 1:
		return []byte(g.pick("", "a", "ab"))
	case 2:
		return g.IntN(2) == 0
	}
	return number(g.pick("0", "1", "-1", "2", "10", "0.5", "-2.25", "1e10", "99999999999999999999999999999999999999"))
}

func (g *generator) any() any {
	switch g.IntN(8) {
	case 0:
		return list{g.scalar(), g.scalar()}
	case 1:
		return object{"a": g.scalar(), "b": g.scalar()}
	case 2:
		return stringSet{"a", "b"}[:1+g.IntN(2)]
	case 3:
		return numberSet{"1", "2"}[:1+g.IntN(2)]
	case 4:
		return null{}
	}
	return g.scalar()
}

// bind gives a value a placeholder.
func (g *generator) bind(v any) string {
	name := ":v" + strconv.Itoa(len(g.values))
	g.values[name] = v
	return name
}

func (g *generator) operand() string {
	switch g.IntN(5) {
	case 0:
		return g.bind(g.any())
	case 1:
		return "size(" + g.path() + ")"
	}
	return g.path()
}

func (g *generator) condition(depth int) string {
	if depth > 0 {
		switch g.IntN(4) {
		case 0:
			return "(" + g.condition(depth-1) + ") AND (" + g.condition(depth-1) + ")"
		case 1:
			return g.condition(depth-1) + " OR " + g.condition(depth-1)
		case 2:
			return "NOT " + g.condition(0)
		}
	}
	switch g.IntN(8) {
	case 0:
		return "attribute_exists(" + g.path() + ")"
	case 1:
		return "attribute_not_exists(" + g.path() + ")"
	case 2:
		return "attribute_type(" + g.path() + ", " + g.bind(g.pick("S", "N", "L", "M", "SS", "BOOL", "NULL")) + ")"
	case 3:
		return "begins_with(" + g.path() + ", " + g.bind(g.pick("", "a", "b")) + ")"
	case 4:
		return "contains(" + g.path() + ", " + g.bind(g.scalar()) + ")"
	case 5:
		return g.operand() + " BETWEEN " + g.bind(number("-1")) + " AND " + g.bind(number(g.pick("0", "2", "1e10")))
	case 6:
		return g.path() + " IN (" + g.bind(g.any()) + ", " + g.bind(g.any()) + ")"
	}
	return g.operand() + " " + g.pick("=", "<>", "<", "<=", ">", ">=") + " " + g.bind(g.any())
}

func (g *generator) setValue() string {
	switch g.IntN(6) {
	case 0:
		return g.path() + " " + g.pick("+", "-") + " " + g.bind(number(g.pick("1", "0.5", "-3")))
	case 1:
		return "if_not_exists(" + g.path() + ", " + g.bind(g.any()) + ")"
	case 2:
		return "list_append(" + g.pick("l", "m.l", "z") + ", " + g.bind(list{g.scalar()}) + ")"
	case 3:
		return g.path()
	}
	return g.bind(g.any())
}

func (g *generator) update() string {
	var parts []string
	if g.IntN(3) > 0 {
		parts = append(parts, "SET "+g.path()+" = "+g.setValue())
		if g.IntN(2) == 0 {
			parts[0] += ", " + g.path() + " = " + g.setValue()
		}
	}
	if g.IntN(3) == 0 || len(parts) == 0 {
		parts = append(parts, "REMOVE "+g.path())
	}
	if g.IntN(4) == 0 {
		parts = append(parts, "ADD "+g.pick("a", "c", "d", "m.a", "z", "l[0]")+" "+g.bind(g.addable()))
	}
	if g.IntN(5) == 0 {
		parts = append(parts, "DELETE "+g.pick("b", "c", "z", "m.b")+" "+g.bind(stringSet{"a"}))
	}
	return strings.Join(parts, " ")
}

func (g *generator) addable() any {
	if g.IntN(3) == 0 {
		return stringSet{g.pick("a", "b", "c")}
	}
	return number(g.pick("1", "-1", "0.25"))
}

// step is one random conditional update.
type step struct {
	key    item
	cond   string
	update string
	values object
}

func (g *generator) step() step {
	g.values = object{}
	s := step{key: of(object{"pk": "r", "sk": strconv.Itoa(g.IntN(4))}), update: g.update(), values: g.values}
	if g.IntN(2) == 0 {
		s.cond = g.condition(2)
	}
	return s
}

func (s step) String() string {
	return fmt.Sprintf("%s on %s if %q with %s", s.update, show(s.key), s.cond, show(of(s.values)))
}

// do makes the step and answers with what came back and what the item is afterwards.
func (s step) do(db API, table *string) string {
	in := &dynamodb.UpdateItemInput{
		TableName: table, Key: s.key, UpdateExpression: &s.update, ConditionExpression: optional(s.cond),
		ExpressionAttributeNames: aliases(s.update, s.cond), ExpressionAttributeValues: bound(s.values), ReturnValues: types.ReturnValueAllNew,
	}
	out, err := db.UpdateItem(context.Background(), in)
	answer := code(err)
	if err == nil {
		answer = show(out.Attributes)
	}
	stored, err := db.GetItem(context.Background(), &dynamodb.GetItemInput{TableName: table, Key: s.key, ConsistentRead: aws.Bool(true)})
	if err != nil {
		return answer + "; " + code(err)
	}
	return answer + "; stored " + show(stored.Item)
}

// seedItems are what random steps start from.
var seedItems = []object{
	{"pk": "r", "sk": "0", "a": 1, "b": "ab", "l": list{1, "b", list{}}, "m": object{"a": 1, "b": stringSet{"a", "b"}, "c": object{"a": 0}, "l": list{1, 2}}},
	{"pk": "r", "sk": "1", "a": "a", "b": stringSet{"a"}, "c": numberSet{"1", "2"}, "d": []byte("ab"), "l": list{object{"a": 1}}, "m": object{}},
	{"pk": "r", "sk": "2", "a": number("0.5"), "b": null{}, "c": true, "d": number("-2.25")},
}

// randomUpdates: whatever is asked, the answer agrees with what is stored, and a refused request changes nothing.
func randomUpdates(t *testing.T, s *suite) {
	table := s.table(t, "random", "S")
	for _, m := range seedItems {
		s.put(t, table, m)
	}
	t.Logf("replay with seed %d", s.o.Seed)
	g := newGenerator(s.o.Seed)
	made := 0
	for range s.o.Rounds {
		step := g.step()
		before := show(s.get(t, table, "r", step.key["sk"].(*types.AttributeValueMemberS).Value))
		answer, stored, _ := strings.Cut(step.do(s.db, table), "; stored ")
		switch answer {
		case no, bad:
			if stored != before {
				t.Fatalf("%s\nrefused with %s, and changed\n%s to\n%s", step, answer, before, stored)
			}
		default:
			made++
			if answer != stored {
				t.Fatalf("%s\nanswered %s, stored %s", step, answer, stored)
			}
		}
	}
	if made == 0 {
		t.Errorf("none of %d random updates was valid", s.o.Rounds)
	}
}

// Compare makes the same random steps at two endpoints and reports the differences.
func Compare(t *testing.T, one, other API, o Options) {
	o = o.withDefaults()
	t.Logf("replay with seed %d", o.Seed)
	var table *string
	for _, db := range []API{one, other} {
		s := &suite{db: db, o: o}
		table = s.table(t, "compare", "S")
		for _, m := range seedItems {
			s.put(t, table, m)
		}
	}
	g := newGenerator(o.Seed)
	for range o.Rounds {
		step := g.step()
		got, want := step.do(one, table), step.do(other, table)
		if got == want {
			continue
		}
		differs(t, "random updates: "+kind(got)+" here, "+kind(want)+" there", fmt.Sprintf("%s\nhere:  %s\nthere: %s", step, got, want))
		level(t, one, other, table, step.key)
	}
}

// kind is what sort of answer it is: an error's code, or an item.
func kind(answer string) string {
	if strings.HasPrefix(answer, "{") {
		return "an item"
	}
	word, _, _ := strings.Cut(answer, ";")
	return word
}

// level makes the item at the other endpoint what it is at the first, so that one difference is counted once.
func level(t *testing.T, one, other API, table *string, key item) {
	t.Helper()
	out, err := one.GetItem(context.Background(), &dynamodb.GetItemInput{TableName: table, Key: key, ConsistentRead: aws.Bool(true)})
	if err != nil {
		t.Fatal(err)
	}
	if out.Item == nil {
		_, err = other.DeleteItem(context.Background(), &dynamodb.DeleteItemInput{TableName: table, Key: key})
	} else {
		_, err = other.PutItem(context.Background(), &dynamodb.PutItemInput{TableName: table, Item: out.Item})
	}
	if err != nil {
		t.Fatal(err)
	}
}
