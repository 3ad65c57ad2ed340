package controller_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

func TestClusterReportsWhenItsCertificatesExpire(t *testing.T) {
	r := runs(t, 1, func(_ *v1alpha1.Cluster, group *v1alpha1.InstanceGroup) { group.Spec.MinSize = 0 })
	c := r.condition(r.cluster, "CertificatesValid", metav1.ConditionTrue, "Valid")
	status := r.cluster.Status.Certificates
	if status == nil || status.CAsExpire == nil || status.SlotsExpire == nil {
		t.Fatalf("status.certificates is %+v", status)
	}
	if left := time.Until(status.CAsExpire.Time); left < 9*365*24*time.Hour {
		t.Errorf("the CAs expire in %s", left)
	}
	var nodes corev1.NodeList
	if err := r.inside.List(t.Context(), &nodes, client.HasLabels{"node-role.kubernetes.io/control-plane"}); err != nil {
		t.Fatal(err)
	}
	if len(nodes.Items) != 1 {
		t.Fatalf("there are %d nodes of slots", len(nodes.Items))
	}
	if want := nodes.Items[0].CreationTimestamp.Add(3 * 365 * 24 * time.Hour); !status.SlotsExpire.Time.Equal(want) {
		t.Errorf("the certificates of the slot expire at %s, want %s", status.SlotsExpire, want)
	}
	if want := status.SlotsExpire.UTC().Format(time.DateOnly); !strings.Contains(c.Message, want) {
		t.Errorf("the message is %q, want %s in it", c.Message, want)
	}
}
