package cloudformation_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscfn "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

const (
	keptQueue  = `"Queue": {"Type": "AWS::SQS::Queue"}`
	keptStream = `"Stream": {"Type": "AWS::Kinesis::Stream", "DeletionPolicy": "Retain", "Properties": {"Name": "orphan"}}`
)

// orphan leaves the stream "orphan" behind, without a stack.
func (w *suite) orphan() {
	w.t.Helper()
	id := *w.createAndWait("old", `{"Resources": {`+keptStream+`}}`).StackId
	w.delete("old")
	w.waitFor(id, types.StackStatusDeleteComplete)
}

func resources(members ...string) string {
	return `{"Resources": {` + strings.Join(members, ", ") + `}}`
}

// streamImport asks for the import of a stream as the resource Stream.
func streamImport(stack, name, template string) *awscfn.CreateChangeSetInput {
	return &awscfn.CreateChangeSetInput{
		StackName: aws.String(stack), ChangeSetName: aws.String("import-" + name), ChangeSetType: types.ChangeSetTypeImport,
		TemplateBody: aws.String(template),
		ResourcesToImport: []types.ResourceToImport{{
			LogicalResourceId: aws.String("Stream"), ResourceType: aws.String("AWS::Kinesis::Stream"),
			ResourceIdentifier: map[string]string{"Name": name},
		}},
	}
}

// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/import-resources-manually.html
func TestImport(t *testing.T) {
	w := newSuite(t, nil)
	w.orphan()
	w.createAndWait("adopt", resources(keptQueue))
	cs := w.changeSet(streamImport("adopt", "missing", resources(keptQueue, strings.Replace(keptStream, "orphan", "missing", 1))))
	want := "Resource of type 'AWS::Kinesis::Stream' with identifier 'missing' was not found."
	if cs.Status != types.ChangeSetStatusFailed || cs.ExecutionStatus != types.ExecutionStatusUnavailable ||
		aws.ToString(cs.StatusReason) != want {
		t.Errorf("a missing resource: %s, %s, %s", cs.Status, cs.ExecutionStatus, aws.ToString(cs.StatusReason))
	}
	cs = w.changeSet(streamImport("adopt", "orphan", resources(keptQueue, keptStream)))
	if len(cs.Changes) != 1 {
		t.Fatalf("%d changes: %s", len(cs.Changes), aws.ToString(cs.StatusReason))
	}
	change := cs.Changes[0].ResourceChange
	if change.Action != types.ChangeActionImport || *change.PhysicalResourceId != "orphan" || change.Replacement != "" ||
		len(change.Details) > 0 {
		t.Errorf("change %+v", change)
	}
	w.execute("adopt", "import-orphan")
	w.waitFor("adopt", types.StackStatusImportComplete)
	if got := *w.resource("adopt", "Stream").PhysicalResourceId; got != "orphan" {
		t.Errorf("physical ID %s", got)
	}
	cs = w.changeSet(streamImport("second", "orphan", resources(keptStream)))
	if want := "orphan already exists in stack " + *w.stack("adopt").StackId; aws.ToString(cs.StatusReason) != want {
		t.Errorf("a resource of another stack: %s, %s", cs.Status, aws.ToString(cs.StatusReason))
	}
}

func TestImportCreatesAStack(t *testing.T) {
	w := newSuite(t, nil)
	w.orphan()
	w.changeSet(streamImport("new", "orphan", resources(keptStream)))
	if got := w.stack("new").StackStatus; got != types.StackStatusReviewInProgress {
		t.Errorf("the stack is %s before the execution", got)
	}
	w.execute("new", "import-orphan")
	w.waitFor("new", types.StackStatusImportComplete)
	id := *w.stack("new").StackId
	w.delete("new")
	w.waitFor(id, types.StackStatusDeleteComplete)
	if w.engine.Simulated().Len(account, region, "AWS::Kinesis::Stream") != 1 {
		t.Error("the stream was not retained")
	}
}

func TestImportOfAResourceThatDisappearedIsRolledBack(t *testing.T) {
	w := newSuite(t, nil)
	w.orphan()
	w.createAndWait("adopt", resources(keptQueue))
	w.changeSet(streamImport("adopt", "orphan", resources(keptQueue, keptStream)))
	w.engine.Simulated().Remove(account, region, "AWS::Kinesis::Stream", "orphan")
	w.execute("adopt", "import-orphan")
	w.waitFor("adopt", types.StackStatusImportRollbackComplete)
	out, err := w.ListStackResources(t.Context(), &awscfn.ListStackResourcesInput{StackName: aws.String("adopt")})
	if err != nil || len(out.StackResourceSummaries) != 1 {
		t.Errorf("resources %+v, %v; want only the queue", out, err)
	}
}

// Two imports of one resource may both be planned; only one stack gets it.
func TestImportChecksTheOwnerAgainWhenExecuted(t *testing.T) {
	w := newSuite(t, nil)
	w.orphan()
	w.changeSet(streamImport("one", "orphan", resources(keptStream)))
	w.changeSet(streamImport("two", "orphan", resources(keptStream)))
	w.execute("one", "import-orphan")
	w.waitFor("one", types.StackStatusImportComplete)
	w.execute("two", "import-orphan")
	w.waitFor("two", types.StackStatusImportRollbackComplete)
}

// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/import-resources-manually.html
func TestImportIsRefused(t *testing.T) {
	w := newSuite(t, nil)
	w.orphan()
	w.createAndWait("adopt", resources(keptQueue))
	both := resources(keptQueue, keptStream)
	for name, c := range map[string]struct {
		change func(*awscfn.CreateChangeSetInput)
		want   string
	}{
		"nothing to import": {
			func(in *awscfn.CreateChangeSetInput) { in.ResourcesToImport = nil }, "Must Provide at least one resource to import",
		},
		"one twice": {
			func(in *awscfn.CreateChangeSetInput) {
				in.ResourcesToImport = append(in.ResourcesToImport, in.ResourcesToImport[0])
			}, "Every resource to import must have unique LogicalResourceId",
		},
		"not in the template": {
			func(in *awscfn.CreateChangeSetInput) {
				in.ResourcesToImport[0].LogicalResourceId = aws.String("Missing")
			},
			"The logical resource ids [Missing] provided in ResourceToImport do not exist in the template.",
		},
		"not the primary identifier": {
			func(in *awscfn.CreateChangeSetInput) {
				in.ResourcesToImport[0].ResourceIdentifier = map[string]string{"Arn": "orphan"}
			}, "Invalid resource identifier for resource type AWS::Kinesis::Stream. Expected [Name]",
		},
		"more than the primary identifier": {
			func(in *awscfn.CreateChangeSetInput) {
				in.ResourcesToImport[0].ResourceIdentifier = map[string]string{"Name": "orphan", "Arn": "x"}
			}, "Invalid resource identifier for resource type AWS::Kinesis::Stream. Expected [Name]",
		},
		"another type": {
			func(in *awscfn.CreateChangeSetInput) {
				in.ResourcesToImport[0].ResourceType = aws.String("AWS::SNS::Topic")
				in.ResourcesToImport[0].ResourceIdentifier = map[string]string{"TopicArn": "orphan"}
			}, "Resource type of [Stream] passed in ResourceToImport does not match with resource type defined in the template. " +
				"Resource type in ResourceToImport: AWS::SNS::Topic; Resource type in Template: AWS::Kinesis::Stream.",
		},
		"a type without support": {
			func(in *awscfn.CreateChangeSetInput) {
				in.ResourcesToImport[0].ResourceType = aws.String("AWS::CloudFormation::WaitConditionHandle")
			}, "ResourceTypes [AWS::CloudFormation::WaitConditionHandle] are not supported for Import",
		},
		"another resource is new": {
			func(in *awscfn.CreateChangeSetInput) {
				in.TemplateBody = aws.String(resources(keptQueue, keptStream, `"New": {"Type": "AWS::SQS::Queue"}`))
			}, "Resources [New] is missing from ResourceToImport list",
		},
		"another resource changes": {
			func(in *awscfn.CreateChangeSetInput) {
				in.TemplateBody = aws.String(resources(strings.Replace(keptQueue, "}", `, "Properties": {"DelaySeconds": 1}}`, 1), keptStream))
			}, "You have modified resources [Queue] in your template that are not being imported. " +
				"Update, create or delete operations cannot be executed during import operations.",
		},
		"another resource is removed": {
			func(in *awscfn.CreateChangeSetInput) { in.TemplateBody = aws.String(resources(keptStream)) },
			"You have modified resources [Queue] in your template that are not being imported. " +
				"Update, create or delete operations cannot be executed during import operations.",
		},
		"only a resource of the stack": {
			func(in *awscfn.CreateChangeSetInput) {
				in.TemplateBody = aws.String(resources(keptQueue))
				in.ResourcesToImport[0] = types.ResourceToImport{
					LogicalResourceId: aws.String("Queue"), ResourceType: aws.String("AWS::SQS::Queue"),
					ResourceIdentifier: map[string]string{"QueueUrl": "x"},
				}
			}, "The template should contain at least one new resource to import.",
		},
		"no deletion policy": {
			func(in *awscfn.CreateChangeSetInput) {
				in.TemplateBody = aws.String(resources(keptQueue, strings.Replace(keptStream, `"DeletionPolicy": "Retain", `, "", 1)))
			}, "The following resources to import [Stream] must have DeletionPolicy attribute specified in the template.",
		},
		"an output": {
			func(in *awscfn.CreateChangeSetInput) {
				in.TemplateBody = aws.String(strings.TrimSuffix(both, "}") + `, "Outputs": {"Name": {"Value": {"Ref": "Stream"}}}}`)
			}, "As part of the import operation, you cannot modify or add [Outputs]",
		},
		"tags and a role": {
			func(in *awscfn.CreateChangeSetInput) {
				in.RoleARN = aws.String("arn:aws:iam::123456789012:role/other")
				in.Tags = []types.Tag{{Key: aws.String("team"), Value: aws.String("blue")}}
			}, "As part of the import operation, you cannot modify or add [RoleArn, Tags]",
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := streamImport("adopt", "orphan", both)
			c.change(in)
			_, err := w.CreateChangeSet(t.Context(), in)
			expectError(t, err, "ValidationError", c.want)
			list, err := w.ListChangeSets(t.Context(), &awscfn.ListChangeSetsInput{StackName: aws.String("adopt")})
			if err != nil || len(list.Summaries) > 0 {
				t.Errorf("change sets %+v, %v", list, err)
			}
		})
	}
}

// A new stack cannot get tags by an import either: clients create an empty stack first.
func TestImportCannotTagANewStack(t *testing.T) {
	w := newSuite(t, nil)
	w.orphan()
	in := streamImport("new", "orphan", resources(keptStream))
	in.Tags = []types.Tag{{Key: aws.String("team"), Value: aws.String("blue")}}
	_, err := w.CreateChangeSet(t.Context(), in)
	expectError(t, err, "ValidationError", "As part of the import operation, you cannot modify or add [Tags]")
}

func TestImportNeedsTheRequiredProperties(t *testing.T) {
	w := newSuite(t, nil)
	cs := w.changeSet(&awscfn.CreateChangeSetInput{
		StackName: aws.String("new"), ChangeSetName: aws.String("import"), ChangeSetType: types.ChangeSetTypeImport,
		TemplateBody: aws.String(resources(`"Table": {"Type": "AWS::DynamoDB::Table", "DeletionPolicy": "Retain", "Properties": {"TableName": "t"}}`)),
		ResourcesToImport: []types.ResourceToImport{{
			LogicalResourceId: aws.String("Table"), ResourceType: aws.String("AWS::DynamoDB::Table"),
			ResourceIdentifier: map[string]string{"TableName": "t"},
		}},
	})
	if want := "required key [KeySchema] not found"; !strings.Contains(aws.ToString(cs.StatusReason), want) {
		t.Errorf("%s %s, want %s", cs.Status, aws.ToString(cs.StatusReason), want)
	}
}
