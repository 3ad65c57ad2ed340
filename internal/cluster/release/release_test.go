package release_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
)

func builtin(t *testing.T) map[string]*v1alpha1.Release {
	t.Helper()
	all, err := release.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]*v1alpha1.Release{}
	for _, one := range all {
		byName[one.Name] = one
	}
	return byName
}

func TestBuiltinReleasesAreTheLastThreeMinors(t *testing.T) {
	all := builtin(t)
	want := map[string]string{"v1.36.4": release.Set120, "v1.36.3": release.Set110, "v1.35.8": release.Set120, "v1.34.11": release.Set120}
	if got := slices.Sorted(maps.Keys(all)); len(got) != len(want) {
		t.Errorf("releases %v", got)
	}
	for name, set := range want {
		one := all[name]
		if one == nil {
			t.Errorf("there is no release %s", name)
			continue
		}
		if one.Spec.Kubernetes != name || one.Spec.ResourceSet != set {
			t.Errorf("%s has Kubernetes %s and resource set %s, want %s", name, one.Spec.Kubernetes, one.Spec.ResourceSet, set)
		}
	}
}

func TestArtifactsAreThoseOfANodeAndHaveAHash(t *testing.T) {
	hash := regexp.MustCompile(`^[0-9a-f]{64}$`)
	for name, one := range builtin(t) {
		var names []string
		for _, a := range one.Spec.Artifacts {
			names = append(names, a.Name)
			for _, architecture := range []v1alpha1.Architecture{v1alpha1.AMD64, v1alpha1.ARM64} {
				source, ok := a.Sources[architecture]
				if !ok || !strings.HasPrefix(source.URL, "https://") || !strings.Contains(source.URL, string(architecture)) {
					t.Errorf("%s: %s: %s is fetched from %q", name, a.Name, architecture, source.URL)
				}
				if !hash.MatchString(source.SHA256) {
					t.Errorf("%s: %s: %s has the hash %q: nothing could boot", name, a.Name, architecture, source.SHA256)
				}
			}
			if a.Sources[v1alpha1.AMD64].SHA256 != "" && a.Sources[v1alpha1.AMD64].SHA256 == a.Sources[v1alpha1.ARM64].SHA256 {
				t.Errorf("%s: %s has one hash for both architectures", name, a.Name)
			}
		}
		want := []string{"containerd", "runc", "cni-plugins", "kubelet", "kubeadm", "crictl", "ecr-credential-provider"}
		if name == "v1.36.3" { // It was published without.
			want = slices.Delete(want, 5, 6)
		}
		if !slices.Equal(names, want) {
			t.Errorf("%s: artifacts %v, want %v", name, names, want)
		}
	}
}

func TestImagesAreDated(t *testing.T) {
	dated := regexp.MustCompile(`/stable/20[0-9]{6}(\.[0-9]+)?/`)
	for name, one := range builtin(t) {
		for architecture, image := range one.Spec.Images {
			if !dated.MatchString(image.Parameter) || !strings.Contains(image.Parameter, "/"+string(architecture)+"/") {
				t.Errorf("%s: %s boots %s", name, architecture, image.Parameter)
			}
		}
	}
}

func TestSets(t *testing.T) {
	old, err := release.Set(release.Set100)
	if err != nil || old.Features != (release.Features{}) {
		t.Errorf("the first set is %+v, %v: it must never get a feature", old, err)
	}
	now, err := release.Set(release.Set110)
	if err != nil || !now.Features.CrossZoneAPI {
		t.Errorf("1.1.0 is %+v, %v", now, err)
	}
	_, err = release.Set("9.0.0")
	if want := `there is no resource set "9.0.0"; this operator knows 1.0.0, 1.1.0, 1.2.0`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestFillAddons(t *testing.T) {
	addons := []v1alpha1.ReleaseAddon{{Name: "none"}, {Name: "some", Values: &runtime.RawExtension{
		Raw: []byte(`{"args":["--name=$(CLUSTER)",1],"at":{"$(REGION)/$(CLUSTER)":"$(POD_CIDR) $(SERVICE_CIDR) $(OTHER)"}}`),
	}}}
	if err := release.FillAddons(addons, release.Facts{
		Cluster: "demo", Region: "eu-central-1", PodCIDR: "100.64.0.0/13", ServiceCIDR: "172.20.0.0/16",
	}); err != nil {
		t.Fatal(err)
	}
	want := `{"args":["--name=demo",1],"at":{"eu-central-1/demo":"100.64.0.0/13 172.20.0.0/16 $(OTHER)"}}`
	if got := string(addons[1].Values.Raw); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	list := []v1alpha1.ReleaseAddon{{Name: "list", Values: &runtime.RawExtension{Raw: []byte(`[1]`)}}}
	if err := release.FillAddons(list, release.Facts{}); err == nil || !strings.Contains(err.Error(), "addon list: values") {
		t.Errorf("values that are a list gave %v", err)
	}
}

func TestAddonsOfAClusterLeaveTheReleaseAsItIs(t *testing.T) {
	one := builtin(t)["v1.36.3"]
	before := one.DeepCopy()
	cluster := &v1alpha1.Cluster{Spec: v1alpha1.ClusterSpec{Region: "eu-central-1"}}
	cluster.Name = "demo"
	addons, err := release.Addons(one, cluster)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(addons, func(a v1alpha1.ReleaseAddon) bool { return a.Name == "cluster-autoscaler" })
	if got := string(addons[i].Values.Raw); !strings.Contains(got, `"clusterName":"demo"`) {
		t.Errorf("the autoscaler's values are %s", got)
	}
	if !reflect.DeepEqual(before, one) {
		t.Error("the release was changed")
	}
}

// A cluster gets an optional addon of the release if it names it, and names no chart of its own.
func TestOptionalAddonsAreThoseThatAClusterNames(t *testing.T) {
	one := builtin(t)["v1.36.4"]
	optional := func(own ...v1alpha1.Addon) (names []string) {
		cluster := &v1alpha1.Cluster{Spec: v1alpha1.ClusterSpec{Region: "eu-central-1", Addons: own}}
		cluster.Name = "demo"
		addons, err := release.Addons(one, cluster)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range addons {
			if a.Optional {
				names = append(names, a.Name)
			}
		}
		return names
	}
	manager := v1alpha1.Addon{Name: release.AddonCertManager}
	disabled, another := manager, manager
	disabled.Disabled = true
	another.Chart, another.Version = "oci://registry.example.com/cert-manager", "1.0.0"
	for name, c := range map[string]struct{ got, want []string }{
		"none":          {optional(), nil},
		"named":         {optional(manager), []string{release.AddonCertManager}},
		"disabled":      {optional(disabled), nil},
		"another chart": {optional(another), nil},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s: %q, want %q", name, c.got, c.want)
		}
	}
}

// An item of a list is there once for each hosted zone.
func TestValuesNameEachHostedZone(t *testing.T) {
	addons := []v1alpha1.ReleaseAddon{{Name: "dns", Values: &runtime.RawExtension{Raw: []byte(`{"args":["-a","-zone=$(HOSTED_ZONE)","-b=$(CLUSTER)"]}`)}}}
	for _, c := range []struct {
		zones []string
		want  string
	}{
		{nil, `{"args":["-a","-b=demo"]}`},
		{[]string{"Z1", "Z2"}, `{"args":["-a","-zone=Z1","-zone=Z2","-b=demo"]}`},
	} {
		filled := []v1alpha1.ReleaseAddon{*addons[0].DeepCopy()}
		if err := release.FillAddons(filled, release.Facts{Cluster: "demo", HostedZones: c.zones}); err != nil {
			t.Fatal(err)
		}
		if got := string(filled[0].Values.Raw); got != c.want {
			t.Errorf("with the zones %q the values are %s, want %s", c.zones, got, c.want)
		}
	}
}

// An addon that cannot work without an IAM role is not installed before the base stack has the role.
func TestAddonWithoutItsRoleIsAnError(t *testing.T) {
	one := builtin(t)["v1.36.4"]
	cluster := &v1alpha1.Cluster{Spec: v1alpha1.ClusterSpec{
		Region: "eu-central-1", Addons: []v1alpha1.Addon{{Name: release.AddonLoadBalancerController}},
	}}
	cluster.Name = "demo"
	if _, err := release.Addons(one, cluster); err == nil || !strings.Contains(err.Error(), "addon aws-load-balancer-controller needs an IAM role") {
		t.Errorf("the error is %v", err)
	}
	cluster.Status.Outputs = map[string]string{
		"VPC": "vpc-0123456789abcdef0", release.AddonRoles[release.AddonLoadBalancerController]: "arn:aws:iam::123456789012:role/demo-L",
	}
	addons, err := release.Addons(one, cluster)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(addons, func(a v1alpha1.ReleaseAddon) bool { return a.Name == release.AddonLoadBalancerController })
	for _, part := range []string{`"AWS_ROLE_ARN":"arn:aws:iam::123456789012:role/demo-L"`, `"vpcId":"vpc-0123456789abcdef0"`, `"clusterName":"demo"`} {
		if values := string(addons[i].Values.Raw); !strings.Contains(values, part) {
			t.Errorf("the values have no %s: %s", part, values)
		}
	}
}

func TestBuiltinAddonsHaveValuesThatCanBeFilled(t *testing.T) {
	for name, one := range builtin(t) {
		facts := release.Facts{Cluster: "demo", Region: "eu-central-1", VPC: "vpc-0123456789abcdef0", Roles: map[string]string{}}
		for addon := range release.AddonRoles {
			facts.Roles[addon] = "arn:aws:iam::123456789012:role/demo-" + addon
		}
		if err := release.FillAddons(one.Spec.Addons, facts); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		data, err := json.Marshal(one.Spec.Addons)
		if err != nil || strings.Contains(string(data), "$(") {
			t.Errorf("%s: something is not filled: %s (%v)", name, data, err)
		}
	}
}

// What needs AWS must be where the machine's role is
// (https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/configuring-IMDS-existing-instances.html:
// with a hop limit of 1 the answer does not reach a pod in a network of its own). Where the charts
// put it:
// https://github.com/kubernetes/cloud-provider-aws/blob/master/charts/aws-cloud-controller-manager/templates/daemonset.yaml,
// https://github.com/kubernetes/autoscaler/blob/master/charts/cluster-autoscaler/templates/deployment.yaml,
// https://github.com/kubernetes-sigs/aws-ebs-csi-driver/blob/master/charts/aws-ebs-csi-driver/values.schema.json.
func TestBuiltinAddonsReachWhatTheyNeed(t *testing.T) {
	toleration := []any{map[string]any{"key": "node-role.kubernetes.io/control-plane", "operator": "Exists", "effect": "NoSchedule"}}
	want := map[string]map[string]any{
		"aws-cloud-controller-manager": {"hostNetworking": true},
		"cluster-autoscaler": {
			"hostNetwork": true, "nodeSelector": map[string]any{"node-role.kubernetes.io/control-plane": ""}, "tolerations": toleration,
		},
		"aws-ebs-csi-driver": {"controller": map[string]any{
			"region": "eu-central-1", "k8sTagClusterId": "demo", "replicaCount": 1.0,
			"nodeSelector": map[string]any{"node-role.kubernetes.io/control-plane": ""},
			"tolerations": append(
				[]any{map[string]any{"key": "CriticalAddonsOnly", "operator": "Exists"}},
				append(
					slices.Clone(toleration), map[string]any{"effect": "NoExecute", "operator": "Exists", "tolerationSeconds": 300.0},
				)...),
		}, "node": map[string]any{"metadataSources": "kubernetes"}},
		"metrics-server": {"args": []any{"--kubelet-insecure-tls"}},
	}
	for name, one := range builtin(t) {
		if err := release.FillAddons(one.Spec.Addons, release.Facts{Cluster: "demo", Region: "eu-central-1"}); err != nil {
			t.Fatal(err)
		}
		for addon, values := range want {
			i := slices.IndexFunc(one.Spec.Addons, func(a v1alpha1.ReleaseAddon) bool { return a.Name == addon })
			if i < 0 {
				t.Errorf("%s has no addon %s", name, addon)
				continue
			}
			got := map[string]any{}
			if err := json.Unmarshal(one.Spec.Addons[i].Values.Raw, &got); err != nil {
				t.Fatal(err)
			}
			for key, value := range values {
				if !reflect.DeepEqual(got[key], value) {
					t.Errorf("%s: %s: %s is %v, want %v", name, addon, key, got[key], value)
				}
			}
		}
	}
}

// With a role, the driver's controller takes it by its service account and runs anywhere; without
// one, it runs where the instances' role is, with one replica, since two cannot listen on the same
// port of one node.
// https://docs.aws.amazon.com/sdkref/latest/guide/feature-assume-role-credentials.html
func TestEBSCSIControllerHasCredentials(t *testing.T) {
	const role = "arn:aws:iam::123456789012:role/demo-EBSCSIRole"
	for name, one := range builtin(t) {
		for _, arn := range []string{"", role} {
			cluster := &v1alpha1.Cluster{Spec: v1alpha1.ClusterSpec{Region: "eu-central-1"}}
			cluster.Name, cluster.Status.Outputs = "demo", map[string]string{release.AddonRoles["aws-ebs-csi-driver"]: arn}
			addons, err := release.Addons(one, cluster)
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(addons, func(a v1alpha1.ReleaseAddon) bool { return a.Name == "aws-ebs-csi-driver" })
			values, patches := string(addons[i].Values.Raw), addons[i].Patches
			if arn == "" {
				onHost := len(patches) == 1 && patches[0].Kind == "Deployment" && patches[0].Name == "ebs-csi-controller" &&
					string(patches[0].Patch.Raw) == `{"spec":{"template":{"spec":{"hostNetwork":true}}}}`
				if !onHost || !strings.Contains(values, `"replicaCount":1`) || strings.Contains(values, "AWS_ROLE_ARN") {
					t.Errorf("%s without a role: values %s, patches %+v", name, values, patches)
				}
				continue
			}
			for _, want := range []string{
				`{"name":"AWS_ROLE_ARN","value":"` + role + `"}`,
				`{"name":"AWS_WEB_IDENTITY_TOKEN_FILE","value":"/var/run/secrets/aws/token"}`,
				`{"serviceAccountToken":{"audience":"sts.amazonaws.com","expirationSeconds":3600,"path":"token"}}`,
				`{"mountPath":"/var/run/secrets/aws","name":"aws-iam-token","readOnly":true}`,
			} {
				if !strings.Contains(values, want) {
					t.Errorf("%s with a role: %s is not in %s", name, want, values)
				}
			}
			if len(patches) > 0 || strings.Contains(values, "node-role.kubernetes.io") {
				t.Errorf("%s with a role: values %s, patches %+v", name, values, patches)
			}
		}
	}
}

func TestBuiltinChartsHaveADigest(t *testing.T) {
	for name, one := range builtin(t) {
		for i := range one.Spec.Addons {
			if a := &one.Spec.Addons[i]; len(a.Digest) != 64 {
				t.Errorf("%s: %s %s has the digest %q", name, a.Name, a.Version, a.Digest)
			}
		}
	}
}
