package v1alpha1_test

import "strings"

// clusterRefusals are cases of a cluster's fields other than its network and control plane.
func clusterRefusals() []refusal {
	return []refusal{
		{
			"a name that cannot name a stack", cluster, "metadata: {name: 1demo}", "",
			"stacks, a zone and a bucket are named after the cluster: use a name of at most 40 lower-case letters, digits and hyphens that begins with a letter",
		},
		{
			"a name too long for a bucket", cluster, "metadata: {name: a1234567890123456789012345678901234567890}", "",
			"stacks, a zone and a bucket are named after the cluster: use a name of at most 40 lower-case letters, digits and hyphens that begins with a letter",
		},
		{
			"a name that load balancers may not have", cluster, "metadata: {name: internal}", "",
			"the API's load balancer is named after the cluster, and AWS rejects load balancers whose names begin with internal-: use another name",
		},
		{
			"a name that begins as load balancers' may not", cluster, "metadata: {name: internal-api}", "",
			"the API's load balancer is named after the cluster, and AWS rejects load balancers whose names begin with internal-: use another name",
		},
		{
			"a name that security groups may not have", cluster, "metadata: {name: sg-1}", "",
			"security groups are named after the cluster, and AWS rejects those whose names begin with sg-: use another name",
		},
		{
			"a name that buckets may not have", cluster, "metadata: {name: sthree}", "",
			"a bucket is named after the cluster, and AWS rejects buckets whose names begin with xn--, sthree- or amzn-s3-demo-: use another name",
		},
		{
			"a name that hides AWS's own zone", cluster, "metadata: {name: compute}", "",
			"the cluster's zone would be ec2.internal or compute.internal, which would hide AWS's own names of instances: use another name",
		},
		{
			"no release", cluster, `spec: {release: ""}`, "",
			"spec.release in body should be at least 1 chars long",
		},
		{
			"no release later", cluster, "", "spec: {release: null}",
			"release cannot be removed: name one of kubectl get releases",
		},
		{
			"not a region", cluster, "spec: {region: europe}", "",
			"write an AWS region, for example eu-central-1",
		},
		{
			"another region later", cluster, "", "spec: {region: eu-west-1, network: {zones: [eu-west-1a, eu-west-1b, eu-west-1c]}}",
			"region cannot change: create a new cluster in the other region",
		},
		{
			"a role later", cluster, "", `spec: {role: {arn: "arn:aws:iam::123456789012:role/clusters"}}`,
			"role cannot change, since it determines the account: create a new cluster",
		},
		{
			"another role later", cluster, `spec: {role: {arn: "arn:aws:iam::123456789012:role/clusters"}}`,
			`spec: {role: {arn: "arn:aws:iam::210987654321:role/clusters"}}`,
			"role cannot change, since it determines the account: create a new cluster",
		},
		{
			"not the ARN of a role", cluster, `spec: {role: {arn: "arn:aws:iam::123456789012:user/me"}}`, "",
			"write the ARN of a role, for example arn:aws:iam::123456789012:role/clusters",
		},
		{
			"an external ID of one character", cluster, `spec: {role: {arn: "arn:aws:iam::123456789012:role/clusters", externalID: a}}`, "",
			"spec.role.externalID in body should be at least 2 chars long",
		},
		{
			"who may reach the API is not a range", cluster, "spec: {api: {allowedCIDRs: [192.0.2.1]}}", "",
			"write IPv4 ranges, for example 192.0.2.0/24",
		},
		{
			"who may reach the API is in IPv6", cluster, `spec: {api: {allowedCIDRs: ["2001:db8::/32"]}}`, "",
			"write IPv4 ranges, for example 192.0.2.0/24",
		},
		{
			"a range with a host's address", cluster, "spec: {api: {allowedCIDRs: [192.0.2.7/24]}}", "",
			"a range has host bits set: write, for example, 192.0.2.0/24, not 192.0.2.7/24",
		},
		{
			"a range twice", cluster, "spec: {api: {allowedCIDRs: [192.0.2.0/24, 192.0.2.0/24]}}", "",
			"names a range twice: name each once",
		},
		{
			"not a security group", cluster, "spec: {api: {securityGroups: [default]}}", "",
			"write the IDs of security groups, for example sg-0123456789abcdef0",
		},
		{
			"a security group twice", cluster, "spec: {api: {securityGroups: [sg-01234567, sg-01234567]}}", "",
			"names a security group twice: name each once",
		},
		{
			"the API's access later", cluster, "", "spec: {api: {access: Internal}}",
			"api.access cannot change, since nodes reach the API under its load balancer's name: create a new cluster",
		},
		{
			"not a name of the API", cluster, "spec: {api: {extraNames: [API.example.com]}}", "",
			"write DNS names in lower case, or addresses",
		},
		{
			"a name of the API twice", cluster, "spec: {api: {extraNames: [a.example.com, a.example.com]}}", "",
			"has a name twice: list each once",
		},
		{
			"no room for an audit log", cluster, "spec: {api: {audit: {maxSize: 20000}}}", "",
			"spec.api.audit.maxSize in body should be less than or equal to 10240",
		},
		{
			"a prefix in the cluster's own bucket", cluster, "spec: {api: {audit: {ship: {prefix: pki/}}}}", "",
			"prefix, account and kmsKeyARN are for a bucket of yours: name it in bucket, or leave them out",
		},
		{
			"not the name of a bucket", cluster, "spec: {api: {audit: {ship: {bucket: 's3://logs'}}}}", "",
			"write the name of a bucket: lower-case letters, digits, dots and hyphens",
		},
		{
			"a prefix without a slash", cluster, "spec: {api: {audit: {ship: {bucket: logs, prefix: audit}}}}", "",
			"write letters, digits, dots, hyphens and underscores with slashes after them, for example logs/kubernetes/",
		},
		{
			"a prefix that is a pattern", cluster, "spec: {api: {audit: {ship: {bucket: logs, prefix: '*/'}}}}", "",
			"write letters, digits, dots, hyphens and underscores with slashes after them, for example logs/kubernetes/",
		},
		{
			"not an account", cluster, "spec: {api: {audit: {ship: {bucket: logs, account: '12345678901'}}}}", "",
			"write the 12 digits of an account's ID",
		},
		{
			"an alias of a key", cluster,
			`spec: {api: {audit: {ship: {bucket: logs, kmsKeyARN: "arn:aws:kms:eu-central-1:123456789012:alias/logs"}}}}`, "",
			"write the ARN of a KMS key, for example arn:aws:kms:eu-central-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab",
		},
		{
			"an audit log that is shipped too rarely", cluster, "spec: {api: {audit: {ship: {every: 2h}}}}", "",
			"use 10s to 1h",
		},
		{
			"an audit policy that is a text", cluster, "spec: {api: {audit: {policy: audit.yaml}}}", "",
			"spec.api.audit.policy",
		},
		{
			"users without an object", cluster, "spec: {api: {authentication: [{jwt: []}]}}", "",
			"spec.api.authentication",
		},
		{
			"not a Pod Security Standard", cluster, "spec: {api: {podSecurity: {enforce: strict}}}", "",
			`spec.api.podSecurity.enforce: Unsupported value: "strict"`,
		},
		{
			"not a namespace", cluster, "spec: {api: {podSecurity: {exemptNamespaces: [kube_system]}}}", "",
			"write names of namespaces",
		},
		{
			"a namespace twice", cluster, "spec: {api: {podSecurity: {exemptNamespaces: [a, a]}}}", "",
			"names a namespace twice: name each once",
		},
		{
			"not a hosted zone", cluster, "spec: {dns: {hostedZoneID: example.com, name: api.example.com}}", "",
			"write the ID of a hosted zone, for example Z0123456789ABCDEFGHIJ",
		},
		{
			"not a DNS name", cluster, "spec: {dns: {hostedZoneID: Z123, name: api}}", "",
			"write a DNS name, for example api.demo.example.com",
		},
		{
			"too many bastions", cluster, "spec: {bastion: {replicas: 11}}", "",
			"spec.bastion.replicas in body should be less than or equal to 10",
		},
		{
			"not a type of bastion", cluster, "spec: {bastion: {instanceType: small}}", "",
			"write an instance type, for example t3.micro",
		},
		{
			"who may reach bastions is not a range", cluster, "spec: {bastion: {allowedCIDRs: [anywhere]}}", "",
			"write IPv4 ranges, for example 192.0.2.0/24",
		},
		{
			"who may reach nodes is not a range", cluster, "spec: {ssh: {allowedCIDRs: [anywhere]}}", "",
			"write IPv4 ranges, for example 192.0.2.0/24",
		},
		{
			"a private key", cluster, `spec: {ssh: {authorizedKeys: ["-----BEGIN OPENSSH PRIVATE KEY-----"]}}`, "",
			"write public keys in one line as in authorized_keys, for example ssh-ed25519 AAAAC3… someone@example.com",
		},
		{
			"a key of a kind that is no longer safe", cluster, "spec: {ssh: {authorizedKeys: [ssh-dss AAAA]}}", "",
			"write public keys in one line as in authorized_keys, for example ssh-ed25519 AAAAC3… someone@example.com",
		},
		{
			"a key twice", cluster, "spec: {ssh: {authorizedKeys: [ssh-ed25519 AAAA, ssh-ed25519 AAAA]}}", "",
			"names a key twice: name each once",
		},
		{
			"not the ARN of a policy", cluster, "spec: {iam: {workerPolicies: [AmazonSSMManagedInstanceCore]}}", "",
			"write the ARNs of IAM policies, for example arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore",
		},
		{
			"a policy twice", cluster, `spec: {iam: {controlPlanePolicies: ["arn:aws:iam::aws:policy/A", "arn:aws:iam::aws:policy/A"]}}`,
			"",
			"names a policy twice: name each once",
		},
		{
			"the address of a repository", cluster,
			"spec: {iam: {imageRepositories: [123456789012.dkr.ecr.eu-central-1.amazonaws.com:443/web]}}", "",
			"write names or ARNs of ECR repositories, for example team/* or arn:aws:ecr:*:123456789012:repository/team/*",
		},
		{
			"a repository twice", cluster, "spec: {iam: {imageRepositories: [web, web]}}", "",
			"names a repository twice: name each once",
		},
		{
			"the name of a hosted zone", cluster, "spec: {iam: {hostedZones: [example.com]}}", "",
			"write IDs of hosted zones, for example Z0123456789ABCDEFGHIJ",
		},
		{
			"not the ARN of a boundary", cluster, "spec: {iam: {permissionsBoundary: boundary}}", "",
			"write the ARN of an IAM policy, for example arn:aws:iam::123456789012:policy/boundary",
		},
		{
			"an issuer without TLS", cluster, `spec: {serviceAccountIssuer: {url: "http://example.com"}}`, "",
			"write an https URL without a query or a trailing slash, for example https://oidc.example.com/demo",
		},
		{
			"an issuer that ends in a slash", cluster, `spec: {serviceAccountIssuer: {url: "https://example.com/"}}`, "",
			"write an https URL without a query or a trailing slash, for example https://oidc.example.com/demo",
		},
		{
			"an addon twice", cluster, "spec: {addons: [{name: a, disabled: true}, {name: a, disabled: true}]}", "",
			"Duplicate value",
		},
		{
			"an addon whose name cannot be a Helm release's", cluster, "spec: {addons: [{name: A}]}", "",
			"write lower-case letters, digits and hyphens, as in names of Helm releases",
		},
		{
			"an addon's namespace cannot be", cluster, "spec: {addons: [{name: a, namespace: kube_system}]}", "",
			"write the name of a namespace",
		},
		{
			"a chart without a version", cluster, `spec: {addons: [{name: a, chart: "oci://example.com/a"}]}`, "",
			"chart needs a version: pin one",
		},
		{
			"a chart without a repository", cluster, "spec: {addons: [{name: a, chart: a, version: 1.0.0}]}", "",
			"chart is a name: give its repository, or write an oci:// address",
		},
		{
			"a repository without a chart", cluster, `spec: {addons: [{name: a, repository: "https://example.com"}]}`, "",
			"repository is for a chart of your own: give chart as well",
		},
		{
			"a chart that is left out", cluster,
			`spec: {addons: [{name: a, chart: "oci://example.com/a", version: 1.0.0, disabled: true}]}`, "",
			"disabled leaves out an addon of the release: leave out chart, or disabled",
		},
		{
			"a repository without TLS", cluster, `spec: {addons: [{name: a, chart: a, version: 1.0.0, repository: "http://example.com"}]}`,
			"",
			"write the https address of a chart repository",
		},
		{
			"a tag of AWS's", cluster, `spec: {tags: {"aws:a": b}}`, "",
			"tags that begin with aws: are reserved for AWS: use another key",
		},
		{
			"a tag of the cloud provider's", cluster, "spec: {tags: {kubernetes.io/cluster/other: owned}}", "",
			"tags that begin with kubernetes.io/cluster/ or cluster-operator.aws/ are reserved for the operator: use another key",
		},
		{
			"a tag of the operator's", cluster, "spec: {tags: {cluster-operator.aws/cluster: other}}", "",
			"tags that begin with kubernetes.io/cluster/ or cluster-operator.aws/ are reserved for the operator: use another key",
		},
		{
			"a tag without a key", cluster, `spec: {tags: {"": b}}`, "",
			"a tag has a key of 1 to 128 characters and a value of at most 256: shorten it",
		},
		{
			"not an update policy", cluster, "spec: {updatePolicy: Sometimes}", "",
			`supported values: "Automatic", "Manual"`,
		},
		{
			"not a volume policy", cluster, "spec: {volumePolicy: Sometimes}", "",
			`supported values: "Retain", "Delete"`,
		},
	}
}

// networkRefusals are of networks.
func networkRefusals() []refusal {
	return []refusal{
		{
			"neither a new VPC nor an existing one", cluster, "spec: {network: {cidr: null, zones: null}}", "",
			"give cidr and zones for a new VPC, or vpc and subnets for an existing one",
		},
		{
			"a new VPC and an existing one", cluster, "spec: {network: {vpc: vpc-01234567}}", "",
			"cidr and zones are of a new VPC, vpc and subnets of an existing one: give the one or the other",
		},
		{
			"subnets in a new VPC", cluster, "spec: {network: {subnets: [{id: subnet-01234567, zone: eu-central-1a, role: Private}]}}", "",
			"cidr and zones are of a new VPC, vpc and subnets of an existing one: give the one or the other",
		},
		{
			"a new VPC without zones", cluster, "spec: {network: {zones: null}}", "",
			"a new VPC needs zones: name at least one",
		},
		{
			"a new VPC with no zones", cluster, "spec: {network: {zones: []}}", "",
			"spec.network.zones in body should have at least 1 items",
		},
		{
			"an existing VPC without subnets", existing, "spec: {network: {subnets: null}}", "",
			"an existing VPC needs subnets: list the subnets to use",
		},
		{
			"not a VPC", existing, "spec: {network: {vpc: default}}", "",
			"write the ID of a VPC, for example vpc-0123456789abcdef0",
		},
		{
			"another range later", cluster, "", "spec: {network: {cidr: 10.1.0.0/16}}",
			"cidr cannot change: create a new cluster",
		},
		{
			"another VPC later", existing, "", "spec: {network: {vpc: vpc-01234567}}",
			"vpc cannot change: create a new cluster",
		},
		{
			"a new VPC becomes an existing one", cluster, "",
			"spec: {network: {cidr: null, zones: null, vpc: vpc-01234567, subnets: [{id: subnet-01234567, zone: eu-central-1a, role: Private}]}}",
			"cidr cannot change: create a new cluster",
		},
		{
			"a zone is removed", cluster, "spec: {controlPlane: {zones: [eu-central-1a]}}",
			"spec: {network: {zones: [eu-central-1a, eu-central-1b]}}",
			"zones cannot be removed, since they contain subnets: keep the zone, and limit instance groups to others with their spec.zones",
		},
		{
			"a zone twice", cluster, "spec: {network: {zones: [eu-central-1a, eu-central-1a]}}", "",
			"names a zone twice: name each once",
		},
		{
			"a zone of another region", cluster, "spec: {network: {zones: [eu-west-1a]}}", "",
			"network.zones has a zone of another region: write the region and a letter from a to h, for example eu-central-1a",
		},
		{
			"a local zone", cluster, "spec: {region: us-west-2, network: {zones: [us-west-2-lax-1a]}}", "",
			"network.zones has a zone of another region: write the region and a letter from a to h, for example eu-central-1a",
		},
		{
			"a region in place of a zone", cluster, "spec: {network: {zones: [eu-central-1]}}", "",
			"network.zones has a zone of another region: write the region and a letter from a to h, for example eu-central-1a",
		},
		{
			"a subnet's zone of another region", existing,
			"spec: {network: {subnets: [{id: subnet-01234567, zone: eu-west-1a, role: Private}]}}", "",
			"network.subnets has a zone of another region: write the region and a letter from a to h, for example eu-central-1a",
		},
		{
			"not a range", cluster, "spec: {network: {cidr: 10.0.0.0}}", "",
			"write an IPv4 range, for example 10.0.0.0/16",
		},
		{
			"a range in IPv6", cluster, `spec: {network: {cidr: "fd00::/16"}}`, "",
			"write an IPv4 range, for example 10.0.0.0/16",
		},
		{
			"a range that begins elsewhere", cluster, "spec: {network: {cidr: 10.0.0.1/16}}", "",
			"the range has host bits set: write, for example, 10.0.0.0/16, not 10.0.0.1/16",
		},
		{
			"a range too big for a VPC", cluster, "spec: {network: {cidr: 10.0.0.0/15}}", "",
			"the range is too big for a VPC: use a range of /16 to /24",
		},
		{
			"a range too small for the zones", cluster, "spec: {network: {cidr: 10.0.0.0/25}}", "",
			"the range is too small for the subnets of a VPC: use a range of /16 to /24",
		},
		{
			"a public range", cluster, "spec: {network: {cidr: 8.8.0.0/16}}", "",
			"the range is not private: use one in 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16 or 100.64.0.0/10",
		},
		{
			"pods in the VPC's range", cluster, "spec: {network: {podCIDR: 10.0.0.0/12}}", "",
			"podCIDR overlaps cidr: use another range for one of them",
		},
		{
			"services in the VPC's range", cluster, "spec: {network: {serviceCIDR: 10.0.4.0/22}}", "",
			"serviceCIDR overlaps cidr: use another range for one of them",
		},
		{
			"services in the pods' range", cluster, "spec: {network: {serviceCIDR: 100.64.0.0/16}}", "",
			"serviceCIDR overlaps podCIDR: use another range for one of them",
		},
		{
			"too few addresses for pods", cluster, "spec: {network: {podCIDR: 100.64.0.0/24}}", "",
			"the range is too small for pods, of which every node takes a /24: use a range of /8 to /20",
		},
		{
			"too many addresses for pods", cluster, "spec: {network: {podCIDR: 100.0.0.0/7}}", "",
			"the range is too big for pods: use a range of /8 to /20",
		},
		{
			"too few addresses for services", cluster, "spec: {network: {serviceCIDR: 172.20.0.0/25}}", "",
			"the range is too small for services: use a range of /12 to /24",
		},
		{
			"too many addresses for services", cluster, "spec: {network: {serviceCIDR: 172.0.0.0/8}}", "",
			"the range is too big for services: use a range of /12 to /24",
		},
		{
			"the pods' range later", cluster, "", "spec: {network: {podCIDR: 100.96.0.0/13}}",
			"podCIDR cannot change: create a new cluster",
		},
		{
			"the services' range later", cluster, "", "spec: {network: {serviceCIDR: 172.21.0.0/16}}",
			"serviceCIDR cannot change: create a new cluster",
		},
		{
			"another topology later", cluster, "", "spec: {network: {topology: Public}}",
			"topology cannot change: create a new cluster",
		},
		{
			"no private subnet for private nodes", existing,
			"spec: {network: {subnets: [{id: subnet-01234567, zone: eu-central-1a, role: Public}]}}", "",
			"subnets has none for nodes: add one whose role is the topology, or change topology",
		},
		{
			"no public subnet for public nodes", existing,
			"spec: {api: {access: Internal}, network: {topology: Public, subnets: [{id: subnet-01234567, zone: eu-central-1a, role: Private}]}}", "",
			"subnets has none for nodes: add one whose role is the topology, or change topology",
		},
		{
			"no public subnet for a public API", existing,
			"spec: {network: {subnets: [{id: subnet-01234567, zone: eu-central-1a, role: Private}]}}", "",
			"the API is public, and network.subnets has no public subnet: add one with role Public, or set api.access to Internal",
		},
		{
			"no public subnet for a bastion", existing,
			"spec: {bastion: {}, api: {access: Internal}, network: {subnets: [{id: subnet-01234567, zone: eu-central-1a, role: Private}]}}",
			"",
			"there is a bastion, and network.subnets has no public subnet: add one with role Public, or leave out bastion",
		},
		{
			"a subnet twice", existing,
			"spec: {network: {subnets: [{id: subnet-01234567, zone: eu-central-1a, role: Private}, {id: subnet-01234567, zone: eu-central-1b, role: Private}]}}", "",
			"names a subnet twice: name each once",
		},
		{
			"two subnets of one role in a zone", existing,
			"spec: {network: {subnets: [{id: subnet-01234567, zone: eu-central-1a, role: Private}, {id: subnet-01234568, zone: eu-central-1a, role: Private}]}}", "",
			"has two subnets of one role in a zone: name one; instance groups can name others in their spec.subnets",
		},
		{
			"not a subnet", existing, "spec: {network: {subnets: [{id: private-a, zone: eu-central-1a, role: Private}]}}", "",
			"write the ID of a subnet, for example subnet-0123456789abcdef0",
		},
		{
			"NAT in an existing VPC", existing, "spec: {network: {nat: Single}}", "",
			"the routes of an existing VPC are not changed: leave out nat and natGateways",
		},
		{
			"NAT for public nodes", cluster, "spec: {network: {topology: Public, nat: Single}}", "",
			"nodes in public subnets need no NAT: leave out nat, or set topology to Private",
		},
		{
			"gateways that are not used", cluster, "spec: {network: {natGateways: {eu-central-1a: nat-01234567}}}", "",
			"natGateways are for nat Existing: set it, or leave them out",
		},
		{
			"a zone without a gateway", cluster, "spec: {network: {nat: Existing, natGateways: {eu-central-1a: nat-01234567}}}", "",
			"nat is Existing, and a zone has no gateway: name one for every zone in natGateways",
		},
		{
			"not a gateway", cluster,
			"spec: {network: {zones: [eu-central-1a], nat: Existing, natGateways: {eu-central-1a: igw-01234567}}}", "",
			"write the IDs of NAT or transit gateways, for example nat-0123456789abcdef0",
		},
	}
}

// slotsMoveOnly says when slots may move.
const slotsMoveOnly = "a slot moves to another zone only by controlPlane.zones, in a cluster with 3 or 5 slots that an operator runs and " +
	"whose API has been up, since the other slots give it its data: set controlPlane.zones to the zones that the slots are in, slot by slot, " +
	"or controlPlane.replicas to 3 first"

// machineRefusals are of the control plane.
func machineRefusals() []refusal {
	return []refusal{
		{
			"two slots", cluster, "spec: {controlPlane: {replicas: 2}}", "",
			"use 1, 3 or 5 slots: etcd needs an odd number for its quorum",
		},
		{
			"four slots", cluster, "spec: {controlPlane: {replicas: 4}}", "",
			"use 1, 3 or 5 slots: etcd needs an odd number for its quorum",
		},
		{
			"one slot becomes three before the API was up", cluster, "spec: {controlPlane: {replicas: 1}}",
			"spec: {controlPlane: {replicas: 3}}",
			"replicas can change only in a cluster that an operator runs, and whose API has been up: set it back, or wait",
		},
		{
			"not an instance type", cluster, "spec: {controlPlane: {instanceType: big}}", "",
			"write an instance type, for example m6i.large",
		},
		{
			"a slot's zone that the network does not have", cluster, "spec: {controlPlane: {zones: [eu-central-1d]}}", "",
			"controlPlane.zones has a zone in which the network has no subnet for nodes: name zones of the network, or add it there",
		},
		{
			"a slot's zone that has no subnet for nodes", existing, "spec: {controlPlane: {zones: [eu-central-1c]}}", "",
			"controlPlane.zones has a zone in which the network has no subnet for nodes: name zones of the network, or add it there",
		},
		{
			"the only slot moves", cluster, "spec: {controlPlane: {replicas: 1}}", "spec: {controlPlane: {zones: [eu-central-1b]}}",
			slotsMoveOnly,
		},
		{
			"slots move when their zones are named in another order", cluster,
			"spec: {controlPlane: {zones: [eu-central-1a, eu-central-1b]}}",
			"spec: {controlPlane: {zones: [eu-central-1b, eu-central-1a]}}",
			slotsMoveOnly,
		},
		{
			"slots move when the network's zones are in another order", cluster, "",
			"spec: {network: {zones: [eu-central-1b, eu-central-1a, eu-central-1c]}}",
			slotsMoveOnly,
		},
		{
			"a slot moves when a third zone is added", cluster, "spec: {network: {zones: [eu-central-1a, eu-central-1b]}}",
			"spec: {network: {zones: [eu-central-1a, eu-central-1b, eu-central-1c]}}",
			slotsMoveOnly,
		},
		{
			"slots move when their zones are named", cluster, "", "spec: {controlPlane: {zones: [eu-central-1a]}}",
			slotsMoveOnly,
		},
		{
			"slots move when their zones are no longer named", cluster, "spec: {controlPlane: {zones: [eu-central-1c]}}",
			"spec: {controlPlane: {zones: null}}",
			slotsMoveOnly,
		},
		{
			"slots move when existing subnets are in another order", existing, "",
			"spec: {network: {subnets: [{id: subnet-0000000000000000b, zone: eu-central-1b, role: Private}, {id: subnet-0000000000000000a, zone: eu-central-1a, role: Private}, {id: subnet-0000000000000000c, zone: eu-central-1a, role: Public}]}}",
			slotsMoveOnly,
		},
		{
			"slots move out of an existing subnet when zones are named", existing, "", "spec: {controlPlane: {zones: [eu-central-1b]}}",
			slotsMoveOnly,
		},
		{
			"slots move into an existing subnet when zones are no longer named", existing, "spec: {controlPlane: {zones: [eu-central-1b]}}",
			"spec: {controlPlane: {zones: null}}",
			slotsMoveOnly,
		},
		{
			"not an image", cluster, "spec: {controlPlane: {image: ubuntu}}", "",
			"write the ID of an AMI, for example ami-0123456789abcdef0",
		},
		{
			"a volume of no size", cluster, "spec: {controlPlane: {rootVolume: {sizeGiB: -1}}}", "",
			"spec.controlPlane.rootVolume.sizeGiB in body should be greater than or equal to 1",
		},
		{
			"not a volume type", cluster, "spec: {controlPlane: {rootVolume: {type: gp2}}}", "",
			`supported values: "gp3", "io2"`,
		},
		{
			"the etcd volume shrinks", cluster, "spec: {controlPlane: {etcdVolume: {sizeGiB: 40}}}",
			"spec: {controlPlane: {etcdVolume: {sizeGiB: 30}}}",
			"a volume cannot shrink: keep etcdVolume.sizeGiB, or raise it",
		},
		{
			"not a snapshot", cluster, "spec: {controlPlane: {restoreSnapshot: vol-0123456789abcdef0}}", "",
			"write the ID of a snapshot, for example snap-0123456789abcdef0",
		},
		{
			"a slot repaired at once", cluster, "spec: {controlPlane: {repair: {after: 1s}}}", "",
			"use 10s to 24h",
		},
		{
			"backups all the time", cluster, "spec: {backup: {interval: 1m}}", "",
			"use 15m to 168h",
		},
		{
			"fewer than zero backups to keep", cluster, "spec: {backup: {keep: -1}}", "",
			"spec.backup.keep in body should be greater than or equal to 1",
		},
		{
			"more backups to keep than the maximum", cluster, "spec: {backup: {keep: 501}}", "",
			"spec.backup.keep in body should be less than or equal to 500",
		},
		{
			"backups in the bucket all the time", cluster, "spec: {backup: {bucket: {interval: 1m}}}", "",
			"use 15m to 168h",
		},
		{
			"more backups to keep in the bucket than the maximum", cluster, "spec: {backup: {bucket: {keep: 501}}}", "",
			"spec.backup.bucket.keep in body should be less than or equal to 500",
		},
		{
			"throughput for io2", cluster, "spec: {controlPlane: {etcdVolume: {type: io2, throughputMiBps: 200}}}", "",
			"the throughput of an io2 volume follows from its IOPS: leave out throughputMiBps",
		},
		{
			"too few IOPS for gp3", cluster, "spec: {controlPlane: {etcdVolume: {iops: 1000}}}", "",
			"a gp3 volume has 3000 to 80000 IOPS: use a value in this range, or type io2",
		},
		{
			"too much throughput for the IOPS", cluster, "spec: {controlPlane: {etcdVolume: {throughputMiBps: 1000}}}", "",
			"a gp3 volume needs 4 IOPS for each MiB a second: raise iops, or lower throughputMiBps",
		},
		{
			"not a security group of slots", cluster, "spec: {controlPlane: {securityGroups: [default]}}", "",
			"write the IDs of security groups, for example sg-0123456789abcdef0",
		},
		{
			"a label of a role", cluster, `spec: {controlPlane: {labels: {node-role.kubernetes.io/etcd: ""}}}`, "",
			"kubelets may not set labels of kubernetes.io and k8s.io: use a key of your own domain, of node.kubernetes.io or of kubelet.kubernetes.io",
		},
		{
			"a label of the operator's on slots", cluster, `spec: {controlPlane: {labels: {cluster-operator.aws/slot: "0"}}}`, "",
			"labels that begin with cluster-operator.aws/ are reserved for the operator: use another key",
		},
		{
			"a long request for a rotation", cluster, "spec: {certificates: {rotate: " + strings.Repeat("a", 254) + "}}", "",
			"spec.certificates.rotate: Too long",
		},
		{
			"a rotation many years before the CAs expire", cluster, "spec: {certificates: {rotateBefore: 50000h}}", "", "use 720h to 43800h",
		},
		{
			"another way to issue kubelets' certificates", cluster, "spec: {certificates: {kubeletServing: Always}}", "",
			`spec.certificates.kubeletServing: Unsupported value: "Always"`,
		},
		{
			"verification before kubelets have certificates", cluster, "", "spec: {certificates: {kubeletServing: Verified}}",
			"kubelets have no certificates that API servers could verify: set certificates.kubeletServing to Issued, and to Verified when all nodes are replaced",
		},
		{
			"kubelets that sign for themselves while API servers verify", cluster, "spec: {certificates: {kubeletServing: Verified}}",
			"spec: {certificates: {kubeletServing: SelfSigned}}",
			"the API servers still verify kubelets: set certificates.kubeletServing to Issued, and remove it when the control plane's nodes are replaced",
		},
		{
			"an argument of the operator's of kube-apiserver", cluster, "spec: {controlPlane: {extraArgs: {apiServer: {etcd-servers: a}}}}",
			"",
			"advertise-address, etcd-servers, secure-port, service-account-issuer, service-cluster-ip-range are set by the operator: leave them out",
		},
		{
			"an argument of the operator's of kube-controller-manager", cluster,
			"spec: {controlPlane: {extraArgs: {controllerManager: {cluster-cidr: a}}}}", "",
			"cloud-provider, cluster-cidr, service-cluster-ip-range are set by the operator: leave them out",
		},
		{
			"an argument of the operator's of kube-scheduler", cluster, "spec: {controlPlane: {extraArgs: {scheduler: {kubeconfig: a}}}}",
			"",
			"kubeconfig is set by the operator: leave it out",
		},
		{
			"an argument of the operator's of etcd", cluster, "spec: {controlPlane: {extraArgs: {etcd: {initial-cluster: a}}}}", "",
			"name, data-dir, initial-cluster, initial-cluster-state, initial-cluster-token, initial-advertise-peer-urls, advertise-client-urls, listen-peer-urls, listen-client-urls are set by the operator: leave them out",
		},
		{
			"an argument with dashes", cluster, `spec: {controlPlane: {extraArgs: {apiServer: {--v: "4"}}}}`, "",
			"write arguments without dashes, for example v, not --v",
		},
	}
}
