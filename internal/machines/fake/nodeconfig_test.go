package fake

import (
	"maps"
	"strings"
	"testing"
)

const nodeConfigText = `apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  cluster:
    name: demo
    apiServerEndpoint: https://127.0.0.1:1
    certificateAuthority: Q0E=
    cidr: 10.100.0.0/16
  kubelet:
    flags: [--node-labels=a=1]
`

// mimed returns a MIME document with a script for cloud-init and with NodeConfigs.
func mimed(configs ...string) string {
	const boundary = "//"
	var text strings.Builder
	text.WriteString("MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"" + boundary + "\"\n\n")
	text.WriteString("--" + boundary + "\nContent-Type: text/x-shellscript; charset=\"us-ascii\"\n\n#!/bin/sh\ntrue\n\n")
	for _, config := range configs {
		text.WriteString("--" + boundary + "\nContent-Type: application/node.eks.aws\n\n---\n" + config + "\n")
	}
	text.WriteString("--" + boundary + "--\n")
	return text.String()
}

// https://awslabs.github.io/amazon-eks-ami/nodeadm/doc/examples/#merging-multiple-configuration-objects
func TestNodeConfigsAreMergedAsNodeadmDoes(t *testing.T) {
	const second = `apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  cluster: {cidr: 172.20.0.0/16}
  kubelet:
    flags: ["--node-labels=a=2,eks.amazonaws.com/nodegroup=workers", "--register-with-taints=dedicated=gpu:NoSchedule", --v=2]
`
	config, err := parseNodeConfig([]byte(mimed(nodeConfigText, second)))
	if err != nil {
		t.Fatal(err)
	}
	cluster := config.Spec.Cluster
	if cluster.Name != "demo" || string(cluster.CertificateAuthority) != "CA" || cluster.CIDR != "172.20.0.0/16" {
		t.Errorf("the cluster is %+v", cluster)
	}
	flags, err := config.kubelet()
	if err != nil {
		t.Fatal(err)
	}
	if want := map[string]string{"a": "2", "eks.amazonaws.com/nodegroup": "workers"}; !maps.Equal(flags.labels, want) {
		t.Errorf("labels %v, want %v", flags.labels, want)
	}
	if len(flags.taints) != 1 || flags.taints[0].ToString() != "dedicated=gpu:NoSchedule" {
		t.Errorf("taints %v", flags.taints)
	}
	if plain, err := parseNodeConfig([]byte(nodeConfigText)); err != nil || plain.Spec.Cluster.Name != "demo" {
		t.Errorf("a NodeConfig alone: %+v, %v", plain, err)
	}
}

func TestInvalidNodeConfigsAreRefused(t *testing.T) {
	for name, c := range map[string]struct{ text, problem string }{
		"no endpoint":       {strings.Replace(nodeConfigText, "apiServerEndpoint", "other", 1), "spec.cluster.apiServerEndpoint is missing"},
		"no CA":             {strings.Replace(nodeConfigText, "certificateAuthority", "other", 1), "spec.cluster.certificateAuthority is missing"},
		"no range":          {strings.Replace(nodeConfigText, "cidr", "other", 1), "spec.cluster.cidr is missing"},
		"no name":           {strings.Replace(nodeConfigText, "name: demo", "other: demo", 1), "spec.cluster.name is missing"},
		"another version":   {strings.Replace(nodeConfigText, "v1alpha1", "v2", 1), "version node.eks.aws/v2"},
		"a label of others": {strings.Replace(nodeConfigText, "a=1", "node-role.kubernetes.io/worker=", 1), "unknown 'kubernetes.io' or 'k8s.io' labels"},
		"a taint that does nothing": {
			strings.Replace(nodeConfigText, "--node-labels=a=1", "--register-with-taints=a", 1), "has no effect",
		},
		"a MIME document that ends early": {strings.TrimSuffix(mimed(nodeConfigText), "--//--\n"), "read a NodeConfig"},
	} {
		config, err := parseNodeConfig([]byte(c.text))
		if err == nil {
			_, err = config.kubelet()
		}
		if err == nil || !strings.Contains(err.Error(), c.problem) {
			t.Errorf("%s: %v, want %s", name, err, c.problem)
		}
	}
	for name, text := range map[string]string{"a script": "#!/bin/sh\ntrue\n", "nothing": "", "MIME without a NodeConfig": mimed()} {
		if _, err := parseNodeConfig([]byte(text)); err != errNoNodeConfig { //nolint:errorlint // it is this one
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzNodeConfig reads any user data without a panic, and completely.
func FuzzNodeConfig(f *testing.F) {
	f.Add(nodeConfigText)
	f.Add(mimed(nodeConfigText, nodeConfigText))
	f.Add("MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=a\n\n--a\nContent-Type: application/node.eks.aws\n\nspec: 1\n--a--\n")
	f.Add("#!/bin/sh\n")
	f.Fuzz(func(t *testing.T, text string) {
		config, err := parseNodeConfig([]byte(text))
		if err != nil {
			return
		}
		if err := config.Spec.Cluster.validate(); err != nil {
			t.Errorf("an incomplete NodeConfig is accepted: %v", err)
		}
		_, _ = config.kubelet() // it must not panic
	})
}
