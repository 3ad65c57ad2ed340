// Package nameserver answers DNS questions about simulated names: those that machines ask the resolver of their VPC, and those that
// programs of the host ask the simulator. It takes a function that finds the addresses of a name and must not know AWS.
package nameserver

import (
	"net"
	"net/netip"
	"strings"

	"github.com/miekg/dns"
)

// ttl is short, in seconds: a replaced etcd member has a new address soon.
const ttl = 5

// Lookup finds the addresses of a name, which is in lower case and without a final dot; nothing for one that does not exist.
type Lookup func(name string) []netip.Addr

// Answer answers a question: with addresses, with "no such name", or with nothing where a name has no address of the kind that was asked
// for. Names are compared without case, and an answer repeats the question's case: https://www.rfc-editor.org/rfc/rfc4343
func Answer(question *dns.Msg, lookup Lookup) *dns.Msg {
	reply := new(dns.Msg)
	reply.SetReply(question)
	reply.RecursionAvailable = true
	if len(question.Question) != 1 {
		reply.Rcode = dns.RcodeFormatError
		return reply
	}
	q := question.Question[0]
	addresses := lookup(strings.ToLower(strings.TrimSuffix(q.Name, ".")))
	if len(addresses) == 0 {
		reply.Rcode = dns.RcodeNameError
		return reply
	}
	for _, ip := range addresses {
		if q.Qtype != dns.TypeA || !ip.Is4() {
			continue
		}
		header := dns.RR_Header{Name: q.Name, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: ttl}
		reply.Answer = append(reply.Answer, &dns.A{Hdr: header, A: ip.AsSlice()})
	}
	return reply
}

// Serve answers the questions that arrive at a UDP socket until stop, which closes it.
func Serve(socket net.PacketConn, lookup Lookup) (stop func()) {
	server := &dns.Server{PacketConn: socket, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, question *dns.Msg) {
		_ = w.WriteMsg(Answer(question, lookup)) // Clients ask again.
	})}
	go func() { _ = server.ActivateAndServe() }()
	return func() { _ = socket.Close() }
}
