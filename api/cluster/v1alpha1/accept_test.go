package v1alpha1_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	cluster = `
apiVersion: cluster-operator.aws/v1alpha1
kind: Cluster
metadata: {name: demo}
spec:
  release: v1.36.3
  region: eu-central-1
  network: {cidr: 10.0.0.0/16, zones: [eu-central-1a, eu-central-1b, eu-central-1c]}
`
	existing = `
apiVersion: cluster-operator.aws/v1alpha1
kind: Cluster
metadata: {name: demo}
spec:
  release: v1.36.3
  region: eu-central-1
  network:
    vpc: vpc-0123456789abcdef0
    subnets:
    - {id: subnet-0000000000000000a, zone: eu-central-1a, role: Private}
    - {id: subnet-0000000000000000b, zone: eu-central-1b, role: Private}
    - {id: subnet-0000000000000000c, zone: eu-central-1a, role: Public}
`
	group = `
apiVersion: cluster-operator.aws/v1alpha1
kind: InstanceGroup
metadata: {name: workers}
spec: {cluster: demo, minSize: 1, maxSize: 3, instanceTypes: [m6i.large]}
`
	theRelease = `
apiVersion: cluster-operator.aws/v1alpha1
kind: Release
metadata: {name: v1.36.3-acme}
spec:
  kubernetes: v1.36.3
  resourceSet: 1.1.0
  components: {etcd: 3.6.8-0}
  artifacts:
  - name: kubelet
    path: /usr/local/bin/kubelet
    sources: {amd64: {url: "https://dl.k8s.io/release/v1.36.3/bin/linux/amd64/kubelet", unverified: no reason}}
  images: {amd64: {parameter: /aws/service/canonical/ubuntu}}
  addons: [{name: cilium, chart: cilium, repository: "https://helm.cilium.io", version: 1.18.0, values: {a: {b: 1}}}]
`
)

// refusal is a case that the API server must refuse.
type refusal struct {
	reason   string
	manifest string
	with     string // put over the manifest
	change   string // if set, with is made first and then changed so
	want     string
}

func TestWhatCannotBeIsRefusedWithTheRemedy(t *testing.T) {
	s := newServer(t)
	var cases []refusal
	cases = append(cases, clusterRefusals()...)
	cases = append(cases, networkRefusals()...)
	cases = append(cases, machineRefusals()...)
	cases = append(cases, groupRefusals()...)
	cases = append(cases, releaseRefusals()...)
	cases = append(cases, fleetRefusals()...)
	cases = append(cases, nodeSetupRefusals()...)
	cases = append(cases, eksRefusals()...)
	cases = append(cases, encryptionRefusals()...)
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			obj := s.object(t, c.manifest, c.with)
			var err error
			if c.change == "" {
				err = s.create(t, obj)
			} else {
				err = s.update(t, obj, c.change)
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
			const skipped = "some validation rules were not checked" // A note about the object as a whole.
			if text := fmt.Sprint(err); strings.Contains(text, "<nil>") && !strings.Contains(text, skipped) {
				t.Errorf("the field has no name: %v", err)
			}
		})
	}
}

func TestWhatCanBeIsAccepted(t *testing.T) {
	s := newServer(t)
	cases := []refusal{
		{"a new VPC with every default", cluster, "", "", ""},
		{"an existing VPC with public subnets beside the nodes'", existing, "", "", ""},
		{
			"an existing VPC without public subnets and with an internal API", existing,
			`spec: {api: {access: Internal}, network: {subnets: [{id: subnet-0000000000000000a, zone: eu-central-1a, role: Private}]}}`, "",
			"",
		},
		{"a rotation of CAs", cluster, `spec: {certificates: {rotate: a, rotateBefore: 8760h}}`, "", ""},
		{"a new cluster whose API servers verify kubelets", cluster, "spec: {certificates: {kubeletServing: Verified}}", "", ""},
		{
			"API servers that verify kubelets later", cluster, "spec: {certificates: {kubeletServing: Issued}}",
			"spec: {certificates: {kubeletServing: Verified}}", "",
		},
		{
			"API servers that no longer verify kubelets", cluster, "spec: {certificates: {kubeletServing: Verified}}",
			"spec: {certificates: {kubeletServing: Issued}}", "",
		},
		{"kubelets that sign for themselves again", cluster, "spec: {certificates: {kubeletServing: Issued}}", "spec: {certificates: null}", ""},
		{"a cluster that a fleet gives a release", cluster, "spec: {release: null}", "", ""},
		{"a release later", cluster, "spec: {release: null}", "spec: {release: v1.36.3}", ""},
		{
			"a fleet with waves", fleet,
			"spec: {rollout: {maxConcurrent: 10%, progressDeadline: 1h, waves: [{name: a, size: 5%, maxConcurrent: 1, soak: 24h}]}}", "", "",
		},
		{
			"another existing placement group", group, "spec: {placement: {group: a}}", "spec: {placement: {group: b}}", "",
		},
		{
			"a placement group of its own later", group, "spec: {placement: {group: a}}",
			"spec: {placement: {group: null, strategy: partition, partitions: 7}}", "",
		},
		{
			"another size of a spread group", group, "spec: {placement: {strategy: spread}}", "spec: {maxSize: 5}", "",
		},
		{
			"a Capacity Block", group,
			"spec: {instanceTypes: [p5.48xlarge], capacityReservation: {id: cr-0123456789abcdef0, type: CapacityBlock}}", "", "",
		},
		{
			"a resource group of capacity reservations, and nothing else", group,
			`spec: {capacityReservation: {preference: capacity-reservations-only, resourceGroup: "arn:aws-cn:resource-groups:cn-north-1:123456789012:group/a/b"}}`,
			"spec: {capacityReservation: {resourceGroup: null, preference: none}}", "",
		},
		{"one slot in one zone", cluster, `spec: {controlPlane: {replicas: 1}, network: {zones: [eu-central-1a]}}`, "", ""},
		{
			"gateways for every zone", cluster,
			`spec: {network: {zones: [eu-central-1a], nat: Existing, natGateways: {eu-central-1a: nat-0123456789abcdef0}}}`, "", "",
		},
		{
			"an audited API", cluster,
			`spec: {api: {audit: {policy: {rules: [{level: Metadata}]}, maxAge: 90}, encryption: {resources: [secrets, widgets.example.com]}, podSecurity: {enforce: baseline, exemptNamespaces: [a]}, ` +
				`authentication: {jwt: [{issuer: {url: "https://login.example.com", audiences: [a]}}]}}}`, "", "",
		},
		{"a name for everything that can be named", cluster, `
spec:
  role: {arn: "arn:aws:iam::123456789012:role/clusters", externalID: secret}
  api: {allowedCIDRs: [192.0.2.0/24], securityGroups: [sg-0123456789abcdef0], extraNames: [api.example.com, 192.0.2.1]}
  dns: {hostedZoneID: Z0123456789ABCDEFGHIJ, name: api.demo.example.com}
  bastion: {allowedCIDRs: [192.0.2.0/24]}
  ssh: {authorizedKeys: [ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBBo someone@example.com], allowedCIDRs: [192.0.2.0/24]}
  iam: {workerPolicies: ["arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore"], permissionsBoundary: "arn:aws:iam::123456789012:policy/boundary", imageRepositories: [web, "team/*", "*", "arn:aws:ecr:*:210987654321:repository/shared"]}
  serviceAccountIssuer: {url: "https://oidc.example.com/demo"}
  addons: [{name: cilium, disabled: true}, {name: mine, chart: "oci://example.com/mine", version: 1.0.0, values: {a: {b: 1}}}]
  tags: {team: a}
  controlPlane: {image: ami-0123456789abcdef0, labels: {example.com/a: b, node.kubernetes.io/a: b}, extraArgs: {apiServer: {v: "4"}}, etcdVolume: {type: io2, iops: 4000}}
`, "", ""},
		{
			"a paused cluster, approval and volumes deleted",
			cluster,
			`spec: {paused: true, updatePolicy: Manual, volumePolicy: Delete}`,
			"",
			"",
		},
		{
			"a zone is added where every slot has its own", cluster, "",
			`spec: {network: {zones: [eu-central-1a, eu-central-1b, eu-central-1c, eu-central-1d]}}`, "",
		},
		{
			"a zone is added when the slots' zones are said", cluster, `spec: {network: {zones: [eu-central-1a]}}`,
			`spec: {controlPlane: {zones: [eu-central-1a]}, network: {zones: [eu-central-1a, eu-central-1b]}}`, "",
		},
		{
			"the slots' zones are no longer said, and stay", cluster,
			`spec: {controlPlane: {zones: [eu-central-1a, eu-central-1b, eu-central-1c]}}`,
			`spec: {controlPlane: {zones: null}}`, "",
		},
		{"two slots in one zone", cluster, "spec: {controlPlane: {zones: [eu-central-1b, eu-central-1b, eu-central-1c]}}", "", ""},
		{"another subnet in a zone's place", existing, "", `spec: {network: {subnets: [
  {id: subnet-0000000000000000d, zone: eu-central-1a, role: Private}, {id: subnet-0000000000000000b, zone: eu-central-1b, role: Private},
  {id: subnet-0000000000000000c, zone: eu-central-1a, role: Public}]}}`, ""},
		{
			"a cluster with Auto Mode, which is disabled", cluster, "spec: {controlPlane: {eks: {autoMode: {nodePools: [general-purpose, system]}}}}",
			"spec: {controlPlane: {eks: {autoMode: {nodePools: [], state: Disabled}}}}", "",
		},
		{
			"Auto Mode later", cluster, "spec: {controlPlane: {eks: {}}}",
			"spec: {controlPlane: {eks: {autoMode: {nodePools: [system], selfManagedAddons: Kept}}}}", "",
		},
		{"another release and a bigger volume", cluster, "", `spec: {release: v1.36.4, controlPlane: {etcdVolume: {sizeGiB: 40}}}`, ""},
		{"a group with every default", group, "", "", ""},
		{"spot instances, labels, taints and disks", group, `
spec:
  architecture: arm64
  instanceTypes: [m7g.large, c7gn.large, a1.large, t4g.small, im4gn.large]
  zones: [eu-central-1a]
  spot: {onDemandBase: 1, onDemandPercentage: 20, maxPrice: "0.05"}
  labels: {example.com/pool: spot}
  taints: [{key: spot, value: "true", effect: NoSchedule}]
  volumes: [{device: /dev/sdf, sizeGiB: 100, iops: 6000, throughputMiBps: 500}]
  kubeletExtraArgs: {max-pods: "58"}
  rollingUpdate: {batchSize: 25%, minInService: 0, pause: 30s, drainTimeout: 5m}
`, "", ""},
		{"a group that the operator rolls, with patience", group, `
spec:
  rollingUpdate: {engine: Operator, surge: 25%, canary: 1, pause: 30m, readyTimeout: 30m, onDrainTimeout: Abandon}
  repair: {after: 20m, maxUnhealthy: 0}
`, "", ""},
		{"backups, repair and what to restore", cluster, `
spec:
  backup: {interval: 1h, keep: 3, bucket: {interval: 15m, keep: 500}}
  controlPlane: {repair: {disabled: true, after: 5m}, restoreSnapshot: snap-0123456789abcdef0}
`, "", ""},
		{"files and units of all nodes, of slots and of a group", cluster, `
spec:
  nodes:
    files: [{path: /etc/containerd/certs.d/docker.io/hosts.toml, content: "server = \"https://docker.io\""}, {path: /usr/local/bin/a.sh, mode: "0755", owner: root}]
    units:
    - {name: kubelet.service, dropIns: [{name: 10-a.conf, content: "[Service]"}]}
    - {name: "srv-my\\x2ddata.mount", content: "[Mount]"}
  controlPlane:
    files: [{path: /etc/key.pub, encoding: base64, content: YQ==}]
    units: [{name: a@.service, state: Installed, content: "[Service]"}, {name: a@b.service}, {name: b.timer, state: Masked}]
`, "", ""},
		{"a file and a unit of a group are removed", group, "spec: {files: [{path: /etc/a}], units: [{name: a.service}]}", "spec: {files: null, units: null}", ""},
		{"a group grows", group, "", `spec: {maxSize: 5, instanceTypes: [m6a.large]}`, ""},
		{"a release", theRelease, "", "", ""},
		{"a release is deprecated", theRelease, "", `spec: {state: Deprecated}`, ""},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			obj := s.object(t, c.manifest, c.with)
			var err error
			if c.change == "" {
				err = s.create(t, obj)
			} else {
				err = s.update(t, obj, c.change)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// Slots move by controlPlane.zones, once the API of their cluster has been up, unless there is only one.
func TestSlotsMoveInAClusterThatWasUp(t *testing.T) {
	s := newServer(t)
	for _, c := range []refusal{
		{
			"to a fourth zone", cluster, "spec: {network: {zones: [eu-central-1a, eu-central-1b, eu-central-1c, eu-central-1d]}}",
			"spec: {controlPlane: {zones: [eu-central-1a, eu-central-1d, eu-central-1c]}}", "",
		},
		{"to the zone of another", cluster, "", "spec: {controlPlane: {zones: [eu-central-1b, eu-central-1b, eu-central-1c]}}", ""},
		{
			"of five slots", cluster, "spec: {controlPlane: {replicas: 5, zones: [eu-central-1a, eu-central-1b]}}",
			"spec: {controlPlane: {zones: [eu-central-1b, eu-central-1a]}}", "",
		},
		{"to another existing subnet", existing, "", "spec: {controlPlane: {zones: [eu-central-1b]}}", ""},
		{"without naming zones", cluster, "", "spec: {network: {zones: [eu-central-1b, eu-central-1a, eu-central-1c]}}", slotsMoveOnly},
		{"no longer naming zones", cluster, "spec: {controlPlane: {zones: [eu-central-1c]}}", "spec: {controlPlane: {zones: null}}", slotsMoveOnly},
		{"the only one", cluster, "spec: {controlPlane: {replicas: 1}}", "spec: {controlPlane: {zones: [eu-central-1b]}}", slotsMoveOnly},
		{"the only one that stays", cluster, "", "spec: {controlPlane: {replicas: 1, zones: [eu-central-1b]}}", slotsMoveOnly},
	} {
		t.Run(c.reason, func(t *testing.T) {
			err := s.updateUp(t, s.object(t, c.manifest, c.with), c.change)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

// Before the operator has read it, no object seems to be up to date.
func TestNewObjectHasNotBeenObserved(t *testing.T) {
	s := newServer(t)
	for _, manifest := range []string{cluster, group} {
		obj := s.object(t, manifest, "")
		if err := s.create(t, obj); err != nil {
			t.Fatal(err)
		}
		if got, _, err := unstructured.NestedInt64(obj.Object, "status", "observedGeneration"); err != nil || got != -1 {
			t.Errorf("the observed generation of a new %s is %d, %v", obj.GetKind(), got, err)
		}
	}
}
