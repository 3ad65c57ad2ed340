package environment

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/internal/local/containerbuild"
	"github.com/aws-operator/aws-operator/internal/machines/process"
)

// serveCharts serves a folder as a chart repository on loopback until it is closed.
func serveCharts(ctx context.Context, dir string) (server io.Closer, repository string, err error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, "", fmt.Errorf("serve the charts of addons: %w", err)
	}
	s := &http.Server{Handler: http.FileServer(http.Dir(dir)), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = s.Serve(listener) }()
	return s, "http://" + listener.Addr().String(), nil
}

// addAddons adds the published release's addons that are built here to a release, with their
// published values: the operator installs them from their charts, as it does on AWS. Only the
// repository, the version of the chart, its digest and the tag of the image differ.
func addAddons(r *v1alpha1.Release, host *process.Host, repository string) error {
	published, err := presentRelease()
	if err != nil {
		return err
	}
	built, err := containerbuild.Addons(host.Containers())
	if err != nil {
		return err
	}
	var names []string
	for i := range published.Spec.Addons {
		addon := &published.Spec.Addons[i]
		n := slices.IndexFunc(built, func(b containerbuild.Addon) bool { return b.Chart == addon.Chart })
		if n < 0 {
			continue
		}
		addon.Repository, addon.Version, addon.Digest = repository, built[n].Version, built[n].Digest
		if err := setTag(addon, built[n].Tag); err != nil {
			return fmt.Errorf("addon %s: %w", addon.Name, err)
		}
		r.Spec.Addons = append(r.Spec.Addons, *addon)
		names = append(names, addon.Name)
	}
	r.Annotations[descriptionAnnotation] = "For simulated machines of local mode: kubelet, kubeadm, containerd, runc and CNI plugins " +
		"are in the machine image; the only addons are " + strings.Join(names, " and ") + "."
	return nil
}

// setTag sets the value image.tag of an addon.
func setTag(addon *v1alpha1.ReleaseAddon, tag string) error {
	var values map[string]any
	if addon.Values != nil {
		if err := json.Unmarshal(addon.Values.Raw, &values); err != nil {
			return fmt.Errorf("read its values: %w", err)
		}
	}
	raw, err := json.Marshal(release.Overlay(values, map[string]any{"image": map[string]any{"tag": tag}}))
	if err != nil {
		return fmt.Errorf("write its values: %w", err)
	}
	addon.Values = &runtime.RawExtension{Raw: raw}
	return nil
}
