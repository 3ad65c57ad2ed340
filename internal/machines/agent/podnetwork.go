//go:build linux

package agent

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"
	"sigs.k8s.io/yaml"
)

// PodNetworkName is the name under which the binary is the pod network of machines with a real
// kubelet, as a pod of a DaemonSet.
const PodNetworkName = "pod-network"

// podNetworkManifest installs the pod network: its image contains this binary.
//
//go:embed podnetwork.yaml
var podNetworkManifest string

// resourcePaths are the paths of the kinds in the manifest.
var resourcePaths = map[string]string{
	"ServiceAccount":     "/api/v1/namespaces/kube-system/serviceaccounts",
	"ClusterRole":        "/apis/rbac.authorization.k8s.io/v1/clusterroles",
	"ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
	"DaemonSet":          "/apis/apps/v1/namespaces/kube-system/daemonsets",
}

// installPodNetwork creates the objects of the pod network that do not exist, as a release's network
// addon would.
func installPodNetwork(ctx context.Context) error {
	config, err := clientcmd.BuildConfigFromFlags("", adminKubeconfig)
	if err != nil {
		return fmt.Errorf("read the kubeconfig: %w", err)
	}
	config.NegotiatedSerializer = codecs.WithoutConversion()
	client, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return fmt.Errorf("reach the API server: %w", err)
	}
	var errs []error
	for document := range strings.SplitSeq(podNetworkManifest, "---\n") {
		var object struct{ Kind string }
		text, err := yaml.YAMLToJSON([]byte(document))
		if err == nil {
			err = yaml.Unmarshal(text, &object)
		}
		if err == nil {
			err = client.Post().AbsPath(resourcePaths[object.Kind]).SetHeader("Content-Type", "application/json").Body(text).Do(ctx).Error()
		}
		if err != nil && !apierrors.IsAlreadyExists(err) {
			errs = append(errs, fmt.Errorf("create the %s: %w", object.Kind, err))
		}
	}
	return errors.Join(errs...)
}

// PodNetworkMain runs the pod network of a node until a signal ends it, and returns the exit code.
func PodNetworkMain(errOut io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	k := &kubelet{
		options: &options{nodeName: os.Getenv("NODE_NAME")}, clock: clock.RealClock{},
		log: logr.FromSlogHandler(slog.NewTextHandler(errOut, nil)),
	}
	config, err := rest.InClusterConfig()
	if err == nil {
		k.api, err = newAPIOf(config)
	}
	if err != nil {
		_, _ = fmt.Fprintf(errOut, "%s: %v\n", PodNetworkName, err)
		return 1
	}
	k.every(ctx, podNetworkEvery, func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		if err := k.reconcilePods(ctx); err != nil && ctx.Err() == nil {
			k.log.Info("the pod network is not up to date", "because", err.Error())
		}
	})
	return 0
}

const (
	podNetworkEvery = 2 * time.Second
	// routeProtocol marks the routes of the pod network: one that no program of Linux uses
	// (https://man7.org/linux/man-pages/man8/ip-route.8.html).
	routeProtocol = 107
	cniConfigPath = "/etc/cni/net.d/10-pod-network.conflist"
)

// cniConfig configures the CNI plugins: a bridge for the node's pods, with addresses of the node's
// range, and the ports of the host that pods ask for.
const cniConfig = `{"cniVersion": "1.0.0", "name": "pods", "plugins": [
  {"type": "bridge", "bridge": "cni0", "mtu": %d, "isDefaultGateway": true, "hairpinMode": true,
   "ipam": {"type": "host-local", "ranges": [[{"subnet": %q}]]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}
]}
`

// reconcilePods connects the node to the pods of the other nodes, and configures the CNI plugins for
// its own range of addresses.
func (k *kubelet) reconcilePods(ctx context.Context) error {
	var nodes corev1.NodeList
	if err := k.api.core.Get().Resource("nodes").Do(ctx).Into(&nodes); err != nil {
		return fmt.Errorf("list the nodes: %w", err)
	}
	var (
		own    peer
		others []peer
	)
	for i := range nodes.Items {
		p, ok := peerOf(&nodes.Items[i])
		switch {
		case !ok: // it has no range or address yet
		case nodes.Items[i].Name == k.nodeName:
			own = p
		default:
			others = append(others, p)
		}
	}
	if !own.node.IsValid() {
		return nil
	}
	mtu, err := connectPods(own, others)
	if mtu > 0 { // otherwise pods would get a network of which they cannot use all
		err = errors.Join(err, writeChanged(cniConfigPath, fmt.Sprintf(cniConfig, mtu, own.pods)))
	}
	return errors.Join(err, k.masqueradeChanged(own, others))
}

// peerOf returns a node of the pod network; false if it is not one yet.
func peerOf(node *corev1.Node) (peer, bool) {
	pods, err := netip.ParsePrefix(node.Spec.PodCIDR)
	if err != nil {
		return peer{}, false
	}
	for _, address := range node.Status.Addresses {
		if at, err := netip.ParseAddr(address.Address); err == nil && address.Type == corev1.NodeInternalIP && at.Is4() {
			return peer{node: at, pods: pods}, true
		}
	}
	return peer{}, false
}

// masqueradeChanged writes the rules of the pod network unless they are the last ones.
func (k *kubelet) masqueradeChanged(own peer, others []peer) error {
	cluster := make([]netip.Prefix, 0, len(others))
	for _, p := range others {
		cluster = append(cluster, p.pods)
	}
	slices.SortFunc(cluster, func(a, b netip.Prefix) int { return strings.Compare(a.String(), b.String()) })
	text := fmt.Sprint(own, cluster)
	if text == k.masqueraded {
		return nil
	}
	if err := masquerade(own.pods, cluster); err != nil {
		return err
	}
	k.masqueraded = text
	return nil
}

// writeChanged replaces a file at once, unless it has that content.
func writeChanged(path, text string) error {
	if now, err := os.ReadFile(path); err == nil && bytes.Equal(now, []byte(text)) { //nolint:gosec // one of the above
		return nil
	}
	next := filepath.Join(filepath.Dir(path), ".next")             // the runtime reads only names that end in .conf, .conflist and .json
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // containerd reads it
		return fmt.Errorf("configure the CNI plugins: %w", err)
	}
	if err := os.WriteFile(next, []byte(text), 0o600); err != nil {
		return fmt.Errorf("configure the CNI plugins: %w", err)
	}
	return os.Rename(next, path)
}
