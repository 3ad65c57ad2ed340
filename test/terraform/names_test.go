package terraform

import (
	"context"
	"net"
	"net/netip"

	"github.com/miekg/dns"
)

// resolve makes this process resolve names by the public zones of the cloud, until the test ends.
func (c *cloud) resolve() {
	c.t.Helper()
	socket, err := (&net.ListenConfig{}).ListenPacket(c.t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		c.t.Fatal(err)
	}
	server := &dns.Server{PacketConn: socket, Handler: dns.HandlerFunc(c.answer)}
	go func() { _ = server.ActivateAndServe() }()
	before := net.DefaultResolver
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", socket.LocalAddr().String())
	}}
	c.t.Cleanup(func() {
		net.DefaultResolver = before
		_ = socket.Close()
	})
}

func (c *cloud) answer(w dns.ResponseWriter, asked *dns.Msg) {
	said := new(dns.Msg)
	said.SetReply(asked)
	question := asked.Question[0]
	found := c.simulator.Names().Resolve("", question.Name)
	if len(found) == 0 {
		said.Rcode = dns.RcodeNameError
	}
	for _, address := range found {
		if question.Qtype == dns.TypeA && address.Is4() {
			said.Answer = append(said.Answer, record(question.Name, address))
		}
	}
	_ = w.WriteMsg(said)
}

func record(name string, address netip.Addr) dns.RR {
	return &dns.A{Hdr: dns.RR_Header{Name: name, Rrtype: dns.TypeA, Class: dns.ClassINET}, A: net.IP(address.AsSlice())}
}
