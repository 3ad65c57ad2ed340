package containerbuild

import (
	"context"
	"path/filepath"

	"github.com/aws-operator/aws-operator/internal/local/kubebuild"
)

// Former is what machine images and registries need in addition to run an earlier version of
// Kubernetes.
type Former struct {
	// Kubelet is the kubelet, and Images the OCI layout of the images of that version.
	Kubelet, Images string
}

// EnsureFormer returns up-to-date programs and images of an earlier version, whose kube binary the
// options name. etcd, CoreDNS and pause are those of the present version. It returns errors as
// [Ensure] does.
func EnsureFormer(ctx context.Context, opts Options, v kubebuild.Version) (Former, error) {
	dir, release, err := occupy(ctx, &opts, "containers-"+v.Kubernetes)
	if err != nil {
		return Former{}, err
	}
	defer release()
	if err := ensurePrograms(ctx, dir, opts, []program{nodePrograms(v)}, append(v.Modules(), "kube/node/main.go")); err != nil {
		return Former{}, err
	}
	proxy, err := proxyImage(dir, opts, v.Kubernetes)
	if err != nil {
		return Former{}, err
	}
	if err := ensureImages(dir, []Image{controlPlaneImage(opts.Kube, v.Kubernetes), proxy}); err != nil {
		return Former{}, err
	}
	return Former{Kubelet: filepath.Join(dir, kubelet), Images: filepath.Join(dir, "images")}, nil
}
