package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/internal/manifest"
)

const sized = `
apiVersion: cluster-operator.aws/v1alpha1
kind: Cluster
metadata: {name: %[1]s}
spec:
  release: v1.36.3
  region: eu-central-1
  network: {cidr: 10.0.0.0/16, zones: [eu-central-1a], topology: Public}
  controlPlane: {replicas: 1, %[2]s}
---
apiVersion: cluster-operator.aws/v1alpha1
kind: InstanceGroup
metadata: {name: %[1]s-workers}
spec: {cluster: %[1]s, minSize: 1, maxSize: 1, instanceTypes: [%[3]s]}
`

// TestPlanRefusesWhatAWSDoesNotOffer plans clusters with instance types and images of which only
// AWS knows whether they exist.
func TestPlanRefusesWhatAWSDoesNotOffer(t *testing.T) {
	w := newSuite(t)
	w.sim.Instances().SetOffered(region+"a", "m5.large", false)
	for name, c := range map[string]struct{ plane, group, want string }{
		"offered": {"instanceType: m6i.large", "m6i.large", ""},
		"unknown-type": {
			"instanceType: t9.huge", "m6i.large",
			"spec.controlPlane.instanceType: AWS does not offer instance type t9.huge in the cluster's region. Choose another type.",
		},
		"zone-without-the-type": {
			"instanceType: m5.large", "m6i.large",
			"spec.controlPlane.instanceType: zone eu-central-1a does not offer m5.large; eu-central-1b, eu-central-1c offer it. " +
				"Choose another type or other zones.",
		},
		"unknown-type-of-several": {
			"instanceType: m6i.large", "m6i.large, m6i.gigantic",
			"spec.instanceTypes: AWS does not offer instance type m6i.gigantic in the cluster's region. Choose another type.",
		},
		"one-type-of-several": {"instanceType: m6i.large", "m5.large, m6i.large", ""},
		"unknown-image": {
			"instanceType: m6i.large, image: ami-0123456789abcdef0", "m6i.large",
			"spec.controlPlane.image: image ami-0123456789abcdef0 does not exist in the region, or this account may not use it.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			text := fmt.Sprintf(sized, name, c.plane, c.group)
			set, err := manifest.Read([]manifest.Source{{Name: "x.yaml", Reader: strings.NewReader(text)}}, manifest.Options{})
			w.must(err)
			var objects []client.Object
			for _, m := range set.Manifests {
				objects = append(objects, m.Object)
			}
			w.put(objects...)
			p := w.plan(name)
			var refused []string
			for i := range p.Stacks {
				refused = append(refused, p.Stacks[i].Refused...)
			}
			if got := strings.Join(refused, "|"); got != c.want {
				t.Errorf("refused: %s\nwant: %s", got, c.want)
			}
		})
	}
}
