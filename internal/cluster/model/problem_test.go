package model_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

func TestProblemsOfClusters(t *testing.T) {
	cases := []struct{ reason, manifest, with, want string }{
		{
			"a name that cannot name a stack", newVPC, `metadata: {name: 1demo}`,
			`metadata.name: "1demo" is not valid as part of the names of stacks and buckets; choose at most 40 lower-case letters, digits and hyphens, beginning with a letter`,
		},
		{
			"a name that load balancers may not have", newVPC, `metadata: {name: internal}`,
			`metadata.name: the API's load balancer would be named internal-…, but AWS rejects load balancer names that begin with internal-; choose another name`,
		},
		{
			"a name that security groups may not have", newVPC, `metadata: {name: sg-1}`,
			`metadata.name: security groups would be named sg-1-…, but AWS rejects security group names that begin with sg-; choose another name`,
		},
		{
			"a name that buckets may not have", newVPC, `metadata: {name: xn--d}`,
			`metadata.name: the bucket would be named xn--d-…, but AWS rejects bucket names that begin with xn--, sthree- or amzn-s3-demo-; choose another name`,
		},
		{
			"a name that hides AWS's own zone", newVPC, `metadata: {name: ec2}`,
			`metadata.name: the cluster's zone would be ec2.internal, which would hide AWS's own host names; choose another name`,
		},
		{
			"a secret in a tag", newVPC, `spec: {tags: {owner: "{{resolve:secretsmanager:prod}}"}}`,
			`spec.tags.owner: a dynamic reference ({{resolve:…}}), or a piece of one, would read secrets with the operator's permissions; write the value itself`,
		},
		{
			"no such release", newVPC, `spec: {release: v1.0.0}`,
			`spec.release: there is no release "v1.0.0"; name one that kubectl get releases shows`,
		},
		{
			"no zones", newVPC, `spec: {network: {zones: []}}`,
			`spec.network.zones: a new VPC has no zones; name at least one availability zone`,
		},
		{
			"a zone twice", newVPC, `spec: {network: {zones: [eu-central-1a, eu-central-1a]}}`,
			`spec.network.zones[1]: zone eu-central-1a is named twice; name it once`,
		},
		{
			"a zone of another region", newVPC, `spec: {network: {zones: [eu-west-1a]}}`,
			`spec.network.zones[0]: "eu-west-1a" is not an availability zone of eu-central-1; write the region and a letter, as eu-central-1a`,
		},
		{
			"not a range", newVPC, `spec: {network: {cidr: net}}`,
			`spec.network.cidr: "net" is not an IPv4 range; write it as 10.0.0.0/16`,
		},
		{
			"a range that begins elsewhere", newVPC, `spec: {network: {cidr: 10.0.0.1/16}}`,
			`spec.network.cidr: 10.0.0.1/16 has host bits set; write 10.0.0.0/16`,
		},
		{
			"a range too big", newVPC, `spec: {network: {cidr: 10.0.0.0/8}}`,
			`spec.network.cidr: 10.0.0.0/8 is too large; choose a range of /16 to /24`,
		},
		{
			"a range too small for the zones", newVPC, `spec: {network: {cidr: 10.0.0.0/25}}`,
			`spec.network.cidr: 10.0.0.0/25 is too small; choose a range of /16 to /24`,
		},
		{
			"a public range", newVPC, `spec: {network: {cidr: 8.8.0.0/16}}`,
			`spec.network.cidr: 8.8.0.0/16 is not a private range; choose one in 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16 or 100.64.0.0/10`,
		},
		{
			"pods in the network's range", newVPC, `spec: {network: {podCIDR: 10.0.0.0/12}}`,
			`spec.network.podCIDR: 10.0.0.0/12 overlaps the network's 10.0.0.0/16; choose another range`,
		},
		{
			"services in the pods' range", newVPC, `spec: {network: {serviceCIDR: 100.64.0.0/16}}`,
			`spec.network.serviceCIDR: 100.64.0.0/16 overlaps the pods' 100.64.0.0/13; choose another range`,
		},
		{
			"an argument that a field sets", newVPC,
			`spec: {api: {audit: {}}, controlPlane: {extraArgs: {apiServer: {audit-log-maxage: "7"}}}}`,
			`spec.controlPlane.extraArgs.apiServer.audit-log-maxage: spec.api sets the argument; leave it out`,
		},
		{
			"two ways to log in", newVPC,
			`spec: {api: {authentication: {jwt: [{issuer: {url: "https://a.example.com", audiences: [a]}, claimMappings: {username: {claim: sub, prefix: "a:"}}}]}}, ` +
				`controlPlane: {extraArgs: {apiServer: {oidc-client-id: a}}}}`,
			`spec.controlPlane.extraArgs.apiServer.oidc-client-id: the API server does not start with this argument beside spec.api.authentication; ` +
				`move it to spec.api.authentication`,
		},
		{
			"a misspelled audit policy", newVPC, `spec: {api: {audit: {policy: {rules: [{level: Metadata, user: [a]}]}}}}`,
			`spec.api.audit.policy: unknown field "rules[0].user"; correct it`,
		},
		{
			"the cluster's own bucket", newVPC, `spec: {api: {audit: {ship: {bucket: demo-123456789012-eu-central-1}}}}`,
			`spec.api.audit.ship.bucket: demo-123456789012-eu-central-1 is the cluster's own bucket; ` +
				`leave out bucket, prefix, account and kmsKeyARN to use it`,
		},
		{
			"a key of another region", newVPC,
			`spec: {api: {audit: {ship: {bucket: logs, kmsKeyARN: "arn:aws:kms:eu-west-1:123456789012:key/1"}}}}`,
			`spec.api.audit.ship.kmsKeyARN: the key is in eu-west-1, and the cluster in eu-central-1; use a bucket and a key of the cluster's region`,
		},
		{
			"a key of another region for Secrets", newVPC,
			`spec: {api: {encryption: {kmsKeyARN: "arn:aws:kms:eu-west-1:123456789012:key/1"}}}`,
			`spec.api.encryption.kmsKeyARN: the key is in eu-west-1, and the cluster in eu-central-1; ` +
				`use a key of the cluster's region, or leave it out for the cluster's own key`,
		},
		{
			"a resource that cannot be encrypted", newVPC, `spec: {api: {encryption: {resources: [secrets, events.events.k8s.io]}}}`,
			`spec.api.encryption.resources: '*.events.k8s.io' objects are stored using the 'events' API group in etcd. ` +
				`Use 'events' instead in the config file; correct it`,
		},
		{
			"a configuration of one's own beside the field", newVPC,
			`spec: {api: {encryption: {}}, controlPlane: {extraArgs: {apiServer: {encryption-provider-config: /etc/a.yaml}}}}`,
			`spec.controlPlane.extraArgs.apiServer.encryption-provider-config: spec.api sets the argument; leave it out`,
		},
		{
			"a relative path of a file", newVPC, `spec: {nodes: {files: [{path: etc/motd}]}}`,
			`spec.nodes.files[0].path: "etc/motd" is not a valid path; write an absolute path of letters, digits and ._@:+,=~-, without . and .., for example /etc/motd`,
		},
		{
			"a path that leaves its folder", newVPC, `spec: {nodes: {files: [{path: /srv/../etc/kubernetes/admin.conf}]}}`,
			`spec.nodes.files[0].path: "/srv/../etc/kubernetes/admin.conf" is not a valid path; write an absolute path of letters, digits and ._@:+,=~-, without . and .., for example /etc/motd`,
		},
		{
			"a file of the kernel", newVPC, `spec: {nodes: {files: [{path: /proc/sys/vm/swappiness}]}}`,
			`spec.nodes.files[0].path: /proc, /sys, /dev and /run do not keep files; use another path`,
		},
		{
			"a file of the operator", newVPC, `spec: {controlPlane: {files: [{path: /etc/kubernetes/manifests/pod.yaml}]}}`,
			`spec.controlPlane.files[0].path: the operator writes /etc/kubernetes/manifests/pod.yaml; use another path, or a field of the spec`,
		},
		{
			"a file of the release", newVPC, `spec: {nodes: {files: [{path: /usr/local/bin/kubelet}]}}`,
			`spec.nodes.files[0].path: the release v1.36.3 installs kubelet there; use another path, or a Release with another file`,
		},
		{
			"a plugin in a folder of the release", newVPC, `spec: {nodes: {files: [{path: /opt/cni/bin/bridge}]}}`,
			`spec.nodes.files[0].path: the release v1.36.3 installs cni-plugins there; use another path, or a Release with another file`,
		},
		{
			"a unit among the files", newVPC, `spec: {nodes: {files: [{path: /etc/systemd/system/a.service}]}}`,
			`spec.nodes.files[0].path: systemd reads units at /etc/systemd/system; put the unit or drop-in into units`,
		},
		{
			"a file twice", newVPC, `spec: {nodes: {files: [{path: /etc/motd}, {path: /etc/motd}]}}`,
			`spec.nodes.files[1].path: path /etc/motd is named twice; name it once`,
		},
		{
			"a file as a folder", newVPC, `spec: {nodes: {files: [{path: /etc/agent}]}, controlPlane: {files: [{path: /etc/agent/a}]}}`,
			`spec.controlPlane.files: the file /etc/agent cannot be the folder of /etc/agent/a; change one of the paths`,
		},
		{
			"not base64", newVPC, `spec: {nodes: {files: [{path: /etc/motd, encoding: base64, content: YQ}]}}`,
			`spec.nodes.files[0].content: it is not base64; encode it without line breaks (base64 -w0), or leave out encoding`,
		},
		{
			"an encoded private key", newVPC,
			`spec: {nodes: {files: [{path: /etc/key, encoding: base64, content: LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0t}]}}`,
			`spec.nodes.files[0].content: it has a private key, which all users who may read this object, and all nodes, could read; fetch it in a unit, for example from Secrets Manager`,
		},
		{
			"a mode with more than permissions", newVPC, `spec: {nodes: {files: [{path: /etc/motd, mode: "4755"}]}}`,
			`spec.nodes.files[0].mode: "4755" is not a valid mode; write the permissions in octal, for example 0600`,
		},
		{
			"a user by number", newVPC, `spec: {nodes: {files: [{path: /etc/motd, owner: "0"}]}}`,
			`spec.nodes.files[0].owner: "0" is not a valid name of a user; write the name of a user of the image`,
		},
		{
			"not a unit", newVPC, `spec: {nodes: {units: [{name: agent}]}}`,
			`spec.nodes.units[0].name: "agent" is not the name of a service, timer, socket, path, mount or slice; write, for example, agent.service`,
		},
		{
			"a unit of the operator", newVPC, `spec: {controlPlane: {units: [{name: nodeup-token.service}]}}`,
			`spec.controlPlane.units[0].name: nodes boot through unit nodeup-token.service; use another name`,
		},
		{
			"another kubelet", newVPC, `spec: {nodes: {units: [{name: kubelet.service, content: "[Service]"}]}}`,
			`spec.nodes.units[0]: the operator writes and starts kubelet.service; leave out content and state, and use dropIns`,
		},
		{
			"a template that starts", newVPC, `spec: {nodes: {units: [{name: a@.service, content: "[Service]"}]}}`,
			`spec.nodes.units[0].state: the template a@.service cannot start; set it to Installed, and add an instance such as a@b.service`,
		},
		{
			"a masked unit with content", newVPC, `spec: {nodes: {units: [{name: a.service, state: Masked, content: "[Service]"}]}}`,
			`spec.nodes.units[0]: a masked unit does not start; leave out content and dropIns, or state`,
		},
		{
			"a unit that waits for its start", newVPC, `spec: {nodes: {units: [{name: a.service, content: "[Unit]\nAfter=network.target cloud-final.service"}]}}`,
			`spec.nodes.units[0].content: "After=network.target cloud-final.service" would wait for what waits for the unit; leave it out of After`,
		},
		{
			"a drop-in that systemd does not read", newVPC, `spec: {nodes: {units: [{name: a.service, dropIns: [{name: proxy, content: a}]}]}}`,
			`spec.nodes.units[0].dropIns[0].name: "proxy" is not the name of a drop-in; write a file name that ends in .conf, for example 10-proxy.conf`,
		},
		{
			"existing subnets in a new VPC", newVPC,
			`spec: {network: {subnets: [{id: subnet-01234567, zone: eu-central-1a, role: Private}]}}`,
			`spec.network.subnets: existing subnets require their VPC; name the VPC in spec.network.vpc, or leave the subnets out`,
		},
		{
			"gateways that are not used", newVPC, `spec: {network: {natGateways: {eu-central-1a: nat-01234567}}}`,
			`spec.network.natGateways: there are gateways although nat is Single; set spec.network.nat to Existing, or leave the gateways out`,
		},
		{
			"a zone without a gateway", newVPC, `spec: {network: {zones: [eu-central-1a], nat: Existing}}`,
			`spec.network.natGateways: nat is Existing, but zone eu-central-1a has no gateway; name one for every zone`,
		},
		{
			"an existing VPC with a range", existingVPC, `spec: {network: {cidr: 10.0.0.0/16}}`,
			`spec.network.vpc: an existing VPC has its own range and zones; leave out cidr and zones, or vpc and subnets`,
		},
		{
			"NAT in an existing VPC", existingVPC, `spec: {network: {nat: Single}}`,
			`spec.network.nat: the routes of an existing VPC are not changed; leave out nat and natGateways`,
		},
		{
			"an existing subnet twice", existingVPC,
			`spec: {network: {subnets: [{id: subnet-0000000a, zone: eu-central-1a, role: Private}, {id: subnet-0000000a, zone: eu-central-1a, role: Public}]}}`,
			`spec.network.subnets[0].id: subnet subnet-0000000a is named twice; name it once`,
		},
		{
			"two subnets of one role in a zone", existingVPC,
			`spec: {api: {access: Internal}, network: {subnets: [{id: subnet-0000000a, zone: eu-central-1a, role: Private}, {id: subnet-0000000b, zone: eu-central-1a, role: Private}]}}`,
			`spec.network.subnets[1]: zone eu-central-1a has two Private subnets; name one subnet of each role in a zone; instance groups can name others in spec.subnets`,
		},
		{
			"no subnet for nodes", existingVPC,
			`spec: {network: {topology: Public, subnets: [{id: subnet-0000000a, zone: eu-central-1a, role: Private}]}, api: {access: Internal}}`,
			`spec.network.subnets: topology is Public, but there is no public subnet; name at least one with role Public, or change spec.network.topology`,
		},
		{
			"no subnet for a public API", existingVPC,
			`spec: {network: {subnets: [{id: subnet-0000000a, zone: eu-central-1a, role: Private}]}}`,
			`spec.network.subnets: the API is public, but there is no public subnet; name at least one with role Public, or set spec.api.access to Internal`,
		},
		{
			"no subnet for a bastion", existingVPC,
			`spec: {bastion: {}, api: {access: Internal}, network: {subnets: [{id: subnet-0000000a, zone: eu-central-1a, role: Private}]}}`,
			`spec.network.subnets: there is a bastion, but no public subnet; name at least one with role Public, or leave out spec.bastion`,
		},
		{
			"two slots", newVPC, `spec: {controlPlane: {replicas: 2}}`,
			`spec.controlPlane.replicas: 2 is not a valid number of slots; set it to 1, 3 or 5`,
		},
		{
			"a slot's zone that the network does not have", newVPC, `spec: {controlPlane: {zones: [eu-central-1d]}}`,
			`spec.controlPlane.zones[0]: zone eu-central-1d has no private subnet; name one of the network's zones, or add it to the network`,
		},
		{
			"a label of a role", newVPC, `spec: {controlPlane: {labels: {node-role.kubernetes.io/etcd: ""}}}`,
			`spec.controlPlane.labels: label "node-role.kubernetes.io/etcd" cannot be set by a kubelet, or is reserved for the operator; choose a key of your own domain, of node.kubernetes.io or of kubelet.kubernetes.io`,
		},
		{
			"a label that no label can be", newVPC, `spec: {controlPlane: {labels: {a: "b c"}}}`,
			`spec.controlPlane.labels: label "a" has the invalid value "b c"; use letters, digits, '-', '_' and '.', at most 63 in a name or value`,
		},
		{
			"a tag of AWS's", newVPC, `spec: {tags: {"Aws:a": b}}`,
			`spec.tags: tag "Aws:a" begins with aws:, which AWS reserves; choose another key`,
		},
		{
			"a tag of the operator's", newVPC, `spec: {tags: {cluster-operator.aws/slot: b}}`,
			`spec.tags: tag "cluster-operator.aws/slot" is reserved for the operator; choose another key`,
		},
		{
			"too many IOPS for the size", newVPC, `spec: {controlPlane: {etcdVolume: {iops: 20000}}}`,
			`spec.controlPlane.etcdVolume.iops: a gp3 volume of 20 GiB cannot do 20000 IOPS; take 3000 to 10000, or a bigger volume`,
		},
		{
			"too much throughput for the IOPS", newVPC, `spec: {controlPlane: {etcdVolume: {throughputMiBps: 1000}}}`,
			`spec.controlPlane.etcdVolume.throughputMiBps: a gp3 volume of 3000 IOPS cannot do 1000 MiB/s; take 125 to 750, or more IOPS`,
		},
		{
			"throughput for io2", newVPC, `spec: {controlPlane: {etcdVolume: {type: io2, throughputMiBps: 200}}}`,
			`spec.controlPlane.etcdVolume.throughputMiBps: the throughput of an io2 volume follows from its IOPS; leave it out`,
		},
		{
			"too many IOPS for io2", newVPC, `spec: {controlPlane: {etcdVolume: {type: io2, iops: 30000}}}`,
			`spec.controlPlane.etcdVolume.iops: an io2 volume of 20 GiB cannot do 30000 IOPS; take 100 to 20000, or a bigger volume`,
		},
		{
			"no size", newVPC, `spec: {controlPlane: {rootVolume: {sizeGiB: -1}}}`,
			`spec.controlPlane.rootVolume.sizeGiB: a volume cannot have -1 GiB; set it to 1 to 65536`,
		},
		{
			"another volume type", newVPC, `spec: {controlPlane: {rootVolume: {type: gp2}}}`,
			`spec.controlPlane.rootVolume.type: "gp2" is not a type of volume that nodes can have; set gp3 or io2`,
		},
		{
			"an addon that the release does not have", newVPC, `spec: {addons: [{name: mine}]}`,
			`spec.addons[0]: release v1.36.3 has no addon mine; give its chart, repository and version`,
		},
		{
			"an addon that is not there to disable", newVPC, `spec: {addons: [{name: mine, disabled: true}]}`,
			`spec.addons[0]: release v1.36.3 has no addon mine to disable; leave it out of spec.addons`,
		},
		{
			"an addon whose role no service account could take", newVPC, `spec: {release: v1.36.4, addons: [{name: aws-load-balancer-controller}]}`,
			`spec.addons[0]: addon aws-load-balancer-controller needs an IAM role, and the cluster has none for it; set spec.serviceAccountIssuer`,
		},
		{
			"an addon without a zone for its records", newVPC, `spec: {release: v1.36.4, serviceAccountIssuer: {}, addons: [{name: external-dns}]}`,
			`spec.addons[0]: addon external-dns needs an IAM role, and the cluster has none for it; set spec.iam.hostedZones`,
		},
		{
			"an addon twice", newVPC, `spec: {addons: [{name: cilium}, {name: cilium}]}`,
			`spec.addons[1].name: addon cilium is named twice; name it once`,
		},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			_, err := model.Resolve(input(t, c.manifest, c.with))
			expect(t, err, c.want)
		})
	}
}

func TestProblemsOfWhatAWSSays(t *testing.T) {
	existing := func() *model.ExistingVPC {
		return &model.ExistingVPC{ID: "vpc-01234567", CIDRs: []string{"10.0.0.0/16"}, Subnets: []model.ExistingSubnet{
			{
				ID:   "subnet-0000000a",
				Zone: "eu-central-1a",
			}, {ID: "subnet-0000000b", Zone: "eu-central-1b"}, {ID: "subnet-0000000c", Zone: "eu-central-1a"},
		}}
	}
	cases := []struct {
		reason string
		change func(*model.Input)
		want   string
	}{
		{
			"another VPC", func(in *model.Input) { in.Existing.ID = "vpc-89abcdef" },
			`spec.network.vpc: the known VPC is vpc-89abcdef, not vpc-01234567; look up the VPC again`,
		},
		{
			"a subnet of another VPC", func(in *model.Input) { in.Existing.Subnets = in.Existing.Subnets[:2] },
			`spec.network.subnets[2].id: subnet-0000000c is not a subnet of vpc-01234567; name a subnet of that VPC; ` +
				`spec.network.subnets: the API is public, but there is no public subnet; name at least one with role Public, or set spec.api.access to Internal`,
		},
		{
			"a subnet in another zone", func(in *model.Input) { in.Existing.Subnets[1].Zone = "eu-central-1c" },
			`spec.network.subnets[1].zone: subnet subnet-0000000b is in zone eu-central-1c, not eu-central-1b; write eu-central-1c`,
		},
		{
			"pods in the VPC's second range", func(in *model.Input) { in.Existing.CIDRs = append(in.Existing.CIDRs, "100.64.0.0/16") },
			`spec.network.podCIDR: 100.64.0.0/13 overlaps the network's 100.64.0.0/16; choose another range`,
		},
		{
			"a release of another name", func(in *model.Input) { in.Release.Name = "v1.36.4" },
			`spec.release: release v1.36.4 was passed for v1.36.3; use that release`,
		},
		{
			"a resource set of a newer operator", func(in *model.Input) { in.Release.Spec.ResourceSet = "2.0.0" },
			`spec.release: release v1.36.3: there is no resource set "2.0.0"; this operator knows 1.0.0, 1.1.0, 1.2.0; name another release, or run a newer operator`,
		},
		{
			"no image for the region", func(in *model.Input) { delete(in.Release.Spec.Images, v1alpha1.AMD64) },
			`spec.controlPlane.image: release v1.36.3 has no amd64 image for eu-central-1; name an image, other instance types, or another release`,
		},
		{"no cluster", func(in *model.Input) { in.Cluster = nil }, `spec: there is no cluster; give a Cluster`},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			in := input(t, existingVPC, "")
			in.Existing = existing()
			c.change(&in)
			_, err := model.Resolve(in)
			expect(t, err, c.want)
		})
	}
}

func TestProblemsOfGroups(t *testing.T) {
	c := resolve(t, newVPC, "")
	e := resolve(t, existingVPC, "")
	cases := []struct {
		reason  string
		cluster *model.Cluster
		with    string
		want    string
	}{
		{
			"a unit twice", c, `spec: {units: [{name: a.service}, {name: a.service}]}`,
			`spec.units[1].name: unit a.service is named twice; name it once`,
		},
		{
			"a taint that kubelets do not start with", c, `spec: {taints: [{key: "no key", value: "${NODE_NAME}", effect: NoSchedule}]}`,
			`spec.taints[0].key: "no key" is not a valid taint; use letters, digits, '-', '_' and '.', at most 63 in a name or value; spec.taints[0].value: taint "no key" has the invalid value "${NODE_NAME}"; use letters, digits, '-', '_' and '.', at most 63 in a name or value`,
		},
		{
			"named like a slot", c, `metadata: {name: control-plane-0}`,
			`metadata.name: "control-plane-0" is not a valid name of an instance group; choose a name of lower-case letters, digits and hyphens`,
		},
		{
			"of another cluster", c, `spec: {cluster: other}`,
			`spec.cluster: the group belongs to cluster default/other, not default/demo; name a Cluster of the same namespace`,
		},
		{
			"nodes of a group of Karpenter", c, `spec: {manager: Karpenter, minSize: 1}`,
			`spec.manager: slots of resource set 1.1.0 do not let instances of Karpenter join; change spec.release of the Cluster first; ` +
				`spec.minSize: Karpenter creates the nodes of this group; set minSize to 0, and leave out replicas`,
		},
		{
			"more at least than at most", c, `spec: {minSize: 4}`,
			`spec.minSize: 4 to 3 nodes is not a valid size; set minSize to at least 0 and at most maxSize, and maxSize to at least 1`,
		},
		{
			"close together in several zones", c, `spec: {placement: {strategy: cluster}}`,
			`spec.placement.strategy: the strategy cluster is for one zone, but the group uses eu-central-1a, eu-central-1b, eu-central-1c; limit the group to one zone with spec.zones or spec.subnets`,
		},
		{
			"burstable instances close together", c, `spec: {zones: [eu-central-1a], instanceTypes: [m6i.large, t3.large], placement: {strategy: cluster}}`,
			`spec.instanceTypes[1]: instances of type t3.large cannot be in a placement group with the strategy cluster; choose another type, or another placement`,
		},
		{
			"more nodes apart than there is hardware", c, `spec: {zones: [eu-central-1a], maxSize: 8, placement: {strategy: spread}}`,
			`spec.maxSize: 8 nodes are more than the strategy spread allows, which is 7 in each zone; set at most 7, add zones, or use the strategy partition`,
		},
		{
			"no number of partitions", c, `spec: {placement: {strategy: partition}}`,
			`spec.placement.partitions: 0 is not a valid number of partitions; set 1 to 7`,
		},
		{
			"a placement of nothing", c, `spec: {placement: {}}`,
			`spec.placement: it names neither a placement group nor a strategy; set group or strategy`,
		},
		{
			"two placements", c, `spec: {placement: {group: a, strategy: spread}}`,
			`spec.placement.group: an existing placement group has its own strategy; leave out group or strategy`,
		},
		{
			"a dynamic reference as a placement group", c, `spec: {placement: {group: "{{resolve:secretsmanager:prod}}"}}`,
			`spec.placement.group: a dynamic reference ({{resolve:…}}), or a piece of one, would read secrets with the operator's permissions; write the value itself`,
		},
		{
			"spot instances with reserved capacity", c, `spec: {spot: {onDemandPercentage: 0}, capacityReservation: {preference: none}}`,
			`spec.capacityReservation: spot instances do not use reserved capacity; leave out spot or capacityReservation`,
		},
		{
			"reserved capacity of nothing", c, `spec: {capacityReservation: {}}`,
			`spec.capacityReservation: it names no reserved capacity; set preference, id or resourceGroup`,
		},
		{
			"a target that may not be used", c, `spec: {zones: [eu-central-1a], capacityReservation: {id: cr-0123456789abcdef0, preference: none}}`,
			`spec.capacityReservation.preference: the preference none contradicts id and resourceGroup; leave it out, or set it to capacity-reservations-only`,
		},
		{
			"a reservation in one of several zones", c, `spec: {capacityReservation: {id: cr-0123456789abcdef0}}`,
			`spec.capacityReservation.id: a capacity reservation is in one zone, but the group uses eu-central-1a, eu-central-1b, eu-central-1c; limit the group to that zone with spec.zones or spec.subnets, or use resourceGroup`,
		},
		{
			"several types in a reservation", c,
			`spec: {zones: [eu-central-1a], instanceTypes: [m6i.large, m6a.large], capacityReservation: {id: cr-0123456789abcdef0}}`,
			`spec.instanceTypes: the group has 2 instance types, but a capacity reservation has one; name only that of the reservation, or use capacityReservation.resourceGroup`,
		},
		{
			"a block without its reservation", c, `spec: {capacityReservation: {preference: open, type: CapacityBlock}}`,
			`spec.capacityReservation.id: a Capacity Block is named by its reservation; set it`,
		},
		{
			"a resource group elsewhere", c,
			`spec: {capacityReservation: {resourceGroup: "arn:aws:resource-groups:us-east-1:123456789012:group/a"}}`,
			`spec.capacityReservation.resourceGroup: the resource group is in the region us-east-1; name a resource group of eu-central-1`,
		},
		{
			"no types", c, `spec: {instanceTypes: []}`,
			`spec.instanceTypes: there are no instance types; name at least one`,
		},
		{
			"a type twice", c, `spec: {instanceTypes: [m6i.large, m6i.large]}`,
			`spec.instanceTypes[1]: type m6i.large is named twice; name it once`,
		},
		{
			"a type of another architecture", c, `spec: {instanceTypes: [m7g.large]}`,
			`spec.instanceTypes[0]: m7g.large is arm64, but the group is amd64; create a group for each architecture and set spec.architecture`,
		},
		{
			"more than all on demand", c, `spec: {spot: {onDemandPercentage: 101}}`,
			`spec.spot: a base of 0 and 101% on demand is not valid; set a base of at least 0 and a percentage of 0 to 100`,
		},
		{
			"a zone that the cluster does not have", c, `spec: {zones: [eu-central-1d]}`,
			`spec.zones[0]: zone eu-central-1d has no private subnet; name one of the cluster's zones: eu-central-1a, eu-central-1b, eu-central-1c`,
		},
		{
			"existing subnets in a new VPC", c, `spec: {subnets: [subnet-01234567]}`,
			`spec.subnets: the cluster's VPC has no existing subnets; limit the group with spec.zones`,
		},
		{
			"an unknown subnet", e, `spec: {subnets: [subnet-01234567]}`,
			`spec.subnets[0]: subnet-01234567 is not known as a subnet of vpc-01234567; name one of its subnets`,
		},
		{
			"a subnet outside of the zones", e, `spec: {subnets: [subnet-0000000a], zones: [eu-central-1b]}`,
			`spec.subnets[0]: subnet-0000000a is in zone eu-central-1a, which is not in spec.zones; add the zone to spec.zones, or leave the subnet out`,
		},
		{
			"a device twice", c, `spec: {volumes: [{device: /dev/sdf}, {device: /dev/sdf}]}`,
			`spec.volumes[1].device: device /dev/sdf is named twice; name it once`,
		},
		{
			"a batch of zero instances", c, `spec: {rollingUpdate: {batchSize: 0}}`,
			`spec.rollingUpdate.batchSize: 0 is not a valid batch size; set a number of at least 1, or a percentage such as 25%`,
		},
		{
			"a word as minimum in service", c, `spec: {rollingUpdate: {minInService: most}}`,
			`spec.rollingUpdate.minInService: most is not a valid minimum in service; set a number of at least 0, or a percentage such as 75%`,
		},
		{
			"too long a pause", c, `spec: {rollingUpdate: {pause: 1h}}`,
			`spec.rollingUpdate.pause: 1h0m0s is not a valid pause; set it to 0s to 45m0s`,
		},
		{
			"no time to become ready", c, `spec: {rollingUpdate: {readyTimeout: 1s}}`,
			`spec.rollingUpdate.readyTimeout: 1s is not a valid timeout; set it to 10s to 1h0m0s`,
		},
		{
			"no time to pause", c, `spec: {rollingUpdate: {readyTimeout: 50m, pause: 11m}}`,
			`spec.rollingUpdate.pause: 11m0s is not a valid pause; set it to 0s to 10m0s`,
		},
		{
			"less than no surge", c, `spec: {rollingUpdate: {engine: Operator, surge: -1}}`,
			`spec.rollingUpdate.surge: a surge of -1 after a canary of 0 is not valid; set numbers of at least 0, or a percentage such as 25%`,
		},
		{
			"a surge without an engine for it", c, `spec: {rollingUpdate: {surge: 1}}`,
			`spec.rollingUpdate.engine: CloudFormation supports neither surge nor canary; leave out surge and canary, or set engine to Operator`,
		},
		{
			"a drain before it begins", c, `spec: {rollingUpdate: {drainTimeout: -1s}}`,
			`spec.rollingUpdate.drainTimeout: -1s is not a valid drain timeout; set it to 0s or more`,
		},
	}
	for _, one := range cases {
		t.Run(one.reason, func(t *testing.T) {
			_, err := model.ResolveGroup(one.cluster, parse[v1alpha1.InstanceGroup](t, workers, one.with))
			expect(t, err, one.want)
		})
	}
	_, err := model.ResolveGroup(nil, nil)
	expect(t, err, "spec.cluster: there is no cluster or no instance group; give both")
}

// expect fails the test unless the error is Problems that say exactly this.
func expect(t *testing.T, err error, want string) {
	t.Helper()
	problems, ok := model.AsProblems(err)
	if !ok {
		t.Fatalf("got %v, want problems", err)
	}
	if problems.Error() != want {
		t.Errorf("got  %s\nwant %s", problems, want)
	}
}

// Each of both may have 40 tags; AWS takes 50 of a resource.
func TestProblemsOfManyTags(t *testing.T) {
	tags := func(prefix string) string {
		list := make([]string, 30)
		for i := range list {
			list[i] = fmt.Sprintf("%s%d: x", prefix, i)
		}
		return "spec: {tags: {" + strings.Join(list, ", ") + "}}"
	}
	c := resolve(t, newVPC, tags("a"))
	_, err := model.ResolveGroup(c, parse[v1alpha1.InstanceGroup](t, workers, tags("b")))
	want := "spec.tags: with the cluster's and the operator's tags there are 66, but AWS permits 47; remove at least 19, here or from the cluster's"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestKubeadmsOwnAddonsCanBeLeftOut(t *testing.T) {
	resolve(t, newVPC, `spec: {addons: [{name: kube-proxy, disabled: true}, {name: coredns, disabled: true}]}`)
}

func TestReleasesThatCannotBootAreProblems(t *testing.T) {
	r := builtin(t, "v1.36.3").DeepCopy()
	for architecture, source := range r.Spec.Artifacts[3].Sources {
		if architecture == v1alpha1.ARM64 {
			source.SHA256, source.Unverified = "", "it was not at hand"
			r.Spec.Artifacts[3].Sources[architecture] = source
		}
	}
	in := func(with string) model.Input {
		return model.Input{
			Cluster:   parse[v1alpha1.Cluster](t, newVPC, with),
			Release:   r,
			AccountID: "123456789012",
			Partition: "aws",
			DNSSuffix: "amazonaws.com",
		}
	}
	const why = `no arm64 instance can boot with release v1.36.3: spec.artifacts[3] (kubelet) has no sha256 for arm64: it was not at hand; ` +
		`name another release, or create one with all hashes (aws-operator create release)`
	if _, err := model.Resolve(in(`spec: {controlPlane: {instanceType: m7g.large}}`)); err == nil || err.Error() != "spec.release: "+why {
		t.Errorf("a control plane of that architecture: %v", err)
	}
	c, err := model.Resolve(in(""))
	if err != nil {
		t.Fatalf("a control plane of the other: %v", err)
	}
	if _, err := model.ResolveGroup(c, parse[v1alpha1.InstanceGroup](t, workers, `spec: {instanceTypes: [m7g.large], architecture: arm64}`)); err == nil ||
		err.Error() != "spec.cluster: "+why {
		t.Errorf("a group of that architecture: %v", err)
	}
}
