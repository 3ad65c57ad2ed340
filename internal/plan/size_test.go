package plan_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/internal/plan"
)

// TestCreationIsPlannedBriefly prints the creation of a cluster: what costs money, holds data or
// grants access is listed with its size, and the rest is counted. JSON has everything.
func TestCreationIsPlannedBriefly(t *testing.T) {
	w := newSuite(t)
	objects := example(t, "minimal-public.yaml")
	w.put(objects...)
	p := w.plan("minimal")
	var out bytes.Buffer
	w.must(plan.Print(&out, p, false))
	for _, want := range []string{
		"EtcdVolume0 (AWS::EC2::Volume): create, 20 GiB, gp3, ", "VPC (AWS::EC2::VPC): create, 10.",
		"AutoScalingGroup (AWS::AutoScaling::AutoScalingGroup): create, min 2, max 3",
		"(AWS::EC2::SecurityGroupIngress): create, from 0.0.0.0/0, port 6443", "ControlPlaneRole (AWS::IAM::Role): create",
		" EC2::SecurityGroupIngress, ",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the plan lacks %q", want)
		}
	}
	if lines := strings.Count(out.String(), ": create"); lines > 30 || p.Summary.Create < 40 {
		t.Errorf("%d lines for %d resources:\n%s", lines, p.Summary.Create, out.String())
	}
}
