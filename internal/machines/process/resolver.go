//go:build linux

package process

import (
	"net/netip"
	"strings"

	"github.com/miekg/dns"

	"github.com/aws-operator/aws-operator/internal/simulator/nameserver"
)

// answer is the response of the VPC's resolver.
func (h *Host) answer(vpc string, question *dns.Msg) *dns.Msg {
	return nameserver.Answer(question, func(name string) []netip.Addr { return h.addresses(vpc, name) })
}

// addresses resolves a name. As in AWS, the VPC's zones and load balancers come first, then AWS's
// endpoints, then the machines' own names. The name of a load balancer that does not exist has no
// address.
func (h *Host) addresses(vpc, name string) []netip.Addr {
	h.mu.Lock()
	resolve := h.services.Resolve
	h.mu.Unlock()
	if resolve != nil {
		if found := resolve(vpc, name); len(found) > 0 {
			return found
		}
	}
	if strings.Contains(name, ".elb.") {
		return nil
	}
	if strings.HasSuffix(name, ".amazonaws.com") || strings.HasSuffix(name, ".amazonaws.com.cn") {
		return []netip.Addr{apiAddress}
	}
	if h.registry.serves(name) {
		return []netip.Addr{apiAddress}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, m := range h.machines {
		if m.spec.VPCID == vpc && strings.EqualFold(m.spec.PrivateDNSName, name) {
			return []netip.Addr{m.spec.PrivateIP}
		}
	}
	return nil
}
