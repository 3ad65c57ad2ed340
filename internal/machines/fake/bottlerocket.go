package fake

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// bottlerocket is what Bottlerocket reads from user data, as far as a fake machine does. It refuses settings that it does not
// know.
// https://bottlerocket.dev/en/os/latest/#/api/settings/
type bottlerocket struct {
	Settings struct {
		MOTD       string `toml:"motd"`
		Kubernetes struct {
			APIServer          string              `toml:"api-server"`
			ClusterCertificate string              `toml:"cluster-certificate"`
			ClusterName        string              `toml:"cluster-name"`
			ClusterDNSIP       string              `toml:"cluster-dns-ip"`
			NodeLabels         map[string]string   `toml:"node-labels"`
			NodeTaints         map[string][]string `toml:"node-taints"`
		} `toml:"kubernetes"`
	} `toml:"settings"`
}

// isBottlerocket reports whether user data has settings of Bottlerocket for Kubernetes.
func isBottlerocket(userData []byte) bool {
	read, err := toml.Decode(string(userData), &bottlerocket{})
	return err == nil && read.IsDefined("settings", "kubernetes")
}

// parseBottlerocket reads the settings, in the form of a NodeConfig. It returns an error that names a setting that is missing or
// unknown, or whose value is not valid.
func parseBottlerocket(userData []byte) (*nodeConfig, error) {
	var is bottlerocket
	read, err := toml.Decode(string(userData), &is)
	if err != nil {
		return nil, fmt.Errorf("read the settings: %w", err)
	}
	if unknown := read.Undecoded(); len(unknown) > 0 {
		return nil, fmt.Errorf("there is no setting %s", unknown[0])
	}
	of, config := &is.Settings.Kubernetes, &nodeConfig{}
	if config.Spec.Cluster.CertificateAuthority, err = base64.StdEncoding.DecodeString(of.ClusterCertificate); err != nil {
		return nil, fmt.Errorf("settings.kubernetes.cluster-certificate is not base64: %w", err)
	}
	config.Spec.Cluster.Name, config.Spec.Cluster.APIServerEndpoint = of.ClusterName, of.APIServer
	switch {
	case of.ClusterName == "" || of.APIServer == "" || of.ClusterCertificate == "":
		return nil, errors.New("settings.kubernetes lacks cluster-name, api-server or cluster-certificate")
	case of.ClusterDNSIP != "":
		if _, err := netip.ParseAddr(of.ClusterDNSIP); err != nil {
			return nil, fmt.Errorf("settings.kubernetes.cluster-dns-ip: %w", err)
		}
	}
	var labels, taints []string
	for _, key := range slices.Sorted(maps.Keys(of.NodeLabels)) {
		labels = append(labels, key+"="+of.NodeLabels[key])
	}
	for _, key := range slices.Sorted(maps.Keys(of.NodeTaints)) {
		for _, taint := range of.NodeTaints[key] {
			taints = append(taints, key+"="+taint)
		}
	}
	config.Spec.Kubelet.Flags = []string{
		"--node-labels=" + strings.Join(labels, ","), "--register-with-taints=" + strings.Join(taints, ","),
	}
	return config, nil
}
