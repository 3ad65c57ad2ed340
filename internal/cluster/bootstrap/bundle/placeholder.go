package bundle

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
)

// Placeholders, written ${NAME}, stand for what only the instance knows.
const (
	// NodeName is the node's name: the instance's private DNS name.
	NodeName = "NODE_NAME"
	// PrivateIP is the instance's address.
	PrivateIP = "PRIVATE_IP"
	// ProviderID is aws:///zone/instance.
	ProviderID = "PROVIDER_ID"
	// Region is the instance's region.
	Region = "REGION"
	// Zone is the instance's availability zone.
	Zone = "ZONE"
	// InstanceType is the instance's type.
	InstanceType = "INSTANCE_TYPE"
	// BootstrapToken is the token that a worker joins with; only in kubeadm's configuration.
	BootstrapToken = "BOOTSTRAP_TOKEN"
	// EtcdClusterState is the value of etcd's --initial-cluster-state, which the slot decides when
	// it boots; only in kubeadm's configuration.
	EtcdClusterState = "ETCD_CLUSTER_STATE"
)

// Placeholders are all there are.
var Placeholders = []string{NodeName, PrivateIP, ProviderID, Region, Zone, InstanceType, BootstrapToken, EtcdClusterState}

// Placeholder returns how a placeholder is written.
func Placeholder(name string) string { return "${" + name + "}" }

var placeholder = regexp.MustCompile(`\$\{([A-Z_]+)\}`)

// Expand replaces the placeholders in a text. It returns an error for one without a value.
func Expand(text string, values map[string]string) (string, error) {
	var missing string
	expanded := placeholder.ReplaceAllStringFunc(text, func(found string) string {
		name := placeholder.FindStringSubmatch(found)[1]
		value, ok := values[name]
		if !ok || value == "" {
			missing = name
		}
		return value
	})
	if missing != "" {
		return "", fmt.Errorf("there is no value for the placeholder %s", Placeholder(missing))
	}
	return expanded, nil
}

// Holding returns the first of the values, by name, that contains a placeholder, empty if none
// does: users' values must not look like one.
func Holding(values map[string]string) string {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if placeholder.MatchString(values[name]) {
			return name
		}
	}
	return ""
}
