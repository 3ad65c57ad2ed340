package fake

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/textproto"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"
)

// nodeConfig is what nodeadm of the AMIs of EKS reads from user data, as far as a fake machine does.
// https://awslabs.github.io/amazon-eks-ami/nodeadm/doc/api/
type nodeConfig struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Spec       struct {
		Cluster clusterDetails `json:"cluster"`
		Kubelet struct {
			Flags []string `json:"flags"`
		} `json:"kubelet"`
	} `json:"spec"`
}

// clusterDetails are how an instance reaches its cluster.
type clusterDetails struct {
	Name                 string `json:"name"`
	APIServerEndpoint    string `json:"apiServerEndpoint"`
	CertificateAuthority []byte `json:"certificateAuthority"`
	CIDR                 string `json:"cidr"`
}

const (
	nodeConfigVersion   = "node.eks.aws/v1alpha1"
	nodeConfigMediaType = "application/node.eks.aws"
)

// errNoNodeConfig means that user data is not for an instance of an EKS cluster.
var errNoNodeConfig = errors.New("the user data has no NodeConfig of " + nodeConfigVersion)

// parseNodeConfig reads the NodeConfigs of user data, which is one or a MIME document with some. Later
// ones override earlier ones, but their kubelet flags are all used.
// https://awslabs.github.io/amazon-eks-ami/nodeadm/doc/examples/#merging-multiple-configuration-objects
func parseNodeConfig(userData []byte) (*nodeConfig, error) {
	documents, err := nodeConfigsOf(userData)
	if err != nil {
		return nil, err
	}
	var merged nodeConfig
	for _, document := range documents {
		flags := merged.Spec.Kubelet.Flags
		merged.Spec.Kubelet.Flags = nil
		if err := yaml.Unmarshal(document, &merged); err != nil {
			return nil, fmt.Errorf("read a NodeConfig: %w", err)
		}
		if merged.APIVersion != nodeConfigVersion || merged.Kind != "NodeConfig" {
			return nil, fmt.Errorf("a NodeConfig is of kind %s, version %s, and not of %s", merged.Kind, merged.APIVersion, nodeConfigVersion)
		}
		merged.Spec.Kubelet.Flags = slices.Concat(flags, merged.Spec.Kubelet.Flags)
	}
	return &merged, merged.Spec.Cluster.validate()
}

// validate returns an error that names a missing field, as nodeadm does.
func (d *clusterDetails) validate() error {
	switch {
	case d.Name == "":
		return errors.New("spec.cluster.name is missing in cluster configuration")
	case d.APIServerEndpoint == "":
		return errors.New("spec.cluster.apiServerEndpoint is missing in cluster configuration")
	case len(d.CertificateAuthority) == 0:
		return errors.New("spec.cluster.certificateAuthority is missing in cluster configuration")
	case d.CIDR == "":
		return errors.New("spec.cluster.cidr is missing in cluster configuration")
	}
	return nil
}

// nodeConfigsOf returns the documents of user data that are NodeConfigs.
func nodeConfigsOf(userData []byte) ([][]byte, error) {
	header, body, ok := mimeHeader(userData)
	if !ok {
		var is nodeConfig
		if yaml.Unmarshal(userData, &is) != nil || !strings.HasPrefix(is.APIVersion, "node.eks.aws/") {
			return nil, errNoNodeConfig
		}
		return [][]byte{userData}, nil
	}
	media, parameters, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil || !strings.HasPrefix(media, "multipart/") {
		return nil, errNoNodeConfig
	}
	var found [][]byte
	parts := multipart.NewReader(body, parameters["boundary"])
	for {
		part, err := parts.NextRawPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read the parts of the user data: %w", err)
		}
		if media, _, _ := mime.ParseMediaType(part.Header.Get("Content-Type")); media != nodeConfigMediaType {
			continue // for cloud-init
		}
		document, err := io.ReadAll(part)
		if err != nil {
			return nil, fmt.Errorf("read a NodeConfig: %w", err)
		}
		found = append(found, document)
	}
	if len(found) == 0 {
		return nil, errNoNodeConfig
	}
	return found, nil
}

// mimeHeader reads the header of a MIME document. It reports false for other documents.
func mimeHeader(document []byte) (textproto.MIMEHeader, io.Reader, bool) {
	reader := bufio.NewReader(bytes.NewReader(document))
	header, err := textproto.NewReader(reader).ReadMIMEHeader()
	return header, reader, err == nil && header.Get("MIME-Version") != ""
}

// kubeletFlags are the flags of the kubelet that a fake machine knows. The last of several values wins,
// except for labels.
type kubeletFlags struct {
	labels map[string]string
	taints []corev1.Taint
}

// kubelet reads the flags --node-labels and --register-with-taints. Others have no effect.
func (c *nodeConfig) kubelet() (kubeletFlags, error) {
	read := kubeletFlags{labels: map[string]string{}}
	for _, flag := range c.Spec.Kubelet.Flags {
		name, value, _ := strings.Cut(flag, "=")
		if value == "" {
			continue
		}
		for one := range strings.SplitSeq(strings.Trim(value, `"`), ",") {
			switch name {
			case "--node-labels":
				key, label, _ := strings.Cut(one, "=")
				if err := checkLabel(key, label); err != nil {
					return read, err
				}
				read.labels[key] = label
			case "--register-with-taints":
				taint, err := parseTaint(one)
				if err != nil {
					return read, err
				}
				read.taints = append(read.taints, taint)
			}
		}
	}
	return read, nil
}

// checkLabel returns an error for labels with which a kubelet does not start.
// https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#noderestriction
func checkLabel(key, value string) error {
	problems := slices.Concat(utilvalidation.IsQualifiedName(key), utilvalidation.IsValidLabelValue(value))
	if len(problems) > 0 {
		return fmt.Errorf("--node-labels: %s=%s: %s", key, value, strings.Join(problems, "; "))
	}
	domain, _, prefixed := strings.Cut(key, "/")
	in := func(of string) bool { return prefixed && (domain == of || strings.HasSuffix(domain, "."+of)) }
	if (in("kubernetes.io") || in("k8s.io")) && !in("kubelet.kubernetes.io") && !in("node.kubernetes.io") && !slices.Contains(ownLabels, key) {
		return fmt.Errorf("unknown 'kubernetes.io' or 'k8s.io' labels specified with --node-labels: [%s]", key)
	}
	return nil
}

// ownLabels are the labels of Kubernetes' own that a kubelet may set.
var ownLabels = []string{
	corev1.LabelHostname, corev1.LabelArchStable, corev1.LabelOSStable, corev1.LabelInstanceTypeStable,
	corev1.LabelTopologyZone, corev1.LabelTopologyRegion, corev1.LabelInstanceType,
	corev1.LabelFailureDomainBetaZone, corev1.LabelFailureDomainBetaRegion, "beta.kubernetes.io/arch", "beta.kubernetes.io/os",
}
