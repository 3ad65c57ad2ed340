package dynamodb_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func sortsOf(items []map[string]types.AttributeValue) string {
	var out []string
	for _, it := range items {
		switch v := it["seq"].(type) {
		case *types.AttributeValueMemberN:
			out = append(out, v.Value)
		case *types.AttributeValueMemberS:
			out = append(out, v.Value)
		}
	}
	return strings.Join(out, " ")
}

// Query:
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Query.KeyConditionExpressions.html
func TestQuery(t *testing.T) {
	c := newSuite(t).simple("seq", types.ScalarAttributeTypeN)
	for _, at := range []string{"10", "9", "-1", "2.5", "100"} {
		put(t, c, item{"id": s("a"), "seq": n(at), "even": n("0")}, item{"id": s("b"), "seq": n(at)})
	}
	tests := map[string]struct {
		keys     string
		values   item
		filter   string
		backward bool
		want     string
		refused  string
	}{
		"numbers sort as numbers": {keys: "id = :id", want: "-1 2.5 9 10 100"},
		"backwards":               {keys: "id = :id", backward: true, want: "100 10 9 2.5 -1"},
		"a range": {
			keys:   "id = :id AND seq BETWEEN :a AND :b",
			values: item{":a": n("2"), ":b": n("10")},
			want:   "2.5 9 10",
		},
		"above":    {keys: "seq > :a AND id = :id", values: item{":a": n("9")}, want: "10 100"},
		"a filter": {keys: "id = :id", filter: "attribute_not_exists(even)", want: ""},
		"no partition": {
			keys:    "seq = :a",
			values:  item{":a": n("9"), ":id": nil},
			refused: "Query condition missed key schema element: id",
		},
		"an inequality of the hash": {keys: "id > :id", refused: "Query key condition not supported"},
		"an or":                     {keys: "id = :id OR id = :id", refused: "Invalid operator used in KeyConditionExpression: OR"},
		"another attribute": {
			keys:    "id = :id AND even = :a",
			values:  item{":a": n("9")},
			refused: "Query condition missed key schema element: seq",
		},
		"a value of another type": {
			keys:    "id = :id AND seq = :a",
			values:  item{":a": s("9")},
			refused: "One or more parameter values were invalid: Condition parameter type does not match schema type",
		},
		"a filter on the key": {
			keys:    "id = :id",
			filter:  "seq > :a",
			values:  item{":a": n("9")},
			refused: "Filter Expression can only contain non-primary key attributes: Primary key attribute: seq",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			in := &dynamodb.QueryInput{
				TableName: aws.String("things"), KeyConditionExpression: &tt.keys, ScanIndexForward: aws.Bool(!tt.backward),
				ExpressionAttributeValues: item{":id": s("a")},
			}
			for k, v := range tt.values {
				if in.ExpressionAttributeValues[k] = v; v == nil {
					delete(in.ExpressionAttributeValues, k)
				}
			}
			if tt.filter != "" {
				in.FilterExpression = &tt.filter
			}
			got, err := c.Query(t.Context(), in)
			if tt.refused != "" {
				wantError(t, err, "ValidationException", tt.refused)
				return
			}
			if err != nil || sortsOf(got.Items) != tt.want || got.LastEvaluatedKey != nil {
				t.Fatalf("got %q, %v", sortsOf(got.Items), err)
			}
		})
	}
}

// Pagination:
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Query.Pagination.html
func TestPagesCoverEverythingOnce(t *testing.T) {
	c := newSuite(t).simple("seq", types.ScalarAttributeTypeS)
	var want []string
	for i := range 60 {
		at := fmt.Sprintf("%03d", i)
		want = append(want, at)
		put(t, c, item{"id": s("a"), "seq": s(at), "pad": s(strings.Repeat("x", 50<<10))})
	}
	for _, backward := range []bool{false, true} {
		var got []string
		pages := dynamodb.NewQueryPaginator(c, &dynamodb.QueryInput{
			TableName: aws.String("things"), KeyConditionExpression: aws.String("id = :id"), ExpressionAttributeValues: item{":id": s("a")},
			ScanIndexForward: aws.Bool(!backward), Limit: aws.Int32(25),
		})
		n := 0
		for pages.HasMorePages() {
			page, err := pages.NextPage(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if n++; len(page.Items) > 21 {
				t.Fatalf("%d items of 50 KB are over 1 MB", len(page.Items))
			}
			got = append(got, strings.Fields(sortsOf(page.Items))...)
		}
		if backward {
			slices.Reverse(got)
		}
		if !slices.Equal(got, want) || n < 3 {
			t.Fatalf("got %v in %d pages", got, n)
		}
	}
	var got []string
	for segment := range int32(3) {
		var start item
		for {
			page, err := c.Scan(
				t.Context(),
				&dynamodb.ScanInput{
					TableName:         aws.String("things"),
					Limit:             aws.Int32(7),
					Segment:           &segment,
					TotalSegments:     aws.Int32(3),
					ExclusiveStartKey: start,
				},
			)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, strings.Fields(sortsOf(page.Items))...)
			if start = page.LastEvaluatedKey; start == nil {
				break
			}
		}
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Fatalf("scan got %v", got)
	}
}

func TestSecondaryIndexes(t *testing.T) {
	c := newSuite(t).mine()
	attribute := func(name string) types.AttributeDefinition {
		return types.AttributeDefinition{AttributeName: &name, AttributeType: types.ScalarAttributeTypeS}
	}
	key := func(hash, sort string) []types.KeySchemaElement {
		out := []types.KeySchemaElement{{AttributeName: &hash, KeyType: types.KeyTypeHash}}
		if sort != "" {
			out = append(out, types.KeySchemaElement{AttributeName: &sort, KeyType: types.KeyTypeRange})
		}
		return out
	}
	if _, err := c.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: aws.String("things"), BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{attribute("id"), attribute("seq"), attribute("color"), attribute("size")},
		KeySchema:            key("id", "seq"),
		LocalSecondaryIndexes: []types.LocalSecondaryIndex{{
			IndexName: aws.String("by-size"), KeySchema: key("id", "size"),
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly},
		}},
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{
			IndexName: aws.String("by-color"), KeySchema: key("color", ""),
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeInclude, NonKeyAttributes: []string{"kept"}},
		}},
	}); err != nil {
		t.Fatal(err)
	}
	put(t, c,
		item{"id": s("a"), "seq": s("1"), "color": s("red"), "size": s("z"), "kept": s("k"), "lost": s("l")},
		item{"id": s("a"), "seq": s("2"), "color": s("red"), "size": s("b")},
		item{"id": s("a"), "seq": s("3"), "color": s("blue")},
		item{"id": s("b"), "seq": s("4")},
	)
	red := &dynamodb.QueryInput{
		TableName: aws.String("things"), IndexName: aws.String("by-color"), KeyConditionExpression: aws.String("color = :c"),
		ExpressionAttributeValues: item{":c": s("red")},
	}
	got, err := c.Query(t.Context(), red)
	if err != nil || sortsOf(got.Items) != "1 2" || got.Items[0]["kept"] == nil || got.Items[0]["lost"] != nil {
		t.Fatalf("got %v %v", got, err)
	}
	got, err = c.Query(t.Context(), &dynamodb.QueryInput{
		TableName: aws.String("things"), IndexName: aws.String("by-size"), KeyConditionExpression: aws.String("id = :i"),
		ExpressionAttributeValues: item{":i": s("a")},
		Select:                    types.SelectAllAttributes,
	})
	if err != nil || sortsOf(got.Items) != "2 1" || got.Items[1]["lost"] == nil {
		t.Fatalf("got %v %v", got, err)
	}
	put(t, c, item{"id": s("a"), "seq": s("1"), "color": s("green")})
	if got, err = c.Query(t.Context(), red); err != nil || sortsOf(got.Items) != "2" {
		t.Fatalf("the index keeps up with writes: %v %v", got, err)
	}
	if _, err := c.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{
		TableName: aws.String("things"), Key: item{"id": s("a"), "seq": s("2")},
	}); err != nil {
		t.Fatal(err)
	}
	if got, err = c.Query(t.Context(), red); err != nil || got.Count != 0 {
		t.Fatalf("the index keeps up with deletes: %v %v", got, err)
	}
	red.IndexName = aws.String("none")
	_, err = c.Query(t.Context(), red)
	wantError(t, err, "ValidationException", "The table does not have the specified index: none")
}
