package addons

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/action"
	helmcommon "helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/kube"
	"helm.sh/helm/v4/pkg/release/common"
	helmrelease "helm.sh/helm/v4/pkg/release/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/addons/chartrender"
)

const (
	// labelOwner marks the installer's Helm releases.
	labelOwner = "cluster-operator.aws/addon"
	// labelDigest holds the digest of a Helm release's inputs.
	labelDigest = "cluster-operator.aws/addon-digest"
	// history is how many revisions of a release stay in the cluster.
	history = 3
)

// getter provides Helm with the clients of one cluster.
type getter struct {
	config *rest.Config
	known  discovery.CachedDiscoveryInterface
	mapper meta.RESTMapper
	// namespace is the default namespace of objects.
	namespace string
}

// in returns a getter with the same clients for a release in a namespace.
func (g *getter) in(namespace string) *getter {
	other := *g
	other.namespace = namespace
	return &other
}

func newGetter(config *rest.Config) (*getter, error) {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("create a client: %w", err)
	}
	known := memory.NewMemCacheClient(client)
	return &getter{config: config, known: known, mapper: restmapper.NewDeferredDiscoveryRESTMapper(known)}, nil
}

// ToRESTConfig returns the configuration of the cluster's clients.
func (g *getter) ToRESTConfig() (*rest.Config, error) { return g.config, nil }

// ToDiscoveryClient returns the cluster's discovery client.
func (g *getter) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) { return g.known, nil }

// ToRESTMapper maps kinds to resources.
func (g *getter) ToRESTMapper() (meta.RESTMapper, error) { return g.mapper, nil }

// ToRawKubeConfigLoader returns a kubeconfig that contains only the namespace, which Helm uses for
// objects without one.
func (g *getter) ToRawKubeConfigLoader() clientcmd.ClientConfig {
	return clientcmd.NewDefaultClientConfig(
		*clientcmdapi.NewConfig(), &clientcmd.ConfigOverrides{Context: clientcmdapi.Context{Namespace: g.namespace}},
	)
}

// helm makes changes in one cluster.
type helm struct {
	getter   *getter
	fetcher  *fetcher
	renderer *chartrender.Renderer
	// pins are the archives that the cluster's addons were installed from, by addon name.
	pins map[string]v1alpha1.AddonStatus
	// served is the cluster's capabilities, nil until read.
	served *helmcommon.Capabilities
}

// result is the result of a job for a cluster's addons.
type result struct {
	// changes describes the changes.
	changes []string
	// archives are the archives used.
	archives []v1alpha1.AddonStatus
	// workloads are the addons' workloads.
	workloads []addonWorkload
}

func newHelm(config *rest.Config, fetcher *fetcher, pins []v1alpha1.AddonStatus) (*helm, error) {
	g, err := newGetter(config)
	if err != nil {
		return nil, err
	}
	h := &helm{getter: g, fetcher: fetcher, renderer: fetcher.renderer, pins: map[string]v1alpha1.AddonStatus{}}
	for _, pin := range pins {
		h.pins[pin.Name] = pin
	}
	return h, nil
}

// configuration returns the configuration of Helm's actions for a namespace; "" means all.
func (h *helm) configuration(namespace string) (*action.Configuration, error) {
	configuration := action.NewConfiguration(action.ConfigurationSetLogger(slog.DiscardHandler))
	if err := configuration.Init(h.getter.in(namespace), namespace, "secret"); err != nil {
		return nil, fmt.Errorf("prepare Helm: %w", err)
	}
	configuration.Capabilities = h.served
	return configuration, nil
}

// installed returns the installer's releases by name.
func (h *helm) installed() (map[string]*helmrelease.Release, error) {
	configuration, err := h.configuration("")
	if err != nil {
		return nil, err
	}
	list := action.NewList(configuration)
	list.All, list.AllNamespaces, list.Selector = true, true, labelOwner+"=true"
	list.StateMask = action.ListAll
	found, err := list.Run()
	if err != nil {
		return nil, fmt.Errorf("list the Helm releases: %w", err)
	}
	byName := map[string]*helmrelease.Release{}
	for _, item := range found {
		release, err := releaseOf(item)
		if err != nil {
			return nil, err
		}
		byName[release.Name] = release
	}
	return byName, nil
}

// capabilities returns the cluster's version and APIs for templates.
func (h *helm) capabilities() (*helmcommon.Capabilities, error) {
	if h.served != nil {
		return h.served, nil
	}
	version, err := h.getter.known.ServerVersion()
	if err != nil {
		return nil, fmt.Errorf("read the cluster's version: %w", err)
	}
	kinds, err := action.GetVersionSet(h.getter.known)
	if err != nil {
		return nil, fmt.Errorf("read the cluster's APIs: %w", err)
	}
	parsed, err := helmcommon.ParseKubeVersion(version.GitVersion)
	if err != nil {
		return nil, fmt.Errorf("parse the cluster's version: %w", err)
	}
	h.served = &helmcommon.Capabilities{KubeVersion: *parsed, APIVersions: kinds, HelmVersion: helmcommon.DefaultCapabilities.HelmVersion}
	return h.served, nil
}

// prepare downloads a chart and renders it in another process. It returns a chart without templates
// of its own, whose rendered manifests Helm installs unchanged, and the archive with its digest.
func (h *helm) prepare(
	ctx context.Context, wanted *Chart, now *helmrelease.Release,
) (prepared *chart.Chart, archive v1alpha1.AddonStatus, err error) {
	archive = v1alpha1.AddonStatus{Name: wanted.Name, Chart: wanted.Chart, Repository: wanted.Repository, Version: wanted.Version}
	digest, said := wanted.Archive, "the addon's digest"
	if pin, ok := h.pins[wanted.Name]; ok && digest == "" {
		archive.Digest = pin.Digest
		if pin == archive {
			digest, said = pin.Digest, "status.addons, by the first use of this version,"
		}
	}
	data, sum, err := h.fetcher.fetch(ctx, wanted, digest, said)
	if err != nil {
		return nil, archive, err
	}
	archive.Digest = sum
	served, err := h.capabilities()
	if err != nil {
		return nil, archive, err
	}
	asked := &chartrender.Chart{
		Archive: data, Release: wanted.Name, Namespace: wanted.Namespace, Revision: 1, Values: wanted.Values,
		KubeVersion: served.KubeVersion.Version, APIVersions: served.APIVersions,
	}
	if now != nil {
		asked.Revision, asked.Upgrade = now.Version+1, true
	}
	for i := range wanted.Patches {
		p := &wanted.Patches[i]
		asked.Patches = append(asked.Patches, chartrender.Patch{Kind: p.Kind, Name: p.Name, Patch: p.Patch.Raw})
	}
	rendered, err := h.renderer.Render(ctx, asked)
	if err != nil {
		return nil, archive, fmt.Errorf("chart %s %s: %w", wanted.Chart, wanted.Version, err)
	}
	return chartOf(rendered), archive, nil
}

// chartOf creates a chart from another chart's rendered manifests: each template includes a file
// unchanged, so that nothing is evaluated again.
func chartOf(rendered *chartrender.Rendered) *chart.Chart {
	made := &chart.Chart{Metadata: &chart.Metadata{
		APIVersion: chart.APIVersionV2, Name: rendered.Name, Version: rendered.Version, AppVersion: rendered.AppVersion,
		Description: rendered.Description, Type: "application",
	}}
	for _, crd := range rendered.CRDs {
		made.Files = append(made.Files, &helmcommon.File{Name: crd.Name, Data: []byte(crd.Content)})
	}
	for i, manifest := range rendered.Manifests {
		file := fmt.Sprintf("rendered/%d.yaml", i)
		made.Files = append(made.Files, &helmcommon.File{Name: file, Data: []byte(manifest.Content)})
		_, below, _ := strings.Cut(manifest.Name, "/") // Helm prefixes the chart's name.
		made.Templates = append(made.Templates, &helmcommon.File{Name: below, Data: fmt.Appendf(nil, "{{ .Files.Get %q }}", file)})
	}
	return made
}

func labels(wanted *Chart) map[string]string {
	return map[string]string{labelOwner: "true", labelDigest: wanted.Digest()}
}

func (h *helm) install(ctx context.Context, wanted *Chart, prepared *chart.Chart) (*helmrelease.Release, error) {
	configuration, err := h.configuration(wanted.Namespace)
	if err != nil {
		return nil, err
	}
	install := action.NewInstall(configuration)
	install.ReleaseName, install.Namespace, install.CreateNamespace = wanted.Name, wanted.Namespace, true
	install.WaitStrategy, install.Labels = kube.HookOnlyStrategy, labels(wanted)
	installed, err := install.RunWithContext(ctx, prepared, wanted.Values)
	if err != nil {
		if strings.Contains(err.Error(), "cannot reuse a name") {
			return nil, fmt.Errorf(
				"a Helm release with that name exists and does not belong to the operator; uninstall it or disable the addon: %w", err,
			)
		}
		return nil, fmt.Errorf("install: %w", err)
	}
	return releaseOf(installed)
}

func (h *helm) upgrade(ctx context.Context, wanted *Chart, prepared *chart.Chart, now *helmrelease.Release) (*helmrelease.Release, error) {
	configuration, err := h.configuration(wanted.Namespace)
	if err != nil {
		return nil, err
	}
	if now.Info.Status.IsPending() { // The operator was killed during it; no other client works on it.
		now.SetStatus(common.StatusFailed, "The operator was interrupted.")
		if err := configuration.Releases.Update(now); err != nil {
			return nil, fmt.Errorf("continue an interrupted installation: %w", err)
		}
	}
	upgrade := action.NewUpgrade(configuration)
	upgrade.Namespace, upgrade.MaxHistory = wanted.Namespace, history
	upgrade.WaitStrategy, upgrade.Labels, upgrade.ResetValues = kube.HookOnlyStrategy, labels(wanted), true
	upgraded, err := upgrade.RunWithContext(ctx, wanted.Name, prepared, wanted.Values)
	if err != nil {
		return nil, fmt.Errorf("upgrade: %w", err)
	}
	return releaseOf(upgraded)
}

func releaseOf(made any) (*helmrelease.Release, error) {
	release, ok := made.(*helmrelease.Release)
	if !ok {
		return nil, fmt.Errorf("read the Helm release: unknown type %T", made)
	}
	return release, nil
}

func (h *helm) uninstall(name, namespace string) error {
	configuration, err := h.configuration(namespace)
	if err != nil {
		return err
	}
	uninstall := action.NewUninstall(configuration)
	uninstall.IgnoreNotFound, uninstall.WaitStrategy = true, kube.HookOnlyStrategy
	if _, err := uninstall.Run(name); err != nil {
		return fmt.Errorf("uninstall: %w", err)
	}
	return nil
}

// change is what brings one addon to its desired state.
type change struct {
	// wanted is nil for an addon that is no longer desired, now for one that is not installed.
	wanted *Chart
	now    *helmrelease.Release
	// remove says that now is uninstalled first: it is in another namespace, or half uninstalled.
	remove bool
}

// none reports whether the addon is as desired.
func (c *change) none() bool {
	return c.wanted != nil && c.now != nil && c.now.Namespace == c.wanted.Namespace && c.now.Info.Status == common.StatusDeployed &&
		c.now.Labels[labelDigest] == c.wanted.Digest()
}

// name returns the name of the addon.
func (c *change) name() string {
	if c.wanted == nil {
		return c.now.Name
	}
	return c.wanted.Name
}

// String describes the change for a plan.
func (c *change) String() string {
	switch {
	case c.wanted == nil:
		return fmt.Sprintf("- %s %s: uninstall", c.now.Name, c.now.Chart.Metadata.Version)
	case c.now == nil:
		return fmt.Sprintf("+ %s %s: install into namespace %s", c.wanted.Name, c.wanted.Version, c.wanted.Namespace)
	case c.now.Namespace != c.wanted.Namespace:
		return fmt.Sprintf(
			"! %s %s: uninstall from namespace %s, and install into %s", c.wanted.Name, c.wanted.Version, c.now.Namespace, c.wanted.Namespace,
		)
	case c.remove:
		return fmt.Sprintf("! %s %s: end its deinstallation, and install it", c.wanted.Name, c.wanted.Version)
	case c.now.Chart.Metadata.Version != c.wanted.Version:
		return fmt.Sprintf("~ %s: %s → %s", c.wanted.Name, c.now.Chart.Metadata.Version, c.wanted.Version)
	}
	return fmt.Sprintf("~ %s %s: other values", c.wanted.Name, c.wanted.Version)
}

// done describes the change after it was made.
func (c *change) done() string {
	switch {
	case c.wanted == nil:
		return c.now.Name + " was uninstalled"
	case c.now != nil && c.now.Namespace != c.wanted.Namespace:
		return fmt.Sprintf("%s was moved to namespace %s", c.wanted.Name, c.wanted.Namespace)
	case c.now == nil || c.remove:
		return fmt.Sprintf("%s %s was installed", c.wanted.Name, c.wanted.Version)
	}
	return fmt.Sprintf("%s %s was installed over %s", c.wanted.Name, c.wanted.Version, c.now.Chart.Metadata.Version)
}

// plan returns a change for each desired addon, also for those that are as desired, and then for
// those that are no longer desired, by name.
func (h *helm) plan(wanted []Chart) ([]change, error) {
	installed, err := h.installed()
	if err != nil {
		return nil, err
	}
	var changes []change
	for i := range wanted {
		one := change{wanted: &wanted[i], now: installed[wanted[i].Name]}
		delete(installed, wanted[i].Name)
		if now := one.now; now != nil {
			one.remove = now.Namespace != one.wanted.Namespace ||
				now.Info.Status == common.StatusUninstalling || now.Info.Status == common.StatusUninstalled
		}
		changes = append(changes, one)
	}
	for _, name := range slices.Sorted(maps.Keys(installed)) {
		changes = append(changes, change{now: installed[name]})
	}
	return changes, nil
}

// converge changes the cluster to the desired addons and adds the results to out. A failing addon
// does not block the others.
func (h *helm) converge(ctx context.Context, wanted []Chart, out *result) error {
	changes, err := h.plan(wanted)
	if err != nil {
		return err
	}
	var failures []error
	for i := range changes {
		if err := h.make(ctx, &changes[i], out); err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", changes[i].name(), err))
		}
	}
	return errors.Join(failures...)
}

// make makes one change. The installed chart stays until its successor is rendered.
func (h *helm) make(ctx context.Context, c *change, out *result) error {
	if c.none() {
		out.workloads = append(out.workloads, workloadsIn(c.wanted.Name, c.now)...)
		return nil
	}
	if c.wanted == nil {
		if err := h.uninstall(c.now.Name, c.now.Namespace); err != nil {
			return err
		}
		out.changes = append(out.changes, c.done())
		return nil
	}
	before := c.now
	if c.remove {
		before = nil
	}
	prepared, archive, err := h.prepare(ctx, c.wanted, before)
	if err != nil {
		return err
	}
	if c.remove {
		if err := h.uninstall(c.now.Name, c.now.Namespace); err != nil {
			return err
		}
	}
	var made *helmrelease.Release
	if before == nil {
		made, err = h.install(ctx, c.wanted, prepared)
	} else {
		made, err = h.upgrade(ctx, c.wanted, prepared, before)
	}
	if err != nil {
		return err
	}
	out.changes, out.archives = append(out.changes, c.done()), append(out.archives, archive)
	out.workloads = append(out.workloads, workloadsIn(c.wanted.Name, made)...)
	return nil
}
