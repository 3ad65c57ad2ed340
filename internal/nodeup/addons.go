package nodeup

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// slotLabel is the label of control-plane nodes with the number of their slot.
const slotLabel = "cluster-operator.aws/slot"

// roleLabel is on them, too. Kubelets may not set it, so that a worker cannot pass for a slot:
// https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#noderestriction
const roleLabel = "node-role.kubernetes.io/control-plane"

// installAddons installs those of kubeadm's addons that are not charts. They are of the version of
// the slot's own API server, and kube-proxy must not be newer than any
// (https://kubernetes.io/releases/version-skew-policy/#kube-proxy): while another slot is older, as
// in an upgrade, it is left to the slot that comes up last.
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

// listed has the fields of a Node that nodeup reads.
type listed struct {
	Metadata struct {
		UID               string            `json:"uid"`
		Labels            map[string]string `json:"labels"`
		CreationTimestamp time.Time         `json:"creationTimestamp"`
	} `json:"metadata"`
	Spec struct {
		ProviderID string `json:"providerID"`
	} `json:"spec"`
	Status struct {
		NodeInfo struct {
			KubeletVersion string `json:"kubeletVersion"`
		} `json:"nodeInfo"`
	} `json:"status"`
}

// olderSlots returns the names of the other slots whose nodes run an older version. The newest node
// of a slot counts, since nodes of terminated instances may still be listed.
func (b *boot) olderSlots(ctx context.Context) ([]string, error) {
	own := numbers(b.bundle.Kubernetes)
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
		if slot == fmt.Sprint(b.bundle.Etcd.Slot) || runs == "" { // A node without a version has just registered.
			continue
		}
		if slices.Compare(numbers(runs), own) < 0 {
			older = append(older, fmt.Sprintf("slot %s, which is of %s,", slot, runs))
		}
	}
	return older, nil
}

// numbers returns the numbers of a version of Kubernetes, as v1.36.3.
func numbers(version string) []int {
	var found []int
	for part := range strings.SplitSeq(strings.TrimPrefix(version, "v"), ".") {
		digits, _, _ := strings.Cut(part, "-")
		number, _ := strconv.Atoi(digits) // Without digits, the version counts as 0.
		found = append(found, number)
	}
	return found
}

// listSlots lists the nodes of the control plane.
func (b *boot) listSlots(ctx context.Context) ([]listed, error) {
	body, err := b.askAsAdmin(ctx, http.MethodGet, "/api/v1/nodes?labelSelector="+url.QueryEscape(slotLabel+","+roleLabel), nil)
	if err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	var list struct {
		Items []listed `json:"items"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, fmt.Errorf("read the list of nodes: %w", err)
	}
	return list.Items, nil
}

// askAsAdmin calls the API with kubeadm's kubeconfig, and returns the response. A
// request body, if it is not nil, is JSON.
func (b *boot) askAsAdmin(ctx context.Context, method, path string, sent []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	server, client, err := b.adminClient()
	if err != nil {
		return nil, err
	}
	defer client.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, method, server+path, bytes.NewReader(sent))
	if err != nil {
		return nil, fmt.Errorf("the API's address %q: %w", server, err)
	}
	if sent != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if method == http.MethodPatch {
		request.Header.Set("Content-Type", "application/strategic-merge-patch+json")
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err //nolint:wrapcheck // it names the method and the address
	}
	defer response.Body.Close() //nolint:errcheck // It was only read.
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	if response.StatusCode != http.StatusOK && response.StatusCode != http.StatusCreated {
		return nil, fmt.Errorf("it answers %s", response.Status)
	}
	return body, nil
}

// adminClient returns the address of the API and a client with kubeadm's permissions.
func (b *boot) adminClient() (string, *http.Client, error) {
	const name = kubeconfigFolder + "/admin.conf"
	text, err := b.files.read(name)
	if err != nil {
		return "", nil, err
	}
	config, err := readKubeconfig(string(text))
	if err != nil {
		return "", nil, fmt.Errorf("read %s: %w", name, err)
	}
	trusted := x509.NewCertPool()
	if !trusted.AppendCertsFromPEM(config["certificate-authority-data"]) {
		return "", nil, errors.New(name + " has no certificate of the cluster's CA")
	}
	own, err := tls.X509KeyPair(config["client-certificate-data"], config["client-key-data"])
	if err != nil {
		return "", nil, fmt.Errorf("read the certificate of %s: %w", name, err)
	}
	return string(config["server"]), &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: trusted, Certificates: []tls.Certificate{own}, MinVersion: tls.VersionTLS12},
	}}, nil
}

// readKubeconfig returns the values of a kubeconfig that kubeadm wrote, with one cluster and one
// user. Each value is on one line; data is decoded. A YAML parser would be larger than the rest of
// nodeup.
func readKubeconfig(text string) (map[string][]byte, error) {
	values := map[string][]byte{}
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), ": ")
		switch {
		case !ok:
		case strings.HasSuffix(key, "-data"):
			decoded, err := base64.StdEncoding.DecodeString(value)
			if err != nil {
				return nil, fmt.Errorf("read %s: %w", key, err)
			}
			values[key] = decoded
		default:
			values[key] = []byte(value)
		}
	}
	return values, nil
}
