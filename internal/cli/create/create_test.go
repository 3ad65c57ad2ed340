package create

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/internal/manifest"
)

func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	out, _, err := runBoth(t, args...)
	return out, err
}

func runBoth(t *testing.T, args ...string) (out, errOut string, err error) {
	t.Helper()
	var o, e bytes.Buffer
	cmd := Command()
	cmd.SetArgs(append([]string{"cluster"}, args...))
	cmd.SetOut(&o)
	cmd.SetErr(&e)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err = cmd.ExecuteContext(t.Context())
	return o.String(), e.String(), err
}

// The list of the test has a price for all of a cluster, so nothing is unknown.
func TestDryRunSaysWhatTheClusterCosts(t *testing.T) {
	t.Chdir(t.TempDir())
	const list = `formatVersion: v1
sections:
- region: eu-central-1
  offer: AmazonEC2
  date: "2026-01-02"
  source: test
  prices: {"BoxUsage:m6i.large": 0.1, NatGateway-Hours: 0.05, "EBS:VolumeUsage.gp3": 0.1, "PublicIPv4:InUseAddress": 0.01,
    LoadBalancerUsage/network: 0.02, KMS-Keys: 1, HostedZone: 0.5}
`
	if err := os.WriteFile("prices.yaml", []byte(list), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"demo", "--zones=eu-central-1a", "--node-count=2", "--dry-run"}
	out, errOut, err := runBoth(t, append(args, "--prices=prices.yaml")...)
	if err != nil || strings.Contains(out, "price") || strings.Contains(errOut, "unknown") {
		t.Fatalf("%v\n%s%s", err, out, errOut)
	}
	for _, want := range []string{
		"Monthly price in USD (730 hours on demand, without discounts and taxes; prices of 2026-01-02):\n",
		"    demo-workers/AutoScalingGroup ", " 2 × m6i.large ", " 146.00\n", " NAT gateway ", " KMS key ",
		"By usage, and in no total: capacity units of load balancers, data through NAT gateways, objects and requests of S3 buckets, ",
	} {
		if !strings.Contains(errOut, want) {
			t.Errorf("%q is missing in\n%s", want, errOut)
		}
	}
	_, errOut, err = runBoth(t, "demo", "--zones=eu-central-2a", "--dry-run", "--prices=prices.yaml")
	if err != nil || !strings.Contains(errOut, "Monthly price: unknown, since the price list has no prices of region eu-central-2.") {
		t.Errorf("a region that the list lacks: %v\n%s", err, errOut)
	}
	if _, _, err := runBoth(t, append(args, "--prices=absent.yaml")...); err == nil || !strings.Contains(err.Error(), "absent.yaml") {
		t.Errorf("a list that does not exist: %v", err)
	}
}

func TestFlagsBecomeManifests(t *testing.T) {
	key := filepath.Join(t.TempDir(), "id.pub")
	if err := os.WriteFile(key, []byte("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFu1 ada@example.com\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	got, err := run(t, "demo", "--zones=eu-central-1a,eu-central-1b,eu-central-1c", "--topology=private", "--bastion", "--node-count=3",
		"--ssh-key", key, "--ssh-access=192.0.2.0/24", "--api-access=198.51.100.0/24", "--dry-run", "-o", "yaml")
	if err != nil {
		t.Fatal(err)
	}
	const want = `apiVersion: cluster-operator.aws/v1alpha1
kind: Cluster
metadata:
  name: demo
spec:
  api:
    allowedCIDRs:
    - 198.51.100.0/24
  backup:
    bucket: {}
  bastion: {}
  controlPlane:
    instanceType: m6i.large
    replicas: 3
  network:
    cidr: 10.0.0.0/16
    topology: Private
    zones:
    - eu-central-1a
    - eu-central-1b
    - eu-central-1c
  region: eu-central-1
  release: v1.36.4
  ssh:
    allowedCIDRs:
    - 192.0.2.0/24
    authorizedKeys:
    - ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFu1 ada@example.com
---
apiVersion: cluster-operator.aws/v1alpha1
kind: InstanceGroup
metadata:
  name: demo-workers
spec:
  cluster: demo
  instanceTypes:
  - m6i.large
  maxSize: 3
  minSize: 3
`
	if got != want {
		t.Errorf("got\n%s", got)
	}
	if left, err := os.ReadDir("."); err != nil || len(left) > 0 {
		t.Errorf("something was written: %v, %v", left, err)
	}
}

// TestDefinedClusterCanBeCreated resolves what the flags make, as all that comes after does.
func TestDefinedClusterCanBeCreated(t *testing.T) {
	for name, args := range map[string][]string{
		"the defaults, in one zone":   {"--zones=us-east-1a"},
		"public nodes, in two zones":  {"--zones=us-east-1a,us-east-1b", "--topology=Public", "--node-size=t3.medium", "--control-plane-size=t3.medium"},
		"three slots in one zone":     {"--zones=us-east-1a", "--control-plane-count=3"},
		"another release and network": {"--zones=us-east-1a", "--release=v1.35.8", "--network-cidr=172.16.0.0/20"},
		"a single worker":             {"--zones=us-east-1a", "--node-count=1"},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := run(t, append([]string{"demo", "--dry-run"}, args...)...)
			if err != nil {
				t.Fatal(err)
			}
			set, err := manifest.Read([]manifest.Source{{Name: "out", Reader: strings.NewReader(text)}}, manifest.Options{})
			if err != nil {
				t.Fatal(err)
			}
			cluster, group := manifest.Objects[*v1alpha1.Cluster](set)[0], manifest.Objects[*v1alpha1.InstanceGroup](set)[0]
			builtin, err := release.Builtin()
			if err != nil {
				t.Fatal(err)
			}
			of := builtin[slices.IndexFunc(builtin, func(r *v1alpha1.Release) bool { return r.Name == cluster.Spec.Release })]
			resolved, err := model.Resolve(
				model.Input{
					Cluster:   cluster,
					Release:   of,
					Operator:  "x",
					AccountID: "123456789012",
					Partition: "aws",
					DNSSuffix: "amazonaws.com",
				},
			)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := model.ResolveGroup(resolved, group); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestWithoutDryRunTheStateHasTheCluster(t *testing.T) {
	t.Chdir(t.TempDir())
	out, err := run(t, "demo", "--zones=us-east-1a", "--state=kept")
	if err != nil || !strings.Contains(out, "Cluster demo: created\n") || !strings.Contains(out, "InstanceGroup demo-workers: created\n") {
		t.Fatalf("%s, %v", out, err)
	}
	if _, err := os.Stat("kept/demo/secrets/demo-ca.yaml"); err != nil {
		t.Error(err)
	}
}
