package bootstrap

import (
	"bytes"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/apiserver"
	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

const (
	kubeadmVersion = "kubeadm.k8s.io/v1beta4"
	etcdDataDir    = "/var/lib/etcd"
	// encryption is the kind of key that kubeadm makes; the authorities' own are of the same kind.
	encryption = "ECDSA-P256"
)

// LeafValidity is how long the certificates that kubeadm makes hold: three years. A machine that is
// replaced gets new ones, and a version of Kubernetes is supported for little more than one.
const LeafValidity = 3 * 365 * 24 * time.Hour

// Names in a release's components.
const (
	// componentRepository is where the images come from, registry.k8s.io if not set.
	componentRepository = "imageRepository"
	componentEtcd       = "etcd"
	componentCoreDNS    = "coredns"
)

func imageRepository(release v1alpha1.ReleaseSpec) string {
	if repository := release.Components[componentRepository]; repository != "" {
		return repository
	}
	return "registry.k8s.io"
}

// controlPlaneConfig returns kubeadm's configuration for a slot; patched if there are patches for
// it.
func controlPlaneConfig(c *model.Cluster, slot model.Slot, apiAddress string, patched bool) (string, error) {
	cluster, err := clusterConfiguration(c, slot, apiAddress)
	if err != nil {
		return "", err
	}
	kubelet, err := kubeletConfiguration(c)
	if err != nil {
		return "", err
	}
	machine := initConfiguration()
	if patched {
		machine["patches"] = map[string]any{"directory": patchDirectory}
	}
	return documents(machine, cluster, kubelet)
}

// initConfiguration says who the machine is.
func initConfiguration() map[string]any {
	return map[string]any{
		"apiVersion": kubeadmVersion,
		"kind":       "InitConfiguration",
		"nodeRegistration": map[string]any{
			"name":      bundle.Placeholder(bundle.NodeName),
			"criSocket": runtimeSocket,
		},
		"localAPIEndpoint": map[string]any{
			"advertiseAddress": bundle.Placeholder(bundle.PrivateIP),
			"bindPort":         model.PortAPI,
		},
		// Without an entry, kubeadm creates a token that lets instances join for a day. This one,
		// whose value kubeadm generates, belongs to a group without permissions and expires after a
		// minute: workers join with the operator's token.
		"bootstrapTokens": []any{map[string]any{
			"ttl": "1m0s", "groups": []any{"system:bootstrappers:nobody"}, "description": "made by kubeadm, of no use",
		}},
	}
}

// ownArgs are the arguments of each component that users must not set: another value would break
// the operator's control of the node.
var ownArgs = map[string][]string{
	"etcd": {
		"name", "initial-cluster", "initial-cluster-state", "initial-cluster-token", "initial-advertise-peer-urls",
		"listen-client-urls", "advertise-client-urls", "listen-peer-urls", "data-dir", "cert-file", "key-file",
		"trusted-ca-file", "client-cert-auth", "peer-cert-file", "peer-key-file", "peer-trusted-ca-file",
		"peer-client-cert-auth", "force-new-cluster", "discovery", "discovery-srv",
	},
	"apiServer": {
		"advertise-address", "secure-port", "etcd-servers", "etcd-cafile", "etcd-certfile", "etcd-keyfile", "client-ca-file",
		"tls-cert-file", "tls-private-key-file", "service-account-issuer", "service-account-jwks-uri",
		"service-account-key-file", "service-account-signing-key-file", "service-cluster-ip-range",
		"enable-bootstrap-token-auth", "kubelet-client-certificate", "kubelet-client-key", "proxy-client-cert-file",
		"proxy-client-key-file", "requestheader-client-ca-file",
	},
	"controllerManager": {
		"cloud-provider", "cluster-cidr", "allocate-node-cidrs", "cluster-name", "cluster-signing-cert-file",
		"cluster-signing-key-file", "kubeconfig", "root-ca-file", "service-account-private-key-file",
		"service-cluster-ip-range", "leader-elect", "use-service-account-credentials",
	},
	"scheduler": {"kubeconfig", "leader-elect"},
}

// args returns a component's arguments for kubeadm: the operator's, overridden by the user's. It
// returns an error for a reserved one.
func args(component string, ours, extra map[string]string) ([]any, error) {
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		if slices.Contains(ownArgs[component], name) {
			return nil, fmt.Errorf(
				"the argument %s of %s is set by the operator; leave it out of controlPlane.extraArgs.%s", name, component, component,
			)
		}
	}
	if name := bundle.Holding(extra); name != "" {
		return nil, fmt.Errorf(
			"the argument %s of %s has a ${} in it, which is how the operator marks what a machine fills in", name, component,
		)
	}
	all := maps.Clone(ours)
	maps.Copy(all, extra)
	list := make([]any, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, map[string]any{"name": name, "value": all[name]})
	}
	return list, nil
}

func clusterConfiguration(c *model.Cluster, slot model.Slot, apiAddress string) (map[string]any, error) {
	release, extra := c.Release.Spec, c.Spec.ControlPlane.ExtraArgs
	etcd, err := etcdConfiguration(c, slot)
	if err != nil {
		return nil, err
	}
	apiServer, err := args("apiServer", apiServerArgs(c), extra.APIServer)
	if err != nil {
		return nil, err
	}
	controllerManager, err := args("controllerManager", controllerManagerArgs(c), extra.ControllerManager)
	if err != nil {
		return nil, err
	}
	scheduler, err := args("scheduler", map[string]string{"profiling": "false"}, extra.Scheduler)
	if err != nil {
		return nil, err
	}
	configuration := map[string]any{
		"apiVersion":          kubeadmVersion,
		"kind":                "ClusterConfiguration",
		"clusterName":         c.Name,
		"kubernetesVersion":   release.Kubernetes,
		"imageRepository":     imageRepository(release),
		"encryptionAlgorithm": encryption,
		// kubeadm's default of one year would silently break a control plane that is not changed
		// for that long.
		"certificateValidityPeriod": LeafValidity.String(),
		"controlPlaneEndpoint":      net.JoinHostPort(apiAddress, strconv.Itoa(model.PortAPI)),
		"networking": map[string]any{
			"podSubnet": c.Spec.Network.PodCIDR, "serviceSubnet": c.Spec.Network.ServiceCIDR, "dnsDomain": "cluster.local",
		},
		"apiServer":         apiServerConfiguration(c, apiAddress, apiServer),
		"controllerManager": map[string]any{"extraArgs": controllerManager},
		"scheduler":         map[string]any{"extraArgs": scheduler},
		"etcd":              map[string]any{"local": etcd},
	}
	if tag := release.Components[componentCoreDNS]; tag != "" {
		configuration["dns"] = map[string]any{"imageTag": tag}
	}
	return configuration, nil
}

// apiServerConfiguration mounts the configuration files, the audit log and the socket of the KMS plugin into the API server's pod.
func apiServerConfiguration(c *model.Cluster, apiAddress string, arguments []any) map[string]any {
	configuration := map[string]any{"certSANs": certificateNames(c, apiAddress), "extraArgs": arguments}
	var volumes []any
	if len(c.APIServer.Files) > 0 {
		volumes = append(volumes, map[string]any{
			"name": "operator-config", "hostPath": apiserver.Directory, "mountPath": apiserver.Directory,
			"readOnly": true, "pathType": "Directory",
		})
	}
	if c.Spec.API.Audit != nil {
		volumes = append(volumes, map[string]any{
			"name": "audit-log", "hostPath": apiserver.LogDirectory, "mountPath": apiserver.LogDirectory,
			"readOnly": false, "pathType": "DirectoryOrCreate",
		})
	}
	if c.SlotsEncrypt() {
		volumes = append(volumes, map[string]any{
			"name": "kms-plugin", "hostPath": apiserver.SocketDirectory, "mountPath": apiserver.SocketDirectory,
			"readOnly": true, "pathType": "DirectoryOrCreate",
		})
	}
	if len(volumes) > 0 {
		configuration["extraVolumes"] = volumes
	}
	return configuration
}

// apiServerFiles returns the files that the API server's arguments name. They have the mode of
// kubeadm's own manifests: an AuthenticationConfiguration says who may log in.
func apiServerFiles(c *model.Cluster) []bundle.File {
	var files []bundle.File
	for _, name := range slices.Sorted(maps.Keys(c.APIServer.Files)) {
		files = append(files, bundle.File{Path: apiserver.Directory + "/" + name, Mode: "0600", Content: c.APIServer.Files[name]})
	}
	return files
}

func controllerManagerArgs(c *model.Cluster) map[string]string {
	arguments := map[string]string{
		"cloud-provider":         "external",
		"configure-cloud-routes": "false", // routes of pods are the network addon's
		"profiling":              "false",
	}
	if c.Keys.IsMixed() {
		arguments["cluster-signing-cert-file"] = signingCA
	}
	return arguments
}

func apiServerArgs(c *model.Cluster) map[string]string {
	arguments := map[string]string{"profiling": "false"}
	if c.Keys.IsMixed() {
		arguments["tls-cert-file"], arguments["kubelet-client-certificate"] = apiServerChain, kubeletClientChain
	}
	if c.Spec.Certificates.VerifiesKubelets() {
		// During a rotation it has both CAs: kubelets have certificates of either.
		arguments["kubelet-certificate-authority"] = pkiDirectory + "ca.crt"
	}
	maps.Copy(arguments, c.APIServer.Args)
	if c.Issuer != "" {
		arguments["service-account-issuer"] = c.Issuer
		arguments["service-account-jwks-uri"] = c.Issuer + "/openid/v1/jwks"
	}
	return arguments
}

// certificateNames are the names and addresses, beside those that kubeadm knows, that the API
// server's certificate is good for.
func certificateNames(c *model.Cluster, apiAddress string) []any {
	names := []string{apiAddress}
	if c.Spec.DNS != nil && c.Spec.DNS.Name != "" {
		names = append(names, c.Spec.DNS.Name)
	}
	names = append(names, c.Spec.API.ExtraNames...)
	slices.Sort(names)
	list := make([]any, 0, len(names))
	for _, name := range slices.Compact(names) {
		list = append(list, name)
	}
	return list
}

// etcdConfiguration makes the slot's machine a member of a cluster whose members are fixed: each
// starts with the whole list, so no machine is the first. A member that has data ignores the list,
// and one that has lost its data joins the others: nodeup decides which of them the machine is.
// Members know each other by DNS names, which stay when a machine is replaced and its address is
// another.
func etcdConfiguration(c *model.Cluster, slot model.Slot) (map[string]any, error) {
	state := "new"
	if c.Features.RejoinEtcd {
		state = bundle.Placeholder(bundle.EtcdClusterState)
	}
	arguments, err := args("etcd", map[string]string{
		"name":                        slot.EtcdName,
		"initial-cluster":             initialCluster(c),
		"initial-cluster-state":       state,
		"initial-cluster-token":       model.EtcdToken(c.Name, c.Spec.ControlPlane.RestoreSnapshot),
		"initial-advertise-peer-urls": peerURL(slot),
	}, c.Spec.ControlPlane.ExtraArgs.Etcd)
	if err != nil {
		return nil, err
	}
	local := map[string]any{
		"dataDir":        etcdDataDir,
		"extraArgs":      arguments,
		"peerCertSANs":   []any{slot.EtcdDNS},
		"serverCertSANs": []any{slot.EtcdDNS},
	}
	if tag := c.Release.Spec.Components[componentEtcd]; tag != "" {
		local["imageTag"] = tag
	}
	return local, nil
}

// initialCluster lists all members as etcd takes them.
func initialCluster(c *model.Cluster) string {
	peers := make([]string, 0, len(c.Slots))
	for _, slot := range c.Slots {
		peers = append(peers, slot.EtcdName+"="+peerURL(slot))
	}
	return strings.Join(peers, ",")
}

func peerURL(slot model.Slot) string {
	return "https://" + net.JoinHostPort(slot.EtcdDNS, strconv.Itoa(model.PortEtcdPeer))
}

// discoveryFile tells kubeadm where the API is and whom to trust.
const discoveryFile = "/etc/kubernetes/discovery.conf"

// workerConfig returns kubeadm's configuration for a worker. A worker that proves which instance it
// is joins with the certificate that it gets for that, in a file of nodeup's; others join with the
// token.
func workerConfig(proves bool) (string, error) {
	// The machine knows the CA, so the cluster need not sign for itself with the token, and kubeadm
	// need not wait until it has.
	where := map[string]any{
		"file":              map[string]any{"kubeConfigPath": discoveryFile},
		"tlsBootstrapToken": bundle.Placeholder(bundle.BootstrapToken),
	}
	if proves {
		where = map[string]any{"file": map[string]any{"kubeConfigPath": bundle.JoinKubeconfig}}
	}
	return documents(map[string]any{
		"apiVersion": kubeadmVersion,
		"kind":       "JoinConfiguration",
		"nodeRegistration": map[string]any{
			"name":      bundle.Placeholder(bundle.NodeName),
			"criSocket": runtimeSocket,
		},
		// Preflight asks for an empty machine; nodeup has to be able to start over.
		"skipPhases": []any{"preflight"},
		"patches":    map[string]any{"directory": patchDirectory},
		"discovery":  where,
		// nodeup retries with the then current token, which is renewed.
		"timeouts": map[string]any{"discovery": "1m0s", "tlsBootstrap": "2m0s"},
	})
}

// mostCAs is how many CAs a node trusts at most: the current and the next one.
const mostCAs = 2

// api returns the address of the cluster's API. It returns an error if a certificate is invalid.
func api(apiAddress string, caCertPEM []byte) (*bundle.API, error) {
	var trusted bytes.Buffer
	count := 0
	for rest := bytes.TrimSpace(caCertPEM); count == 0 || len(rest) > 0; count++ {
		var block *pem.Block
		block, rest = pem.Decode(rest)
		if rest = bytes.TrimSpace(rest); block == nil || count == mostCAs {
			return nil, errors.New("the cluster's CA certificate is not one PEM block, or two during a rotation")
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return nil, fmt.Errorf("read the cluster's CA certificate: %w", err)
		}
		_, _ = trusted.Write(pem.EncodeToMemory(block)) // Writes to a buffer never fail.
	}
	return &bundle.API{Server: model.APIServer(apiAddress), CACertificate: trusted.String()}, nil
}

// discovery returns the file that tells kubeadm the same. It is of the form of the ConfigMap
// cluster-info: a kubeconfig with one cluster that has no name, and nothing else.
func discovery(api *bundle.API) (bundle.File, error) {
	text, err := documents(map[string]any{
		"apiVersion": "v1", "kind": "Config",
		"clusters": []any{map[string]any{"name": "", "cluster": map[string]any{
			"server":                     api.Server,
			"certificate-authority-data": base64.StdEncoding.EncodeToString([]byte(api.CACertificate)),
		}}},
	})
	return bundle.File{Path: discoveryFile, Mode: "0644", Content: text}, err
}

// clusterDNS returns the address of the cluster's DNS: the tenth of the services' range, as kubeadm
// has it.
func clusterDNS(serviceCIDR string) (string, error) {
	const tenth = 10
	prefix, err := netip.ParsePrefix(serviceCIDR)
	if err != nil {
		return "", fmt.Errorf("read the range of services: %w", err)
	}
	address := prefix.Masked().Addr()
	for range tenth {
		address = address.Next()
	}
	if !prefix.Contains(address) {
		return "", fmt.Errorf("the range of services, %s, has no room for the cluster's DNS", serviceCIDR)
	}
	return address.String(), nil
}

// documents writes YAML documents, one after another, keys sorted.
func documents(values ...map[string]any) (string, error) {
	var out strings.Builder
	for i, value := range values {
		if i > 0 {
			out.WriteString("---\n")
		}
		text, err := yaml.Marshal(value)
		if err != nil {
			return "", fmt.Errorf("write kubeadm's configuration: %w", err)
		}
		out.Write(text)
	}
	return out.String(), nil
}
