package validate

import (
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cli/exit"
	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/test/livetest"
)

// The command reports what EKS says about a control plane and its node groups, and what the cluster's API says about
// the nodes.
func TestValidateReportsProblemsOfEKS(t *testing.T) {
	w := livetest.New(t, livetest.Options{Groups: []*v1alpha1.InstanceGroup{aGroup("workers", 2, 3)}, EKS: true})
	state := w.State()
	out, errOut, code := run(t.Context(), "demo", "--state", state)
	if code != exit.Done || errOut != "" ||
		!strings.Contains(out, "workers   worker   2          2       0            2     2        3\n") ||
		!strings.Contains(out, "\nCluster demo is healthy. Its API serves at https://") {
		t.Errorf("%d %s\n%s", code, errOut, out)
	}

	sick := w.Group("workers").Instances[0].ID
	if err := w.Host.SetKubelet(sick, false); err != nil {
		t.Fatal(err)
	}
	out, errOut, code = run(t.Context(), "demo", "--state", state)
	if code != exit.NotValid || !strings.Contains(out, "(NodeNotReady): It has not been Ready since ") {
		t.Errorf("%d %s\n%s", code, errOut, out)
	}

	_, err := w.Scaling.DeleteAutoScalingGroup(t.Context(), &autoscaling.DeleteAutoScalingGroupInput{
		AutoScalingGroupName: aws.String(w.Group("workers").AutoScalingGroup), ForceDelete: aws.Bool(true),
	})
	if err != nil {
		t.Fatal(err)
	}
	patience.Until(t, "EKS notices that the group no longer exists", func() error {
		out, errOut, code = run(t.Context(), "demo", "--state", state)
		if !strings.Contains(out, "- InstanceGroup workers (IssueOfEKS): EKS reports AutoScalingGroupNotFound (eks-") {
			return errors.New(out)
		}
		return nil
	})
	if code != exit.NotValid {
		t.Errorf("the exit code is %d, %s", code, errOut)
	}
}

// A self-managed group is found by the tags of its Auto Scaling group.
func TestValidateFindsSelfManagedGroupsOfEKS(t *testing.T) {
	own := aGroup("own", 1, 3)
	own.Spec.EKS = &v1alpha1.EKSNodes{Management: v1alpha1.EKSSelfManaged}
	w := livetest.New(t, livetest.Options{Groups: []*v1alpha1.InstanceGroup{aGroup("workers", 1, 3), own}, EKS: true})
	state := w.State()
	out, errOut, code := run(t.Context(), "demo", "--state", state)
	if code != exit.Done || errOut != "" || !strings.Contains(out, "own       worker   1          1       0            1     1        3\n") ||
		!strings.Contains(out, "\nCluster demo is healthy.") {
		t.Errorf("%d %s\n%s", code, errOut, out)
	}
	_, err := w.Scaling.DeleteAutoScalingGroup(t.Context(), &autoscaling.DeleteAutoScalingGroupInput{
		AutoScalingGroupName: aws.String(w.Group("own").AutoScalingGroup), ForceDelete: aws.Bool(true),
	})
	if err != nil {
		t.Fatal(err)
	}
	patience.Until(t, "the group is missed", func() error {
		out, _, code = run(t.Context(), "demo", "--state", state)
		if code != exit.NotValid || !strings.Contains(out, "- InstanceGroup own (GroupMissing): It has no Auto Scaling group in AWS.") {
			return errors.New(out)
		}
		return nil
	})
}
