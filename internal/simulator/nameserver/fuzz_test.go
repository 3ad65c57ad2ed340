package nameserver_test

import (
	"net/netip"
	"testing"

	"github.com/miekg/dns"

	"github.com/aws-operator/aws-operator/internal/simulator/nameserver"
)

// FuzzAnswer answers any packet without a panic, with a reply that can be sent.
func FuzzAnswer(f *testing.F) {
	query := new(dns.Msg)
	query.SetQuestion("api.example.com.", dns.TypeA)
	packet, err := query.Pack()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(packet)
	f.Add(packet[:len(packet)-3])
	f.Add(append(append([]byte{}, packet[:12]...), 0xc0, 0x0c, 0, 1, 0, 1))
	f.Fuzz(func(t *testing.T, packet []byte) {
		question := new(dns.Msg)
		if question.Unpack(packet) != nil {
			return
		}
		reply := nameserver.Answer(question, func(string) []netip.Addr {
			return []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1")}
		})
		if reply.Id != question.Id || !reply.Response {
			t.Errorf("the reply to %v is %v", question, reply)
		}
		if _, err := reply.Pack(); err != nil && len(question.Question) == 1 && question.Question[0].Qtype == dns.TypeA {
			t.Errorf("the reply cannot be sent: %v", err)
		}
	})
}
