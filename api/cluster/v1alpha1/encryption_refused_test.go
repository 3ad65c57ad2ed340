package v1alpha1_test

// secretsKey begins the ARNs of keys.
const secretsKey = "arn:aws:kms:eu-central-1:123456789012:key/"

// encryptionRefusals are cases of the encryption of resources in etcd.
func encryptionRefusals() []refusal {
	return []refusal{
		{
			"encryption with an alias", cluster,
			`spec: {api: {encryption: {kmsKeyARN: "arn:aws:kms:eu-central-1:123456789012:alias/secrets"}}}`, "",
			"write the ARN of a KMS key, for example arn:aws:kms:eu-central-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab",
		},
		{
			"encryption of nothing", cluster, "spec: {api: {encryption: {resources: []}}}", "",
			"spec.api.encryption.resources in body should have at least 1 items",
		},
		{
			"encryption of a kind", cluster, "spec: {api: {encryption: {resources: [Secret]}}}", "",
			"write resources in lower case, with the group of those that have one, for example secrets or widgets.example.com",
		},
		{
			"encryption of all resources", cluster, `spec: {api: {encryption: {resources: ["*.*"]}}}`, "",
			"write resources in lower case, with the group of those that have one, for example secrets or widgets.example.com",
		},
		{
			"encryption of a resource twice", cluster, "spec: {api: {encryption: {resources: [secrets, secrets]}}}", "",
			"names a resource twice: name each once",
		},
		{
			"no encryption later", cluster, "spec: {api: {encryption: {}}}", "spec: {api: {encryption: null}}",
			"encryption cannot be removed, since API servers without it cannot read the Secrets in etcd that it encrypts: set it back, or create a " +
				"new cluster without api.encryption, and move to it",
		},
		{
			"a key of one's own later", cluster, "spec: {api: {encryption: {}}}", `spec: {api: {encryption: {kmsKeyARN: "` + secretsKey + `1"}}}`,
			"kmsKeyARN cannot change, since nodes are replaced one at a time, and API servers with one key cannot read what those with " +
				"another encrypt: set it back, or create a new cluster; KMS rotates a key without a change of its ARN",
		},
		{
			"another key later", cluster, `spec: {api: {encryption: {kmsKeyARN: "` + secretsKey + `1"}}}`,
			`spec: {api: {encryption: {kmsKeyARN: "` + secretsKey + `2"}}}`,
			"kmsKeyARN cannot change",
		},
		{
			"the cluster's key later", cluster, `spec: {api: {encryption: {kmsKeyARN: "` + secretsKey + `1"}}}`,
			`spec: {api: {encryption: {kmsKeyARN: null}}}`,
			"kmsKeyARN cannot change",
		},
		{
			"encryption of more resources later", cluster, "spec: {api: {encryption: {}}}",
			"spec: {api: {encryption: {resources: [secrets, configmaps]}}}",
			"resources cannot change, since nodes are replaced one at a time, and API servers that do not encrypt a resource cannot read " +
				"what others encrypt: set it back, or create a new cluster",
		},
	}
}
