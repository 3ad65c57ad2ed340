package bootstrap_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
)

func TestWorkersProveWhichInstanceTheyAre(t *testing.T) {
	slot, worker := bundlesOf(t, release.Set120, "v1.36.4", nil)
	want := &bundle.Join{
		STSHost: "sts.eu-central-1.amazonaws.com", WorkerRole: outputs[model.OutputWorkerRole],
		InstanceTags: map[string]string{"kubernetes.io/cluster/demo": "owned", "cluster-operator.aws/cluster": "demo"},
	}
	if diff := cmp.Diff(want, slot.Join); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(&bundle.Join{STSHost: "sts.eu-central-1.amazonaws.com"}, worker.Join); diff != "" {
		t.Error(diff)
	}
	if config := worker.Kubeadm.Config; strings.Contains(config, bundle.Placeholder(bundle.BootstrapToken)) ||
		!strings.Contains(config, "kubeConfigPath: /etc/kubernetes/join.conf\n") {
		t.Errorf("kubeadm joins with the token, or not with the certificate:\n%s", config)
	}
}

// Workers of running clusters must not be replaced because of it.
func TestWorkersOfFormerSetsJoinWithTheToken(t *testing.T) {
	slot, worker := bundlesOf(t, release.Set110, "v1.36.3", nil)
	if slot.Join != nil || worker.Join != nil {
		t.Errorf("slot %v, worker %v", slot.Join, worker.Join)
	}
	if config := worker.Kubeadm.Config; !strings.Contains(config, bundle.Placeholder(bundle.BootstrapToken)) ||
		file(worker, "/etc/kubernetes/discovery.conf") == "" {
		t.Errorf("kubeadm does not join with the token:\n%s", config)
	}
}

func TestStsOfOtherPartitionsHasAnotherSuffix(t *testing.T) {
	_, worker := bundlesOf(
		t, release.Set120, "v1.36.4", func(c *model.Cluster) { c.Region, c.DNSSuffix = "cn-north-1", "amazonaws.com.cn" },
	)
	if got := worker.Join.STSHost; got != "sts.cn-north-1.amazonaws.com.cn" {
		t.Errorf("proofs are for %s", got)
	}
}
