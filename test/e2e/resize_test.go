package e2e

import (
	"os"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/internal/machines/process"
)

const resizing = `
apiVersion: cluster-operator.aws/v1alpha1
kind: Cluster
metadata: {name: real}
spec:
  release: ` + processRelease + `
  region: eu-central-1
  network: {cidr: 10.0.0.0/16, zones: [eu-central-1a, eu-central-1b, eu-central-1c], topology: Private, nat: Single}
  backup: {disabled: true}
  controlPlane: {replicas: 1, instanceType: m6i.large}
`

// requireOperations skips a test of machines that really boot which takes many minutes.
func requireOperations(t *testing.T) {
	t.Helper()
	if os.Getenv("TEST_OPERATIONS") == "" {
		t.Skip("it takes many minutes: run it with make test-operations")
	}
	if err := process.Supported(); err != nil {
		t.Skip(err)
	}
}

// A control plane of one slot grows to three, and shrinks to one, while clients use its API. The machines,
// nodeup, etcd with its learners, and the API servers are real.
func TestControlPlaneOfRealMachinesChangesItsSize(t *testing.T) {
	requireOperations(t)
	c, _ := newProcessCloud(t, nil)
	objects := c.apply(resizing)
	c.awaitReady(objects...)
	workload := c.workload("real")
	write(t, workload, "written", "before")

	for _, to := range []struct {
		spec string
		says string
		size int
	}{
		{`{"spec":{"controlPlane":{"replicas":3}}}`, "the control plane grew", 3},
		{`{"spec":{"controlPlane":{"replicas":1}}}`, "the control plane shrank", 1},
	} {
		api := c.watchAPI(workload)
		c.patch(objects[0], to.spec)
		c.awaitReady(objects...)
		api.end(to.says, outage)
		if nodes, volumes := c.nodesOfSlots(), c.etcdVolumes(); len(nodes) != to.size || len(volumes) != to.size || !c.slotsServe(nodes) {
			t.Errorf("%s: the nodes of slots are %v, and the volumes %v", to.says, nodes, volumes)
		}
		found, err := workload.CoreV1().ConfigMaps("default").Get(t.Context(), "written", metav1.GetOptions{})
		if err != nil || found.Data["written"] != "before" {
			t.Errorf("%s: data from before was lost: %v, %v", to.says, found.Data, err)
		}
	}
	c.remove(objects...)
}
