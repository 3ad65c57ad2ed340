package render

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestExamplesBecomeStacks(t *testing.T) {
	files, err := filepath.Glob("../../../examples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	var args []string
	for _, path := range append(files, "../../../examples/quickstart", "../../../examples/clusters") {
		args = append(args, "-f", path)
	}
	out, err := run(t, "", args...)
	if err != nil {
		t.Fatal(err)
	}
	for _, stack := range []string{
		"# stack aws-operator-dynamodb-dynamo-table-default\n",
		"# stack aws-operator-snssubscription-orders-to-billing-default\n",
		"# stack aws-operator-kinesisstream-clicks-default\n", // a kind that a ModelDefinition among them defines
		"SqsManagedSseEnabled: true\n",                        // a CloudFormationTemplate among them
	} {
		if !strings.Contains(out, stack) {
			t.Errorf("there is no %q in\n%s", stack, out)
		}
	}
}

func TestOutWritesAFileForEachStack(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "templates")
	if _, err := run(t, "", "-f", "../../../examples/quickstart/messaging.yaml", "--out", dir, "--cluster-name", "blue"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"blue-snstopic-orders-default.yaml", "blue-sqsqueue-billing-default.yaml"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}

func TestMistakesAreReported(t *testing.T) {
	const header = "apiVersion: service-operator.aws/v1alpha1\n"
	for _, test := range []struct{ name, manifest, want string }{
		{
			"a kind that nothing defines",
			header + "kind: KinesisStream\nmetadata: {name: a}\n",
			"there is no kind KinesisStream",
		},
		{
			"a template that nothing gives",
			header + "kind: SQSQueue\nmetadata: {name: a}\nspec: {cloudFormationTemplateName: mine}\n",
			"there is no CloudFormationTemplate default/mine",
		},
		{
			"a definition with a mistake",
			header + "kind: ModelDefinition\nmetadata: {name: boxes}\nspec:\n  kind: Box\n  template: |\n" +
				"    Resources:\n      Q:\n        Type: AWS::SQS::Queue\n        Properties:\n          QueueNam: {{ .name }}\n" +
				"---\n" + header + "kind: Box\nmetadata: {name: a}\n",
			"boxes.spec.template:5:7: AWS::SQS::Queue has no property QueueNam; did you mean QueueName?",
		},
		{
			"a property that the resource does not have",
			header + "kind: CloudFormationTemplate\nmetadata: {name: mine}\ndata:\n  key: mine.yaml\n  template: |\n" +
				"    Resources:\n      Q:\n        Type: AWS::SQS::Queue\n        Properties:\n          VisibiltyTimeout: 1\n" +
				"---\n" + header + "kind: SQSQueue\nmetadata: {name: a}\nspec: {cloudFormationTemplateName: mine}\n",
			"did you mean VisibilityTimeout?",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := run(t, test.manifest, "-f", "-"); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func run(t *testing.T, in string, args ...string) (string, error) {
	t.Helper()
	cmd := Command()
	var out bytes.Buffer
	cmd.SetArgs(args)
	cmd.SetIn(strings.NewReader(in))
	cmd.SetOut(&out)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}
