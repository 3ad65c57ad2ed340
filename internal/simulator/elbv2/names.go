package elbv2

import "net/netip"

// publishName makes a load balancer's name resolve. Clients wait until the load balancer is active; its
// name does not resolve before.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/network/network-load-balancers.html#load-balancer-state
func (s *Service) publishName(name string, address netip.Addr) {
	if s.options.Provisioning <= 0 {
		s.names.Store(name, address)
		return
	}
	s.env.Clock.AfterFunc(s.options.Provisioning, func() {
		if s.ctx.Err() == nil {
			s.names.Store(name, address)
		}
	})
}
