package schema_test

import (
	"fmt"

	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/cfn/template"
)

func ExampleRegistry_Validate() {
	parsed, err := template.Parse("queue.yaml", []byte(`
Resources:
  Queue:
    Type: AWS::SQS::Queue
    Properties:
      VisibiltyTimeout: 30
Outputs:
  arn: {Value: !GetAtt Queue.Anr}
`))
	if err != nil {
		panic(err)
	}
	for _, problem := range schema.Default().Validate(parsed) {
		fmt.Println(problem.Error())
	}
	// Output:
	// queue.yaml:6:7: AWS::SQS::Queue has no property VisibiltyTimeout; did you mean VisibilityTimeout?
	// queue.yaml:8:16: AWS::SQS::Queue has no attribute Anr; did you mean Arn?
}
