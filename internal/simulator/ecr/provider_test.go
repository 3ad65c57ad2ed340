package ecr_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"regexp"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecr"
	"github.com/google/go-cmp/cmp"

	"github.com/aws-operator/aws-operator/internal/simulator/resource"
)

func sum(data string) string {
	s := sha256.Sum256([]byte(data))
	return hex.EncodeToString(s[:])
}

type properties = map[string]any

func TestRepositoryProvider(t *testing.T) {
	registry, client := newSuite(t)
	c, p := client("111111111111", "eu-west-1"), registry.Providers()["AWS::ECR::Repository"]
	r := resource.Request{Account: "111111111111", Region: "eu-west-1", StackName: "My-Stack", LogicalID: "Repo", Properties: properties{}}
	made, err := p.Create(t.Context(), r)
	if err != nil || !regexp.MustCompile(`^my-stack-repo-[a-z0-9]{12}$`).MatchString(made.PhysicalID) {
		t.Fatalf("a name is made in lower case: %v %v", made, err)
	}
	if want := "111111111111.dkr.ecr.eu-west-1.amazonaws.com/" + made.PhysicalID; made.Attributes["RepositoryUri"] != want {
		t.Fatalf("got %v", made.Attributes)
	}
	r.PhysicalID, r.Tags = made.PhysicalID, map[string]string{"aws:cloudformation:stack-name": "My-Stack", "team": "blue"}
	r.Properties = properties{
		"ImageTagMutability": "IMMUTABLE", "ImageScanningConfiguration": properties{"ScanOnPush": true},
		"LifecyclePolicy": properties{
			"LifecyclePolicyText": `{"rules":[{"rulePriority":1,"selection":{},"action":{"type":"expire"}}]}`,
		},
		"RepositoryPolicyText": properties{"Version": "2012-10-17", "Statement": []any{}},
		"Tags":                 []any{properties{"Key": "own", "Value": "yes"}},
	}
	if _, err := p.Update(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	live, err := p.Read(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range r.Properties {
		if d := cmp.Diff(want, live[name]); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	manifest := `{"schemaVersion":2}`
	must[*ecr.PutImageOutput](t)(
		c.PutImage(t.Context(), &ecr.PutImageInput{RepositoryName: &made.PhysicalID, ImageManifest: &manifest, ImageTag: aws.String("v1")}),
	)
	var refused *resource.Error
	if err := p.Delete(t.Context(), r); !errors.As(err, &refused) ||
		refused.Message != "The repository with name '"+made.PhysicalID+"' in registry with id '111111111111' cannot be deleted because it still contains images" {
		t.Fatalf("got %v", err)
	}
	r.Properties["EmptyOnDelete"] = "true"
	if err := p.Delete(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if err := p.Delete(t.Context(), r); !errors.As(err, &refused) || refused.Code != resource.NotFound {
		t.Fatalf("got %v", err)
	}
}
