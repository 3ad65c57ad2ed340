package render_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/render"
)

// The nodes that Karpenter creates for a group have what the group's launch template has.
func TestNodeClass(t *testing.T) {
	f := read(t, "testdata/public.yaml")
	spec := &f.groups[0].Spec
	spec.Manager, spec.MinSize, spec.Replicas, spec.Spot, spec.Autoscale = v1alpha1.ManagerKarpenter, 0, nil, nil, false
	spec.SecurityGroups = []string{"sg-0123456789abcdef0"}
	spec.Tags = map[string]string{"cost": "center"}
	spec.RootVolume = v1alpha1.Volume{SizeGiB: 40, Type: "gp3", IOPS: 4000, ThroughputMiBps: 200}
	f.cluster.Spec.Release = "set-1.2.0"
	c, groups := f.resolve(t, setRelease("1.2.0"))
	base, err := render.Base(c)
	if err != nil {
		t.Fatal(err)
	}
	if taints := groups[0].Spec.Taints; len(taints) == 0 || taints[len(taints)-1].Key != "karpenter.sh/unregistered" {
		t.Errorf("the taints are %v", taints)
	}
	got, err := render.NodeClass(c, groups[0], outputs(base), "#!/bin/sh\n")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"amiFamily":                "Custom",
		"amiSelectorTerms":         []any{map[string]any{"ssmParameter": "/aws/service/canonical/ubuntu/server/24.04/stable/20260101/amd64/hvm/ebs-gp3/ami-id"}},
		"associatePublicIPAddress": true,
		"blockDeviceMappings": []any{map[string]any{
			"deviceName": "/dev/sda1", "rootVolume": true,
			"ebs": map[string]any{
				"deleteOnTermination": true, "encrypted": true, "volumeType": "gp3", "volumeSize": "40Gi", "iops": int64(4000), "throughput": int64(200),
			},
		}},
		"instanceProfile":            "the-WorkerInstanceProfile",
		"metadataOptions":            map[string]any{"httpEndpoint": "enabled", "httpTokens": "required", "httpPutResponseHopLimit": int64(1)},
		"securityGroupSelectorTerms": []any{map[string]any{"id": "the-WorkerSecurityGroup"}, map[string]any{"id": "sg-0123456789abcdef0"}},
		"subnetSelectorTerms":        got["subnetSelectorTerms"],
		"tags":                       map[string]any{"cluster-operator.aws/cluster": c.Name, "cost": "center"},
		"userData":                   "#!/bin/sh\n",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the NodeClass (-want +got):\n%s", diff)
	}
	if subnets, ok := got["subnetSelectorTerms"].([]any); !ok || len(subnets) != len(groups[0].Subnets) {
		t.Errorf("the subnets are %v", got["subnetSelectorTerms"])
	}
	if _, err := render.NodeClass(c, groups[0], nil, ""); err == nil || err.Error() == "" {
		t.Error("missing outputs are no error")
	}
}
