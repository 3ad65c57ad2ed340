package dynamodb_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var ignore = cmpopts.IgnoreUnexported(
	types.AttributeValueMemberS{}, types.AttributeValueMemberN{}, types.AttributeValueMemberL{}, types.AttributeValueMemberM{},
	types.AttributeValueMemberSS{}, types.AttributeValueMemberNS{}, types.AttributeValueMemberBOOL{}, types.AttributeValueMemberNULL{},
	types.AttributeValueMemberB{}, types.AttributeValueMemberBS{},
)

func TestEveryTypeRoundTrips(t *testing.T) {
	c := newSuite(t).simple("", "")
	want := item{
		"id": s("a"), "n": n("12.5"), "b": &types.AttributeValueMemberB{Value: []byte{0, 1, 255}},
		"bool": &types.AttributeValueMemberBOOL{Value: false}, "null": &types.AttributeValueMemberNULL{Value: true},
		"list": &types.AttributeValueMemberL{Value: []types.AttributeValue{s("x"), n("1")}},
		"map":  &types.AttributeValueMemberM{Value: item{"k": s(""), "empty": &types.AttributeValueMemberM{Value: item{}}}},
		"ss":   &types.AttributeValueMemberSS{Value: []string{"p", "q"}}, "ns": &types.AttributeValueMemberNS{Value: []string{"1", "2"}},
		"bs": &types.AttributeValueMemberBS{Value: [][]byte{{1}, {2}}},
	}
	put(t, c, want)
	got, err := c.GetItem(
		t.Context(), &dynamodb.GetItemInput{TableName: aws.String("things"), Key: item{"id": s("a")}, ReturnConsumedCapacity: "TOTAL"},
	)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got.Item, ignore); d != "" {
		t.Fatal(d)
	}
	if *got.ConsumedCapacity.CapacityUnits != 0.5 {
		t.Fatalf("an eventually consistent read of a small item takes half a unit, got %v", *got.ConsumedCapacity.CapacityUnits)
	}
}

// Update expressions:
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.UpdateExpressions.html
func TestUpdateItem(t *testing.T) {
	start := item{
		"id": s("a"), "n": n("5"), "l": &types.AttributeValueMemberL{Value: []types.AttributeValue{s("0"), s("1"), s("2")}},
		"m": &types.AttributeValueMemberM{Value: item{"x": s("y")}}, "ss": &types.AttributeValueMemberSS{Value: []string{"a", "b"}},
	}
	tests := map[string]struct {
		expression string
		names      map[string]string
		values     item
		want       item // changed attributes
		removed    []string
		refused    string
	}{
		"sets a value": {expression: "SET v = :v", values: item{":v": s("1")}, want: item{"v": s("1")}},
		"keywords in any case": {
			expression: "set v = :v Remove n",
			values:     item{":v": s("1")},
			want:       item{"v": s("1")},
			removed:    []string{"n"},
		},
		"adds and subtracts": {
			expression: "SET n = n + :a, k = :a - n",
			values:     item{":a": n("0.1")},
			want:       item{"n": n("5.1"), "k": n("-4.9")},
		},
		"keeps what exists": {
			expression: "SET n = if_not_exists(n, :z), k = if_not_exists(k, :z)",
			values:     item{":z": n("0")},
			want:       item{"k": n("0")},
		},
		"counts from nothing": {
			expression: "SET k = if_not_exists(k, :z) + :one",
			values:     item{":z": n("0"), ":one": n("1")},
			want:       item{"k": n("1")},
		},
		"appends to a list": {
			expression: "SET l = list_append(l, :l)",
			values:     item{":l": &types.AttributeValueMemberL{Value: []types.AttributeValue{s("3")}}},
			want:       item{"l": &types.AttributeValueMemberL{Value: []types.AttributeValue{s("0"), s("1"), s("2"), s("3")}}},
		},
		"a position past the end appends": {
			expression: "SET l[9] = :v",
			values:     item{":v": s("x")},
			want:       item{"l": &types.AttributeValueMemberL{Value: []types.AttributeValue{s("0"), s("1"), s("2"), s("x")}}},
		},
		"positions are those before removing": {
			expression: "REMOVE l[0], l[1]",
			want:       item{"l": &types.AttributeValueMemberL{Value: []types.AttributeValue{s("2")}}},
		},
		"a nested name by placeholder": {
			expression: "SET m.#k = :v",
			names:      map[string]string{"#k": "a.b"},
			values:     item{":v": s("1")},
			want:       item{"m": &types.AttributeValueMemberM{Value: item{"x": s("y"), "a.b": s("1")}}},
		},
		"ADD to a missing number": {expression: "ADD k :v", values: item{":v": n("7")}, want: item{"k": n("7")}},
		"ADD to a set": {
			expression: "ADD ss :v",
			values:     item{":v": &types.AttributeValueMemberSS{Value: []string{"b", "c"}}},
			want:       item{"ss": &types.AttributeValueMemberSS{Value: []string{"a", "b", "c"}}},
		},
		"DELETE from a set": {
			expression: "DELETE ss :v",
			values:     item{":v": &types.AttributeValueMemberSS{Value: []string{"a"}}},
			want:       item{"ss": &types.AttributeValueMemberSS{Value: []string{"b"}}},
		},
		"an empty set is removed": {
			expression: "DELETE ss :v",
			values:     item{":v": &types.AttributeValueMemberSS{Value: []string{"a", "b"}}},
			removed:    []string{"ss"},
		},
		"values are those before the update": {
			expression: "SET n = :v, k = n",
			values:     item{":v": n("9")},
			want:       item{"n": n("9"), "k": n("5")},
		},

		"a key": {
			expression: "SET id = :v",
			values:     item{":v": s("b")},
			refused:    "One or more parameter values were invalid: Cannot update attribute id. This attribute is part of the key",
		},
		"a reserved word": {
			expression: "SET name = :v",
			values:     item{":v": s("b")},
			refused:    "Invalid UpdateExpression: Attribute name is a reserved keyword; reserved keyword: name",
		},
		"a missing attribute": {
			expression: "SET k = nothing",
			refused:    "The provided expression refers to an attribute that does not exist in the item",
		},
		"a missing parent": {
			expression: "SET nix.x = :v",
			values:     item{":v": s("b")},
			refused:    "The document path provided in the update expression is invalid for update",
		},
		"arithmetic on a string": {
			expression: "SET k = id + :v",
			values:     item{":v": n("1")},
			refused:    "An operand in the update expression has an incorrect data type",
		},
		"an undefined value": {
			expression: "SET k = :v",
			refused:    "Invalid UpdateExpression: An expression attribute value used in expression is not defined; attribute value: :v",
		},
		"an undefined name": {
			expression: "SET #k = n",
			refused:    "Invalid UpdateExpression: An expression attribute name used in the document path is not defined; attribute name: #k",
		},
		"an unused value": {
			expression: "REMOVE n",
			values:     item{":v": n("1")},
			refused:    "Value provided in ExpressionAttributeValues unused in expressions: keys: {:v}",
		},
		"overlapping paths": {
			expression: "SET m.x = :v REMOVE m",
			values:     item{":v": n("1")},
			refused:    "Invalid UpdateExpression: Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [m, x], path two: [m]",
		},
		"a section twice": {
			expression: "SET a = :v SET b = :v",
			values:     item{":v": n("1")},
			refused:    `Invalid UpdateExpression: The "SET" section can only be used once in an update expression;`,
		},
		"a syntax error": {
			expression: "SET a :v",
			values:     item{":v": n("1")},
			refused:    `Invalid UpdateExpression: Syntax error; token: ":v", near: "a :v"`,
		},
		"ADD of a string": {
			expression: "ADD k :v",
			values:     item{":v": s("1")},
			refused:    "Invalid UpdateExpression: Incorrect operand type for operator or function; operator: ADD, operand type: STRING, typeSet: ALLOWED_FOR_ADD_OPERAND",
		},
		"an empty expression": {expression: " ", refused: "Invalid UpdateExpression: The expression can not be empty;"},
		"list_append with a string": {
			expression: "SET l = list_append(l, :v)",
			values:     item{":v": s("1")},
			refused:    "Invalid UpdateExpression: Incorrect operand type for operator or function; operator or function: list_append, operand type: S",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := newSuite(t).simple("", "")
			put(t, c, start)
			got, err := c.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
				TableName: aws.String("things"), Key: item{"id": s("a")}, UpdateExpression: &tt.expression,
				ExpressionAttributeNames: tt.names, ExpressionAttributeValues: tt.values, ReturnValues: types.ReturnValueAllNew,
			})
			if tt.refused != "" {
				wantError(t, err, "ValidationException", tt.refused)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := item{}
			maps.Copy(want, start)
			maps.Copy(want, tt.want)
			for _, k := range tt.removed {
				delete(want, k)
			}
			if d := cmp.Diff(want, got.Attributes, ignore); d != "" {
				t.Fatal(d)
			}
		})
	}
}

func TestUpdateReturnsOnlyWhatChanged(t *testing.T) {
	c := newSuite(t).simple("", "")
	put(t, c, item{"id": s("a"), "n": n("1"), "other": s("x")})
	in := &dynamodb.UpdateItemInput{
		TableName: aws.String("things"), Key: item{"id": s("a")}, UpdateExpression: aws.String("ADD n :one"),
		ExpressionAttributeValues: item{":one": n("1")}, ReturnValues: types.ReturnValueUpdatedNew,
	}
	got, err := c.UpdateItem(t.Context(), in)
	if d := cmp.Diff(item{"n": n("2")}, got.Attributes, ignore); err != nil || d != "" {
		t.Fatal(err, d)
	}
	in.ReturnValues = types.ReturnValueUpdatedOld
	got, err = c.UpdateItem(t.Context(), in)
	if d := cmp.Diff(item{"n": n("2")}, got.Attributes, ignore); err != nil || d != "" {
		t.Fatal(err, d)
	}
}

// Conditions:
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.OperatorsAndFunctions.html
func TestConditions(t *testing.T) {
	stored := item{
		"id": s("a"), "n": n("10"), "txt": s("hello"), "ss": &types.AttributeValueMemberSS{Value: []string{"x", "y"}},
		"l": &types.AttributeValueMemberL{
			Value: []types.AttributeValue{s("p"), n("1")},
		}, "m": &types.AttributeValueMemberM{Value: item{"k": n("1")}},
	}
	values := item{":nine": n("9"), ":ten": n("10.0"), ":he": s("he"), ":x": s("x"), ":type": s("SS"), ":eleven": n("11")}
	tests := map[string]struct {
		condition string
		holds     bool
	}{
		"numbers are equal by value":        {"n = :ten", true},
		"numbers compare as numbers":        {"n > :nine", true},
		"types differ":                      {"txt > :nine", false},
		"unequal to a missing one":          {"nothing <> :nine", true},
		"missing is not less":               {"nothing < :nine", false},
		"between":                           {"n BETWEEN :nine AND :eleven", true},
		"in":                                {"n IN (:nine, :ten)", true},
		"exists":                            {"attribute_exists(m.k) AND attribute_not_exists(m.z)", true},
		"type":                              {"attribute_type(ss, :type)", true},
		"begins":                            {"begins_with(txt, :he)", true},
		"set contains":                      {"contains(ss, :x)", true},
		"list does not contain":             {"contains(l, :x)", false},
		"size of text":                      {"size(txt) < :nine", true},
		"or":                                {"n = :nine OR n = :ten", true},
		"not":                               {"NOT n = :nine", true},
		"and binds closer than or":          {"n = :ten OR n = :nine AND n = :eleven", true},
		"parentheses":                       {"(n = :ten OR n = :nine) AND n = :eleven", false},
		"a list position":                   {"l[0] = :x", false},
		"a path compares with another path": {"m.k = l[1]", true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := newSuite(t).simple("", "")
			put(t, c, stored)
			used := item{}
			for k, v := range values {
				if strings.Contains(tt.condition+" ", k+" ") || strings.Contains(tt.condition, k+",") ||
					strings.Contains(tt.condition, k+")") {
					used[k] = v
				}
			}
			if len(used) == 0 {
				used = nil
			}
			_, err := c.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{
				TableName: aws.String("things"), Key: item{"id": s("a")}, ConditionExpression: &tt.condition,
				ExpressionAttributeValues:           used,
				ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
			})
			var failed *types.ConditionalCheckFailedException
			if tt.holds && err != nil || !tt.holds && !errors.As(err, &failed) {
				t.Fatalf("got %v", err)
			}
			if !tt.holds && (failed.ErrorMessage() != "The conditional request failed" || cmp.Diff(stored, failed.Item, ignore) != "") {
				t.Fatalf("got %v", failed)
			}
		})
	}
}

func TestPutItemRefuses(t *testing.T) {
	deep := s("x")
	for range 40 {
		deep = &types.AttributeValueMemberL{Value: []types.AttributeValue{deep}}
	}
	tests := map[string]struct {
		item    item
		message string
	}{
		"no key": {item{"x": s("1")}, "One or more parameter values were invalid: Missing the key id in the item"},
		"a key of wrong type": {
			item{"id": n("1")},
			"One or more parameter values were invalid: Type mismatch for key id expected: S actual: N",
		},
		"an empty key": {
			item{"id": s("")},
			"One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: id",
		},
		"an empty set": {
			item{"id": s("a"), "x": &types.AttributeValueMemberSS{Value: []string{}}},
			"One or more parameter values were invalid: An string set  may not be empty",
		},
		"a doubled member": {
			item{"id": s("a"), "x": &types.AttributeValueMemberSS{Value: []string{"a", "a"}}},
			"One or more parameter values were invalid: Input collection [a a] contains duplicates.",
		},
		"too much": {
			item{"id": s("a"), "x": s(strings.Repeat("x", 400<<10))},
			"Item size has exceeded the maximum allowed size",
		},
		"too deep": {
			item{"id": s("a"), "x": deep},
			"Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit",
		},
		"not a number": {item{"id": s("a"), "x": n("x")}, "The parameter cannot be converted to a numeric value: x"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := newSuite(
				t,
			).simple("", "").PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("things"), Item: tt.item})
			wantError(t, err, "ValidationException", tt.message)
		})
	}
}

func TestTransactionIsAllOrNothing(t *testing.T) {
	c := newSuite(t).simple("", "")
	put(t, c, item{"id": s("a"), "n": n("1")})
	table := aws.String("things")
	in := &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		{Put: &types.Put{TableName: table, Item: item{"id": s("b")}}},
		{ConditionCheck: &types.ConditionCheck{
			TableName: table, Key: item{"id": s("a")}, ConditionExpression: aws.String("attribute_not_exists(id)"),
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		}},
	}}
	_, err := c.TransactWriteItems(t.Context(), in)
	var canceled *types.TransactionCanceledException
	if !errors.As(err, &canceled) {
		t.Fatal(err)
	}
	if len(canceled.CancellationReasons) != 2 || *canceled.CancellationReasons[1].Code != "ConditionalCheckFailed" ||
		canceled.CancellationReasons[1].Item == nil ||
		canceled.ErrorMessage() != "Transaction cancelled, please refer cancellation reasons for specific reasons [None, ConditionalCheckFailed]" {
		t.Fatalf("got %+v", canceled)
	}
	if got, err := c.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: table, Key: item{"id": s("b")}}); err != nil ||
		got.Item != nil {
		t.Fatalf("the put went through: %v %v", got.Item, err)
	}
	in.TransactItems[1] = types.TransactWriteItem{Update: &types.Update{
		TableName: table, Key: item{"id": s("a")}, UpdateExpression: aws.String("ADD n :one"),
		ExpressionAttributeValues: item{":one": n("1")},
	}}
	in.ClientRequestToken = aws.String("once")
	for range 2 { // the second repeats the same token
		if _, err := c.TransactWriteItems(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	got, err := c.TransactGetItems(t.Context(), &dynamodb.TransactGetItemsInput{TransactItems: []types.TransactGetItem{
		{Get: &types.Get{TableName: table, Key: item{"id": s("a")}, ProjectionExpression: aws.String("n")}},
		{Get: &types.Get{TableName: table, Key: item{"id": s("none")}}},
	}})
	if err != nil || cmp.Diff(item{"n": n("2")}, got.Responses[0].Item, ignore) != "" || got.Responses[1].Item != nil {
		t.Fatalf("got %v %v", got, err)
	}
}

func TestBatches(t *testing.T) {
	c := newSuite(t).simple("", "")
	var requests []types.WriteRequest
	var keys []map[string]types.AttributeValue
	for i := range 25 {
		it := item{"id": s(fmt.Sprint(i)), "v": n(fmt.Sprint(i))}
		requests = append(requests, types.WriteRequest{PutRequest: &types.PutRequest{Item: it}})
		keys = append(keys, item{"id": it["id"]})
	}
	if _, err := c.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{
		RequestItems: map[string][]types.WriteRequest{"things": requests},
	}); err != nil {
		t.Fatal(err)
	}
	got, err := c.BatchGetItem(t.Context(), &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{
		"things": {Keys: keys, ProjectionExpression: aws.String("v")},
	}})
	if err != nil || len(got.Responses["things"]) != 25 {
		t.Fatalf("got %v %v", got, err)
	}
	_, err = c.BatchGetItem(
		t.Context(),
		&dynamodb.BatchGetItemInput{
			RequestItems: map[string]types.KeysAndAttributes{"things": {Keys: []map[string]types.AttributeValue{keys[0], keys[0]}}},
		},
	)
	wantError(t, err, "ValidationException", "Provided list of item keys contains duplicates")
	requests = append(requests, requests[0])
	_, err = c.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{"things": requests}})
	wantError(t, err, "ValidationException", "Too many items requested for the BatchWriteItem call")
}
