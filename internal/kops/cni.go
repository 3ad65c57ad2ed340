package kops

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/translation"
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
		"Cilium replaces it: Kubernetes network policies continue to work, Calico's own kinds (projectcalico.org) do not; add calico to spec.addons to keep it",
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
	p := c.spec.Section("networking", networks)
	if p == nil {
		return
	}
	for _, entry := range p.Value.Entries {
		c.podNetwork(p, entry.Key)
	}
	p.Finish()
}

func (c *cluster) podNetwork(p *part, name string) {
	rule, known := networks[name]
	if !known || rule.Handling == translation.Refused {
		return
	}
	section := p.Section(name, fields{})
	if section == nil {
		if rule.Handling == translation.Noted { // as `calico:` without anything
			p.Note(name, rule.Severity, rule.Why)
		}
		return
	}
	switch name {
	case "cni", "external":
		c.addon(v1alpha1.Addon{Name: ciliumAddon, Disabled: true})
		p.Note(name, Warning, "no pod network is installed: nodes are not Ready until you install one, or add its chart to spec.addons")
		return
	case "cilium":
	default:
		p.Note(name, rule.Severity, rule.Why)
	}
	c.encryption(name, section)
	for _, entry := range section.Value.Entries {
		if !section.Used(entry.Key) && !translation.Empty(entry.Value) && entry.Value.Text != "false" {
			section.Note(entry.Key, settingSeverity(name), settingWhy(name))
		}
	}
}

func settingSeverity(name string) translation.Severity {
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
	on := section.Truth("wireguardEnabled", false)
	if name == ciliumAddon {
		kind := section.Text("encryptionType")
		on = section.Truth("enableEncryption", false) || on
		if on && kind != "wireguard" {
			section.Refuse(
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
