//go:build linux

package agent

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// Version is the kubelet's version: that of the kube binary in the machine image, once the kubelet
// has queried it.
var Version = "v1.36.3"

// options are the settings in a kubelet's command line and configuration file.
type options struct {
	kubeconfig, bootstrapKubeconfig string
	configFile                      string
	certDir                         string
	nodeName, nodeIP                string
	providerID                      string
	cloudProvider                   string
	labels                          map[string]string
	taints                          []corev1.Taint
	manifests                       string
	healthzPort                     int
	// servesIssued makes the kubelet serve with a certificate that the cluster issues, to clients with a
	// certificate of clientCA.
	servesIssued bool
	clientCA     string
	version      bool
}

// passedOver are a kubelet's flags that have no effect on the simulation.
// https://kubernetes.io/docs/reference/command-line-tools-reference/kubelet/
var passedOver = []string{
	"container-runtime-endpoint", "image-service-endpoint", "pod-infra-container-image", "image-credential-provider-config",
	"image-credential-provider-bin-dir", "root-dir", "v", "vmodule", "max-pods", "cgroup-driver", "system-reserved", "kube-reserved",
	"eviction-hard", "eviction-soft", "runtime-cgroups", "kubelet-cgroups", "node-status-update-frequency", "read-only-port",
	"rotate-certificates", "rotate-server-certificates", "client-ca-file", "authentication-token-webhook", "authorization-mode",
	"anonymous-auth", "cluster-dns", "cluster-domain", "feature-gates", "config-dir", "fail-swap-on", "resolv-conf", "tls-cert-file",
	"tls-private-key-file", "register-node", "logging-format", "serialize-image-pulls", "protect-kernel-defaults",
}

// parse parses a kubelet's command line and the configuration file that it names. It returns an
// error for unknown flags.
func parse(args []string) (*options, error) {
	o := &options{}
	flags := pflag.NewFlagSet(Name, pflag.ContinueOnError)
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "")
	flags.StringVar(&o.bootstrapKubeconfig, "bootstrap-kubeconfig", "", "")
	flags.StringVar(&o.configFile, "config", "", "")
	flags.StringVar(&o.certDir, "cert-dir", "/var/lib/kubelet/pki", "")
	flags.StringVar(&o.nodeName, "hostname-override", "", "")
	flags.StringVar(&o.nodeIP, "node-ip", "", "")
	flags.StringVar(&o.providerID, "provider-id", "", "")
	flags.StringVar(&o.cloudProvider, "cloud-provider", "", "")
	flags.StringVar(&o.manifests, "pod-manifest-path", "", "")
	flags.IntVar(&o.healthzPort, "healthz-port", 10248, "")
	flags.BoolVar(&o.version, "version", false, "")
	labels := flags.StringToString("node-labels", nil, "")
	taints := flags.StringSlice("register-with-taints", nil, "")
	for _, name := range passedOver {
		flags.String(name, "", "")
		flags.Lookup(name).NoOptDefVal = "true"
	}
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	o.labels = maps.Clone(*labels)
	for _, text := range *taints {
		taint, err := parseTaint(text)
		if err != nil {
			return nil, err
		}
		o.taints = append(o.taints, taint)
	}
	return o, o.complete(flags)
}

// parseTaint parses KEY=VALUE:EFFECT or KEY:EFFECT.
func parseTaint(text string) (corev1.Taint, error) {
	setting, effect, ok := strings.Cut(text, ":")
	key, value, _ := strings.Cut(setting, "=")
	effects := []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute}
	if !ok || key == "" || !slices.Contains(effects, corev1.TaintEffect(effect)) {
		return corev1.Taint{}, fmt.Errorf("%q is not a taint: it must be KEY=VALUE:EFFECT", text)
	}
	return corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)}, nil
}

// configuration holds the relevant fields of a KubeletConfiguration:
// https://kubernetes.io/docs/reference/config-api/kubelet-config.v1beta1/
type configuration struct {
	StaticPodPath      string         `json:"staticPodPath"`
	ProviderID         string         `json:"providerID"`
	HealthzPort        *int           `json:"healthzPort"`
	RegisterWithTaints []corev1.Taint `json:"registerWithTaints"`
	ServerTLSBootstrap bool           `json:"serverTLSBootstrap"`
	Authentication     struct {
		X509 struct {
			ClientCAFile string `json:"clientCAFile"`
		} `json:"x509"`
	} `json:"authentication"`
}

// complete sets options that are not on the command line from the configuration file.
func (o *options) complete(flags *pflag.FlagSet) error {
	c, err := readConfiguration(o.configFile)
	if err != nil {
		return fmt.Errorf("read the kubelet's configuration: %w", err)
	}
	o.manifests = cmp.Or(o.manifests, c.StaticPodPath)
	o.providerID = cmp.Or(o.providerID, c.ProviderID)
	o.servesIssued, o.clientCA = c.ServerTLSBootstrap, c.Authentication.X509.ClientCAFile
	if len(o.taints) == 0 {
		o.taints = c.RegisterWithTaints
	}
	if c.HealthzPort != nil && !flags.Changed("healthz-port") {
		o.healthzPort = *c.HealthzPort
	}
	if o.nodeName == "" {
		name, err := os.Hostname()
		if err != nil {
			return fmt.Errorf("find the node's name: %w", err)
		}
		o.nodeName = strings.ToLower(name)
	}
	return nil
}

// readConfiguration reads a configuration file; an empty path gives an empty configuration.
func readConfiguration(path string) (configuration, error) {
	var c configuration
	if path == "" {
		return c, nil
	}
	data, err := os.ReadFile(path) //nolint:gosec // the command line names it
	if err != nil {
		return c, err
	}
	return c, yaml.Unmarshal(data, &c)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
