package bootstrap_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

// fixture is a cluster with everything set, one of its groups, and its release.
type fixture struct {
	cluster  *v1alpha1.Cluster
	group    *v1alpha1.InstanceGroup
	release  *v1alpha1.Release
	existing *model.ExistingVPC
}

func artifact(name, path string, format v1alpha1.ArtifactFormat) v1alpha1.Artifact {
	source := func(architecture string) v1alpha1.ArtifactSource {
		return v1alpha1.ArtifactSource{
			URL: "https://example.com/" + architecture + "/" + name, SHA256: strings.Repeat("ab", 32), Unverified: "not so",
		}
	}
	return v1alpha1.Artifact{
		Name: name, Version: "2.1.0", Path: path, Format: format,
		Sources: map[v1alpha1.Architecture]v1alpha1.ArtifactSource{v1alpha1.AMD64: source("amd64"), v1alpha1.ARM64: source("arm64")},
	}
}

// setup returns a file and a unit of a user.
func setup(path, unit string) v1alpha1.NodeSetup {
	return v1alpha1.NodeSetup{
		Files: []v1alpha1.NodeFile{{Path: path, Content: "YQo=", Encoding: v1alpha1.FileBase64, Mode: "0640", Owner: "daemon"}},
		Units: []v1alpha1.NodeUnit{{
			Name: unit, State: v1alpha1.UnitStarted,
			Content: "[Unit]\nDescription=Records that it starts\nBefore=containerd.service\n\n[Service]\nType=oneshot\nRemainAfterExit=true\n" +
				"ExecStart=/bin/sh -c 'echo " + unit + " >>/root/units'\n\n[Install]\nWantedBy=multi-user.target\n",
			DropIns: []v1alpha1.UnitDropIn{{Name: "10-nice.conf", Content: "[Service]\nNice=5\n"}},
		}},
	}
}

// newFixture returns a cluster in a new VPC with everything set.
func newFixture() fixture {
	const images = "/aws/service/canonical/ubuntu/server/24.04/stable/20260101/"
	volume := v1alpha1.Volume{Type: v1alpha1.VolumeGP3, SizeGiB: 50, IOPS: 4000, ThroughputMiBps: 200}
	values := &runtime.RawExtension{Raw: []byte(`{"a":1}`)}
	zones := []string{"eu-central-1a", "eu-central-1b", "eu-central-1c"}
	return fixture{
		release: &v1alpha1.Release{
			ObjectMeta: metav1.ObjectMeta{Name: "v1.36.3"},
			Spec: v1alpha1.ReleaseSpec{
				Kubernetes: "v1.36.3", ResourceSet: "1.1.0", State: v1alpha1.ReleaseActive,
				Components: map[string]string{"etcd": "3.6.8-0", "coredns": "v1.14.0", "pause": "3.10.1", "node-cache": "1.26.7"},
				Artifacts: []v1alpha1.Artifact{
					artifact("containerd", "/usr/local", v1alpha1.ArtifactTarGz),
					artifact("runc", "/usr/local/sbin/runc", v1alpha1.ArtifactBinary),
					artifact("kubelet", "/usr/local/bin/kubelet", v1alpha1.ArtifactBinary),
					artifact("ecr-credential-provider", "/usr/local/bin/ecr-credential-provider", v1alpha1.ArtifactBinary),
				},
				Images: map[v1alpha1.Architecture]v1alpha1.MachineImage{
					v1alpha1.AMD64: {Parameter: images + "amd64/hvm/ebs-gp3/ami-id", User: "ubuntu"},
					v1alpha1.ARM64: {Parameter: images + "arm64/hvm/ebs-gp3/ami-id", User: "ubuntu"},
				},
				Addons: []v1alpha1.ReleaseAddon{
					{
						Name:       "cni",
						Namespace:  "kube-system",
						Chart:      "cni",
						Repository: "https://example.com",
						Version:    "1.0.0",
						Values:     values,
					},
				},
			},
		},
		cluster: &v1alpha1.Cluster{
			ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "team"},
			Spec: v1alpha1.ClusterSpec{
				Release: "v1.36.3", Region: "eu-central-1",
				Identity: "team", Role: &v1alpha1.AssumedRole{ARN: "arn:aws:iam::123456789012:role/operator", ExternalID: "e"},
				Network: v1alpha1.Network{
					CIDR:        "10.0.0.0/16",
					Zones:       zones,
					Topology:    v1alpha1.TopologyPrivate,
					NAT:         v1alpha1.NATPerZone,
					PodCIDR:     "100.64.0.0/13",
					ServiceCIDR: "172.20.0.0/16",
				},
				API: v1alpha1.APIEndpoint{
					Access: v1alpha1.APIPublic, AllowedCIDRs: []string{"192.0.2.0/24"},
					SecurityGroups: []string{"sg-0123456789abcdef0"}, ExtraNames: []string{"api.example.org"},
					Audit: &v1alpha1.Audit{
						MaxAge: 30, MaxBackups: 10, MaxSize: 100, Policy: &runtime.RawExtension{Raw: []byte(`{"rules":[{"level":"Metadata"}]}`)},
						Ship: &v1alpha1.AuditShipping{
							Bucket: "logs", Account: "210987654321", Prefix: "kubernetes/",
							KMSKeyARN: "arn:aws:kms:eu-central-1:210987654321:key/1", Every: &metav1.Duration{Duration: time.Minute},
						},
					},
					Encryption: &v1alpha1.Encryption{
						KMSKeyARN: "arn:aws:kms:eu-central-1:210987654321:key/2", Resources: []string{"secrets", "widgets.example.com"},
					},
					Authentication: &runtime.RawExtension{Raw: []byte(`{"jwt":[{"issuer":{"url":"https://login.example.com",` +
						`"audiences":["kubernetes"]},"claimMappings":{"username":{"claim":"sub","prefix":"oidc:"}}}]}`)},
					PodSecurity: &v1alpha1.PodSecurity{
						Enforce: "baseline", Audit: "restricted", Warn: "restricted", ExemptNamespaces: []string{"monitoring"},
					},
				},
				DNS: &v1alpha1.DNS{HostedZoneID: "Z0123456789ABC", Name: "api.demo.example.com"},
				ControlPlane: v1alpha1.ControlPlane{
					Replicas: 3, InstanceType: "m6i.large", Zones: zones, RootVolume: volume, EtcdVolume: volume,
					SecurityGroups: []string{
						"sg-0123456789abcdef1",
					}, Roll: "2026-11-22", Labels: map[string]string{"example.com/tier": "one"},
					ExtraArgs: v1alpha1.ExtraArgs{
						APIServer: map[string]string{"v": "2"}, ControllerManager: map[string]string{"v": "2"},
						Scheduler: map[string]string{"v": "2"}, Etcd: map[string]string{"quota-backend-bytes": "4294967296"},
					},
					NodeSetup: setup("/etc/agent/slot.conf", "slot.service"),
				},
				Nodes:   setup("/etc/agent/agent.conf", "agent.service"),
				Bastion: &v1alpha1.Bastion{InstanceType: "t3.micro", Replicas: 1, AllowedCIDRs: []string{"192.0.2.0/25"}},
				SSH: v1alpha1.SSH{
					AuthorizedKeys: []string{"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBx one"},
					AllowedCIDRs:   []string{"192.0.2.0/26"},
				},
				IAM: v1alpha1.NodeIAM{
					ControlPlanePolicies: []string{"arn:aws:iam::aws:policy/A"}, WorkerPolicies: []string{"arn:aws:iam::aws:policy/B"},
					ImageRepositories: []string{"team/*"}, PermissionsBoundary: "arn:aws:iam::123456789012:policy/boundary",
				},
				ServiceAccountIssuer: &v1alpha1.ServiceAccountIssuer{URL: "https://issuer.example.com"},
				Addons: []v1alpha1.Addon{
					{
						Name:       "extra",
						Namespace:  "extra",
						Chart:      "extra",
						Repository: "https://example.com",
						Version:    "1.0.0",
						Values:     values,
					},
				},
				Tags:         map[string]string{"team": "one"},
				UpdatePolicy: v1alpha1.UpdateAutomatic, VolumePolicy: v1alpha1.VolumesRetain,
			},
		},
		group: &v1alpha1.InstanceGroup{
			ObjectMeta: metav1.ObjectMeta{Name: "demo-workers", Namespace: "team"},
			Spec: v1alpha1.InstanceGroupSpec{
				Cluster: "demo", Manager: v1alpha1.ManagerAutoScaling, MinSize: 3, MaxSize: 6, InstanceTypes: []string{"m6i.large", "m6a.large"},
				Spot: &v1alpha1.Spot{
					OnDemandBase:       1,
					OnDemandPercentage: 20,
					Strategy:           "price-capacity-optimized",
					MaxPrice:           "0.10",
				},
				Architecture: v1alpha1.AMD64, Zones: zones, RootVolume: volume,
				Volumes:        []v1alpha1.DataVolume{{Device: "/dev/sdg", Volume: volume}},
				Labels:         map[string]string{"example.com/tier": "two"},
				Taints:         []corev1.Taint{{Key: "example.com/only", Value: "these", Effect: corev1.TaintEffectNoSchedule}},
				Tags:           map[string]string{"team": "two"},
				SecurityGroups: []string{"sg-0123456789abcdef2"}, KubeletExtraArgs: map[string]string{"max-pods": "58"},
				NodeSetup:     setup("/etc/agent/group.conf", "group.service"),
				ExtraUserData: "#!/bin/sh\necho here\n", Roll: "2026-11-22", Autoscale: true,
				RollingUpdate: v1alpha1.RollingUpdate{
					BatchSize: new(intstr.FromInt32(2)), MinInService: new(intstr.FromInt32(2)),
					Pause: &metav1.Duration{Duration: time.Minute}, DrainTimeout: &metav1.Duration{Duration: 5 * time.Minute},
					ReadyTimeout: &metav1.Duration{Duration: 15 * time.Minute}, OnDrainTimeout: v1alpha1.DrainContinue,
					Engine: v1alpha1.RollCloudFormation, Surge: new(intstr.FromInt32(0)),
				},
				Repair:       v1alpha1.Repair{After: &metav1.Duration{Duration: 10 * time.Minute}, MaxUnhealthy: new(intstr.FromInt32(2))},
				UpdatePolicy: v1alpha1.UpdateAutomatic,
			},
		},
	}
}

// behindGateways returns a cluster whose nodes go through gateways that are there, and have DNS caches.
func behindGateways() fixture {
	f := newFixture()
	f.cluster.Spec.Network.NodeLocalDNS = &v1alpha1.NodeLocalDNS{Forward: v1alpha1.ForwardToResolver}
	f.cluster.Spec.Network.NAT = v1alpha1.NATExisting
	f.cluster.Spec.Network.NATGateways = map[string]string{
		"eu-central-1a": "nat-0123456789abcdef0", "eu-central-1b": "nat-0123456789abcdef1", "eu-central-1c": "nat-0123456789abcdef2",
	}
	return f
}

// inExistingVPC returns a cluster in a VPC that is there.
func inExistingVPC() fixture {
	f := newFixture()
	network := &f.cluster.Spec.Network
	network.CIDR, network.Zones, network.NAT = "", nil, ""
	network.VPC = "vpc-0123456789abcdef0"
	f.existing = &model.ExistingVPC{ID: network.VPC, CIDRs: []string{"10.9.0.0/16"}}
	add := func(id, zone, cidr string, role v1alpha1.SubnetRole) {
		if role != "" {
			network.Subnets = append(network.Subnets, v1alpha1.Subnet{ID: id, Zone: zone, Role: role})
		}
		f.existing.Subnets = append(
			f.existing.Subnets, model.ExistingSubnet{ID: id, Zone: zone, CIDR: cidr, RouteTable: "rtb-0123456789abcdef1"},
		)
	}
	add("subnet-0123456789abcdef1", "eu-central-1a", "10.9.0.0/20", v1alpha1.SubnetPrivate)
	add("subnet-0123456789abcdef2", "eu-central-1b", "10.9.16.0/20", v1alpha1.SubnetPrivate)
	add("subnet-0123456789abcdef3", "eu-central-1c", "10.9.32.0/20", v1alpha1.SubnetPrivate)
	add("subnet-0123456789abcdef4", "eu-central-1a", "10.9.48.0/20", v1alpha1.SubnetPublic)
	add("subnet-0123456789abcdef5", "eu-central-1b", "10.9.64.0/20", v1alpha1.SubnetPublic)
	add("subnet-0123456789abcdef6", "eu-central-1c", "10.9.80.0/20", v1alpha1.SubnetPublic)
	add("subnet-0123456789abcdef7", "eu-central-1a", "10.9.96.0/20", "")
	add("subnet-0123456789abcdef8", "eu-central-1a", "10.9.112.0/20", "")
	f.group.Spec.Zones = nil
	f.group.Spec.Subnets = []string{"subnet-0123456789abcdef7"}
	return f
}

func (f fixture) resolve() (*model.Cluster, *model.Group, error) {
	c, err := model.Resolve(model.Input{
		Cluster: f.cluster, Release: f.release, Operator: "management", AccountID: "123456789012",
		Partition: "aws", DNSSuffix: "amazonaws.com", Existing: f.existing,
	})
	if err != nil {
		return nil, nil, err
	}
	g, err := model.ResolveGroup(c, f.group)
	return c, g, err
}

func (f fixture) mustResolve(t *testing.T) (*model.Cluster, *model.Group) {
	t.Helper()
	c, g, err := f.resolve()
	if err != nil {
		t.Fatal(err)
	}
	return c, g
}

// outputs are those of a base stack. CloudFormation gives load balancers names of both cases.
var outputs = map[string]string{
	model.OutputAPIAddress: "demo-APILo-aB3dE5gH7iJ9-0123456789abcdef.elb.eu-central-1.amazonaws.com",
	model.OutputHostedZone: "Z0987654321ABC",
	model.OutputWorkerRole: "arn:aws:iam::123456789012:role/demo-WorkerRole-aB3dE5gH7iJ9",
}

// caCertificate is a CA's, and always the same one, for golden files.
const caCertificate = `-----BEGIN CERTIFICATE-----
MIIBgTCCASegAwIBAgIUPPYLgyxAWbzOVv6ZEBupGbLZCcQwCgYIKoZIzj0EAwIw
FTETMBEGA1UEAwwKa3ViZXJuZXRlczAgFw0yNjExMjAxNTI0MTJaGA8yMTI2MTAy
NzE1MjQxMlowFTETMBEGA1UEAwwKa3ViZXJuZXRlczBZMBMGByqGSM49AgEGCCqG
SM49AwEHA0IABB3xQJwBn7cS1rdYxmczEkNOMkM0f9eXAd4DTvowWYW7EfOIUj4k
U8cTnHK7wwDi1LlPIcrx1urwVxeWDPbL1rSjUzBRMB0GA1UdDgQWBBRmaMs+FiyB
//NS4vv4Gx87zhJPLjAfBgNVHSMEGDAWgBRmaMs+FiyB//NS4vv4Gx87zhJPLjAP
BgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0gAMEUCIQD9RMSEFJ6enseM88li
C3GprEHtuASfLHuYGtP73wC2IQIgcoJXw0TDBm66m+HSLhEZ3ZBn/CYyj3IgXLFy
l2fJygM=
-----END CERTIFICATE-----
`
