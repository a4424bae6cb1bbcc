package conformance

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// indexReadsMax is how often an index is read until it shows what was written.
const indexReadsMax = 200

// settles reads until the index shows what is wanted: indexes may be late.
func settles(t *testing.T, what, want string, read func() string) {
	t.Helper()
	var got string
	for range indexReadsMax {
		if got = read(); got == want {
			return
		}
	}
	same(t, what, want, got)
}

// sortKeys are the sort keys of a query's items, or the code of its error.
func (s *suite) sortKeys(in *dynamodb.QueryInput) string {
	out, err := s.db.Query(context.Background(), in)
	if err != nil {
		return code(err)
	}
	var parts []string
	for _, it := range out.Items {
		parts = append(parts, strings.Trim(showValue(it["sk"]), `"`))
	}
	return strings.Join(parts, " ")
}

// keys: sort keys order as their type does, and key conditions select by them.
func keys(t *testing.T, s *suite) {
	numbers := s.table(t, "keys.N", "N")
	for _, n := range []string{"10", "9", "-5", "100", "0", "2.5", "-5.01", "1e30", "-1e30", "0.001", "1e-100", "-1e-100", "99.99", "1e125", "-1e125"} {
		s.put(t, numbers, object{"pk": "p", "sk": number(n)})
	}
	same(t, "numbers in order", strings.Join([]string{
		"-1" + strings.Repeat("0", 125), "-1" + strings.Repeat("0", 30), "-5.01", "-5", "-0." + strings.Repeat("0", 99) + "1", "0",
		"0." + strings.Repeat("0", 99) + "1", "0.001", "2.5", "9", "10", "99.99", "100", "1" + strings.Repeat("0", 30), "1" + strings.Repeat("0", 125),
	}, " "), s.sortKeys(keyQuery(numbers, "pk = :p", object{":p": "p"})))
	s.put(t, numbers, object{"pk": "one", "sk": number("1")})
	s.put(t, numbers, object{"pk": "one", "sk": number("1.0")})
	same(t, "1 and 1.0 are one key", "1", s.sortKeys(keyQuery(numbers, "pk = :p", object{":p": "one"})))
	texts := s.table(t, "keys.S", "S")
	for _, k := range []string{"a", "aB", "a-b", "b", "é", "a\x00", "a\x00b", "😀", "\uffff", "zz"} {
		s.put(t, texts, object{"pk": "p", "sk": k})
		s.put(t, texts, object{"pk": "p!", "sk": k})
	}
	same(t, "strings in the order of their bytes", `a a\x00 a\x00b a-b aB b zz é `+"\\uffff 😀", s.sortKeys(keyQuery(texts, "pk = :p", object{":p": "p"})))
	keyConditions(t, s, texts, numbers)
}

func keyQuery(table *string, cond string, values object) *dynamodb.QueryInput {
	return &dynamodb.QueryInput{TableName: table, KeyConditionExpression: aws.String(cond), ExpressionAttributeNames: aliases(cond), ExpressionAttributeValues: bound(values)}
}

func keyConditions(t *testing.T, s *suite, texts, numbers *string) {
	for _, c := range []struct {
		table  *string
		cond   string
		values object
		want   string
	}{
		{texts, "pk = :p AND sk = :s", object{":p": "p", ":s": "a"}, "a"},
		{texts, "sk = :s AND pk = :p", object{":p": "p", ":s": "a"}, "a"},
		{texts, ":p = pk AND :s < sk", object{":p": "p", ":s": "zz"}, `é \uffff 😀`},
		{texts, "(pk = :p) AND (begins_with(#sk, :s))", object{":p": "p", ":s": "a"}, `a a\x00 a\x00b a-b aB`},
		{texts, "pk = :p AND begins_with(sk, :s)", object{":p": "p", ":s": "a\x00"}, `a\x00 a\x00b`},
		{texts, "pk = :p AND sk < :s", object{":p": "p", ":s": "a-b"}, `a a\x00 a\x00b`},
		{texts, "pk = :p AND sk <= :s", object{":p": "p", ":s": "a-b"}, `a a\x00 a\x00b a-b`},
		{texts, "pk = :p AND sk >= :s", object{":p": "p", ":s": "zz"}, `zz é \uffff 😀`},
		{texts, "pk = :p AND sk BETWEEN :a AND :b", object{":p": "p", ":a": "aA", ":b": "b"}, "aB b"},
		{numbers, "pk = :p AND sk > :s", object{":p": "p", ":s": number("1e30")}, "1" + strings.Repeat("0", 125)},
		{numbers, "pk = :p AND sk BETWEEN :a AND :b", object{":p": "p", ":a": number("2.50"), ":b": 10}, "2.5 9 10"},
		{numbers, "pk = :p AND sk < :s", object{":p": "p", ":s": -6}, "-1" + strings.Repeat("0", 125) + " -1" + strings.Repeat("0", 30)},
		{texts, "pk = :p", object{":p": "nobody"}, ""},
		{texts, "sk = :s", object{":s": "a"}, bad},
		{texts, "pk > :p", object{":p": "p"}, bad},
		{texts, "pk = :p AND other = :s", object{":p": "p", ":s": "a"}, bad},
		{texts, "pk = :p OR sk = :s", object{":p": "p", ":s": "a"}, bad},
		{texts, "pk = :p AND NOT sk = :s", object{":p": "p", ":s": "a"}, bad},
		{texts, "pk = :p AND sk <> :s", object{":p": "p", ":s": "a"}, bad},
		{texts, "pk = :p AND sk IN (:s)", object{":p": "p", ":s": "a"}, bad},
		{texts, "pk = :p AND contains(sk, :s)", object{":p": "p", ":s": "a"}, bad},
		{texts, "pk = :p AND sk = :s AND sk = :s", object{":p": "p", ":s": "a"}, bad},
		{texts, "pk = :p AND sk = :s", object{":p": "p", ":s": 1}, bad},
		{texts, "pk = :p AND size(sk) = :s", object{":p": "p", ":s": 1}, bad},
		{numbers, "pk = :p AND begins_with(sk, :s)", object{":p": "p", ":s": "1"}, bad},
		{texts, "pk = :p AND sk BETWEEN :b AND :a", object{":p": "p", ":a": "a", ":b": "b"}, bad},
	} {
		t.Run(c.cond+" "+show(of(c.values)), func(t *testing.T) {
			same(t, c.cond, c.want, s.sortKeys(keyQuery(c.table, c.cond, c.values)))
			if c.want == bad {
				return
			}
			back := keyQuery(c.table, c.cond, c.values)
			back.ScanIndexForward = aws.Bool(false)
			want := strings.Fields(c.want)
			slices.Reverse(want)
			same(t, c.cond+" backwards", strings.Join(want, " "), s.sortKeys(back))
		})
	}
}

// indexes: items enter, move and leave as their keys do, and show what the index projects.
func indexes(t *testing.T, s *suite) {
	table := s.table(t, "indexes", "S")
	at := func(index string) func() string {
		return func() string {
			in := keyQuery(table, "gpk = :g", object{":g": "g"})
			in.IndexName = &index
			out, err := s.db.Query(context.Background(), in)
			if err != nil {
				return code(err)
			}
			return showAll(out.Items)
		}
	}
	full := object{"pk": "p", "sk": "x", "gpk": "g", "gsk": "1", "gn": 1, "extra": "e", "fat": "f"}
	s.put(t, table, full)
	settles(t, "ALL", show(of(full)), at("all"))
	settles(t, "KEYS_ONLY", `{gpk:"g" pk:"p" sk:"x"}`, at("keys"))
	settles(t, "INCLUDE", `{extra:"e" gn:1 gpk:"g" pk:"p" sk:"x"}`, at("some"))
	update := func(expr string, values object) {
		t.Helper()
		if _, err := s.db.UpdateItem(context.Background(), &dynamodb.UpdateItemInput{TableName: table, Key: of(object{"pk": "p", "sk": "x"}), UpdateExpression: aws.String(expr), ExpressionAttributeValues: bound(values)}); err != nil {
			t.Fatal(err)
		}
	}
	update("SET extra = :v", object{":v": "E"})
	settles(t, "a projected attribute changes", `{extra:"E" gn:1 gpk:"g" pk:"p" sk:"x"}`, at("some"))
	update("REMOVE gn", nil)
	settles(t, "a removed sort key takes it out", "", at("some"))
	settles(t, "and only out of that index", `{gpk:"g" pk:"p" sk:"x"}`, at("keys"))
	update("SET gpk = :v", object{":v": "other"})
	settles(t, "a moved item is no longer there", "", at("keys"))
	update("SET gpk = :v", object{":v": "g"})
	settles(t, "moved back", `{gpk:"g" pk:"p" sk:"x"}`, at("keys"))
	s.put(t, table, object{"pk": "p", "sk": "x"})
	settles(t, "a put without the key takes it out", "", at("keys"))
	s.put(t, table, full)
	settles(t, "a put with the key brings it in", `{gpk:"g" pk:"p" sk:"x"}`, at("keys"))
	if _, err := s.db.DeleteItem(context.Background(), &dynamodb.DeleteItemInput{TableName: table, Key: of(object{"pk": "p", "sk": "x"})}); err != nil {
		t.Fatal(err)
	}
	settles(t, "a delete takes it out", "", at("all"))
	indexRefusals(t, s, table)
}

func indexRefusals(t *testing.T, s *suite, table *string) {
	base := func(index string) *dynamodb.QueryInput {
		in := keyQuery(table, "gpk = :g", object{":g": "g"})
		in.IndexName = &index
		return in
	}
	consistent := base("all")
	consistent.ConsistentRead = aws.Bool(true)
	same(t, "a consistent read of an index", bad, s.sortKeys(consistent))
	same(t, "an index that is not there", bad, s.sortKeys(base("nope")))
	all := base("keys")
	all.Select = types.SelectAllAttributes
	same(t, "ALL_ATTRIBUTES of a KEYS_ONLY index", bad, s.sortKeys(all))
	projected := base("keys")
	projected.ProjectionExpression = aws.String("fat")
	same(t, "an attribute the index does not hold", bad, s.sortKeys(projected))
	onKey := base("all")
	onKey.FilterExpression = aws.String("gsk = :g")
	same(t, "a filter on a key", bad, s.sortKeys(onKey))
	select1 := keyQuery(table, "pk = :g", object{":g": "g"})
	select1.Select = types.SelectAllProjectedAttributes
	same(t, "ALL_PROJECTED_ATTRIBUTES without index", bad, s.sortKeys(select1))
}

// paging: every page size, both directions, table and index, with a filter: each item once and in order.
func paging(t *testing.T, s *suite) {
	table := s.table(t, "paging", "S")
	const items = 23
	for i := range items {
		s.put(t, table, object{"pk": "p", "sk": fmt.Sprintf("%02d", i), "gpk": "g", "gsk": fmt.Sprintf("%02d", items-i/2), "gn": i % 3, "odd": i % 2})
	}
	s.put(t, table, object{"pk": "p2", "sk": "00", "gpk": "g2", "gsk": "00"})
	for _, c := range []struct {
		name, index, cond, filter string
	}{
		{"table", "", "pk = :p", ""}, {"filter", "", "pk = :p", "odd = :one"},
		{"index", "all", "gpk = :p", ""}, {"index with equal keys", "some", "gpk = :p", ""}, {"index by hash only", "keys", "gpk = :p", ""},
	} {
		for _, back := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s backwards=%t", c.name, back), func(t *testing.T) {
				values := object{":p": map[bool]string{true: "p", false: "g"}[c.index == ""]}
				if c.filter != "" {
					values[":one"] = 1
				}
				in := keyQuery(table, c.cond, values)
				in.IndexName, in.FilterExpression, in.ScanIndexForward = optional(c.index), optional(c.filter), aws.Bool(!back)
				whole := strings.Fields(s.sortKeys(in))
				wantItems := map[string]int{"": items, "odd = :one": items / 2}[c.filter]
				if len(whole) != wantItems {
					t.Fatalf("%d items in one page, want %d", len(whole), wantItems)
				}
				for _, limit := range []int32{1, 2, 7, items - 1, items, items + 1} {
					s.pages(t, in, limit, whole)
				}
			})
		}
	}
	boundaries(t, s, table)
}

// pages reads page by page and compares with the whole.
func (s *suite) pages(t *testing.T, in *dynamodb.QueryInput, limit int32, whole []string) {
	t.Helper()
	page := *in
	page.Limit = &limit
	var got []string
	for range 1000 {
		out, err := s.db.Query(context.Background(), &page)
		if err != nil {
			t.Fatal(err)
		}
		if out.ScannedCount > limit || int(out.Count) != len(out.Items) {
			t.Fatalf("limit %d: %d scanned, count %d of %d items", limit, out.ScannedCount, out.Count, len(out.Items))
		}
		for _, it := range out.Items {
			got = append(got, strings.Trim(showValue(it["sk"]), `"`))
		}
		if page.ExclusiveStartKey = out.LastEvaluatedKey; len(page.ExclusiveStartKey) == 0 {
			break
		}
	}
	same(t, fmt.Sprintf("pages of %d", limit), strings.Join(whole, " "), strings.Join(got, " "))
}

func boundaries(t *testing.T, s *suite, table *string) {
	in := keyQuery(table, "pk = :p", object{":p": "p"})
	in.Limit = aws.Int32(23)
	out, err := s.db.Query(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "exactly the limit left", `{pk:"p" sk:"22"}`, show(out.LastEvaluatedKey))
	start := func(m object) string {
		in := keyQuery(table, "pk = :p", object{":p": "p"})
		in.ExclusiveStartKey = of(m)
		return s.sortKeys(in)
	}
	same(t, "a start that is not there", "21 22", start(object{"pk": "p", "sk": "20x"}))
	same(t, "a start in another partition", bad, start(object{"pk": "p2", "sk": "20"}))
	same(t, "a start without sort key", bad, start(object{"pk": "p"}))
	same(t, "a start with too much", bad, start(object{"pk": "p", "sk": "20", "gpk": "g"}))
	count := keyQuery(table, "pk = :p", object{":p": "p"})
	count.Select = types.SelectCount
	if out, err := s.db.Query(context.Background(), count); err != nil || out.Count != 23 || len(out.Items) != 0 {
		differs(t, "COUNT", fmt.Sprint(out, err))
	}
	for i := range 5 {
		s.put(t, table, object{"pk": "big", "sk": fmt.Sprint(i), "v": strings.Repeat("x", 300*1024)})
	}
	big, err := s.db.Query(context.Background(), keyQuery(table, "pk = :p", object{":p": "big"}))
	if err != nil || len(big.Items) != 4 || len(big.LastEvaluatedKey) == 0 {
		differs(t, "a page of 300 KB items ends with the one that passes 1 MB", fmt.Sprint(len(big.Items), " items, ", err))
	}
}

// segments: a parallel scan sees each item once, page by page.
func segments(t *testing.T, s *suite) {
	table := s.table(t, "segments", "S")
	const items = 60
	for i := range items {
		s.put(t, table, object{"pk": fmt.Sprint("p", i%20), "sk": fmt.Sprint(i), "gpk": "g", "gn": i})
	}
	for _, total := range []int32{1, 2, 3, 7, 64} {
		for _, index := range []string{"", "some"} {
			seen := map[string]int{}
			for segment := range total {
				s.scan(t, &dynamodb.ScanInput{TableName: table, IndexName: optional(index), Segment: aws.Int32(segment), TotalSegments: aws.Int32(total), Limit: aws.Int32(5)}, seen)
			}
			for sk, times := range seen {
				if times != 1 {
					differs(t, "an item is in one segment", fmt.Sprintf("%d segments, index %q: item %s seen %d times", total, index, sk, times))
				}
			}
			if len(seen) != items {
				differs(t, "all items are in the segments", fmt.Sprintf("%d segments, index %q: %d of %d items", total, index, len(seen), items))
			}
		}
	}
	refused := func(in dynamodb.ScanInput) string {
		in.TableName = table
		_, err := s.db.Scan(context.Background(), &in)
		return code(err)
	}
	same(t, "a segment beyond the last", bad, refused(dynamodb.ScanInput{Segment: aws.Int32(2), TotalSegments: aws.Int32(2)}))
	same(t, "a segment without a total", bad, refused(dynamodb.ScanInput{Segment: aws.Int32(1)}))
	same(t, "a total without a segment", bad, refused(dynamodb.ScanInput{TotalSegments: aws.Int32(2)}))
	same(t, "a limit of zero", bad, refused(dynamodb.ScanInput{Limit: aws.Int32(0)}))
}

func (s *suite) scan(t *testing.T, in *dynamodb.ScanInput, seen map[string]int) {
	t.Helper()
	for range 1000 {
		out, err := s.db.Scan(context.Background(), in)
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range out.Items {
			seen[showValue(it["sk"])]++
		}
		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(in.ExclusiveStartKey) == 0 {
			return
		}
	}
}
