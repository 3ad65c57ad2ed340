package sharedpolicy_test

import (
	"context"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/sharedpolicy"
)

func TestPolicyFollowsItsTargets(t *testing.T) {
	policies := map[string]string{"a": "", "b": "", "c": ""}
	missing := resource.Errorf(resource.NotFound, "no such queue")
	provider := sharedpolicy.Provider{
		Type: "AWS::SQS::QueuePolicy", Member: "Queues",
		Set: func(_ context.Context, _ resource.Request, target, document string) error {
			if _, ok := policies[target]; !ok {
				return missing
			}
			policies[target] = document
			return nil
		},
		Get: func(_ context.Context, _ resource.Request, target string) (string, error) {
			return policies[target], nil
		},
	}
	properties := func(version float64, queues ...any) map[string]any {
		return map[string]any{"Queues": queues, "PolicyDocument": map[string]any{"Version": version}}
	}
	want := func(reason string, want map[string]string) {
		t.Helper()
		if diff := cmp.Diff(want, policies); diff != "" {
			t.Errorf("%s: %s", reason, diff)
		}
	}
	request := resource.Request{StackName: "s", LogicalID: "P", Properties: properties(1, "a", "b")}
	made, err := provider.Create(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	want("created", map[string]string{"a": `{"Version":1}`, "b": `{"Version":1}`, "c": ""})

	request.PhysicalID, request.Previous, request.Properties = made.PhysicalID, request.Properties, properties(2, "b", "c")
	if _, err := provider.Update(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	want("updated: off the one no longer named", map[string]string{"a": "", "b": `{"Version":2}`, "c": `{"Version":2}`})

	delete(policies, "b")
	live, err := provider.Read(t.Context(), request)
	read := properties(2, "c")
	maps.Copy(read, map[string]any{"Id": made.PhysicalID})
	if diff := cmp.Diff(read, live); diff != "" || err != nil {
		t.Errorf("read without the deleted target: %s %v", diff, err)
	}
	if _, err := provider.Update(t.Context(), request); err == nil {
		t.Error("a target that is not there must be refused")
	}
	if err := provider.Delete(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	want("deleted", map[string]string{"a": "", "c": ""})
	if _, err := provider.Read(t.Context(), request); err == nil {
		t.Error("a policy that no target has was read")
	}
}
