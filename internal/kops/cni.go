package kops

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

const (
	// ciliumAddon is the release's network of pods.
	ciliumAddon = "cilium"
	// encrypted are the values of Cilium's chart that encrypt traffic between nodes.
	// https://docs.cilium.io/en/stable/security/network/encryption-wireguard/
	encrypted = `{"encryption":{"enabled":true,"type":"wireguard"}}`
)

// networks are the networks of pods that kops knows, with what is lost when Cilium takes their
// place.
var networks = fields{
	"amazonvpc": warning(
		"Cilium replaces it: pods have addresses of the pods' range, not of the VPC, so other hosts see the address of the node, and security groups of pods have no effect",
	),
	"calico": warning(
		"Cilium replaces it: Kubernetes network policies continue to work, Calico's own kinds (projectcalico.org) do not",
	),
	"canal": warning(
		"Cilium replaces it: Kubernetes network policies continue to work, Calico's own kinds (projectcalico.org) do not",
	),
	"cilium":     taken,
	"classic":    warning("Cilium replaces it"),
	"cni":        taken,
	"external":   taken,
	"flannel":    warning("Cilium replaces it"),
	"gce":        danger("only clusters on AWS can be translated"),
	"gcp":        danger("only clusters on AWS can be translated"),
	"kindnet":    warning("Cilium replaces it"),
	"kopeio":     warning("Cilium replaces it"),
	"kubenet":    warning("Cilium replaces it"),
	"kuberouter": warning("Cilium replaces it"),
	"lyftvpc":    warning("Cilium replaces it: pods have addresses of the pods' range, not of the VPC"),
	"romana":     warning("Cilium replaces it"),
	"weave":      warning("Cilium replaces it"),
}

// cni translates the network of pods.
func (c *cluster) cni() {
	p := c.spec.section("networking", networks)
	if p == nil {
		return
	}
	for _, entry := range p.value.Entries {
		c.podNetwork(p, entry.Key)
	}
	p.finish()
}

func (c *cluster) podNetwork(p *part, name string) {
	rule, known := networks[name]
	if !known || rule.handling == refused {
		return
	}
	section := p.section(name, fields{})
	if section == nil {
		if rule.handling == noted { // as `calico:` without anything
			p.note(name, rule.severity, rule.why)
		}
		return
	}
	switch name {
	case "cni", "external":
		c.addon(v1alpha1.Addon{Name: ciliumAddon, Disabled: true})
		p.note(name, Warning, "no pod network is installed: nodes are not Ready until you install one, or add its chart to spec.addons")
		return
	case "cilium":
	default:
		p.note(name, rule.severity, rule.why)
	}
	c.encryption(name, section)
	for _, entry := range section.value.Entries {
		if !section.used[entry.Key] && !empty(entry.Value) && entry.Value.Text != "false" {
			section.note(entry.Key, settingSeverity(name), settingWhy(name))
		}
	}
}

func settingSeverity(name string) Severity {
	if name == ciliumAddon {
		return Warning
	}
	return Info
}

func settingWhy(name string) string {
	if name == ciliumAddon {
		return "set it in the values of cilium in spec.addons"
	}
	return fmt.Sprintf("it is a setting of %s, which is not installed", name)
}

// encryption keeps traffic between nodes encrypted that is so.
func (c *cluster) encryption(name string, section *part) {
	on := section.truth("wireguardEnabled", false)
	if name == ciliumAddon {
		kind := section.text("encryptionType")
		on = section.truth("enableEncryption", false) || on
		if on && kind != "wireguard" {
			section.refuse(
				"enableEncryption",
				"traffic between nodes would not be encrypted: IPsec has no counterpart, so set encryptionType: wireguard",
			)
			return
		}
	}
	if on {
		c.addon(v1alpha1.Addon{Name: ciliumAddon, Values: &runtime.RawExtension{Raw: []byte(encrypted)}})
	}
}

func (c *cluster) addon(a v1alpha1.Addon) {
	c.result.Spec.Addons = append(c.result.Spec.Addons, a)
}
