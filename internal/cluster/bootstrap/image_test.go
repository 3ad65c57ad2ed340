package bootstrap_test

import (
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/internal/golden"
)

// imageInput returns an image of a built-in Release with its node images.
func imageInput(t *testing.T, name string) bootstrap.ImageInput {
	t.Helper()
	of, err := release.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return bootstrap.ImageInput{
		Release: of.DeepCopy(), Architecture: v1alpha1.AMD64, Base: "ami-0123456789abcdef0", ContainerImages: bootstrap.NodeImages(of),
	}
}

func TestImageScript(t *testing.T) {
	image, err := bootstrap.NewImage(imageInput(t, "v1.36.4"))
	if err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, "image.sh", []byte(image.UserData))
	for _, result := range []string{image.Prepared, image.Failed} {
		if !strings.Contains(result, image.Hash) || strings.Contains(image.UserData, result) {
			t.Errorf("a console that shows the script shows the result %q", result)
		}
	}
}

// An image is the same if and only if its hash is.
func TestHashOfAnImageNamesWhatItHolds(t *testing.T) {
	first, err := bootstrap.NewImage(imageInput(t, "v1.36.4"))
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		change func(*bootstrap.ImageInput)
		same   bool
	}{
		"nothing":                 {func(*bootstrap.ImageInput) {}, true},
		"the name of the Release": {func(in *bootstrap.ImageInput) { in.Release.Name = "other" }, true},
		"the base image":          {func(in *bootstrap.ImageInput) { in.Base = "ami-0fedcba9876543210" }, false},
		"the architecture":        {func(in *bootstrap.ImageInput) { in.Architecture = v1alpha1.ARM64 }, false},
		"the container images":    {func(in *bootstrap.ImageInput) { in.ContainerImages = nil }, false},
		"the version of containerd": {func(in *bootstrap.ImageInput) {
			source := in.Release.Spec.Artifacts[0].Sources[v1alpha1.AMD64]
			source.SHA256 = strings.Repeat("0", 64)
			in.Release.Spec.Artifacts[0].Sources[v1alpha1.AMD64] = source
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			in := imageInput(t, "v1.36.4")
			test.change(&in)
			other, err := bootstrap.NewImage(in)
			if err != nil || (other.Hash == first.Hash) != test.same {
				t.Errorf("the hash is %s, that of the first is %s, %v", other.Hash, first.Hash, err)
			}
		})
	}
}

func TestImageThatNoNodeBootsWithIsRefused(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*bootstrap.ImageInput)
		want   string
	}{
		"an artifact without a hash": {func(in *bootstrap.ImageInput) {
			in.Release.Spec.Artifacts[1].Sources[v1alpha1.AMD64] = v1alpha1.ArtifactSource{URL: "https://example.com"}
		}, "spec.artifacts[1] (runc) of release v1.36.4 has no file with a hash for amd64"},
		"container images without containerd": {func(in *bootstrap.ImageInput) {
			in.Release.Spec.Artifacts = in.Release.Spec.Artifacts[1:]
		}, "has no artifact containerd"},
		"more than user data may have": {func(in *bootstrap.ImageInput) {
			in.ContainerImages = []string{strings.Repeat("a", 20000)}
		}, "too many artifacts for user data"},
	} {
		t.Run(name, func(t *testing.T) {
			in := imageInput(t, "v1.36.4")
			test.change(&in)
			if _, err := bootstrap.NewImage(in); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// A Release is a user's, and its fields must not become commands.
func TestFieldsOfAReleaseAreQuoted(t *testing.T) {
	in := imageInput(t, "v1.36.4")
	in.Release.Spec.Artifacts[1].Path = "/bin/a'; reboot #"
	image, err := bootstrap.NewImage(in)
	if err != nil || !strings.Contains(image.UserData, `chmod 755 '/bin/a'\''; reboot #'`+"\n") {
		t.Errorf("%v:\n%s", err, image.UserData)
	}
}
