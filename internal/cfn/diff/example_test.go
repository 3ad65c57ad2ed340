package diff_test

import (
	"fmt"

	"github.com/aws-operator/aws-operator/internal/cfn/diff"
	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/cfn/template"
)

func ExampleCompare() {
	parsed, err := template.Parse("queue.yaml", []byte(`
Parameters:
  Name: {Type: String}
Resources:
  Queue:
    Type: AWS::SQS::Queue
    Properties: {QueueName: !Ref Name}
`))
	if err != nil {
		panic(err)
	}
	deployed := diff.Side{Template: parsed, Parameters: map[string]string{"Name": "orders"}}
	desired := diff.Side{Template: parsed, Parameters: map[string]string{"Name": "bills"}}
	fmt.Print(diff.Compare(deployed, desired, schema.Default()))
	// Output:
	// Resources: 1 to replace.
	//
	// ! replace Queue (AWS::SQS::Queue); it holds data; the old one is deleted
	//     QueueName: "orders" -> "bills" (forces replacement)
	//
	// Parameters that change: Name.
}
