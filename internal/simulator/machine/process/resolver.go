//go:build linux

package process

import (
	"net/netip"
	"strings"

	"github.com/miekg/dns"
)

// nameTTL is short: a replaced etcd member has a new address soon.
const nameTTL = 5

// answer is what the VPC's resolver says: addresses, no such name, or a name
// without addresses of the kind that was asked for.
func (h *Host) answer(vpc string, question *dns.Msg) *dns.Msg {
	reply := new(dns.Msg)
	reply.SetReply(question)
	reply.RecursionAvailable = true
	if len(question.Question) != 1 {
		reply.Rcode = dns.RcodeFormatError
		return reply
	}
	q := question.Question[0]
	addresses := h.addresses(vpc, strings.ToLower(strings.TrimSuffix(q.Name, ".")))
	if len(addresses) == 0 {
		reply.Rcode = dns.RcodeNameError
		return reply
	}
	for _, ip := range addresses {
		if q.Qtype != dns.TypeA || !ip.Is4() {
			continue
		}
		header := dns.RR_Header{Name: q.Name, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: nameTTL}
		reply.Answer = append(reply.Answer, &dns.A{Hdr: header, A: ip.AsSlice()})
	}
	return reply
}

// addresses looks a name up: the VPC's zones come first, as they do in AWS, then
// AWS's endpoints, then the machines' own names.
func (h *Host) addresses(vpc, name string) []netip.Addr {
	h.mu.Lock()
	resolve := h.services.Resolve
	h.mu.Unlock()
	if resolve != nil {
		if found := resolve(vpc, name); len(found) > 0 {
			return found
		}
	}
	if strings.HasSuffix(name, ".amazonaws.com") || strings.HasSuffix(name, ".amazonaws.com.cn") {
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
