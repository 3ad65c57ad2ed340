package render_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/internal/cluster/render"
)

// addonRoles are the roles of addons.
var addonRoles = slices.Sorted(maps.Values(release.AddonRoles))

// withIssuer is the base stack of a cluster with an issuer and all optional addons, of a resource set.
func withIssuer(t *testing.T, set string) *render.Stack {
	t.Helper()
	f := read(t, "testdata/private.yaml")
	f.cluster.Spec.Release = "set-" + set
	f.cluster.Spec.IAM.HostedZones = []string{"Z0123456789ABC"}
	of := setRelease(set)
	for name := range release.AddonRoles {
		if name != release.AddonEBSCSIDriver {
			f.cluster.Spec.Addons = append(f.cluster.Spec.Addons, v1alpha1.Addon{Name: name})
			of.Spec.Addons = append(of.Spec.Addons, v1alpha1.ReleaseAddon{Name: name, Optional: true})
		}
	}
	c, _ := fixture{cluster: f.cluster}.resolve(t, of)
	s, err := render.Base(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The actions are those of
// https://docs.aws.amazon.com/aws-managed-policy/latest/reference/AmazonEBSCSIDriverPolicy.html and
// of
// https://github.com/kubernetes-sigs/aws-ebs-csi-driver/blob/master/docs/example-iam-policy.json.
func TestEBSCSIRoleAllowsWhatTheDriverCalls(t *testing.T) {
	want := []string{
		"ec2:AttachVolume", "ec2:CopyVolumes", "ec2:CreateSnapshot", "ec2:CreateTags", "ec2:CreateVolume", "ec2:DeleteSnapshot",
		"ec2:DeleteTags",
		"ec2:DeleteVolume", "ec2:DescribeAvailabilityZones", "ec2:DescribeInstanceTypes", "ec2:DescribeInstances", "ec2:DescribeSnapshots",
		"ec2:DescribeTags", "ec2:DescribeVolumeStatus", "ec2:DescribeVolumes", "ec2:DescribeVolumesModifications", "ec2:DetachVolume",
		"ec2:EnableFastSnapshotRestores", "ec2:ModifyVolume",
	}
	s := withIssuer(t, "1.2.0")
	var got []string
	for _, one := range statements(t, s, "EBSCSIRole") {
		if one.effect == "Allow" {
			got = append(got, one.actions...)
		}
		changes := one.sid != "Describe" && one.sid != "TagAtCreation"
		if changes && !strings.Contains(one.conditions, "Tag/kubernetes.io/cluster/big") {
			t.Errorf("%s is not limited to the cluster: %s", one.sid, one.conditions)
		}
		if changes && strings.Contains(one.conditions, "aws:ResourceTag") &&
			!strings.Contains(one.conditions, `"Null":{"aws:ResourceTag/cluster-operator.aws/etcd-slot":"true"}`) {
			t.Errorf("%s reaches etcd's volumes: %s", one.sid, one.conditions)
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, slices.Compact(got)); diff != "" {
		t.Errorf("actions (-want +got):\n%s", diff)
	}
}

// https://docs.aws.amazon.com/IAM/latest/UserGuide/id_roles_create_for-idp_oidc.html
func TestEBSCSIRoleTrustsOnlyTheDriversServiceAccount(t *testing.T) {
	s := withIssuer(t, "1.2.0")
	host := strings.TrimPrefix(strings.Trim(property(s, "Issuer", "Url"), `"`), "https://")
	want := map[string]any{"Version": "2012-10-17", "Statement": []any{map[string]any{
		"Effect": "Allow", "Action": "sts:AssumeRoleWithWebIdentity",
		"Principal": map[string]any{"Federated": map[string]any{"Fn::GetAtt": []any{"Issuer", "Arn"}}},
		"Condition": map[string]any{"StringEquals": map[string]any{
			host + ":aud": "sts.amazonaws.com", host + ":sub": "system:serviceaccount:kube-system:ebs-csi-controller-sa",
		}},
	}}}
	var got map[string]any
	if err := json.Unmarshal([]byte(property(s, "EBSCSIRole", "AssumeRolePolicyDocument")), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("trust policy (-want +got):\n%s", diff)
	}
	if got := property(s, "EBSCSIRole", "PermissionsBoundary"); got == "" {
		t.Error("it has no permissions boundary, and the spec names one")
	}
}

// A published set renders the same for ever, so that the base stacks of running clusters do not
// change.
func TestAddonRolesNeedAnIssuerAndTheirResourceSet(t *testing.T) {
	for _, role := range addonRoles {
		for _, set := range []string{"1.0.0", "1.1.0"} {
			if s := withIssuer(t, set); s.Template.Resources[role] != nil {
				t.Errorf("set %s has %s", set, role)
			}
		}
		if withIssuer(t, "1.2.0").Template.Resources[role] == nil {
			t.Errorf("set 1.2.0 has no %s", role)
		}
	}
	f := read(t, "testdata/private.yaml")
	f.cluster.Spec.Release, f.cluster.Spec.ServiceAccountIssuer = "set-1.2.0", nil
	c, _ := fixture{cluster: f.cluster}.resolve(t, setRelease("1.2.0"))
	s, err := render.Base(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, role := range addonRoles {
		if s.Template.Resources[role] != nil {
			t.Errorf("there is %s, which nothing can assume", role)
		}
	}
}

// A cluster that does not name an optional addon has no role for it.
func TestOptionalAddonsHaveRolesIfTheyAreNamed(t *testing.T) {
	f := read(t, "testdata/private.yaml")
	f.cluster.Spec.Release = "set-1.2.0"
	c, _ := fixture{cluster: f.cluster}.resolve(t, setRelease("1.2.0"))
	s, err := render.Base(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, role := range addonRoles {
		if has := s.Template.Resources[role] != nil; has != (role == "EBSCSIRole") {
			t.Errorf("there is %s: %t", role, has)
		}
	}
}

// What the load balancer controller may change carries its tag with the cluster's name, but for the
// workers' security group.
func TestLoadBalancerControllerChangesOnlyItsOwn(t *testing.T) {
	for _, one := range statements(t, withIssuer(t, "1.2.0"), "LoadBalancerControllerRole") {
		switch one.sid {
		case "Describe", "DescribeCertificate", "UseVPC", "OpenWorkers", "LetServiceMakeItsRole":
			continue
		}
		if !strings.Contains(one.conditions, `Tag/elbv2.k8s.aws/cluster":"big"`) {
			t.Errorf("%s is not limited to the cluster: %s", one.sid, one.conditions)
		}
	}
}

// Each role trusts one service account of the cluster.
func TestAddonRolesTrustOneServiceAccount(t *testing.T) {
	s := withIssuer(t, "1.2.0")
	for role, account := range map[string]string{
		"EBSCSIRole": "kube-system:ebs-csi-controller-sa", "LoadBalancerControllerRole": "kube-system:aws-load-balancer-controller",
		"ExternalDNSRole": "kube-system:external-dns", "CertManagerRole": "cert-manager:cert-manager",
	} {
		if trusts := property(s, role, "AssumeRolePolicyDocument"); !strings.Contains(trusts, `:sub":"system:serviceaccount:`+account+`"`) {
			t.Errorf("%s trusts %s, not only %s", role, trusts, account)
		}
	}
}
