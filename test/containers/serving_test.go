package containers

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/internal/patience"
)

// checkServing checks that real kubelets serve with certificates that slots have approved: for all addresses
// that the cloud controller manager of AWS gives their Nodes, so that none is denied, and that metrics-server
// verifies them. Logs, exec and proxied requests of the other checks go through an API server that does.
func (w *workload) checkServing(t *testing.T) {
	t.Helper()
	nodes, err := w.client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range nodes.Items {
		name := nodes.Items[i].Name
		patience.Until(t, "the kubelet of "+name+" has a serving certificate", func() error {
			requests, err := w.client.CertificatesV1().CertificateSigningRequests().List(t.Context(), metav1.ListOptions{
				FieldSelector: "spec.signerName=" + certificatesv1.KubeletServingSignerName,
			})
			if err != nil {
				return err
			}
			issued := 0
			for _, r := range requests.Items {
				for _, c := range r.Status.Conditions {
					if c.Type != certificatesv1.CertificateApproved || c.Reason != "AddressesConfirmed" {
						t.Fatalf("the request of %s is %s: %s", r.Spec.Username, c.Type, c.Message)
					}
				}
				if r.Spec.Username == "system:node:"+name && len(r.Status.Certificate) > 0 {
					issued++
				}
			}
			if issued == 0 {
				return fmt.Errorf("none of %d requests is issued", len(requests.Items))
			}
			t.Logf("%s requested %d certificates", name, issued)
			return nil
		})
	}
	server, err := w.client.AppsV1().Deployments("kube-system").Get(t.Context(), "metrics-server", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if args := server.Spec.Template.Spec.Containers[0].Args; slices.Contains(args, "--kubelet-insecure-tls") {
		t.Errorf("metrics-server runs with %s", strings.Join(args, " "))
	}
	patience.Until(t, "metrics-server reads all kubelets", func() error {
		text, err := w.client.CoreV1().RESTClient().Get().AbsPath("/apis/metrics.k8s.io/v1beta1/nodes").DoRaw(t.Context())
		var list struct{ Items []json.RawMessage }
		if err = errors.Join(err, json.Unmarshal(text, &list)); err != nil || len(list.Items) != len(nodes.Items) {
			return fmt.Errorf("it has %d of %d nodes, %w", len(list.Items), len(nodes.Items), err)
		}
		return nil
	})
}
