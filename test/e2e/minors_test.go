package e2e

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/internal/local/controlplane/controlplanetest"
	"github.com/aws-operator/aws-operator/internal/local/environment"
	"github.com/aws-operator/aws-operator/internal/local/kubebuild"
	"github.com/aws-operator/aws-operator/internal/machines/process"
)

// minor is a minor version of Kubernetes on machines: its machine image and its release.
type minor struct {
	kubebuild.Version
	kube, image, release string
}

// Every minor version with a built-in release comes up from its own manifest and is upgraded to the
// next one, with the resource set, components and configuration of that release. The programs are
// built from the modules of the version that kubebuild names, which may be an earlier patch than
// the release's; internal/cluster/release tests that the release's hashes are the published ones.
func TestEachMinorVersionIsUpgradedToTheNext(t *testing.T) {
	if os.Getenv("TEST_UPGRADES") == "" {
		t.Skip("run it by make test-upgrades: it needs a third Kubernetes, whose build takes minutes")
	}
	if err := process.Supported(); err != nil {
		t.Skip(err)
	}
	minors := []minor{{Version: kubebuild.Oldest}, {Version: kubebuild.Previous}, {Version: kubebuild.Present}}
	images := map[string]string{}
	for i := range minors {
		m := &minors[i]
		var err error
		if m.kube, err = kubebuild.Ensure(t.Context(), kubebuild.Options{Version: m.Version, Progress: os.Stderr}); err != nil {
			t.Fatal(err)
		}
		m.image, m.release = fmt.Sprintf("ami-%017d", i+1), m.Kubernetes+"-minors"
		images[m.image] = m.kube
	}
	c, host := newProcessCloud(t, images)
	for i := range minors {
		c.addMinor(host, &minors[i])
	}
	for i := range minors {
		c.upOneMinor(minors[i:])
	}
}

// upOneMinor creates a cluster of the first of the minor versions, upgrades it to the second if
// there is one, and deletes it.
func (c *cloud) upOneMinor(minors []minor) {
	c.t.Helper()
	const workers = 2
	text := strings.NewReplacer(
		previousRelease, minors[0].release, "minSize: 5, maxSize: 6", fmt.Sprintf("minSize: %d, maxSize: 3", workers),
	).Replace(upgrading)
	start := time.Now()
	objects := c.apply(text)
	c.awaitReady(objects...)
	c.checkVersions(minors[0].Kubernetes, workers)
	c.t.Logf("a cluster of %s was ready after %s", minors[0].Kubernetes, time.Since(start).Round(time.Second))
	if len(minors) > 1 {
		next := minors[1].Kubernetes
		write(c.t, c.workload("real"), "written", "before")
		start = time.Now()
		objects = c.apply(strings.ReplaceAll(text, minors[0].release, minors[1].release))
		var version string
		c.await(func() string { return "the workers to follow the control plane: their version is " + version }, func() bool {
			version, _, _ = unstructured.NestedString(c.get(objects[1]).Object, "status", "version")
			return version == next
		})
		c.awaitReady(objects...)
		c.await(func() string { return "the last drained nodes to be deleted" }, func() bool {
			return !slices.ContainsFunc(c.nodes("real"), func(node corev1.Node) bool {
				return node.Spec.Unschedulable || node.Status.NodeInfo.KubeletVersion != next
			})
		})
		c.checkVersions(next, workers)
		c.t.Logf("it was upgraded to %s in %s", next, time.Since(start).Round(time.Second))
	}
	c.remove(objects...)
}

// addMinor creates the release of a minor version, a copy of its newest built-in one for machines
// of this computer, and its image.
func (c *cloud) addMinor(host *process.Host, m *minor) {
	c.t.Helper()
	all, err := release.Builtin()
	if err != nil {
		c.t.Fatal(err)
	}
	prefix := m.Kubernetes[:strings.LastIndexByte(m.Kubernetes, '.')+1]
	var of *v1alpha1.Release
	for _, one := range all {
		isNewer := of == nil || version.MustParseGeneric(of.Spec.Kubernetes).LessThan(version.MustParseGeneric(one.Spec.Kubernetes))
		if strings.HasPrefix(one.Spec.Kubernetes, prefix) && isNewer {
			of = one
		}
	}
	if of == nil {
		c.t.Fatalf("there is no built-in release of %s", prefix)
	}
	of.Name, of.Spec.Kubernetes = m.release, m.Kubernetes
	of.Spec.Images = map[v1alpha1.Architecture]v1alpha1.MachineImage{
		v1alpha1.Architecture(runtime.GOARCH): {ByRegion: map[string]string{region: m.image}, User: "ubuntu"},
	}
	if err := environment.ForMachines(of, host, m.kube); err != nil {
		c.t.Fatal(err)
	}
	if err := environment.ApplyRelease(c.t.Context(), controlplanetest.Shared(c.t).RESTConfig(), of); err != nil {
		c.t.Fatal(err)
	}
	image := types.Image{ImageId: aws.String(m.image), Name: aws.String("kubernetes-" + m.Kubernetes)}
	if runtime.GOARCH == "arm64" {
		image.Architecture = types.ArchitectureValuesArm64
	}
	c.simulator.Instances().AddImage(region, image)
}
