package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	astypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A new version of the operator, with another nodeup, replaces no machine and updates no stack.
// Neither does an edit of a group's bounds, which only reaches the group.
func TestNewOperatorAndNewBoundsReplaceNoMachine(t *testing.T) {
	t.Parallel()
	c := newCloud(t, cloudOptions{})
	objects := c.apply(small)
	c.awaitReady(objects...)
	machines, stored := c.machines(), c.stored(objects[0])
	if len(machines) != 5 {
		t.Fatalf("the cluster has the machines %v", machines)
	}

	c.kill()
	for _, architecture := range []string{"amd64", "arm64"} {
		if err := os.WriteFile(
			filepath.Join(c.dir, "nodeup-linux-"+architecture), []byte("a newer nodeup for "+architecture), 0o600,
		); err != nil {
			t.Fatal(err)
		}
	}
	c.start()
	c.edit("InstanceGroup", "small-workers", `{"spec":{"maxSize":7}}`)
	groups := autoscaling.NewFromConfig(c.config(account))
	c.await(func() string { return "the new bound to reach AWS" }, func() bool {
		found, err := groups.DescribeAutoScalingGroups(t.Context(), &autoscaling.DescribeAutoScalingGroupsInput{})
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(found.AutoScalingGroups, func(g astypes.AutoScalingGroup) bool { return *g.MaxSize == 7 })
	})
	c.await(
		func() string { return "the Cluster to be reconciled with the new nodeup" }, func() bool { return c.stored(objects[0]) != stored },
	)
	c.awaitReady(objects...)
	var updated []string
	c.await( // a read may return what was before
		func() string { return fmt.Sprintf("CloudFormation to report the update; it reports %v", updated) },
		func() bool { updated = c.updated(); return len(updated) > 0 },
	)
	if diff := cmp.Diff([]string{"small-workers"}, updated); diff != "" {
		t.Errorf("updated stacks (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(machines, c.machines()); diff != "" {
		t.Errorf("machines (-before +after):\n%s", diff)
	}
}

// stored returns the bucket's content in the Cluster's status, which includes the control plane's
// nodeup.
func (c *cloud) stored(cluster *unstructured.Unstructured) string {
	c.t.Helper()
	stacks, _, _ := unstructured.NestedSlice(c.get(cluster).Object, "status", "stacks")
	for _, stack := range stacks {
		fields, _ := stack.(map[string]any)
		if fields["name"] == cluster.GetName() {
			text, _ := fields["record"].(string)
			var known struct{ Stored string }
			if err := json.Unmarshal([]byte(text), &known); err != nil {
				c.t.Fatal(err)
			}
			return known.Stored
		}
	}
	return ""
}

// machines returns the IDs of the instances.
func (c *cloud) machines() []string {
	c.t.Helper()
	return slices.DeleteFunc(c.inventory(account), func(line string) bool { return !strings.HasPrefix(line, "instance i-") })
}

// updated returns the stacks that were updated.
func (c *cloud) updated() []string {
	c.t.Helper()
	found, err := cloudformation.NewFromConfig(c.config(account)).DescribeStacks(c.t.Context(), &cloudformation.DescribeStacksInput{})
	if err != nil {
		c.t.Fatal(err)
	}
	var names []string
	for n := range found.Stacks {
		if found.Stacks[n].LastUpdatedTime != nil {
			names = append(names, aws.ToString(found.Stacks[n].StackName))
		}
	}
	slices.Sort(names)
	return names
}
