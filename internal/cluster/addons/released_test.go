package addons_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/addons"
	"github.com/aws-operator/aws-operator/internal/cluster/addons/chartrender"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
)

// chartsVariable names a folder with archives of charts: NAME-VERSION.tgz as published, or
// NAME-VERSION.source.tgz, packed from the chart's repository, whose digest is another one.
const chartsVariable = "CHARTS"

// The charts of the built-in releases have the digests of the releases, and render with their values:
// with a role for their service account, and without one where that is allowed. A pod that has a role
// gets the environment and the token that AWS' SDKs look for.
// https://docs.aws.amazon.com/sdkref/latest/guide/feature-assume-role-credentials.html
func TestReleasedChartsRender(t *testing.T) {
	folder := os.Getenv(chartsVariable)
	if folder == "" {
		t.Skipf("%s names no folder with archives of charts; their repositories are on the internet", chartsVariable)
	}
	all, err := release.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	rendered := 0
	for _, r := range all {
		for i := range r.Spec.Addons {
			addon := &r.Spec.Addons[i]
			archive := archiveOf(t, folder, addon)
			if archive == nil {
				continue
			}
			rendered++
			for _, hasRole := range []bool{true, false} {
				if !hasRole && addon.WithRole != nil && addon.WithoutRole == nil {
					continue
				}
				checkChart(t, r, addon, archive, hasRole)
			}
		}
	}
	if rendered == 0 {
		t.Errorf("%s has no archive of a chart of a built-in release", folder)
	}
}

func archiveOf(t *testing.T, folder string, addon *v1alpha1.ReleaseAddon) []byte {
	t.Helper()
	path := filepath.Join(folder, addon.Chart+"-"+addon.Version)
	if archive, err := os.ReadFile(path + ".source.tgz"); err == nil {
		return archive
	}
	archive, err := os.ReadFile(path + ".tgz")
	if err != nil {
		return nil
	}
	sum := sha256.Sum256(archive)
	if digest := hex.EncodeToString(sum[:]); digest != addon.Digest {
		t.Errorf("%s has the digest %s, and the release says %s", addon.Name, digest, addon.Digest)
	}
	return archive
}

func checkChart(t *testing.T, r *v1alpha1.Release, addon *v1alpha1.ReleaseAddon, archive []byte, hasRole bool) {
	t.Helper()
	const role = "arn:aws:iam::123456789012:role/demo-Addon"
	cluster := &v1alpha1.Cluster{Spec: v1alpha1.ClusterSpec{Region: "eu-central-1", Addons: []v1alpha1.Addon{{Name: addon.Name}}}}
	cluster.Name = "demo"
	cluster.Spec.IAM.HostedZones = []string{"Z0AAA", "Z0BBB"}
	cluster.Status.Outputs = map[string]string{"VPC": "vpc-0123456789abcdef0"}
	if hasRole {
		cluster.Status.Outputs[release.AddonRoles[addon.Name]] = role
	}
	wanted, err := addons.WantedBy(cluster, r)
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(wanted, func(c addons.Chart) bool { return c.Name == addon.Name })
	asked := &chartrender.Chart{
		Archive: archive, Release: wanted[at].Name, Namespace: wanted[at].Namespace, Revision: 1, Values: wanted[at].Values,
		KubeVersion: r.Spec.Kubernetes, APIVersions: []string{"v1", "apps/v1", "policy/v1"},
	}
	for _, p := range wanted[at].Patches {
		asked.Patches = append(asked.Patches, chartrender.Patch{Kind: p.Kind, Name: p.Name, Patch: p.Patch.Raw})
	}
	is, err := chartrender.New(chartrender.Options{}).Render(t.Context(), asked)
	if err != nil {
		t.Errorf("%s in %s, with a role: %t: %v", addon.Name, r.Name, hasRole, err)
		return
	}
	var text strings.Builder
	for _, file := range is.Manifests {
		text.WriteString(file.Content)
	}
	for _, reference := range []string{
		"$(CLUSTER)", "$(REGION)", "$(VPC)", "$(POD_CIDR)", "$(SERVICE_CIDR)", "$(HOSTED_ZONE)", "$(ROLE_ARN)",
	} {
		if strings.Contains(text.String(), reference) {
			t.Errorf("%s in %s renders %s, which nothing replaced", addon.Name, r.Name, reference)
		}
	}
	if hasRole && addon.WithRole != nil {
		for _, part := range []string{
			role, "AWS_WEB_IDENTITY_TOKEN_FILE", "audience: sts.amazonaws.com", "mountPath: /var/run/secrets/aws", "serviceAccountName: ",
		} {
			if !strings.Contains(text.String(), part) {
				t.Errorf("%s in %s has a role and renders no %q", addon.Name, r.Name, part)
			}
		}
	}
}
