package schema_test

import (
	"encoding/json"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aws-operator/aws-operator/internal/cfn/schema"
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
		for _, path := range slices.Concat(resource.CreateOnly, resource.ReadOnly, resource.PrimaryIdentifier) {
			if resource.At(split(path)) == nil {
				t.Logf("%s: nothing at %s", name, path)
			}
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
