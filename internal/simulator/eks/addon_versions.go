package eks

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"
)

// addonKind is an add-on that EKS offers.
type addonKind struct {
	name, kind, owner string
	// replicas says that the add-on has a Deployment, which needs nodes. roles says that it needs
	// permissions in AWS.
	replicas, roles bool
	versions        []addonVersion // the latest first
}

// addonVersion is a version of an add-on.
type addonVersion struct {
	version string
	// clusters are the versions of clusters that it fits; nil means all.
	clusters []string
	// standard says that it is the version of an add-on that asks for none.
	standard bool
}

const kubeSystem = "kube-system"

// addonKinds are the add-ons that the simulator knows, with versions that public configurations of
// September 2026 have. AWS offers more add-ons, and about ten versions of each.
// https://docs.aws.amazon.com/eks/latest/userguide/workloads-add-ons-available-eks.html
var addonKinds = []addonKind{
	{"aws-ebs-csi-driver", "storage", "aws", true, true, []addonVersion{{"v1.65.0-eksbuild.1", nil, true}, {"v1.62.0-eksbuild.1", nil, false}}},
	{"coredns", "networking", "aws", true, false, []addonVersion{
		{"v1.14.3-eksbuild.16", []string{"1.35", "1.36"}, false},
		{"v1.14.3-eksbuild.14", []string{"1.35", "1.36"}, true},
		{"v1.13.2-eksbuild.24", []string{"1.34"}, true},
		{"v1.12.4-eksbuild.31", []string{"1.33"}, true},
		{"v1.11.4-eksbuild.53", []string{"1.31", "1.32"}, true},
	}},
	{"eks-pod-identity-agent", "security", "aws", false, false, []addonVersion{{"v1.4.0-eksbuild.2", nil, false}, {"v1.3.10-eksbuild.3", nil, true}}},
	{"kube-proxy", "networking", "aws", false, false, []addonVersion{
		{"v1.36.0-eksbuild.25", []string{"1.36"}, false},
		{"v1.36.0-eksbuild.17", []string{"1.36"}, true},
		{"v1.35.3-eksbuild.25", []string{"1.35"}, true},
		{"v1.34.6-eksbuild.25", []string{"1.34"}, true},
		{"v1.33.10-eksbuild.25", []string{"1.33"}, true},
		{"v1.32.13-eksbuild.28", []string{"1.32"}, true},
		{"v1.31.14-eksbuild.32", []string{"1.31"}, true},
	}},
	{"metrics-server", "observability", "community", true, false, []addonVersion{{"v0.8.0-eksbuild.2", nil, true}, {"v0.7.2-eksbuild.1", nil, false}}},
	{"vpc-cni", "networking", "aws", false, true, []addonVersion{{"v1.23.1-eksbuild.1", nil, false}, {"v1.22.4-eksbuild.3", nil, true}}},
}

func addonKindOf(name string) (addonKind, bool) {
	i := slices.IndexFunc(addonKinds, func(k addonKind) bool { return k.name == name })
	if i < 0 {
		return addonKind{}, false
	}
	return addonKinds[i], true
}

func (v *addonVersion) fits(cluster string) bool {
	return v.clusters == nil || slices.Contains(v.clusters, cluster)
}

// choose returns the version of an add-on for a version of a cluster: the one that was asked for, or the
// default.
func (k *addonKind) choose(cluster, asked string) (version string, ok bool) {
	for _, v := range k.versions {
		if v.fits(cluster) && (asked == v.version || asked == "" && v.standard) {
			return v.version, true
		}
	}
	return "", false
}

// describeAddonVersions lists the add-ons and their versions.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_DescribeAddonVersions.html
func (s *Service) describeAddonVersions(
	_ context.Context, in *eks.DescribeAddonVersionsInput,
) (*eks.DescribeAddonVersionsOutput, error) {
	out := &eks.DescribeAddonVersionsOutput{Addons: []types.AddonInfo{}}
	among := func(list []string, v string) bool { return len(list) == 0 || slices.Contains(list, v) }
	for _, k := range addonKinds {
		if in.AddonName != nil && *in.AddonName != k.name || !among(in.Types, k.kind) || !among(in.Owners, k.owner) || !among(in.Publishers, "eks") {
			continue
		}
		if shown := k.describe(value(in.KubernetesVersion)); len(shown.AddonVersions) > 0 {
			out.Addons = append(out.Addons, shown)
		}
	}
	return out, nil
}

func (k *addonKind) describe(cluster string) types.AddonInfo {
	info := types.AddonInfo{AddonName: &k.name, Type: &k.kind, Owner: &k.owner, Publisher: new("eks"), DefaultNamespace: new(kubeSystem)}
	for _, v := range k.versions {
		shown := types.AddonVersionInfo{
			AddonVersion: &v.version, Architecture: []string{"amd64", "arm64"}, ComputeTypes: []string{"ec2"}, RequiresIamPermissions: k.roles,
		}
		for _, r := range slices.Backward(releases) {
			if v.fits(r.version) && (cluster == "" || cluster == r.version) {
				shown.Compatibilities = append(shown.Compatibilities, types.Compatibility{
					ClusterVersion: &r.version, PlatformVersions: []string{"*"}, DefaultVersion: v.standard,
				})
			}
		}
		if shown.Compatibilities != nil {
			info.AddonVersions = append(info.AddonVersions, shown)
		}
	}
	return info
}
