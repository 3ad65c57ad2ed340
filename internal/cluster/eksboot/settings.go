package eksboot

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
)

// dnsOffset is the number of the address of the cluster's DNS in the range of Services.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_KubernetesNetworkConfigRequest.html
const dnsOffset = 10

// settings returns user data for Bottlerocket.
// https://bottlerocket.dev/en/os/latest/#/api/settings/kubernetes/
func settings(to *cluster, of *node) (string, error) {
	services, err := netip.ParsePrefix(to.CIDR)
	if err != nil {
		return "", fmt.Errorf("the range of Services: %w", err)
	}
	dns := services.Masked().Addr()
	for range dnsOffset {
		dns = dns.Next()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "[settings.kubernetes]\napi-server = %s\ncluster-certificate = %s\ncluster-dns-ip = %s\ncluster-name = %s\n\n",
		quoted(to.APIServerEndpoint), quoted(to.CertificateAuthority), quoted(dns.String()), quoted(to.Name))
	table := func(name string, keys []string, value func(key string) string) {
		b.WriteString("[" + name + "]\n")
		for _, key := range keys {
			b.WriteString(quoted(key) + " = " + value(key) + "\n")
		}
	}
	table("settings.kubernetes.node-labels", slices.Sorted(maps.Keys(of.Labels)), func(key string) string { return quoted(of.Labels[key]) })
	taints := map[string][]string{}
	for _, taint := range of.Taints {
		taints[taint.Key] = append(taints[taint.Key], quoted(taint.Value+":"+string(taint.Effect)))
	}
	if len(taints) > 0 {
		b.WriteString("\n")
		table("settings.kubernetes.node-taints", slices.Sorted(maps.Keys(taints)), func(key string) string {
			return "[" + strings.Join(taints[key], ", ") + "]"
		})
	}
	return b.String(), nil
}

// quoted returns a text as a basic string of TOML, which has the escapes of JSON. JSON allows one control character that TOML
// does not: https://toml.io/en/v1.0.0#string
func quoted(text string) string {
	out, _ := json.Marshal(text) // A text can always be written.
	return strings.ReplaceAll(string(out), "\x7f", `\u007f`)
}
