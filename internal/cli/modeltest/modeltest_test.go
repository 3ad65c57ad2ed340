package modeltest_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/internal/cli/modeltest"
)

const definition = `apiVersion: service-operator.aws/v1alpha1
kind: ModelDefinition
metadata: {name: mailboxes}
spec:
  kind: Mailbox
  schema:
    type: object
    properties:
      seconds: {type: integer, minimum: 0, maximum: 43200}
      news: {type: boolean}
      fifo: {type: boolean}
  template: |
    Resources:
      Queue:
        Type: AWS::SQS::Queue
        Properties:
          VisibilityTimeout: {{ default 30 .spec.seconds }}
          {{- if .spec.fifo }}
          FifoQueue: true
          {{- end }}
      {{- if .spec.news }}
      News: {Type: AWS::SNS::Topic}
      {{- end }}
    Outputs:
      QueueUrl: {Value: {Ref: Queue}}
      QueueName: {Value: {Fn::GetAtt: [Queue, QueueName]}}
---
`

// tested runs the command with the definition and cases.
func tested(t *testing.T, cases string) (out string, err error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tests.yaml")
	text := definition + "apiVersion: service-operator.aws/v1alpha1\nkind: ModelTest\nmetadata: {name: mail}\nspec:\n  cases:\n" + cases
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := modeltest.Command()
	var printed bytes.Buffer
	cmd.SetOut(&printed)
	cmd.SetErr(&printed)
	cmd.SetArgs([]string{"test", "-f", file})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err = cmd.ExecuteContext(t.Context())
	return printed.String(), err
}

// TestCasesPass has cases that create, change, replace, refuse and refer to objects.
func TestCasesPass(t *testing.T) {
	out, err := tested(t, `
  - name: defaults, and a change in place
    steps:
    - objects: [{apiVersion: service-operator.aws/v1alpha1, kind: Mailbox, metadata: {name: a}, spec: {}}]
      expect:
        resources: {Queue: {VisibilityTimeout: 30, FifoQueue: null}, News: null}
    - objects: [{apiVersion: service-operator.aws/v1alpha1, kind: Mailbox, metadata: {name: a}, spec: {seconds: 60, news: true}}]
      expect:
        resources: {Queue: {VisibilityTimeout: 60}, News: {}}
  - name: a replacement that is accepted
    steps:
    - objects: [{apiVersion: service-operator.aws/v1alpha1, kind: Mailbox, metadata: {name: a}, spec: {}}]
    - objects:
      - apiVersion: service-operator.aws/v1alpha1
        kind: Mailbox
        metadata: {name: a, annotations: {service-operator.aws/allow: replace}}
        spec: {fifo: true}
      expect: {replaces: [Queue]}
  - name: a value that the schema refuses
    steps:
    - objects: [{apiVersion: service-operator.aws/v1alpha1, kind: Mailbox, metadata: {name: a}, spec: {seconds: 43201}}]
      refused: spec.seconds
  - name: an object that uses another one
    steps:
    - objects:
      - {apiVersion: service-operator.aws/v1alpha1, kind: SNSTopic, metadata: {name: news}, spec: {}}
      - apiVersion: service-operator.aws/v1alpha1
        kind: SNSSubscription
        metadata: {name: to-me}
        spec: {topicName: news, protocol: email, endpoint: me@example.com}
      expect:
        resources: {Subscription: {TopicArn: "arn:aws:sns:eu-central-2:123456789012:news"}}
`)
	if err != nil || strings.Count(out, "ok  ") != 4 || !strings.HasSuffix(out, "All 4 cases passed.\n") {
		t.Errorf("it ends with %v and says\n%s", err, out)
	}
}

// TestCasesFail tests that every difference fails its case, with what it is.
func TestCasesFail(t *testing.T) {
	for name, c := range map[string]struct{ steps, want string }{
		"a property": {
			`[{objects: [OBJECT], expect: {resources: {Queue: {VisibilityTimeout: 60}}}}]`,
			"step 1: resources.Queue.VisibilityTimeout is 30; the step expects 60",
		},
		"a property that is not set": {
			`[{objects: [OBJECT], expect: {resources: {Queue: {DelaySeconds: 1}}}}]`, "resources.Queue.DelaySeconds is not set; the step expects 1",
		},
		"a resource":                {`[{objects: [OBJECT], expect: {resources: {News: {}}}}]`, "resources.News is missing; the stack has Queue"},
		"a resource too many":       {`[{objects: [OBJECT], expect: {resources: {Queue: null}}}]`, "resources.Queue exists, and must not"},
		"an output":                 {`[{objects: [OBJECT], expect: {output: {queueName: other}}}]`, `output.queueName is "`},
		"a refusal":                 {`[{objects: [OBJECT], refused: seconds}]`, `it is not refused; the step expects the message "seconds"`},
		"another refusal":           {`[{objects: [REFUSED], refused: minutes}]`, `the step expects "minutes"`},
		"an object that is refused": {`[{objects: [REFUSED]}]`, "it is refused: "},
		"a replacement": {
			`[{objects: [OBJECT]}, {objects: [REPLACED]}]`, "step 2: the change replaces Queue; add it to replaces if that is right",
		},
		"no replacement": {`[{objects: [OBJECT]}, {objects: [OBJECT], expect: {replaces: [Queue]}}]`, "step 2: the change does not replace Queue"},
		"a loss of data": {`[{objects: [OBJECT]}, {objects: [LOSS]}]`, "step 2: it is refused: "},
		"a reference":    {`[{objects: [SUBSCRIPTION]}]`, "it uses SNSTopic news, which the case has not applied before"},
	} {
		t.Run(name, func(t *testing.T) {
			const begin = "{apiVersion: service-operator.aws/v1alpha1, kind: "
			steps := strings.NewReplacer(
				"OBJECT", begin+"Mailbox, metadata: {name: a}, spec: {}}",
				"REFUSED", begin+"Mailbox, metadata: {name: a}, spec: {seconds: -1}}",
				"REPLACED", begin+"Mailbox, metadata: {name: a, annotations: {service-operator.aws/allow: replace}}, spec: {fifo: true}}",
				"LOSS", begin+"Mailbox, metadata: {name: a}, spec: {fifo: true}}",
				"SUBSCRIPTION", begin+"SNSSubscription, metadata: {name: a}, spec: {topicName: news, protocol: email, endpoint: me@example.com}}",
			).Replace(c.steps)
			out, err := tested(t, "  - name: fails\n    steps: "+steps+"\n")
			if err == nil || err.Error() != "1 of 1 cases failed" || !strings.Contains(out, "FAIL") || !strings.Contains(out, c.want) {
				t.Errorf("it ends with %v and does not say %q, but\n%s", err, c.want, out)
			}
		})
	}
}

// TestInvalidCases tests the messages about cases that cannot be run.
func TestInvalidCases(t *testing.T) {
	for cases, want := range map[string]string{
		"  - {steps: [{objects: [{}]}]}\n":                                  "spec.cases[0].name: give the case a name",
		"  - {name: a}\n":                                                   "spec.cases[0].steps: the case does nothing",
		"  - {name: a, steps: [{}]}\n":                                      "spec.cases[0].steps[0].objects: the step applies nothing",
		"  - {name: a, steps: [{objects: [{}], expected: {}}]}\n":           `unknown field "expected"`,
		"  - {name: a, steps: [{objects: [{}], refused: x, expect: {}}]}\n": "remove refused or expect",
		"    []\n": "no cases to run",
	} {
		if out, err := tested(t, cases); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s ends with %v, want %q; it says\n%s", cases, err, want, out)
		}
	}
}

// TestExampleIsTested runs the cases of the example.
func TestExampleIsTested(t *testing.T) {
	cmd := modeltest.Command()
	var printed bytes.Buffer
	cmd.SetOut(&printed)
	const folder = "../../../examples/webservice/"
	cmd.SetArgs([]string{"test", "-f", folder + "definition.yaml", "-f", folder + "tests.yaml"})
	if err := cmd.ExecuteContext(t.Context()); err != nil || !strings.Contains(printed.String(), "All 4 cases passed.") {
		t.Errorf("it ends with %v and says\n%s", err, printed.String())
	}
}
