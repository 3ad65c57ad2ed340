package e2e

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	astypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
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

// An operator is killed just after it sent the creation or the change of a stack of instances, and another
// version with another nodeup continues. It replaces no instance again.
func TestNewOperatorContinuesAChangeThatItFinds(t *testing.T) {
	for _, stack := range []string{"small-control-plane-0", "small-workers"} {
		t.Run(stack, func(t *testing.T) {
			t.Parallel()
			c := newCloud(t, cloudOptions{})
			var objects []*unstructured.Unstructured
			c.interrupted(stack, "CreateStack", func() { objects = c.apply(small) })
			c.awaitReady(objects...)
			if got := c.launched(); got != 5 {
				t.Errorf("after the creation was interrupted, the cluster has had %d instances, want 5", got)
			}
			roll := func() { c.edit("InstanceGroup", "small-workers", `{"spec":{"roll":"once"}}`) }
			replaced := 2
			if stack != "small-workers" {
				roll = func() { c.edit("Cluster", "small", `{"spec":{"controlPlane":{"roll":"once"}}}`) }
				replaced = 3
			}
			c.interrupted(stack, "UpdateStack", roll)
			c.awaitReady(objects...)
			c.await(func() string { return fmt.Sprintf("all instances to be replaced; there were %d", c.launched()) }, func() bool {
				return c.launched() >= 5+replaced
			})
			c.awaitReady(objects...)
			if got := c.launched(); got != 5+replaced {
				t.Errorf("after a roll was interrupted, the cluster has had %d instances, want %d", got, 5+replaced)
			}
		})
	}
}

// interrupted kills the operator after its next call of an operation for a stack, which change causes, and starts an
// operator with another nodeup.
func (c *cloud) interrupted(stack, operation string, change func()) {
	c.t.Helper()
	killed := make(chan struct{})
	c.mutex.Lock()
	c.lastCall = func(form url.Values) bool {
		if form.Get("Action") != operation || !strings.Contains(form.Get("StackName")+"/", stack+"/") {
			return false
		}
		c.mutex.Lock()
		defer c.mutex.Unlock()
		if c.lastCall == nil {
			return false
		}
		c.lastCall = nil
		close(killed)
		return true
	}
	c.mutex.Unlock()
	change()
	c.await(func() string { return operation + " of " + stack }, func() bool {
		select {
		case <-killed:
			return true
		default:
			return false
		}
	})
	<-c.exited
	for _, architecture := range []string{"amd64", "arm64"} {
		text := fmt.Sprintf("the nodeup after %s of %s for %s", operation, stack, architecture)
		if err := os.WriteFile(filepath.Join(c.dir, "nodeup-linux-"+architecture), []byte(text), 0o600); err != nil {
			c.t.Fatal(err)
		}
	}
	c.start()
}

// launched returns the number of instances that were launched, with those that are terminated.
func (c *cloud) launched() (n int) {
	c.t.Helper()
	found, err := ec2.NewFromConfig(c.config(account)).DescribeInstances(c.t.Context(), &ec2.DescribeInstancesInput{})
	if err != nil {
		c.t.Fatal(err)
	}
	for _, reservation := range found.Reservations {
		n += len(reservation.Instances)
	}
	return n
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
