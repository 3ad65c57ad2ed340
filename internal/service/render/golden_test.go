package render_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/service/catalog"
	"github.com/aws-operator/aws-operator/internal/service/model"
	"github.com/aws-operator/aws-operator/internal/service/render"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var facts = render.Facts{
	Region: "eu-west-1", AccountID: "123456789012", ClusterName: "aws-operator",
	References: map[string]map[string]any{
		"topic": {"name": "orders", "topicARN": "arn:aws:sns:eu-west-1:123456789012:orders"},
		"queue": {
			"name": "orders", "queueARN": "arn:aws:sqs:eu-west-1:123456789012:orders",
			"queueURL": "https://sqs.eu-west-1.amazonaws.com/123456789012/orders",
		},
		"deadLetterQueue": {
			"name": "undelivered", "queueARN": "arn:aws:sqs:eu-west-1:123456789012:undelivered.fifo",
			"queueURL": "https://sqs.eu-west-1.amazonaws.com/123456789012/undelivered.fifo", "queueName": "undelivered.fifo",
		},
		// EventBridgeRule paid-orders and S3Bucket uploads have these as target or notification 0 and 1.
		"topic1":    {"name": "orders", "topicARN": "arn:aws:sns:eu-west-1:123456789012:orders", "publishers": "-,S3Bucket/uploads"},
		"function2": {"name": "resize", "functionName": "resize"},
		"replica":   {"name": "copies", "bucketName": "copies", "spec": map[string]any{"versioning": true}},
		"undelivered": {
			"name": "failed", "queueURL": "https://sqs.eu-west-1.amazonaws.com/123456789012/failed", "senders": "-,SNSTopic/a,EventBridgeRule/paid-orders",
		},
		"queue0":          {"name": "undelivered", "queueURL": "https://sqs.eu-west-1.amazonaws.com/123456789012/undelivered.fifo"},
		"stream2":         {"name": "clicks", "streamName": "clicks"},
		"queue3":          {"name": "orders", "queueURL": "https://sqs.eu-west-1.amazonaws.com/123456789012/orders", "senders": "-,S3Bucket/uploads"},
		"codeBucket":      {"name": "code", "bucketName": "code"},
		"bucket":          {"name": "pages", "bucketName": "pages", "spec": map[string]any{"distributionName": "site"}},
		"imageRepository": {"name": "team-app", "repositoryName": "team-app"},
		"encryptionKey": {
			"name": "application", "keyID": "1234abcd-12ab-34cd-56ef-1234567890ab",
			"keyARN": "arn:aws:kms:eu-west-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab",
		},
	},
}

// builtIn returns a kind of the catalog.
func builtIn(t *testing.T, kind string) *model.Model {
	t.Helper()
	models, err := catalog.Models(schema.Default())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range models {
		if m.Kind == kind {
			return m
		}
	}
	t.Fatalf("the catalog has no %s", kind)
	return nil
}

// TestBuiltInKinds renders every manifest of testdata. The golden file is what AWS receives, and
// contains only what the manifest asks for.
func TestBuiltInKinds(t *testing.T) {
	inputs, err := filepath.Glob("testdata/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, input := range inputs {
		if strings.HasSuffix(input, ".golden.yaml") {
			continue
		}
		t.Run(strings.TrimSuffix(filepath.Base(input), ".yaml"), func(t *testing.T) {
			data, err := os.ReadFile(input)
			if err != nil {
				t.Fatal(err)
			}
			obj := &v1alpha1.Object{}
			if err := yaml.UnmarshalStrict(data, obj); err != nil {
				t.Fatal(err)
			}
			compare(t, strings.TrimSuffix(input, ".yaml")+".golden.yaml", renderAll(t, obj))
		})
	}
}

// renderAll writes everything for an object into one document.
func renderAll(t *testing.T, obj *v1alpha1.Object) []byte {
	t.Helper()
	m := builtIn(t, obj.Kind)
	own := facts
	own.References = map[string]map[string]any{}
	references, err := render.References(m, obj)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range references {
		own.References[r.Name] = facts.References[r.Name]
	}
	desired, err := render.Stack(m, obj, own, nil)
	if err != nil {
		t.Fatal(err)
	}
	if problems := desired.Template.Check(); len(problems) > 0 {
		t.Errorf("the template is invalid: %v", problems)
	}
	if problems := schema.Default().Validate(desired.Template); len(problems) > 0 {
		t.Errorf("the template violates the schema: %v", problems)
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "# stack %s\n%s", desired.Name, desired.Template.YAML())
	services, err := render.Services(m, obj, own)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	for _, s := range services {
		names[s.ID] = s.Name
		fmt.Fprintf(&out, "# Service %s: %s port %d\n", s.Name, s.ExternalName, s.Port)
	}
	configMaps, err := render.ConfigMaps(m, obj, own, names)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range configMaps {
		values, err := yaml.Marshal(c.Values)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "# ConfigMap %s\n%s", c.Name, values)
	}
	return out.Bytes()
}

func compare(t *testing.T, golden string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(golden, got, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("run the test with -update to accept (-want +got):\n%s", diff)
	}
}
