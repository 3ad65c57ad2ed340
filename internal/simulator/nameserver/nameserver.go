// Package nameserver answers DNS queries for simulated names: queries that machines send to the
// resolver of their VPC, and queries that programs on the host send to the simulator. It takes a
// function that returns the addresses of a name. It must not depend on AWS.
package nameserver

import (
	"net"
	"net/netip"
	"strings"

	"github.com/miekg/dns"
)

// ttl, in seconds, is short because a replaced etcd member soon has a new address.
const ttl = 5

// Lookup returns the addresses of a name, which is in lower case and has no final dot. It returns
// nothing for a name that does not exist.
type Lookup func(name string) []netip.Addr

// Answer answers a query with addresses, with NXDOMAIN, or with no records if the name has no
// address of the requested type. Names are compared case-insensitively, and an answer repeats the
// query's case: https://www.rfc-editor.org/rfc/rfc4343
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

// Serve answers the queries that arrive at a UDP socket. The returned stop closes the socket.
func Serve(socket net.PacketConn, lookup Lookup) (stop func()) {
	server := &dns.Server{PacketConn: socket, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, question *dns.Msg) {
		_ = w.WriteMsg(Answer(question, lookup)) // Clients retry.
	})}
	go func() { _ = server.ActivateAndServe() }()
	return func() { _ = socket.Close() }
}
