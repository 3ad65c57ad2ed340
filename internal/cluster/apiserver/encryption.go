package apiserver

import (
	"slices"

	internalapi "k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/apis/apiserver/validation"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// SocketDirectory is the folder on a node of the socket at which the API server reaches the KMS
// plugin, and Socket the socket.
const (
	SocketDirectory = "/run/nodeup-kms"
	Socket          = SocketDirectory + "/kms.sock"
)

// EncryptionFile is the name of the EncryptionConfiguration below [Directory].
const EncryptionFile = "encryption.yaml"

const (
	// kmsProvider is the name of the plugin in the configuration. Each encrypted object in etcd begins
	// with it, so it must never change.
	kmsProvider = "aws-kms"
	// kmsTimeout is how long the API server waits for the plugin. A plugin that was killed is back
	// within two seconds.
	kmsTimeout = "10s"
	// encryptionArgument is the argument that names the file.
	encryptionArgument = "encryption-provider-config"
)

// encryption adds the encryption of resources in etcd:
// https://kubernetes.io/docs/tasks/administer-cluster/encrypt-data/. Objects that were written
// before, and so are in plain text, can be read: a backup may have some. The first provider writes,
// and all of them read. So in the stage in which the API servers of an existing cluster only learn to
// read encrypted objects, the one that does not encrypt comes first.
func (c *Config) encryption(e *v1alpha1.Encryption, stage v1alpha1.EncryptionStage) []Problem {
	if e == nil || stage == v1alpha1.EncryptionPlain {
		return nil
	}
	providers := []any{
		map[string]any{"kms": map[string]any{
			"apiVersion": "v2", "name": kmsProvider, "endpoint": "unix://" + Socket, "timeout": kmsTimeout,
		}},
		map[string]any{"identity": map[string]any{}},
	}
	if stage == v1alpha1.EncryptionReadable {
		slices.Reverse(providers)
	}
	config := map[string]any{
		"apiVersion": configVersion, "kind": "EncryptionConfiguration",
		"resources": []any{map[string]any{
			"resources": e.Resources,
			"providers": providers,
		}},
	}
	const at = "spec.api.encryption"
	decoded := &internalapi.EncryptionConfiguration{}
	if problem := decode(at, scheme(), config, decoded); problem != nil {
		return []Problem{*problem}
	}
	var problems []Problem
	for _, err := range validation.ValidateEncryptionConfiguration(decoded, false) {
		problems = append(problems, Problem{at + ".resources", err.Detail, "correct it"})
	}
	if len(problems) > 0 {
		return problems
	}
	// The plugin and the file are the operator's, which reads the file once.
	c.Refused[encryptionArgument+"-automatic-reload"] = at
	return c.file(EncryptionFile, encryptionArgument, config)
}
