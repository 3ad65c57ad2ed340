package v1alpha1_test

// groupRefusals are of instance groups.
func groupRefusals() []refusal {
	return []refusal{
		{
			"a group's name that cannot name a stack", group, "metadata: {name: 1workers}", "",
			"a stack is named after the group: use a name of at most 63 lower-case letters, digits and hyphens that begins with a letter",
		},
		{
			"a group named like a slot", group, "metadata: {name: demo-control-plane-0}", "",
			"names of control-plane stacks have this form: use a name that does not end in control-plane and a number",
		},
		{
			"no cluster", group, `spec: {cluster: ""}`, "",
			"spec.cluster in body should be at least 1 chars long",
		},
		{
			"a placement in an existing placement group and in an own one", group, "spec: {placement: {group: a, strategy: spread}}", "",
			"set either group, for an existing placement group, or strategy, for one of this group's own",
		},
		{
			"a placement without a placement group", group, "spec: {placement: {}}", "",
			"set either group, for an existing placement group, or strategy, for one of this group's own",
		},
		{
			"another strategy of placement groups", group, "spec: {placement: {strategy: stack}}", "",
			`Unsupported value: "stack": supported values: "cluster", "spread", "partition"`,
		},
		{
			"partitions of a spread placement group", group, "spec: {placement: {strategy: spread, partitions: 2}}", "",
			"set partitions with the strategy partition, and only with it",
		},
		{
			"no number of partitions", group, "spec: {placement: {strategy: partition}}", "",
			"set partitions with the strategy partition, and only with it",
		},
		{
			"too many partitions", group, "spec: {placement: {strategy: partition, partitions: 8}}", "",
			"spec.placement.partitions in body should be less than or equal to 7",
		},
		{
			"a name that no placement group has", group, `spec: {placement: {group: "é"}}`, "",
			"the name of a placement group has ASCII characters only",
		},
		{
			"another strategy later", group, "spec: {placement: {strategy: spread}}", "spec: {placement: {strategy: cluster}}",
			"a placement group cannot be deleted while instances are in it, so a placement with a strategy cannot change: create a new group",
		},
		{
			"no strategy later", group, "spec: {placement: {strategy: spread}}", "spec: {placement: null}",
			"a placement group cannot be deleted while instances are in it, so a placement with a strategy cannot change: create a new group",
		},
		{
			"reserved capacity without any", group, "spec: {capacityReservation: {}}", "",
			"set preference, id or resourceGroup",
		},
		{
			"two targets of reserved capacity", group,
			`spec: {capacityReservation: {id: cr-0123456789abcdef0, resourceGroup: "arn:aws:resource-groups:eu-central-1:123456789012:group/a"}}`, "",
			"set either id or resourceGroup",
		},
		{
			"a target and another preference", group, "spec: {capacityReservation: {id: cr-0123456789abcdef0, preference: open}}", "",
			"with id or resourceGroup, the only preference is capacity-reservations-only: leave preference out, or set it to that",
		},
		{
			"another preference for reserved capacity", group, "spec: {capacityReservation: {preference: some}}", "",
			`Unsupported value: "some": supported values: "open", "none", "capacity-reservations-only"`,
		},
		{
			"a Capacity Block without its reservation", group, "spec: {capacityReservation: {preference: open, type: CapacityBlock}}", "",
			"a Capacity Block is named by its reservation: set id",
		},
		{
			"not the ID of a capacity reservation", group, "spec: {capacityReservation: {id: reserved}}", "",
			"write the ID of a capacity reservation, for example cr-0123456789abcdef0",
		},
		{
			"not the ARN of a resource group", group, "spec: {capacityReservation: {resourceGroup: reserved}}", "",
			"write the ARN of a resource group, for example arn:aws:resource-groups:eu-central-1:123456789012:group/reserved",
		},
		{
			"spot instances with reserved capacity", group, "spec: {spot: {}, capacityReservation: {preference: open}}", "",
			"spot instances do not use reserved capacity: leave out spot or capacityReservation",
		},
		{
			"two types in a reservation", group, "spec: {instanceTypes: [m6i.large, m6a.large], capacityReservation: {id: cr-0123456789abcdef0}}", "",
			"a capacity reservation has one instance type: name only that type, or use capacityReservation.resourceGroup",
		},
		{
			"a manager that does not exist", group, "spec: {minSize: 0, manager: kOps}", "",
			`Unsupported value: "kOps": supported values: "AutoScaling", "Karpenter"`,
		},
		{
			"another manager later", group, "spec: {minSize: 0}", "spec: {manager: Karpenter}",
			"manager cannot change: create another group",
		},
		{
			"a number of nodes of Karpenter", group, "spec: {manager: Karpenter}", "",
			"Karpenter creates the nodes of this group: set minSize to 0, and leave out replicas",
		},
		{
			"spot instances of Karpenter", group, "spec: {minSize: 0, manager: Karpenter, spot: {}}", "",
			"Karpenter ignores autoscale, spot, placement and capacityReservation: leave them out, and write requirements into a NodePool",
		},
		{
			"another cluster later", group, "", "spec: {cluster: other}",
			"cluster cannot change: create a new group in the other cluster",
		},
		{
			"a least size above the greatest", group, "spec: {minSize: 4}", "",
			"minSize is greater than maxSize: lower it, or raise maxSize",
		},
		{
			"replicas above maxSize", group, "spec: {minSize: 1, maxSize: 3, replicas: 4}", "",
			"replicas must be between minSize and maxSize: change replicas, minSize or maxSize",
		},
		{
			"replicas of a group that is autoscaled", group, "spec: {minSize: 1, maxSize: 3, replicas: 2, autoscale: true}", "",
			"with autoscale, the cluster autoscaler determines the number of nodes: remove replicas, or set autoscale to false",
		},
		{
			"a size below nothing", group, "spec: {minSize: -1}", "",
			"spec.minSize in body should be greater than or equal to 0",
		},
		{
			"a group that cannot have a node", group, "spec: {minSize: 0, maxSize: 0}", "",
			"spec.maxSize in body should be greater than or equal to 1",
		},
		{
			"too big a group", group, "spec: {maxSize: 1001}", "",
			"spec.maxSize in body should be less than or equal to 1000",
		},
		{
			"no instance types", group, "spec: {instanceTypes: []}", "",
			"spec.instanceTypes in body should have at least 1 items",
		},
		{
			"an instance type twice", group, "spec: {instanceTypes: [m6i.large, m6i.large]}", "",
			"names an instance type twice: name each once",
		},
		{
			"not a type of machine", group, "spec: {instanceTypes: [large]}", "",
			"write instance types, for example m6i.large",
		},
		{
			"an Arm type among others", group, "spec: {instanceTypes: [m6i.large, m7g.large]}", "",
			"an instance type is not of the architecture: create a group for each architecture, and set architecture to arm64 for Graviton types",
		},
		{
			"another type among Arm's", group, "spec: {architecture: arm64}", "",
			"an instance type is not of the architecture: create a group for each architecture, and set architecture to arm64 for Graviton types",
		},
		{
			"another architecture later", group, "", "spec: {architecture: arm64, instanceTypes: [m7g.large]}",
			"architecture cannot change: create a new group",
		},
		{
			"more on demand than there can be", group, "spec: {spot: {onDemandBase: 4}}", "",
			"spot.onDemandBase is greater than maxSize: lower it, or raise maxSize",
		},
		{
			"a base below nothing", group, "spec: {spot: {onDemandBase: -1}}", "",
			"spec.spot.onDemandBase in body should be greater than or equal to 0",
		},
		{
			"more than all on demand", group, "spec: {spot: {onDemandPercentage: 101}}", "",
			"spec.spot.onDemandPercentage in body should be less than or equal to 100",
		},
		{
			"not a strategy", group, "spec: {spot: {strategy: cheapest}}", "",
			`supported values: "price-capacity-optimized", "capacity-optimized", "lowest-price"`,
		},
		{
			"not a price", group, "spec: {spot: {maxPrice: $1}}", "",
			"write US dollars per hour, for example 0.05",
		},
		{
			"a group's zone twice", group, "spec: {zones: [eu-central-1a, eu-central-1a]}", "",
			"names a zone twice: name each once",
		},
		{
			"a group's subnet twice", group, "spec: {subnets: [subnet-01234567, subnet-01234567]}", "",
			"names a subnet twice: name each once",
		},
		{
			"not a group's subnet", group, "spec: {subnets: [private]}", "",
			"write the ID of a subnet, for example subnet-0123456789abcdef0",
		},
		{
			"not a group's image", group, "spec: {image: ubuntu}", "",
			"write the ID of an AMI, for example ami-0123456789abcdef0",
		},
		{
			"not a device", group, "spec: {volumes: [{device: /dev/sda1}]}", "",
			"use /dev/sdf to /dev/sdp",
		},
		{
			"a device twice", group, "spec: {volumes: [{device: /dev/sdf}, {device: /dev/sdf}]}", "",
			"names a device twice: name each once",
		},
		{
			"a label of the operator's", group, "spec: {labels: {cluster-operator.aws/bundle: a}}", "",
			"labels that begin with cluster-operator.aws/ are reserved for the operator: use another key",
		},
		{
			"a label that kubelets may not set", group, "spec: {labels: {node-restriction.kubernetes.io/a: b}}", "",
			"kubelets may not set labels of kubernetes.io and k8s.io: use a key of your own domain, of node.kubernetes.io or of kubelet.kubernetes.io",
		},
		{
			"a label of k8s.io", group, "spec: {labels: {k8s.io/a: b}}", "",
			"kubelets may not set labels of kubernetes.io and k8s.io: use a key of your own domain, of node.kubernetes.io or of kubelet.kubernetes.io",
		},
		{
			"the label of the instance type", group, "spec: {labels: {node.kubernetes.io/instance-type: big}}", "",
			"the label node.kubernetes.io/instance-type is set from the instance: leave it out",
		},
		{
			"a label's value too long", group, "spec: {labels: {a: a123456789012345678901234567890123456789012345678901234567890123}}", "",
			"a label has a key of at most 317 characters and a value of at most 63: shorten it",
		},
		{
			"a taint with no effect that there is", group, "spec: {taints: [{key: a, effect: Never}]}", "",
			"the effect of a taint is NoSchedule, PreferNoSchedule or NoExecute",
		},
		{
			"a taint twice", group, "spec: {taints: [{key: a, effect: NoSchedule}, {key: a, value: b, effect: NoSchedule}]}", "",
			"Duplicate value",
		},
		{
			"a taint with a time", group, `spec: {taints: [{key: a, effect: NoExecute, timeAdded: "2026-01-01T00:00:00Z"}]}`, "",
			"timeAdded is set by Kubernetes: leave it out",
		},
		{
			"a group's tag of AWS's", group, `spec: {tags: {"AWS:a": b}}`, "",
			"tags that begin with aws: are reserved for AWS: use another key",
		},
		{
			"a group's tag of the operator's", group, "spec: {tags: {cluster-operator.aws/role: b}}", "",
			"tags that begin with kubernetes.io/cluster/ or cluster-operator.aws/ are reserved for the operator: use another key",
		},
		{
			"too many security groups", group, "spec: {securityGroups: [sg-00000001, sg-00000002, sg-00000003, sg-00000004, sg-00000005]}",
			"",
			"spec.securityGroups: Too many: 5: must have at most 4 items",
		},
		{
			"an argument of the operator's of the kubelet", group, "spec: {kubeletExtraArgs: {node-labels: a=b}}", "",
			"bootstrap-kubeconfig, cert-dir, cloud-provider, config, container-runtime-endpoint, hostname-override, image-credential-provider-bin-dir, image-credential-provider-config, kubeconfig, node-ip, node-labels, provider-id, register-node, register-with-taints, root-dir are set by the operator: leave them out",
		},
		{
			"a provider ID", group, "spec: {kubeletExtraArgs: {provider-id: a}}", "",
			"bootstrap-kubeconfig, cert-dir, cloud-provider, config, container-runtime-endpoint, hostname-override, image-credential-provider-bin-dir, image-credential-provider-config, kubeconfig, node-ip, node-labels, provider-id, register-node, register-with-taints, root-dir are set by the operator: leave them out",
		},
		{
			"a batch of zero instances", group, "spec: {rollingUpdate: {batchSize: 0}}", "",
			"batchSize is a number of at least 1, or a percentage such as 25%",
		},
		{
			"a batch of more than 100%", group, "spec: {rollingUpdate: {batchSize: 101%}}", "",
			"batchSize is a number of at least 1, or a percentage such as 25%",
		},
		{
			"fewer than none in service", group, "spec: {rollingUpdate: {minInService: -1}}", "",
			"minInService is a number of at least 0, or a percentage such as 75%",
		},
		{
			"a word for what stays in service", group, "spec: {rollingUpdate: {minInService: most}}", "",
			"minInService is a number of at least 0, or a percentage such as 75%",
		},
		{
			"a pause longer than CloudFormation waits", group, "spec: {rollingUpdate: {pause: 1h}}", "",
			"use 0s to 45m, since CloudFormation waits at most an hour for a batch",
		},
		{
			"a drain of days", group, "spec: {rollingUpdate: {drainTimeout: 48h}}", "",
			"use 0s to 24h",
		},
		{
			"a surge of nothing in particular", group, "spec: {rollingUpdate: {engine: Operator, surge: some}}", "",
			"surge is a number of at least 0, or a percentage such as 25%",
		},
		{
			"a surge that CloudFormation does not know", group, "spec: {rollingUpdate: {surge: 1}}", "",
			"CloudFormation supports neither surge nor canary: leave them out, or set engine to Operator",
		},
		{
			"a canary that CloudFormation does not know", group, "spec: {rollingUpdate: {engine: CloudFormation, canary: 1}}", "",
			"CloudFormation supports neither surge nor canary: leave them out, or set engine to Operator",
		},
		{
			"fewer canaries than none", group, "spec: {rollingUpdate: {engine: Operator, canary: -1}}", "",
			"spec.rollingUpdate.canary in body should be greater than or equal to 0",
		},
		{
			"more canaries than there is patience for", group, "spec: {rollingUpdate: {engine: Operator, canary: 101}}", "",
			"spec.rollingUpdate.canary in body should be less than or equal to 100",
		},
		{
			"not an engine", group, "spec: {rollingUpdate: {engine: Terraform}}", "",
			`supported values: "CloudFormation", "Operator"`,
		},
		{
			"no time to become ready", group, "spec: {rollingUpdate: {readyTimeout: 1s}}", "",
			"use 10s to 1h, the longest that CloudFormation waits for a batch",
		},
		{
			"not a time to become ready", group, "spec: {rollingUpdate: {readyTimeout: never}}", "",
			"spec.rollingUpdate.readyTimeout in body must be of type duration",
		},
		{
			"more patience than CloudFormation has", group, "spec: {rollingUpdate: {pause: 40m, readyTimeout: 30m}}", "",
			"pause and readyTimeout (15m when empty) together are more than 1h, which is the longest that CloudFormation waits for a batch: lower one of them",
		},
		{
			"not a way out of a drain", group, "spec: {rollingUpdate: {onDrainTimeout: Wait}}", "",
			`supported values: "Continue", "Abandon"`,
		},
		{
			"a repair at once", group, "spec: {repair: {after: 1s}}", "",
			"use 10s to 24h",
		},
		{
			"a repair at no time", group, "spec: {repair: {after: later}}", "",
			"spec.repair.after in body must be of type duration",
		},
		{
			"a word for how many may be unwell", group, "spec: {repair: {maxUnhealthy: few}}", "",
			"maxUnhealthy is a number of at least 0, or a percentage such as 40%",
		},
		{
			"not a time", group, "spec: {rollingUpdate: {drainTimeout: soon}}", "",
			"must be of type duration",
		},
	}
}

// releaseRefusals are of releases.
func releaseRefusals() []refusal {
	return []refusal{
		{
			"a release's name that is not a version", theRelease, "metadata: {name: stable}", "",
			"use a version as the name, for example v1.36.3 or v1.36.3-acme.1",
		},
		{
			"not a version of Kubernetes", theRelease, "spec: {kubernetes: latest}", "",
			"write a version of Kubernetes, for example v1.36.3",
		},
		{
			"not a version of the templates", theRelease, "spec: {resourceSet: v1}", "",
			"write a version of the templates, for example 1.1.0",
		},
		{
			"another version later", theRelease, "", "spec: {kubernetes: v1.36.4}",
			"a release cannot change, except its state: create a new one",
		},
		{
			"other components later", theRelease, "", "spec: {components: {etcd: 3.6.9-0}}",
			"components of a release cannot change: create a new one",
		},
		{
			"no artifacts later", theRelease, "", "spec: {artifacts: null}",
			"artifacts of a release cannot change: create a new one",
		},
		{
			"other images later", theRelease, "", "spec: {images: {amd64: {parameter: /other}}}",
			"images of a release cannot change: create a new one",
		},
		{
			"other addons later", theRelease, "",
			`spec: {addons: [{name: cilium, chart: cilium, repository: "https://helm.cilium.io", version: 1.18.1}]}`,
			"addons of a release cannot change: create a new one",
		},
		{
			"other values of an addon later", theRelease, "",
			`spec: {addons: [{name: cilium, chart: cilium, repository: "https://helm.cilium.io", version: 1.18.0, values: {a: {b: 2}}}]}`,
			"addons of a release cannot change: create a new one",
		},
		{
			"not a state", theRelease, "spec: {state: Old}", "",
			`supported values: "Active", "Deprecated"`,
		},
		{
			"no images", theRelease, "spec: {images: null}", "",
			"spec.images: Required value",
		},
		{
			"images of another processor", theRelease, "spec: {images: {riscv64: {parameter: /a}}}", "",
			"the keys of images are architectures: use amd64 or arm64",
		},
		{
			"an image by nothing", theRelease, "spec: {images: {amd64: {parameter: null}}}", "",
			"give parameter or byRegion",
		},
		{
			"a parameter without a slash", theRelease, "spec: {images: {amd64: {parameter: ubuntu}}}", "",
			"write the name of an SSM parameter that begins with a slash",
		},
		{
			"not an image of a region", theRelease, "spec: {images: {amd64: {parameter: null, byRegion: {eu-central-1: ubuntu}}}}", "",
			"write the IDs of AMIs, for example ami-0123456789abcdef0",
		},
		{
			"an artifact with neither a hash nor a reason", theRelease,
			`spec: {artifacts: [{name: a, path: /a, sources: {amd64: {url: "https://example.com/a"}}}]}`, "",
			"give sha256, or say in unverified why it is not known",
		},
		{
			"not a hash", theRelease,
			`spec: {artifacts: [{name: a, path: /a, sources: {amd64: {url: "https://example.com/a", sha256: abc}}}]}`, "",
			"write 64 lower-case hex digits",
		},
		{
			"an artifact fetched without TLS", theRelease,
			`spec: {artifacts: [{name: a, path: /a, sources: {amd64: {url: "http://example.com/a", unverified: a}}}]}`, "",
			"write an https address",
		},
		{
			"an artifact with a relative path", theRelease,
			`spec: {artifacts: [{name: a, path: a, sources: {amd64: {url: "https://example.com/a", unverified: a}}}]}`, "",
			"write an absolute path",
		},
		{
			"an artifact of another processor", theRelease,
			`spec: {artifacts: [{name: a, path: /a, sources: {riscv64: {url: "https://example.com/a", unverified: a}}}]}`, "",
			"the keys of sources are architectures: use amd64 or arm64",
		},
	}
}
