package eksboot

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

// Boot is what the instances of a group boot with.
type Boot struct {
	// UserData is the user data, as text.
	UserData string
	// Hash identifies what the nodes are made from, in hexadecimal digits. The nodes have its beginning in the
	// label of bundles, by which the operator tells new nodes from old ones.
	Hash string
}

// node is what a node is made from, as far as user data decides it.
type node struct {
	Cluster string            `json:"cluster"`
	Version string            `json:"version"`
	Image   model.Image       `json:"image"`
	Family  string            `json:"family,omitempty"`
	Labels  map[string]string `json:"labels"`
	Taints  []corev1.Taint    `json:"taints,omitempty"`
	Roll    string            `json:"roll,omitempty"`
}

// Of returns what the instances of a self-managed group boot with. Outputs are those of the base stack. The hash
// does not depend on them, since they stay the same as long as the cluster exists. It returns an error if an output
// is missing.
func Of(c *model.Cluster, g *model.Group, outputs map[string]string) (*Boot, error) {
	of := node{Cluster: c.Name, Version: c.EKSVersion(), Image: g.Image, Labels: g.Labels, Taints: g.Spec.Taints, Roll: g.Spec.Roll}
	if family := model.ImageFamilyOf(&g.Spec); family != v1alpha1.EKSAmazonLinux2023 {
		of.Family = string(family)
	}
	text, err := json.Marshal(&of)
	if err != nil {
		return nil, fmt.Errorf("hash what nodes are made from: %w", err)
	}
	sum := sha256.Sum256(text)
	boot := &Boot{Hash: hex.EncodeToString(sum[:])}
	of.Labels = maps.Clone(of.Labels)
	of.Labels[model.LabelBundle] = boot.Hash[:model.BundleLabelLength]
	to := cluster{
		Name: c.Name, APIServerEndpoint: outputs[model.OutputEndpoint], CertificateAuthority: outputs[model.OutputCertificateAuthority],
		CIDR: c.Spec.Network.ServiceCIDR,
	}
	if to.APIServerEndpoint == "" || to.CertificateAuthority == "" {
		return nil, fmt.Errorf("the base stack has no output %s or %s", model.OutputEndpoint, model.OutputCertificateAuthority)
	}
	if model.IsBottlerocket(&g.Spec) {
		boot.UserData, err = settings(&to, &of)
	} else {
		boot.UserData, err = nodeConfig(&to, &of)
	}
	return boot, err
}

// labels returns the labels as KEY=VALUE, sorted.
func (n *node) labels() []string {
	list := make([]string, 0, len(n.Labels))
	for _, key := range slices.Sorted(maps.Keys(n.Labels)) {
		list = append(list, key+"="+n.Labels[key])
	}
	return list
}

// taints returns the taints as KEY=VALUE:EFFECT, in their order.
func (n *node) taints() []string {
	list := make([]string, 0, len(n.Taints))
	for _, taint := range n.Taints {
		list = append(list, taint.Key+"="+taint.Value+":"+string(taint.Effect))
	}
	return list
}
