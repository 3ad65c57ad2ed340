package containerbuild

import (
	"fmt"
	"maps"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/internal/local/kubebuild"
	"github.com/aws-operator/aws-operator/internal/machines/guest"
)

// repository is the registry of the images of Kubernetes.
const repository = "registry.k8s.io/"

// imagesOf returns the images that a cluster of the local Kubernetes needs: those that kubeadm names,
// the pod network, and the one of tests.
func imagesOf(dir string, opts Options) ([]Image, error) {
	all, err := release.Builtin()
	if err != nil {
		return nil, err
	}
	tags := map[string]string{}
	for _, r := range all {
		if r.Spec.Kubernetes == kubebuild.KubernetesVersion {
			tags = r.Spec.Components
		}
	}
	proxy, err := proxyImage(dir, opts, kubebuild.KubernetesVersion)
	if err != nil {
		return nil, err
	}
	single := func(name, program string) Image {
		return Image{
			Names: []string{repository + name}, Files: map[string]string{"/" + program: filepath.Join(dir, program)},
			Entrypoint: []string{"/" + program},
		}
	}
	return []Image{
		controlPlaneImage(opts.Kube, kubebuild.KubernetesVersion, repository+"etcd:"+tags["etcd"]), proxy,
		single("pause:"+tags["pause"], "pause"),
		single("coredns/coredns:"+tags["coredns"], "coredns"),
		single("machine/web:1", "web"),
		single("provider-aws/cloud-controller-manager:v"+cloudManagerVersion, "aws-cloud-controller-manager"),
		single("metrics-server/metrics-server:v"+metricsServerVersion, "metrics-server"),
		{
			Names: []string{repository + "machine/pod-network:1"}, Files: map[string]string{"/machine": opts.Machine},
			Entrypoint: []string{"/machine", "pod-network"},
		},
	}, nil
}

// controlPlaneImage is one image for all programs of a control plane: they are one binary. It has
// these names in addition.
func controlPlaneImage(binary, version string, names ...string) Image {
	const kube = "/usr/local/bin/kube"
	image := Image{Names: names, Files: map[string]string{kube: binary}, Links: map[string]string{"/usr/local/bin/etcd": kube}}
	for _, program := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
		image.Names = append(image.Names, repository+program+":"+version)
		image.Links["/usr/local/bin/"+program] = kube
	}
	return image
}

// proxyImage has kube-proxy and the host's nft and iptables, with their libraries.
func proxyImage(dir string, opts Options, version string) (Image, error) {
	image := Image{
		Names: []string{repository + "kube-proxy:" + version},
		Files: map[string]string{
			guest.ContainersPath + "/kube-proxy": filepath.Join(dir, kubelet), guest.ImagePath + "/machine": opts.Machine,
		},
		Links: map[string]string{"/usr/local/bin/kube-proxy": guest.ImagePath + "/machine"},
	}
	tables, err := exec.LookPath("iptables")
	if err != nil {
		return image, fmt.Errorf("%w: %w", ErrMissing, err)
	}
	if tables, err = filepath.EvalSymlinks(tables); err != nil {
		return image, fmt.Errorf("find iptables: %w", err)
	}
	nft, err := exec.LookPath("nft")
	if err != nil {
		return image, fmt.Errorf("%w: %w", ErrMissing, err)
	}
	image.Files["/usr/sbin/nft"], image.Files["/usr/sbin/tables"] = nft, tables
	for _, name := range []string{"iptables", "iptables-save", "iptables-restore"} {
		image.Links["/usr/sbin/"+name] = "tables"
		image.Links["/usr/sbin/"+strings.Replace(name, "ip", "ip6", 1)] = "tables"
	}
	modules, err := filepath.Glob("/usr/lib/*/xtables/*.so")
	if err != nil {
		return image, fmt.Errorf("find the modules of iptables: %w", err)
	}
	for _, module := range modules {
		image.Files[module] = module
	}
	for _, of := range append([]string{nft, tables}, modules...) {
		if err := AddLibraries(image.Files, of); err != nil {
			return image, err
		}
	}
	return image, nil
}

// AddLibraries adds the libraries of a program of the host, which ldd prints, to the files of an image.
func AddLibraries(files map[string]string, of string) error {
	out, err := exec.Command("ldd", of).Output() //nolint:noctx,gosec // a program of the host's, and it ends at once
	if err != nil {
		return fmt.Errorf("find the libraries of %s: %w", of, err)
	}
	for word := range strings.FieldsSeq(string(out)) {
		if strings.HasPrefix(word, "/") && path.Clean(word) == word {
			files[word] = word
		}
	}
	return nil
}

func sorted(files map[string]string) []string { return slices.Sorted(maps.Keys(files)) }
