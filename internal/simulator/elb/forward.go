package elb

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"time"

	compute "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/frontend"
	"github.com/aws-operator/aws-operator/internal/simulator/machine"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// dialTimeout is the timeout for connecting to one instance.
const dialTimeout = 5 * time.Second

// forwards reports whether there are machines to forward to.
func (s *Service) forwards() bool {
	_, absent := s.options.Host.(machine.Absent)
	return !absent
}

// addresses returns the addresses of a load balancer in its subnets.
func (b *balancer) addresses() (private, public []netip.Addr) {
	for _, id := range sortedKeys(b.subnets) {
		private = append(private, b.subnets[id].private)
		if at := b.subnets[id].public; at.IsValid() {
			public = append(public, at)
		}
	}
	return private, public
}

// open opens the frontend of a load balancer and the ports of its listeners. The caller holds the
// lock.
func (s *Service) open(r *region, b *balancer) error {
	if !s.forwards() {
		return nil
	}
	var within netip.Prefix
	if v, ok := s.options.Networks.VPC(r.Account, r.Region, b.vpcID); ok {
		within = v.CIDRs[0]
	}
	private, public := b.addresses()
	b.frontend = s.options.Frontends.Open(b.dnsName, b.vpcID, within, private, public)
	b.frontend.Publish()
	return s.listenOn(r, b)
}

// listenOn opens the ports of a load balancer's listeners and closes all others. The caller holds the
// lock.
func (s *Service) listenOn(r *region, b *balancer) error {
	if b.frontend == nil {
		return nil
	}
	wanted := map[int32]bool{}
	for _, l := range b.listeners {
		// The simulator has no certificates to end TLS with.
		wanted[l.LoadBalancerPort] = *l.Protocol == "TCP" || *l.Protocol == "HTTP"
	}
	for port, stop := range b.ports {
		if !wanted[port] {
			stop()
			delete(b.ports, port)
		}
	}
	for port, open := range wanted {
		if _, already := b.ports[port]; already || !open {
			continue
		}
		stop, err := b.frontend.Listen(uint16(port), func(ctx context.Context, client net.Conn) { //nolint:gosec // a port, checked
			s.forward(ctx, r, b, port, client)
		})
		if err != nil {
			return wire.Errorf("InternalFailure", "The simulator cannot listen for load balancer %s: %v", b.name, err).WithStatus(500)
		}
		b.ports[port] = stop
	}
	return nil
}

// move tells the frontend the addresses of a load balancer whose subnets changed. The caller holds the
// lock.
func (b *balancer) move() {
	if b.frontend != nil {
		b.frontend.Move(b.addresses())
	}
}

// close closes the frontend. The caller holds the lock.
func (b *balancer) close() {
	if b.frontend != nil {
		b.frontend.Close()
		b.frontend = nil
	}
}

// forward connects a client to the first instance that accepts, and returns when the connection ends.
func (s *Service) forward(ctx context.Context, r *region, b *balancer, port int32, client net.Conn) {
	instances, to := s.turn(r, b, port)
	for _, id := range instances {
		dialing, cancel := context.WithTimeout(ctx, dialTimeout)
		server, err := s.options.Host.Dial(dialing, id, int(to))
		cancel()
		if err != nil {
			continue
		}
		stop := context.AfterFunc(ctx, func() { _ = server.Close() })
		frontend.Join(client, server)
		stop()
		_ = server.Close()
		return
	}
}

// turn returns the running instances in the order to try for a connection to a port, and the port of
// the instances.
func (s *Service) turn(r *region, b *balancer, port int32) (instances []string, to int32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range b.listeners {
		if l.LoadBalancerPort == port {
			to = *l.InstancePort
		}
	}
	for _, id := range b.instances {
		if i, ok := s.options.Compute.Instance(r.Account, r.Region, id); ok && i.State == compute.InstanceStateNameRunning {
			instances = append(instances, id)
		}
	}
	if len(instances) == 0 {
		return nil, to
	}
	b.next++
	first := b.next % len(instances)
	return slices.Concat(instances[first:], instances[:first]), to
}
