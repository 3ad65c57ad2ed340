package dynamodb

import (
	"math/big"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// FuzzExpressions parses and evaluates any expression without a panic. An expression that is refused
// is refused as a ValidationException, and an update leaves the item as it is if it fails.
func FuzzExpressions(f *testing.F) {
	f.Add("SET #a = if_not_exists(#a, :n) + :n, b[1].c = :s REMOVE d ADD e :n DELETE g :set")
	f.Add("(#a BETWEEN :n AND :n OR NOT attribute_exists(b.c[0])) AND size(b) > :n AND b IN (:s, :n)")
	f.Add("begins_with(#a, :s) AND contains(g, :s) AND attribute_type(b, :s)")
	f.Add("#a, b.c[0].d, e[99999999999999999999]")
	f.Add(strings.Repeat("(", 2000) + "a = :n" + strings.Repeat(")", 2000))
	f.Add(strings.Repeat("NOT ", 1000) + "a = :n")
	f.Fuzz(func(t *testing.T, text string) {
		item := attributes{
			"a": &types.AttributeValueMemberN{Value: "1"},
			"b": &types.AttributeValueMemberL{Value: []types.AttributeValue{
				&types.AttributeValueMemberM{Value: attributes{"c": &types.AttributeValueMemberS{Value: "x"}}},
			}},
			"g": &types.AttributeValueMemberSS{Value: []string{"s", "t"}},
		}
		given := func() *placeholders {
			p, err := newPlaceholders(map[string]string{"#a": "a"}, attributes{
				":n": &types.AttributeValueMemberN{Value: "1"}, ":s": &types.AttributeValueMemberS{Value: "s"},
				":set": &types.AttributeValueMemberSS{Value: []string{"s"}},
			})
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		if c, err := parseCondition(conditionExpression, &text, given()); err == nil {
			_ = c.holds(item)
		} else {
			checkRefusal(t, err)
		}
		if u, err := parseUpdate(&text, given()); err == nil {
			_, err = u.apply(item)
			checkRefusal(t, err)
		} else {
			checkRefusal(t, err)
		}
		paths, err := parseProjection(&text, given())
		checkRefusal(t, err)
		for _, p := range paths {
			_ = p.find(item)
		}
		if len(item) != 3 || len(item["g"].(*types.AttributeValueMemberSS).Value) != 2 {
			t.Errorf("the item is %v", item)
		}
	})
}

func checkRefusal(t *testing.T, err error) {
	t.Helper()
	if err != nil && messageOf(err) == "" {
		t.Errorf("the error %v has no message for the client", err)
	}
}

// FuzzNumber parses any number without a panic: as math/big does, and within DynamoDB's limits.
func FuzzNumber(f *testing.F) {
	for _, text := range []string{
		"0012.3400", "-1.5E-3", "1E9223372036854775807", "1E-9223372036854775808", "-0", "+.5e+2", "1e", ".", "١",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := parseNumber(text)
		if err != nil {
			checkRefusal(t, err)
			return
		}
		want, ok := new(big.Rat).SetString(strings.TrimSuffix(text, "."))
		if !ok {
			return // big.Rat refuses 1.e5
		}
		got, ok := new(big.Rat).SetString(n.String())
		if !ok || got.Cmp(want) != 0 {
			t.Errorf("%q is read as %s", text, n)
		}
		if again, err := parseNumber(n.String()); err != nil || again != n {
			t.Errorf("%s is read as %s, %v", n, again, err)
		}
		if n.sortKey() == "" || len(n.digits) > maxDigits {
			t.Errorf("%q is %+v", text, n)
		}
	})
}
