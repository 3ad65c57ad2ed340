package eks

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/mail"
	"net/netip"
	"net/textproto"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/eks/types"
)

// nodeLabels are the labels of the nodes of a node group: EKS's own and the user's.
// https://docs.aws.amazon.com/eks/latest/userguide/managed-node-groups.html
func nodeLabels(n *nodegroup, image string) map[string]string {
	labels := maps.Clone(n.Labels)
	labels["eks.amazonaws.com/nodegroup"] = *n.NodegroupName
	labels["eks.amazonaws.com/nodegroup-image"] = image
	labels["eks.amazonaws.com/capacityType"] = string(n.CapacityType)
	if t := n.LaunchTemplate; t != nil {
		labels["eks.amazonaws.com/sourceLaunchTemplateId"] = *t.Id
		labels["eks.amazonaws.com/sourceLaunchTemplateVersion"] = *t.Version
	}
	return labels
}

// joined returns labels in the form of the kubelet's flag.
func joined(labels map[string]string) string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		parts = append(parts, key+"="+labels[key])
	}
	return strings.Join(parts, ",")
}

// effects are the names of effects in Kubernetes.
var effects = map[types.TaintEffect]string{
	types.TaintEffectNoSchedule: "NoSchedule", types.TaintEffectNoExecute: "NoExecute", types.TaintEffectPreferNoSchedule: "PreferNoSchedule",
}

// joinedTaints returns taints in the form of the kubelet's flag.
func joinedTaints(taints []types.Taint) string {
	var parts []string
	for _, t := range taints {
		parts = append(parts, value(t.Key)+"="+value(t.Value)+":"+effects[t.Effect])
	}
	return strings.Join(parts, ",")
}

// dnsAddress returns the address of the cluster's DNS: the tenth of the range of services.
func dnsAddress(cidr string) string {
	prefix, err := netip.ParsePrefix(cidr)
	if err != nil {
		return ""
	}
	address := prefix.Addr()
	for range 10 {
		address = address.Next()
	}
	return address.String()
}

// nodeConfig returns what nodeadm reads on Amazon Linux 2023.
// https://awslabs.github.io/amazon-eks-ami/nodeadm/doc/api/
func nodeConfig(c *cluster, n *nodegroup, image string) string {
	var b strings.Builder
	cidr := *c.KubernetesNetworkConfig.ServiceIpv4Cidr
	fmt.Fprintf(&b, `---
apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  cluster:
    apiServerEndpoint: %s
    certificateAuthority: %s
    cidr: %s
    name: %s
  kubelet:
    config:
      clusterDNS:
      - %s
    flags:
    - "--node-labels=%s"
`, value(c.Endpoint), value(c.CertificateAuthority.Data), cidr, *c.Name, dnsAddress(cidr), joined(nodeLabels(n, image)))
	if len(n.Taints) > 0 {
		fmt.Fprintf(&b, "    - \"--register-with-taints=%s\"\n", joinedTaints(n.Taints))
	}
	return b.String()
}

// bottlerocketSettings returns the settings of Bottlerocket.
// https://bottlerocket.dev/en/os/latest/#/api/settings/kubernetes/
func bottlerocketSettings(c *cluster, n *nodegroup, image string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[settings.kubernetes]\napi-server = %q\ncluster-certificate = %q\ncluster-name = %q\ncluster-dns-ip = %q\n\n",
		value(c.Endpoint), value(c.CertificateAuthority.Data), *c.Name, dnsAddress(*c.KubernetesNetworkConfig.ServiceIpv4Cidr))
	b.WriteString("[settings.kubernetes.node-labels]\n")
	labels := nodeLabels(n, image)
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		fmt.Fprintf(&b, "%q = %q\n", key, labels[key])
	}
	if len(n.Taints) > 0 {
		b.WriteString("\n[settings.kubernetes.node-taints]\n")
	}
	for _, t := range n.Taints {
		fmt.Fprintf(&b, "%q = [%q]\n", value(t.Key), value(t.Value)+":"+effects[t.Effect])
	}
	return b.String()
}

// userData returns the user data of the instances of a node group, in base64. EKS adds a part to the
// user's parts, except for images of the user.
// https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html#launch-template-user-data
func userData(c *cluster, n *nodegroup, image, given string) (string, error) {
	if n.AmiType == types.AMITypesCustom {
		return given, nil
	}
	if machineImages[n.AmiType].bottlerock {
		text, err := base64.StdEncoding.DecodeString(given)
		if err != nil {
			return "", fmt.Errorf("user data is not base64: %w", err)
		}
		return base64.StdEncoding.EncodeToString(append(text, bottlerocketSettings(c, n, image)...)), nil
	}
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	if err := w.SetBoundary("//"); err != nil {
		return "", err
	}
	if err := copyParts(w, given); err != nil {
		return "", err
	}
	part, err := w.CreatePart(textproto.MIMEHeader{"Content-Type": {"application/node.eks.aws"}})
	if err != nil {
		return "", err
	}
	_, _ = io.WriteString(part, nodeConfig(c, n, image)) // into memory
	_ = w.Close()
	text := "MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=\"//\"\r\n\r\n" + body.String()
	return base64.StdEncoding.EncodeToString([]byte(text)), nil
}

// copyParts copies the parts of the user's user data.
func copyParts(w *multipart.Writer, given string) error {
	if given == "" {
		return nil
	}
	notMIME := fmt.Errorf("User data was not in the MIME multipart format.") //nolint:staticcheck // AWS's words
	text, err := base64.StdEncoding.DecodeString(given)
	if err != nil {
		return notMIME
	}
	message, err := mail.ReadMessage(bytes.NewReader(text))
	if err != nil {
		return notMIME
	}
	kind, params, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	if err != nil || !strings.HasPrefix(kind, "multipart/") {
		return notMIME
	}
	for r := multipart.NewReader(message.Body, params["boundary"]); ; {
		part, err := r.NextRawPart()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return notMIME
		}
		to, err := w.CreatePart(part.Header)
		if err != nil {
			return err
		}
		if _, err := io.Copy(to, part); err != nil {
			return notMIME
		}
	}
}
