package environment

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/internal/local/kubebuild"
	"github.com/aws-operator/aws-operator/internal/machines/guest"
	"github.com/aws-operator/aws-operator/internal/machines/process"
	"github.com/aws-operator/aws-operator/internal/manifest"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// fieldOwner is the operator's, which applies the same definitions when it starts.
const fieldOwner = "aws-operator"

// descriptionAnnotation describes an object:
// https://kubernetes.io/docs/reference/labels-annotations-taints/#kubernetes-io-description
const descriptionAnnotation = "kubernetes.io/description"

// LocalRelease returns the built-in release of the local Kubernetes for machines of this computer:
// kubelet and kubeadm are those of host's machine image, so that nothing is downloaded; a nil host
// keeps the published ones.
//
// It has no containerd, runc, CNI plugins or credential provider unless the image has them, because
// pods of other local machines are processes or simulated, and no addons, because their charts come
// from the Internet. It returns an error when a binary cannot be read.
func LocalRelease(host *process.Host) (*v1alpha1.Release, error) {
	local, err := presentRelease()
	if err != nil {
		return nil, err
	}
	if host == nil {
		forMachines(local, "kubelet", "kubeadm")
		return local, nil
	}
	return local, ForMachines(local, host, host.Kubeadm())
}

// presentRelease returns the built-in release of the local Kubernetes, of the resource set whose
// boot script signs its requests as S3 requires.
func presentRelease() (*v1alpha1.Release, error) {
	all, err := release.Builtin()
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(all, func(r *v1alpha1.Release) bool { return r.Spec.Kubernetes == kubebuild.KubernetesVersion })
	if i < 0 {
		return nil, fmt.Errorf("there is no built-in release of Kubernetes %s", kubebuild.KubernetesVersion)
	}
	all[i].Spec.ResourceSet = release.Set120
	return all[i], nil
}

// unpacked are the artifacts that are archives, which the image of container machines has unpacked.
var unpacked = []string{"containerd", "cni-plugins"}

// archives returns the hashes of the archives in the local release.
func archives() ([]string, error) {
	local, err := presentRelease()
	if err != nil {
		return nil, err
	}
	var hashes []string
	for _, artifact := range local.Spec.Artifacts {
		if slices.Contains(unpacked, artifact.Name) {
			hashes = append(hashes, artifact.Sources[v1alpha1.Architecture(runtime.GOARCH)].SHA256)
		}
	}
	return hashes, nil
}

// ForMachines changes a release, as LocalRelease does, for machines of this computer whose image
// has the given kubeadm. It returns an error when a binary cannot be read.
func ForMachines(r *v1alpha1.Release, host *process.Host, kubeadm string) error {
	programs := map[string]string{"kubelet": host.Kubelet(), "kubeadm": kubeadm}
	keep := []string{"kubelet", "kubeadm"}
	if host.Runc() != "" {
		programs["runc"], programs[guest.ProviderName] = host.Runc(), host.Kubelet()
		keep = append(keep, "runc", guest.ProviderName)
		keep = append(keep, unpacked...)
	}
	forMachines(r, keep...)
	for name, path := range programs {
		sum, err := sumOf(path)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(r.Spec.Artifacts, func(a v1alpha1.Artifact) bool { return a.Name == name })
		if i < 0 {
			return fmt.Errorf("the release %s has no artifact %s", r.Name, name)
		}
		architecture := v1alpha1.Architecture(runtime.GOARCH)
		source := r.Spec.Artifacts[i].Sources[architecture]
		source.SHA256, source.Unverified = sum, ""
		r.Spec.Artifacts[i].Sources[architecture] = source
	}
	return nil
}

// forMachines leaves out what machines of this computer do not have, and keeps these artifacts.
func forMachines(r *v1alpha1.Release, artifacts ...string) {
	what := "no container runtime, no addons; kubelet and kubeadm are in the machine image."
	if slices.Contains(artifacts, "containerd") {
		what = "no addons; kubelet, kubeadm, containerd, runc and CNI plugins are in the machine image."
	}
	r.Annotations = map[string]string{descriptionAnnotation: "For simulated machines of local mode: " + what}
	r.Spec.Addons = nil
	r.Spec.Artifacts = slices.DeleteFunc(r.Spec.Artifacts, func(a v1alpha1.Artifact) bool { return !slices.Contains(artifacts, a.Name) })
}

func sumOf(path string) (string, error) {
	file, err := os.Open(path) //nolint:gosec // a binary of ours
	if err != nil {
		return "", fmt.Errorf("hash a machine's program: %w", err)
	}
	defer func() { _ = file.Close() }()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", fmt.Errorf("hash a machine's program: %w", err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// localReleases returns the releases of an environment. Simulated Nodes have no programs, so they run
// all built-in releases; processes run only the local Kubernetes, and containers those of its addons
// whose charts the repository has.
func localReleases(host *process.Host, repository string) ([]*v1alpha1.Release, error) {
	if host != nil {
		local, err := LocalRelease(host)
		if err == nil && repository != "" {
			err = addAddons(local, host, repository)
		}
		return []*v1alpha1.Release{local}, err
	}
	all, err := release.Builtin()
	for _, r := range all {
		forMachines(r, "kubelet", "kubeadm")
	}
	return all, err
}

// applyReleases puts the local releases into the cluster before an operator starts, which installs
// only those built-in ones that are not there; and into a folder, for commands with other states.
func (e *Environment) applyReleases(ctx context.Context) (string, error) {
	local, err := e.releases()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(e.folder.path(releasesDir), 0o700); err != nil {
		return "", fmt.Errorf("make the folder for releases: %w", err)
	}
	names := make([]string, 0, len(local))
	for _, r := range local {
		if err := e.writeRelease(r); err != nil {
			return "", err
		}
		if err := ApplyRelease(ctx, e.RESTConfig(), r); err != nil {
			return "", err
		}
		names = append(names, r.Name)
	}
	return strings.Join(names, ", ") + " for local machines", nil
}

func (e *Environment) writeRelease(r *v1alpha1.Release) error {
	definition, err := manifest.Definition(r)
	if err != nil {
		return err
	}
	text, err := manifest.Write(definition)
	if err != nil {
		return err
	}
	return e.folder.write(filepath.Join(releasesDir, r.Name+".yaml"), text)
}

// ApplyRelease makes a release in a cluster, and the definitions of the kinds of
// clusters before it.
func ApplyRelease(ctx context.Context, config *rest.Config, r *v1alpha1.Release) error {
	crds, err := v1alpha1.CustomResourceDefinitions()
	if err != nil {
		return err
	}
	if err := operatorkit.EnsureCRDs(ctx, config, fieldOwner, crds...); err != nil {
		return fmt.Errorf("apply the kinds of clusters: %w", err)
	}
	scheme := apiruntime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return fmt.Errorf("register the kinds of clusters: %w", err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("reach the cluster: %w", err)
	}
	if err := c.Create(ctx, r); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("make the release %s: %w", r.Name, err)
	}
	return nil
}
