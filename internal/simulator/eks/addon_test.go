package eks_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awseks "github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/aws-operator/aws-operator/internal/patience"
)

func (w *suite) untilAddon(name string, status types.AddonStatus) (a *types.Addon) {
	w.t.Helper()
	patience.UntilTrue(w.t, "add-on "+name+" "+string(status), func() bool {
		out, err := w.DescribeAddon(w.t.Context(), &awseks.DescribeAddonInput{ClusterName: &one.Cluster, AddonName: &name})
		a = must(w.t, out, err).Addon
		return a.Status == status
	})
	return a
}

// https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateAddon.html
func TestAddons(t *testing.T) {
	w := start(t)
	w.cluster("one")
	create := func(in awseks.CreateAddonInput) error {
		in.ClusterName = &one.Cluster
		_, err := w.CreateAddon(t.Context(), &in)
		return err
	}
	for name, c := range map[string]struct {
		in      awseks.CreateAddonInput
		message string
	}{
		"no such add-on": {awseks.CreateAddonInput{AddonName: aws.String("none")}, "none specified is not supported in 1.36"},
		"of another cluster": {
			awseks.CreateAddonInput{AddonName: aws.String("kube-proxy"), AddonVersion: aws.String("v1.35.3-eksbuild.25")},
			"Addon version specified is not supported",
		},
		"not JSON": {
			awseks.CreateAddonInput{AddonName: aws.String("coredns"), ConfigurationValues: aws.String("{broken")},
			"ConfigurationValue provided in request is not supported",
		},
		"preserve on creation": {
			awseks.CreateAddonInput{AddonName: aws.String("coredns"), ResolveConflicts: types.ResolveConflictsPreserve},
			"resolveConflicts",
		},
		"no such role": {awseks.CreateAddonInput{
			AddonName:             aws.String("vpc-cni"),
			ServiceAccountRoleArn: aws.String("arn:aws:iam::123456789012:role/none"),
		}, "serviceAccountRoleArn"},
	} {
		t.Run(name, func(t *testing.T) { refused(t, create(c.in), "InvalidParameterException", c.message) })
	}
	// EKS has installed CoreDNS itself, with other values.
	must(t, w, create(awseks.CreateAddonInput{AddonName: aws.String("coredns"), ConfigurationValues: aws.String(`{"replicaCount": 2}`)}))
	if failed := w.untilAddon("coredns", types.AddonStatusCreateFailed); failed.Health.Issues[0].Code != types.AddonIssueCodeConfigurationConflict {
		t.Errorf("the add-on is %+v", failed)
	}
	_, err := w.DeleteAddon(t.Context(), &awseks.DeleteAddonInput{ClusterName: &one.Cluster, AddonName: aws.String("coredns")})
	must(t, w, err)
	patience.UntilTrue(t, "the end of the add-on", func() bool {
		left, err := w.ListAddons(t.Context(), &awseks.ListAddonsInput{ClusterName: &one.Cluster})
		return len(must(t, left, err).Addons) == 0
	})
	must(t, w, create(awseks.CreateAddonInput{
		AddonName: aws.String("coredns"), ConfigurationValues: aws.String(`{"replicaCount": 2}`),
		ResolveConflicts: types.ResolveConflictsOverwrite,
	}))
	refused(t, create(awseks.CreateAddonInput{AddonName: aws.String("coredns")}), "ResourceInUseException", "Addon already exists.")
	a := w.untilAddon("coredns", types.AddonStatusDegraded) // without nodes
	if *a.AddonVersion != "v1.14.3-eksbuild.14" || a.Health.Issues[0].Code != types.AddonIssueCodeInsufficientNumberOfReplicas {
		t.Errorf("the add-on is %+v", a)
	}
	must(t, w, create(awseks.CreateAddonInput{AddonName: aws.String("vpc-cni"), PodIdentityAssociations: []types.AddonPodIdentityAssociations{
		{ServiceAccount: aws.String("aws-node"), RoleArn: &w.podRole},
	}}))
	if cni := w.untilAddon("vpc-cni", types.AddonStatusActive); len(cni.PodIdentityAssociations) != 1 {
		t.Errorf("the add-on is %+v", cni)
	}
	w.activeNodegroup(w.nodegroupInput("workers"))
	w.untilAddon("coredns", types.AddonStatusActive)
	out, err := w.UpdateAddon(t.Context(),
		&awseks.UpdateAddonInput{ClusterName: &one.Cluster, AddonName: a.AddonName, AddonVersion: aws.String("v1.14.3-eksbuild.16")})
	u := must(t, out, err).Update
	if done := w.ended(&awseks.DescribeUpdateInput{
		Name: &one.Cluster, AddonName: a.AddonName,
		UpdateId: u.Id,
	}); done.Type != types.UpdateTypeAddonUpdate {
		t.Errorf("the update is %+v", done)
	}
	if a = w.untilAddon("coredns", types.AddonStatusActive); *a.AddonVersion != "v1.14.3-eksbuild.16" ||
		*a.ConfigurationValues != `{"replicaCount": 2}` {
		t.Errorf("after the update it is %+v", a)
	}
	for _, name := range []string{"coredns", "vpc-cni"} {
		_, err = w.DeleteAddon(t.Context(), &awseks.DeleteAddonInput{ClusterName: &one.Cluster, AddonName: &name})
		must(t, w, err)
	}
	patience.UntilTrue(t, "the end of the add-ons", func() bool {
		left, err := w.ListAddons(t.Context(), &awseks.ListAddonsInput{ClusterName: &one.Cluster})
		owned, oerr := w.ListPodIdentityAssociations(t.Context(), &awseks.ListPodIdentityAssociationsInput{ClusterName: &one.Cluster})
		return len(must(t, left, err).Addons) == 0 && len(must(t, owned, oerr).Associations) == 0
	})
}

// https://docs.aws.amazon.com/eks/latest/APIReference/API_DescribeAddonVersions.html
func TestVersionsOfAddons(t *testing.T) {
	w := start(t)
	for _, version := range []string{"1.33", "1.34", "1.35", "1.36"} {
		out, err := w.DescribeAddonVersions(t.Context(), &awseks.DescribeAddonVersionsInput{KubernetesVersion: &version})
		found := map[string]bool{}
		for _, a := range must(t, out, err).Addons {
			for _, v := range a.AddonVersions {
				found[*a.AddonName] = found[*a.AddonName] || v.Compatibilities[0].DefaultVersion
			}
		}
		for _, name := range []string{"vpc-cni", "coredns", "kube-proxy", "eks-pod-identity-agent", "aws-ebs-csi-driver"} {
			if !found[name] {
				t.Errorf("%s has no default for %s", name, version)
			}
		}
	}
}

// https://docs.aws.amazon.com/eks/latest/APIReference/API_CreatePodIdentityAssociation.html
func TestPodIdentityAssociations(t *testing.T) {
	w := start(t)
	w.cluster("one")
	in := func(role string) *awseks.CreatePodIdentityAssociationInput {
		return &awseks.CreatePodIdentityAssociationInput{
			ClusterName: &one.Cluster, Namespace: aws.String("a"), ServiceAccount: aws.String("b"),
			RoleArn: &role,
		}
	}
	_, err := w.CreatePodIdentityAssociation(t.Context(), in(w.nodeRole))
	refused(t, err, "InvalidParameterException", "Trust policy of the role provided is invalid")
	_, err = w.CreatePodIdentityAssociation(t.Context(), in("arn:aws:iam::123456789012:role/none"))
	refused(t, err, "InvalidParameterException", "Role provided in the request does not exist.")
	made, err := w.CreatePodIdentityAssociation(t.Context(), in(w.podRole))
	a := must(t, made, err).Association
	_, err = w.CreatePodIdentityAssociation(t.Context(), in(w.podRole))
	refused(t, err, "ResourceInUseException", "Association already exists: "+*a.AssociationId)
	list, err := w.ListPodIdentityAssociations(t.Context(),
		&awseks.ListPodIdentityAssociationsInput{ClusterName: &one.Cluster, Namespace: aws.String("a")})
	if got := must(t, list, err).Associations; len(got) != 1 || *got[0].AssociationId != *a.AssociationId {
		t.Errorf("the associations are %+v", got)
	}
	_, err = w.DeletePodIdentityAssociation(t.Context(),
		&awseks.DeletePodIdentityAssociationInput{ClusterName: &one.Cluster, AssociationId: a.AssociationId})
	must(t, a, err)
	_, err = w.DescribePodIdentityAssociation(t.Context(),
		&awseks.DescribePodIdentityAssociationInput{ClusterName: &one.Cluster, AssociationId: a.AssociationId})
	refused(t, err, "ResourceNotFoundException", *a.AssociationId)
}
