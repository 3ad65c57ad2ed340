package main

import (
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/internal/cfn/schema"
)

// The form of a page, with words of our own.
const page = "# AWS::DynamoDB::Table<a name=\"a\"></a>\n\n## Return values<a name=\"b\"></a>\n\n### Fn::GetAtt<a name=\"c\"></a>\n\n" +
	"`Arn`  <a name=\"Arn-fn::getatt\"></a>\nThe name of\nthe table\\.\n\n" +
	"`StreamArn`  <a name=\"StreamArn-fn::getatt\"></a>\nThe name of the stream\\.  \nYou must specify a stream\\.\n\n## Examples<a name=\"d\"></a>\n"

func TestParseAndList(t *testing.T) {
	name, attributes := parse(page)
	if name != "AWS::DynamoDB::Table" || len(attributes) != 2 || attributes["Arn"] != "The name of the table." {
		t.Fatalf("the page of %q has %q", name, attributes)
	}
	if got, want := list(schema.Default(), map[string]map[string]string{name: attributes}), "AWS::DynamoDB::Table Arn\n"; !strings.Contains(got, want) {
		t.Errorf("the list is %q, which lacks %q", got, want)
	}
	if name, _ := parse("# AWS::DynamoDB::Table StreamSpecification<a name=\"a\"></a>\n"); name != "" {
		t.Errorf("the page of a property is read as that of %s", name)
	}
}
