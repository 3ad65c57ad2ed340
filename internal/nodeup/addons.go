package nodeup

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/yaml"
)

// slotLabel is on the nodes of the control plane, with the number of their slot.
const slotLabel = "cluster-operator.aws/slot"

// installAddons installs those of kubeadm's addons that are not charts. They are of the version of the slot's own API server, and
// kube-proxy must not be newer than any (https://kubernetes.io/releases/version-skew-policy/#kube-proxy): while another slot is older,
// as in an upgrade, it is left to the slot that comes up last.
func (b *boot) installAddons(ctx context.Context) (string, error) {
	if b.done() || len(b.bundle.Kubeadm.Addons) == 0 {
		return "nothing, it was done before", nil
	}
	older, err := b.olderSlots(ctx)
	if err != nil {
		return "", err
	}
	if len(older) > 0 {
		return "nothing, since " + strings.Join(older, " and ") + " will do it", nil
	}
	for _, addon := range b.bundle.Kubeadm.Addons {
		if err := b.initPhase(ctx, "addon", addon); err != nil {
			return "", err
		}
	}
	return strings.Join(b.bundle.Kubeadm.Addons, ", "), nil
}

// listed is a Node, as far as it is looked at.
type listed struct {
	Metadata struct {
		Labels            map[string]string `json:"labels"`
		CreationTimestamp time.Time         `json:"creationTimestamp"`
	} `json:"metadata"`
	Status struct {
		NodeInfo struct {
			KubeletVersion string `json:"kubeletVersion"`
		} `json:"nodeInfo"`
	} `json:"status"`
}

// olderSlots names the other slots whose nodes are of an older version. The newest node of a slot counts: those of machines that are
// gone may still be listed.
func (b *boot) olderSlots(ctx context.Context) ([]string, error) {
	own, err := version.ParseGeneric(b.bundle.Kubernetes)
	if err != nil {
		return nil, permanent("the bundle's version of Kubernetes, %q: %w", b.bundle.Kubernetes, err)
	}
	nodes, err := b.listSlots(ctx)
	if err != nil {
		return nil, err
	}
	newest := map[string]listed{}
	for _, node := range nodes {
		slot := node.Metadata.Labels[slotLabel]
		if known, ok := newest[slot]; !ok || node.Metadata.CreationTimestamp.After(known.Metadata.CreationTimestamp) {
			newest[slot] = node
		}
	}
	var older []string
	for slot, node := range newest {
		runs := node.Status.NodeInfo.KubeletVersion
		theirs, err := version.ParseGeneric(runs)
		if slot == fmt.Sprint(b.bundle.Etcd.Slot) || err != nil { // One that has not reported its version has just come up.
			continue
		}
		if theirs.LessThan(own) {
			older = append(older, fmt.Sprintf("slot %s, which is of %s,", slot, runs))
		}
	}
	return older, nil
}

// listSlots asks the API for the nodes of the control plane, as kubeadm does: with its kubeconfig.
func (b *boot) listSlots(ctx context.Context) ([]listed, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	server, client, err := b.adminClient()
	if err != nil {
		return nil, err
	}
	defer client.CloseIdleConnections()
	path := server + "/api/v1/nodes?labelSelector=" + url.QueryEscape(slotLabel)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, path, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("ask the API at %q: %w", server, err)
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask the API for nodes: %w", err)
	}
	defer response.Body.Close() //nolint:errcheck // It was only read.
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("ask the API for nodes: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the API answers %s when asked for nodes", response.Status)
	}
	var list struct {
		Items []listed `json:"items"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, fmt.Errorf("read the API's answer about nodes: %w", err)
	}
	return list.Items, nil
}

// kubeconfig is what kubeadm writes, as far as it is looked at. Bytes are in base64, as encoding/json has them.
type kubeconfig struct {
	Clusters []struct {
		Cluster struct {
			Server string `json:"server"`
			CA     []byte `json:"certificate-authority-data"` //nolint:tagliatelle // Kubernetes' name
		} `json:"cluster"`
	} `json:"clusters"`
	Users []struct {
		User struct {
			Certificate []byte `json:"client-certificate-data"` //nolint:tagliatelle // Kubernetes' name
			Key         []byte `json:"client-key-data"`         //nolint:tagliatelle // Kubernetes' name
		} `json:"user"`
	} `json:"users"`
}

// adminClient returns where the API is and a client of kubeadm's own rights.
func (b *boot) adminClient() (string, *http.Client, error) {
	const name = kubeconfigFolder + "/admin.conf"
	text, err := b.files.read(name)
	if err != nil {
		return "", nil, err
	}
	var config kubeconfig
	if err := yaml.Unmarshal(text, &config); err != nil {
		return "", nil, fmt.Errorf("read %s: %w", name, err)
	}
	if len(config.Clusters) != 1 || len(config.Users) != 1 {
		return "", nil, fmt.Errorf("%s is not of one cluster and one user", name)
	}
	trusted := x509.NewCertPool()
	if !trusted.AppendCertsFromPEM(config.Clusters[0].Cluster.CA) {
		return "", nil, errors.New(name + " has no certificate of the cluster's CA")
	}
	own, err := tls.X509KeyPair(config.Users[0].User.Certificate, config.Users[0].User.Key)
	if err != nil {
		return "", nil, fmt.Errorf("read the certificate of %s: %w", name, err)
	}
	return config.Clusters[0].Cluster.Server, &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: trusted, Certificates: []tls.Certificate{own}, MinVersion: tls.VersionTLS12},
	}}, nil
}
