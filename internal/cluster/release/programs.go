package release

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/yaml"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// Programs are the SHA-256 of published programs by program, architecture and version without v.
type Programs map[string]map[v1alpha1.Architecture]map[string]string

var hexHash = regexp.MustCompile(`^[0-9a-f]{64}$`)

// ParsePrograms reads Programs from YAML. It returns an error that names the field of the first
// mistake and its remedy.
func ParsePrograms(text []byte) (Programs, error) {
	var programs Programs
	if err := yaml.UnmarshalStrict(text, &programs); err != nil {
		return nil, fmt.Errorf(
			"the file is not a map of programs, architectures and versions, as in kubelet: {amd64: {1.36.4: …}}: %w", err,
		)
	}
	if len(programs) == 0 {
		return nil, errors.New("the file names no program: list SHA-256 as kubelet: {amd64: {1.36.4: …}}")
	}
	for _, program := range slices.Sorted(maps.Keys(programs)) {
		for _, architecture := range slices.Sorted(maps.Keys(programs[program])) {
			if architecture != v1alpha1.AMD64 && architecture != v1alpha1.ARM64 {
				return nil, fmt.Errorf("%s.%s: there is no such architecture: write amd64 or arm64", program, architecture)
			}
			if err := checkHashes(program+"."+string(architecture), programs[program][architecture]); err != nil {
				return nil, err
			}
		}
	}
	return programs, nil
}

// checkHashes returns an error that names the first version or hash that is none.
func checkHashes(field string, versions map[string]string) error {
	for _, one := range slices.Sorted(maps.Keys(versions)) {
		if _, err := version.ParseSemantic(one); err != nil || strings.HasPrefix(one, "v") {
			return fmt.Errorf("%s[%s]: this is not a version: write it as 1.36.4", field, one)
		}
		if !hexHash.MatchString(versions[one]) {
			return fmt.Errorf("%s[%s]: %q is not a SHA-256: write 64 lower-case hex digits", field, one, versions[one])
		}
	}
	return nil
}

// hash returns the hash of one program.
func (p Programs) hash(program string, architecture v1alpha1.Architecture, v string) (string, error) {
	v = strings.TrimPrefix(v, "v")
	versions, ok := p[program][architecture]
	if !ok {
		return "", fmt.Errorf(
			"%s.%s: the file has no %s for %s: add the SHA-256 that is published for %s", program, architecture, program, architecture, v,
		)
	}
	if found, ok := versions[v]; ok {
		return found, nil
	}
	known := slices.SortedFunc(maps.Keys(versions), func(a, b string) int {
		return byAge(version.MustParseSemantic(a), version.MustParseSemantic(b))
	})
	return "", fmt.Errorf(
		"%s.%s: the file has no version %s, only %s: add the SHA-256 that is published for it",
		program,
		architecture,
		v,
		strings.Join(known, ", "),
	)
}

// Made says which Release to make of another.
type Made struct {
	// From is the Release that all else is taken from. It is not changed.
	From *v1alpha1.Release
	// Kubernetes is the version, for example v1.36.5: a patch of From's minor version.
	Kubernetes string
	// Name is the new Release's; empty means the version of Kubernetes.
	Name string
	// ResourceSet is the version of its templates; empty means From's.
	ResourceSet string
	// Versions are those of other artifacts that are to be of another version than From's, by name,
	// for example containerd.
	Versions map[string]string
}

// ofKubernetes are the artifacts that have Kubernetes' own version.
var ofKubernetes = []string{"kubelet", "kubeadm", "kubectl"}

// Make makes a Release of another version of the programs. Their hashes come from programs; an
// artifact that the file does not have, and that keeps its version, keeps From's. It returns an
// error that names the field and the remedy when a version or a hash is missing, or when the file
// contradicts From.
func Make(in Made, programs Programs) (*v1alpha1.Release, error) {
	if err := checkPatch(in.Kubernetes, in.From); err != nil {
		return nil, err
	}
	made := &v1alpha1.Release{Spec: *in.From.Spec.DeepCopy()}
	made.APIVersion, made.Kind = v1alpha1.GroupVersion.String(), "Release"
	made.Name = in.Name
	if made.Name == "" {
		made.Name = in.Kubernetes
	}
	if made.Name == in.From.Name {
		return nil, fmt.Errorf(
			"metadata.name: %s is the name of the Release that it is made from, and a Release cannot change: give another name", made.Name,
		)
	}
	made.Spec.Kubernetes, made.Spec.State = in.Kubernetes, v1alpha1.ReleaseActive
	if in.ResourceSet != "" {
		if _, err := Set(in.ResourceSet); err != nil {
			return nil, fmt.Errorf("spec.resourceSet: %w", err)
		}
		made.Spec.ResourceSet = in.ResourceSet
	}
	unknown := maps.Clone(in.Versions)
	for i := range made.Spec.Artifacts {
		a := &made.Spec.Artifacts[i]
		wanted, given := in.Versions[a.Name]
		delete(unknown, a.Name)
		switch {
		case slices.Contains(ofKubernetes, a.Name) && given:
			return nil, fmt.Errorf("spec.artifacts[%d] (%s): it has the version of Kubernetes: leave its version out", i, a.Name)
		case slices.Contains(ofKubernetes, a.Name):
			wanted = in.Kubernetes
		case !given:
			wanted = a.Version
		}
		if err := moveArtifact(a, wanted, programs); err != nil {
			return nil, fmt.Errorf("spec.artifacts[%d]: %w", i, err)
		}
	}
	if len(unknown) > 0 {
		return nil, fmt.Errorf(
			"spec.artifacts: Release %s has no %s: leave its version out",
			in.From.Name,
			strings.Join(slices.Sorted(maps.Keys(unknown)), ", "),
		)
	}
	return made, nil
}

// checkPatch checks that a version is a patch of the minor version of a Release. What goes with
// another minor version (CoreDNS, charts) is in no file of hashes.
func checkPatch(kubernetes string, from *v1alpha1.Release) error {
	was, err := version.ParseSemantic(from.Spec.Kubernetes)
	if err != nil {
		return fmt.Errorf(
			"%s: spec.kubernetes: %q is not a version: make the Release from another one", from.Name, from.Spec.Kubernetes,
		)
	}
	is, err := version.ParseSemantic(kubernetes)
	if err != nil || "v"+is.String() != kubernetes {
		return fmt.Errorf(
			"spec.kubernetes: %q is not a version: write it as v%d.%d.%d", kubernetes, was.Major(), was.Minor(), was.Patch()+1,
		)
	}
	if is.Major() != was.Major() || is.Minor() != was.Minor() {
		return fmt.Errorf(
			"spec.kubernetes: %s is of another minor version than Release %s, whose CoreDNS, pause image and charts would not fit: "+
				"make it from a Release of v%d.%d, or write its manifest by hand",
			kubernetes,
			from.Name,
			is.Major(),
			is.Minor(),
		)
	}
	return nil
}

// moveArtifact gives an artifact another version: its address follows, and its hash is the file's.
func moveArtifact(a *v1alpha1.Artifact, wanted string, programs Programs) error {
	was, is := strings.TrimPrefix(a.Version, "v"), strings.TrimPrefix(wanted, "v")
	_, listed := programs[a.Name]
	if was == is && !listed {
		return nil
	}
	for _, architecture := range slices.Sorted(maps.Keys(a.Sources)) {
		source := a.Sources[architecture]
		hash, err := programs.hash(a.Name, architecture, is)
		switch {
		case was == is && source.SHA256 != "" && err != nil: // The hash is known, though not by this file.
			continue
		case err != nil:
			return err
		case was == is && source.SHA256 != "" && source.SHA256 != hash:
			return fmt.Errorf("%s.%s[%s]: the file has %s, and the Release it is made from %s: find out which one is published",
				a.Name, architecture, is, hash, source.SHA256)
		case was != is && (was == "" || !strings.Contains(source.URL, was)):
			return fmt.Errorf(
				"%s for %s is fetched from %s, which does not name the version %q: write its manifest by hand",
				a.Name,
				architecture,
				source.URL,
				was,
			)
		}
		if was != is {
			source.URL = strings.ReplaceAll(source.URL, was, is)
		}
		source.SHA256, source.Unverified = hash, ""
		a.Sources[architecture] = source
	}
	if was != is {
		a.Version = strings.Replace(a.Version, was, is, 1)
	}
	return nil
}
