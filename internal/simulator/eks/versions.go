package eks

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"
)

// release is a version of Kubernetes that EKS offers.
type release struct {
	version, patch, platform string
	// released, standard and extended are when EKS released it and when the two kinds of support end.
	released, standard, extended string
	status                       types.VersionStatus
}

// releases are the versions of September 2026, the oldest first. AWS had not published the dates of 1.36
// in the sources of its guide: those are 14 and 26 months after the release, as for the other versions.
//   - https://docs.aws.amazon.com/eks/latest/userguide/kubernetes-versions.html
//   - https://docs.aws.amazon.com/eks/latest/userguide/platform-versions.html
var releases = []release{
	{"1.31", "1.31.14", "eks.56", "2024-09-26", "2025-11-26", "2026-11-26", types.VersionStatusExtendedSupport},
	{"1.32", "1.32.13", "eks.40", "2025-01-23", "2026-03-23", "2027-03-23", types.VersionStatusExtendedSupport},
	{"1.33", "1.33.10", "eks.33", "2025-05-29", "2026-07-29", "2027-07-29", types.VersionStatusExtendedSupport},
	{"1.34", "1.34.6", "eks.19", "2025-10-02", "2026-12-02", "2027-12-02", types.VersionStatusStandardSupport},
	{"1.35", "1.35.3", "eks.9", "2026-01-27", "2027-03-27", "2028-03-27", types.VersionStatusStandardSupport},
	{"1.36", "1.36.0", "eks.4", "2026-06-02", "2027-08-02", "2028-08-02", types.VersionStatusStandardSupport},
}

// standardVersion is the version of a cluster that asks for none: the latest.
func standardVersion() release { return releases[len(releases)-1] }

func releaseOf(version string) (release, bool) {
	i := slices.IndexFunc(releases, func(r release) bool { return r.version == version })
	if i < 0 {
		return release{}, false
	}
	return releases[i], true
}

// minor returns the minor version of a version of Kubernetes.
func minor(version string) int {
	_, text, _ := strings.Cut(version, ".")
	n, _ := strconv.Atoi(text)
	return n
}

func (r *release) describe() types.ClusterVersionInformation {
	date := func(text string) *time.Time {
		t, _ := time.Parse(time.DateOnly, text)
		return &t
	}
	return types.ClusterVersionInformation{
		ClusterType: new("eks"), ClusterVersion: &r.version, DefaultPlatformVersion: &r.platform, KubernetesPatchVersion: &r.patch,
		DefaultVersion: r.version == standardVersion().version, ReleaseDate: date(r.released), EndOfStandardSupportDate: date(r.standard),
		EndOfExtendedSupportDate: date(r.extended), VersionStatus: r.status,
		Status: types.ClusterVersionStatus(strings.ReplaceAll(strings.ToLower(string(r.status)), "_", "-")),
	}
}

// describeClusterVersions lists versions, the latest first.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_DescribeClusterVersions.html
func (s *Service) describeClusterVersions(
	_ context.Context, in *eks.DescribeClusterVersionsInput,
) (*eks.DescribeClusterVersionsOutput, error) {
	out := &eks.DescribeClusterVersionsOutput{ClusterVersions: []types.ClusterVersionInformation{}}
	for _, r := range slices.Backward(releases) {
		shown := r.describe()
		switch {
		case in.ClusterType != nil && *in.ClusterType != *shown.ClusterType,
			value(in.DefaultOnly) && !shown.DefaultVersion,
			len(in.ClusterVersions) > 0 && !slices.Contains(in.ClusterVersions, r.version),
			in.VersionStatus != "" && in.VersionStatus != r.status,
			in.Status != "" && in.Status != shown.Status:
			continue
		}
		out.ClusterVersions = append(out.ClusterVersions, shown)
	}
	return out, nil
}
