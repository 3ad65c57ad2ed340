package eksboot

import (
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"
)

// cluster is how nodes reach the cluster, as in a NodeConfig.
type cluster struct {
	Name                 string `json:"name"`
	APIServerEndpoint    string `json:"apiServerEndpoint"`
	CertificateAuthority string `json:"certificateAuthority"`
	CIDR                 string `json:"cidr"`
}

// config is a NodeConfig, which nodeadm of Amazon Linux 2023 reads.
// https://awslabs.github.io/amazon-eks-ami/nodeadm/doc/api/
type config struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Spec       struct {
		Cluster cluster `json:"cluster"`
		Kubelet struct {
			Flags []string `json:"flags"`
		} `json:"kubelet"`
	} `json:"spec"`
}

// boundary separates the parts of user data. In YAML, no line of a value begins with it.
const boundary = "BOUNDARY"

// nodeConfig returns user data with a NodeConfig. Labels and taints are flags, as in eksctl: fields of the kubelet's
// configuration replace those that nodeadm sets, and there is none for labels.
// https://github.com/eksctl-io/eksctl/blob/main/pkg/nodebootstrap/al2023.go
func nodeConfig(to *cluster, of *node) (string, error) {
	var c config
	c.APIVersion, c.Kind, c.Spec.Cluster = "node.eks.aws/v1alpha1", "NodeConfig", *to
	c.Spec.Kubelet.Flags = []string{"--node-labels=" + strings.Join(of.labels(), ",")}
	if taints := of.taints(); len(taints) > 0 {
		c.Spec.Kubelet.Flags = append(c.Spec.Kubelet.Flags, "--register-with-taints="+strings.Join(taints, ","))
	}
	text, err := yaml.Marshal(&c)
	if err != nil {
		return "", fmt.Errorf("write a NodeConfig: %w", err)
	}
	return "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"" + boundary + "\"\n\n--" + boundary +
		"\nContent-Type: application/node.eks.aws\n\n" + string(text) + "--" + boundary + "--\n", nil
}
