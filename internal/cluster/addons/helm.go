package addons

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart"
	"helm.sh/helm/v4/pkg/chart/loader"
	"helm.sh/helm/v4/pkg/cli"
	"helm.sh/helm/v4/pkg/kube"
	"helm.sh/helm/v4/pkg/registry"
	"helm.sh/helm/v4/pkg/release/common"
	helmrelease "helm.sh/helm/v4/pkg/release/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

const (
	// labelOwner marks the Helm releases that are the installer's.
	labelOwner = "cluster-operator.aws/addon"
	// labelDigest says what a Helm release was made from.
	labelDigest = "cluster-operator.aws/addon-digest"
	// history is how many revisions of a release are kept in the cluster.
	history = 3
)

// getter gives Helm the clients of one cluster.
type getter struct {
	config *rest.Config
	known  discovery.CachedDiscoveryInterface
	mapper meta.RESTMapper
}

func newGetter(config *rest.Config) (*getter, error) {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	known := memory.NewMemCacheClient(client)
	return &getter{config: config, known: known, mapper: restmapper.NewDeferredDiscoveryRESTMapper(known)}, nil
}

// ToRESTConfig returns how the cluster is reached.
func (g *getter) ToRESTConfig() (*rest.Config, error) { return g.config, nil }

// ToDiscoveryClient returns what the cluster serves.
func (g *getter) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) { return g.known, nil }

// ToRESTMapper maps kinds to resources.
func (g *getter) ToRESTMapper() (meta.RESTMapper, error) { return g.mapper, nil }

// ToRawKubeConfigLoader returns a kubeconfig without a context: the namespace is always given.
func (g *getter) ToRawKubeConfigLoader() clientcmd.ClientConfig {
	return clientcmd.NewDefaultClientConfig(*clientcmdapi.NewConfig(), &clientcmd.ConfigOverrides{})
}

// helm carries out changes in one cluster.
type helm struct {
	getter   *getter
	settings *cli.EnvSettings
	registry *registry.Client
}

func newHelm(config *rest.Config, folder string) (*helm, error) {
	g, err := newGetter(config)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("make a folder for charts: %w", err)
	}
	settings := cli.New()
	settings.RepositoryCache, settings.ContentCache = filepath.Join(folder, "repository"), filepath.Join(folder, "content")
	settings.RepositoryConfig, settings.RegistryConfig = filepath.Join(folder, "repositories.yaml"), filepath.Join(folder, "registry.json")
	settings.PluginsDirectory = filepath.Join(folder, "plugins")
	client, err := registry.NewClient(registry.ClientOptWriter(io.Discard), registry.ClientOptCredentialsFile(settings.RegistryConfig))
	if err != nil {
		return nil, fmt.Errorf("make a client of chart registries: %w", err)
	}
	return &helm{getter: g, settings: settings, registry: client}, nil
}

// configuration is what Helm's actions need for one namespace; "" is all.
func (h *helm) configuration(namespace string) (*action.Configuration, error) {
	configuration := action.NewConfiguration(action.ConfigurationSetLogger(slog.DiscardHandler))
	if err := configuration.Init(h.getter, namespace, "secret"); err != nil {
		return nil, fmt.Errorf("prepare Helm: %w", err)
	}
	configuration.RegistryClient = h.registry
	return configuration, nil
}

// installed returns the installer's own releases, by name.
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
		return nil, fmt.Errorf("list what is installed: %w", err)
	}
	byName := map[string]*helmrelease.Release{}
	for _, item := range found {
		release, ok := item.(*helmrelease.Release)
		if !ok {
			return nil, fmt.Errorf("read what is installed: a release of an unknown form, %T", item)
		}
		byName[release.Name] = release
	}
	return byName, nil
}

// load fetches a chart.
func (h *helm) load(wanted *Chart, options *action.ChartPathOptions) (chart.Charter, error) {
	options.Version, options.RepoURL = wanted.Version, wanted.Repository
	path, err := options.LocateChart(wanted.Chart, h.settings)
	if err != nil {
		return nil, fmt.Errorf("fetch chart %s %s from %s: %w", wanted.Chart, wanted.Version, wanted.Repository, unreachable(err))
	}
	loaded, err := loader.Load(path)
	if err != nil {
		return nil, fmt.Errorf("read chart %s %s: %w", wanted.Chart, wanted.Version, err)
	}
	return loaded, nil
}

// unreachable returns why a repository cannot be reached, without Helm's and the client's words around it, which name it again; any
// other error as it is.
func unreachable(err error) error {
	if unknown, ok := errors.AsType[*net.DNSError](err); ok {
		return fmt.Errorf("look up %s: %s", unknown.Name, unknown.Err)
	}
	if failed, ok := errors.AsType[*net.OpError](err); ok {
		return failed
	}
	return err
}

func labels(wanted *Chart) map[string]string {
	return map[string]string{labelOwner: "true", labelDigest: wanted.Digest()}
}

func (h *helm) install(ctx context.Context, wanted *Chart) error {
	configuration, err := h.configuration(wanted.Namespace)
	if err != nil {
		return err
	}
	install := action.NewInstall(configuration)
	install.SetRegistryClient(h.registry)
	loaded, err := h.load(wanted, &install.ChartPathOptions)
	if err != nil {
		return err
	}
	install.ReleaseName, install.Namespace, install.CreateNamespace = wanted.Name, wanted.Namespace, true
	install.WaitStrategy, install.Labels = kube.HookOnlyStrategy, labels(wanted)
	if _, err := install.RunWithContext(ctx, loaded, wanted.Values); err != nil {
		if strings.Contains(err.Error(), "cannot reuse a name") {
			return fmt.Errorf("a Helm release of that name is there already, and not the operator's: uninstall it or leave the addon out: %w", err)
		}
		return fmt.Errorf("install: %w", err)
	}
	return nil
}

func (h *helm) upgrade(ctx context.Context, wanted *Chart, now *helmrelease.Release) error {
	configuration, err := h.configuration(wanted.Namespace)
	if err != nil {
		return err
	}
	if now.Info.Status.IsPending() { // The operator was killed at it; nobody else works on it.
		now.SetStatus(common.StatusFailed, "The operator was interrupted.")
		if err := configuration.Releases.Update(now); err != nil {
			return fmt.Errorf("take up an interrupted installation: %w", err)
		}
	}
	upgrade := action.NewUpgrade(configuration)
	upgrade.SetRegistryClient(h.registry)
	loaded, err := h.load(wanted, &upgrade.ChartPathOptions)
	if err != nil {
		return err
	}
	upgrade.Namespace, upgrade.MaxHistory = wanted.Namespace, history
	upgrade.WaitStrategy, upgrade.Labels, upgrade.ResetValues = kube.HookOnlyStrategy, labels(wanted), true
	if _, err := upgrade.RunWithContext(ctx, wanted.Name, loaded, wanted.Values); err != nil {
		return fmt.Errorf("upgrade: %w", err)
	}
	return nil
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

// converge brings the cluster to what is wanted and returns what it changed, in sentences. One addon that cannot
// be had does not keep the others back.
func (h *helm) converge(ctx context.Context, wanted []Chart) (changes []string, err error) {
	installed, err := h.installed()
	if err != nil {
		return nil, err
	}
	var failures []error
	for i := range wanted {
		w := &wanted[i]
		now := installed[w.Name]
		delete(installed, w.Name)
		change, err := h.one(ctx, w, now)
		if err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", w.Name, err))
		} else if change != "" {
			changes = append(changes, change)
		}
	}
	for name, extra := range installed {
		if err := h.uninstall(name, extra.Namespace); err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", name, err))
			continue
		}
		changes = append(changes, name+" was uninstalled")
	}
	return changes, errors.Join(failures...)
}

// one brings one addon to what is wanted.
func (h *helm) one(ctx context.Context, wanted *Chart, now *helmrelease.Release) (change string, err error) {
	switch {
	case now == nil:
		return fmt.Sprintf("%s %s was installed", wanted.Name, wanted.Version), h.install(ctx, wanted)
	case now.Namespace != wanted.Namespace:
		if err := h.uninstall(now.Name, now.Namespace); err != nil {
			return "", err
		}
		return fmt.Sprintf("%s was moved to namespace %s", wanted.Name, wanted.Namespace), h.install(ctx, wanted)
	case now.Info.Status == common.StatusDeployed && now.Labels[labelDigest] == wanted.Digest():
		return "", nil
	case now.Info.Status == common.StatusUninstalling || now.Info.Status == common.StatusUninstalled:
		if err := h.uninstall(now.Name, now.Namespace); err != nil {
			return "", err
		}
		return fmt.Sprintf("%s %s was installed", wanted.Name, wanted.Version), h.install(ctx, wanted)
	default:
		return fmt.Sprintf("%s %s was installed over %s", wanted.Name, wanted.Version, now.Chart.Metadata.Version), h.upgrade(ctx, wanted, now)
	}
}
