package release_test

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
)

func published(t *testing.T) release.Programs {
	t.Helper()
	text, err := os.ReadFile("testdata/programs.yaml")
	if err != nil {
		t.Fatal(err)
	}
	programs, err := release.ParsePrograms(text)
	if err != nil {
		t.Fatal(err)
	}
	return programs
}

func TestBuiltinHashesAreThePublishedOnes(t *testing.T) {
	programs := published(t)
	for name, one := range builtin(t) {
		for _, a := range one.Spec.Artifacts {
			if a.Name == "ecr-credential-provider" { // Its hashes are in kops' list only.
				continue
			}
			for architecture, source := range a.Sources {
				if want := programs[a.Name][architecture][strings.TrimPrefix(a.Version, "v")]; source.SHA256 != want || want == "" {
					t.Errorf(
						"%s: %s %s for %s has the hash %q, and %q is published", name, a.Name, a.Version, architecture, source.SHA256, want,
					)
				}
				if !strings.Contains(source.URL, strings.TrimPrefix(a.Version, "v")) {
					t.Errorf("%s: %s %s is fetched from %s", name, a.Name, a.Version, source.URL)
				}
			}
		}
	}
}

func TestAPatchIsMadeFromTheReleaseBefore(t *testing.T) {
	all, programs := builtin(t), published(t)
	before := all["v1.36.3"].DeepCopy()
	made, err := release.Make(release.Made{
		From: all["v1.36.3"], Kubernetes: "v1.36.4", Name: "v1.36.4-acme.1", ResourceSet: release.Set120,
		Versions: map[string]string{"containerd": "2.3.4"},
	}, programs)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(before, all["v1.36.3"]) {
		t.Error("the Release that it was made from was changed")
	}
	want := all["v1.36.4"].Spec.DeepCopy()
	want.Artifacts = append(
		want.Artifacts[:5:5], all["v1.36.3"].Spec.Artifacts[5],
	) // v1.36.3 has no crictl and another credential provider.
	delete(want.Components, "node-cache") // It has neither DNS caches nor Calico.
	want.Addons = all["v1.36.3"].Spec.Addons
	if made.Name != "v1.36.4-acme.1" || made.Kind != "Release" || !reflect.DeepEqual(&made.Spec, want) {
		t.Errorf("made %+v, want the spec %+v", made, want)
	}
	if len(release.Unbootable(made, v1alpha1.AMD64)) > 0 || !release.Bootable(made) {
		t.Errorf("it does not boot: %v", release.Unbootable(made, v1alpha1.AMD64))
	}
}

func TestWhatNoReleaseCanBeMadeOf(t *testing.T) {
	from := builtin(t)["v1.36.4"]
	for name, c := range map[string]struct {
		made   release.Made
		change func(release.Programs)
		want   string
	}{
		"a version that is not in the file": {release.Made{Kubernetes: "v1.36.9"}, nil, "spec.artifacts[3]: kubelet.amd64: the file has no version 1.36.9, only 1.34.11, 1.35.8, 1.36.3, 1.36.4: add the SHA-256"},
		"no version":                        {release.Made{Kubernetes: "1.36"}, nil, `spec.kubernetes: "1.36" is not a version: write it as v1.36.5`},
		"another minor version":             {release.Made{Kubernetes: "v1.35.8"}, nil, "spec.kubernetes: v1.35.8 is of another minor version than Release v1.36.4"},
		"the same name":                     {release.Made{Kubernetes: "v1.36.4"}, nil, "metadata.name: v1.36.4 is the name of the Release that it is made from"},
		"a resource set that there is not":  {release.Made{Kubernetes: "v1.36.3", ResourceSet: "9.0.0"}, nil, "spec.resourceSet: there is no resource set"},
		"an artifact that there is not":     {release.Made{Kubernetes: "v1.36.3", Versions: map[string]string{"dockerd": "1.0.0"}}, nil, "spec.artifacts: Release v1.36.4 has no dockerd: leave its version out"},
		"a version of its own for kubelet":  {release.Made{Kubernetes: "v1.36.3", Versions: map[string]string{"kubelet": "1.36.4"}}, nil, "spec.artifacts[3] (kubelet): it has the version of Kubernetes"},
		"a missing architecture": {
			release.Made{Kubernetes: "v1.36.3"},
			func(p release.Programs) { delete(p["kubelet"], v1alpha1.ARM64) },
			"spec.artifacts[3]: kubelet.arm64: the file has no kubelet for arm64",
		},
		"another hash of the same version": {
			release.Made{Kubernetes: "v1.36.3"},
			func(p release.Programs) { p["runc"][v1alpha1.AMD64]["1.4.3"] = strings.Repeat("0", 64) },
			"spec.artifacts[1]: runc.amd64[1.4.3]: the file has 0000",
		},
	} {
		t.Run(name, func(t *testing.T) {
			programs := published(t)
			if c.change != nil {
				c.change(programs)
			}
			c.made.From = from
			if made, err := release.Make(c.made, programs); err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got %v, %v, want %s", made, err, c.want)
			}
		})
	}
}

func TestFilesThatListNoHashes(t *testing.T) {
	for text, want := range map[string]string{
		"":                                 "the file names no program",
		"- kubelet":                        "the file is not a map of programs, architectures and versions",
		"kubelet: {riscv64: {1.36.4: aa}}": "kubelet.riscv64: there is no such architecture: write amd64 or arm64",
		"kubelet: {amd64: {v1.36.4: aa}}":  "kubelet.amd64[v1.36.4]: this is not a version: write it as 1.36.4",
		"kubelet: {amd64: {latest: aa}}":   "kubelet.amd64[latest]: this is not a version",
		"kubelet: {amd64: {1.36.4: aa}}":   `kubelet.amd64[1.36.4]: "aa" is not a SHA-256: write 64 lower-case hex digits`,
		"kubelet: {amd64: {1.36.4: " + strings.Repeat("AB", 32) + "}}": "kubelet.amd64[1.36.4]: ",
	} {
		if _, err := release.ParsePrograms([]byte(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q gives %v, want %s", text, err, want)
		}
	}
}

func TestAReleaseThatCannotBootSaysWhy(t *testing.T) {
	one := builtin(t)["v1.36.4"]
	kubelet := &one.Spec.Artifacts[3]
	source := kubelet.Sources[v1alpha1.AMD64]
	source.SHA256, source.Unverified = "", "it was not at hand"
	kubelet.Sources[v1alpha1.AMD64] = source
	delete(one.Spec.Artifacts[4].Sources, v1alpha1.AMD64)
	want := []string{
		"spec.artifacts[3] (kubelet) has no sha256 for amd64: it was not at hand",
		"spec.artifacts[4] (kubeadm) has no source for amd64",
	}
	if got := release.Unbootable(one, v1alpha1.AMD64); !reflect.DeepEqual(got, want) || release.Bootable(one) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := release.Unbootable(one, v1alpha1.ARM64); got != nil {
		t.Errorf("arm64 does not boot: %q", got)
	}
}
