package fake

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/internal/patience"
)

// settingsFor returns the settings of Bottlerocket for the cluster.
func (n *nodes) settingsFor(more string) string {
	return fmt.Sprintf("[settings.kubernetes]\napi-server = %q\ncluster-name = \"demo\"\ncluster-certificate = %q\n%s",
		n.endpoint.URL, base64.StdEncoding.EncodeToString(n.endpoint.CertificateAuthority), more)
}

// An instance with Bottlerocket joins when it has an access entry, and not before.
func TestBottlerocketJoinsEKS(t *testing.T) {
	n := newNodes(t)
	id, name := n.launch("[settings]\nmotd = \"hello\"\n" + n.settingsFor(`
[settings.kubernetes.node-labels]
"example.com/team" = "a"
[settings.kubernetes.node-taints]
"dedicated" = ["gpu:NoSchedule", "gpu:NoExecute"]
`))
	n.says(id, "the API server answers 401: Unauthorized")
	n.known.Store(true)
	var node *corev1.Node
	patience.Until(t, "the instance is a node", func() (err error) {
		node, err = clientOf(n.endpoint, "admin").CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
		return err
	})
	if node.Labels["example.com/team"] != "a" || len(node.Spec.Taints) != 2 || node.Spec.Taints[1].ToString() != "dedicated=gpu:NoExecute" {
		t.Errorf("labels %v, taints %v", node.Labels, node.Spec.Taints)
	}
}

func TestBottlerocketReportsInvalidSettings(t *testing.T) {
	for more, says := range map[string]string{
		"hostname = \"a\"\n":       "there is no setting settings.kubernetes.hostname",
		"cluster-dns-ip = \"a\"\n": "settings.kubernetes.cluster-dns-ip",
		"[settings.kubernetes.node-labels]\n\"kubernetes.io/role\" = \"a\"\n": "unknown 'kubernetes.io'",
	} {
		n := newNodes(t)
		n.known.Store(true)
		id, _ := n.launch(n.settingsFor(more))
		n.says(id, says)
	}
	n := newNodes(t)
	n.known.Store(true)
	id, _ := n.launch(strings.Replace(n.settingsFor(""), "cluster-name", "# cluster-name", 1))
	n.says(id, "settings.kubernetes lacks cluster-name")
}
