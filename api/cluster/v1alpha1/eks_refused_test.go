package v1alpha1_test

// eksRefusals are those of control planes that EKS runs.
func eksRefusals() []refusal {
	return []refusal{
		{
			"another management of nodes", group, "spec: {eks: {management: SelfManaged}}", "spec: {eks: {management: Managed}}",
			"eks.management cannot change: create another group",
		},
		{
			"no management of nodes anymore", group, "spec: {eks: {management: SelfManaged}}", "spec: {eks: null}",
			"eks.management cannot change: create another group",
		},
		{
			"self-managed nodes later", group, "", "spec: {eks: {management: SelfManaged}}",
			"eks.management cannot change: create another group",
		},
		{
			"an unknown management of nodes", group, "spec: {eks: {management: Mine}}", "", `spec.eks.management: Unsupported value: "Mine"`,
		},
		{
			"an unknown family of images", group, "spec: {eks: {imageFamily: Windows}}", "", `spec.eks.imageFamily: Unsupported value: "Windows"`,
		},
		{
			"EKS later", cluster, "", "spec: {controlPlane: {eks: {}}}",
			"eks cannot be added or removed: create a new cluster",
		},
		{
			"another key for Secrets", cluster,
			`spec: {controlPlane: {eks: {secretsKey: "arn:aws:kms:eu-central-1:123456789012:key/one"}}}`,
			`spec: {controlPlane: {eks: {secretsKey: "arn:aws:kms:eu-central-1:123456789012:key/two"}}}`,
			"secretsKey cannot change: create a new cluster",
		},
		{
			"not the ARN of a key", cluster, "spec: {controlPlane: {eks: {secretsKey: mine}}}", "",
			"write the ARN of a KMS key, for example arn:aws:kms:eu-central-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab",
		},
		{
			"not a principal of EKS", cluster, "spec: {controlPlane: {eks: {access: [{principal: me}]}}}", "",
			"write the ARN of a role or a user, for example arn:aws:iam::123456789012:role/developers",
		},
		{
			"a group of Kubernetes itself", cluster,
			`spec: {controlPlane: {eks: {access: [{principal: "arn:aws:iam::123456789012:role/a", groups: ["system:masters"]}]}}}`, "",
			"EKS reserves groups that begin with system: use another name, or a policy",
		},
		{
			"an unknown log", cluster, "spec: {controlPlane: {eks: {logs: [Kubelet]}}}", "",
			`spec.controlPlane.eks.logs[0]: Unsupported value: "Kubelet"`,
		},
		{
			"not an add-on of EKS", cluster, "spec: {controlPlane: {eks: {addons: [{name: vpc cni}]}}}", "",
			"write the name of an add-on of EKS, for example aws-ebs-csi-driver",
		},
		{
			"not a version of an add-on", cluster, "spec: {controlPlane: {eks: {addons: [{name: vpc-cni, version: '> v1'}]}}}", "",
			"write a version of the add-on, for example v1.20.4-eksbuild.2",
		},
		{
			"an unknown node pool", cluster, "spec: {controlPlane: {eks: {autoMode: {nodePools: [gpu]}}}}", "",
			`spec.controlPlane.eks.autoMode.nodePools[0]: Unsupported value: "gpu"`,
		},
		{
			"Auto Mode without node pools", cluster, "spec: {controlPlane: {eks: {autoMode: {}}}}", "",
			"spec.controlPlane.eks.autoMode.nodePools: Required value",
		},
		{
			"an unknown state of Auto Mode", cluster, "spec: {controlPlane: {eks: {autoMode: {nodePools: [], state: Paused}}}}", "",
			`spec.controlPlane.eks.autoMode.state: Unsupported value: "Paused"`,
		},
		{
			"Auto Mode later without the add-ons", cluster, "spec: {controlPlane: {eks: {}}}",
			"spec: {controlPlane: {eks: {autoMode: {nodePools: [system]}}}}",
			"EKS installed its network add-ons when it created this cluster: set autoMode.selfManagedAddons to Kept",
		},
		{
			"no Auto Mode anymore", cluster, "spec: {controlPlane: {eks: {autoMode: {nodePools: []}}}}",
			"spec: {controlPlane: {eks: {autoMode: null}}}",
			"autoMode cannot be removed, since EKS must disable it first: set autoMode.state to Disabled",
		},
		{
			"other add-ons with Auto Mode", cluster, "spec: {controlPlane: {eks: {autoMode: {nodePools: []}}}}",
			"spec: {controlPlane: {eks: {autoMode: {selfManagedAddons: Kept}}}}",
			"selfManagedAddons cannot change, since EKS installs them only when it creates a cluster: set it back",
		},
		{
			"pods without a role", cluster, "spec: {controlPlane: {eks: {podIdentities: [{namespace: a, serviceAccount: b}]}}}", "",
			"set either role or policies",
		},
		{
			"pods with a user", cluster,
			`spec: {controlPlane: {eks: {podIdentities: [{namespace: a, serviceAccount: b, role: "arn:aws:iam::123456789012:user/c"}]}}}`, "",
			"write the ARN of a role, for example arn:aws:iam::123456789012:role/web",
		},
		{
			"the name of a policy", cluster,
			"spec: {controlPlane: {eks: {podIdentities: [{namespace: a, serviceAccount: b, policies: [AmazonS3ReadOnlyAccess]}]}}}", "",
			"write ARNs of managed policies, for example arn:aws:iam::aws:policy/service-role/AmazonEBSCSIDriverPolicy",
		},
		{
			"a namespace with a dot", cluster,
			`spec: {controlPlane: {eks: {podIdentities: [{namespace: a.b, serviceAccount: b, role: "arn:aws:iam::123456789012:role/c"}]}}}`, "",
			"write the name of a namespace",
		},
		{
			"not a service account", cluster,
			`spec: {controlPlane: {eks: {podIdentities: [{namespace: a, serviceAccount: B_, role: "arn:aws:iam::123456789012:role/c"}]}}}`, "",
			"write the name of a service account",
		},
	}
}
