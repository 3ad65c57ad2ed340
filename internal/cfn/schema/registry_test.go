package schema_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/golden"
)

func TestEveryTypeParses(t *testing.T) {
	registry := schema.Default()
	if err := registry.Err(); err != nil {
		t.Fatal(err)
	}
	names := registry.Names()
	if len(names) < 1500 || !slices.IsSorted(names) {
		t.Fatalf("%d names, want all of AWS's, sorted", len(names))
	}
	for _, name := range names {
		resource, ok := registry.Type(name)
		if !ok {
			t.Errorf("%s does not parse", name)
			continue
		}
		if !json.Valid(resource.JSON()) {
			t.Errorf("%s: the bytes are not those of one schema", name)
		}
		resource.Walk(func(schema.Visit) bool { return true })
	}
}

func TestTypeOfAQueue(t *testing.T) {
	queue, ok := schema.Default().Type("AWS::SQS::Queue")
	if !ok {
		t.Fatal("there is no AWS::SQS::Queue")
	}
	if diff := cmp.Diff([]string{"FifoQueue", "QueueName"}, queue.CreateOnly); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"Arn", "QueueUrl"}, queue.Attributes()); diff != "" {
		t.Error(diff)
	}
	if queue.TagProperty != "Tags" || !queue.Taggable || !queue.IsStateful() {
		t.Errorf("tags in %q, taggable %v, stateful %v", queue.TagProperty, queue.Taggable, queue.IsStateful())
	}
}

func TestUnknownTypes(t *testing.T) {
	registry := schema.Default()
	if _, ok := registry.Type("AWS::SQS::Que"); ok {
		t.Error("AWS::SQS::Que exists")
	}
	if got := registry.Suggest("AWS::SQS::Que"); got != "AWS::SQS::Queue" {
		t.Errorf("suggests %q", got)
	}
	if got := registry.Suggest("AWS::Nothing::LikeIt"); got != "" {
		t.Errorf("suggests %q", got)
	}
}

func TestMemoryWithFewTypes(t *testing.T) {
	data := embedded(t)
	before := heap()
	registry, err := schema.New(data)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"AWS::SQS::Queue", "AWS::SNS::Topic", "AWS::S3::Bucket", "AWS::DynamoDB::Table", "AWS::ECR::Repository"} {
		registry.Type(name)
	}
	used := heap() - before
	if used > 8<<20 {
		t.Errorf("a registry with five types in use takes %d KB", used>>10)
	}
	t.Logf("%d KB", used>>10)
	runtime.KeepAlive(registry)
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

func TestIsCreateOnly(t *testing.T) {
	for _, c := range []struct {
		reason, typeName, path string
		want                   bool
	}{
		{"a create-only property", "AWS::SQS::Queue", "QueueName", true},
		{"another", "AWS::SQS::Queue", "DelaySeconds", false},
		{"within a create-only property", "AWS::EC2::Instance", "CpuOptions/CoreCount", true},
		{"above a create-only property", "AWS::Batch::ComputeEnvironment", "ComputeResources", true},
		{"a sibling of a create-only property", "AWS::Batch::ComputeEnvironment", "ComputeResources/MaxvCpus", false},
		{"an element of an array", "AWS::ApplicationAutoScaling::ScalableTarget", "ScheduledActions/0", false},
	} {
		resource, ok := schema.Default().Type(c.typeName)
		if !ok {
			t.Fatalf("there is no %s", c.typeName)
		}
		if got := resource.IsCreateOnly(split(c.path)); got != c.want {
			t.Errorf("%s: %s of %s: got %v", c.reason, c.path, c.typeName, got)
		}
	}
}

func TestStatefulTypesExist(t *testing.T) {
	for _, name := range schema.StatefulTypes() {
		if _, ok := schema.Default().Type(name); !ok {
			t.Errorf("there is no %s", name)
		}
	}
}

func TestWalkPrintsATable(t *testing.T) {
	table, _ := schema.Default().Type("AWS::DynamoDB::Table")
	var lines strings.Builder
	table.Walk(func(v schema.Visit) bool {
		fmt.Fprintf(&lines, "%s %v", strings.Join(v.Path, "/"), v.Property.Types)
		if v.Required {
			lines.WriteString(" required")
		}
		if v.Ref != "" {
			lines.WriteString(" " + v.Ref)
		}
		lines.WriteString("\n")
		return true
	})
	golden.Equal(t, "walk-dynamodb-table.txt", []byte(lines.String()))
}

func TestWalkStopsAtRecursion(t *testing.T) {
	resource, err := schema.ParseType("A::B::C", []byte(`{
		"typeName": "A::B::C",
		"properties": {"Tree": {"$ref": "#/definitions/Tree"}, "Leaf": {"$ref": "#/definitions/Leaf"}, "Gone": {"$ref": "#/definitions/Gone"}},
		"definitions": {
			"Leaf": {"type": "string"},
			"Tree": {"type": "object", "properties": {"Name": {"$ref": "#/definitions/Leaf"}, "Branches": {"type": "array", "items": {"$ref": "#/definitions/Tree"}}}}
		}
	}`))
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	resource.Walk(func(v schema.Visit) bool {
		path := strings.Join(v.Path, "/")
		if v.Recursive {
			path += " again"
		}
		paths = append(paths, path)
		return true
	})
	want := []string{"Gone", "Leaf", "Tree", "Tree/Branches", "Tree/Branches/* again", "Tree/Name"}
	if diff := cmp.Diff(want, paths); diff != "" {
		t.Error(diff)
	}
	if !resource.Recursive(resource.Root.Properties["Tree"]) || resource.Recursive(resource.Root.Properties["Leaf"]) {
		t.Error("Tree holds itself, Leaf does not")
	}
}

func TestInvalidRegistries(t *testing.T) {
	for reason, data := range map[string][]byte{
		"no gzip": []byte("x"), "empty": nil, "no object": gzipped(t, "[1]"), "no objects within": gzipped(t, `{"a": 1}`),
		"cut short": gzipped(t, `{"a": {"b": "}"`),
	} {
		if _, err := schema.New(data); err == nil {
			t.Errorf("%s: no error", reason)
		}
	}
	registry, err := schema.New(gzipped(t, `{"A::B::C": {"properties": {"}\"{": {}}}, "A::B::Broken": {"properties": []}}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := registry.Type("A::B::C"); !ok {
		t.Error("the index does not handle braces in strings")
	}
	if _, ok := registry.Type("A::B::Broken"); ok {
		t.Error("an invalid schema is returned as a type")
	}
}

func gzipped(t *testing.T, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	writer := gzip.NewWriter(&out)
	if _, err := writer.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
