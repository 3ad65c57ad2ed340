package elb

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	compute "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing/types"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// listen adds a listener.
func (b *balancer) listen(l types.Listener) error {
	l.Protocol = aws.String(strings.ToUpper(deref(l.Protocol)))
	if deref(l.InstanceProtocol) == "" {
		l.InstanceProtocol = l.Protocol
	}
	l.InstanceProtocol = aws.String(strings.ToUpper(*l.InstanceProtocol))
	for _, protocol := range []string{*l.Protocol, *l.InstanceProtocol} {
		if !slices.Contains([]string{"TCP", "HTTP", "HTTPS", "SSL"}, protocol) {
			return wire.Errorf("UnsupportedProtocol", "Protocol %s is not supported", protocol)
		}
	}
	if p := deref(l.InstancePort); p < 1 || p > 65535 || l.LoadBalancerPort < 1 || l.LoadBalancerPort > 65535 {
		return validation("Ports must be in the range 1-65535")
	}
	for _, other := range b.listeners {
		if other.LoadBalancerPort != l.LoadBalancerPort {
			continue
		}
		if *other.Protocol == *l.Protocol && *other.InstancePort == *l.InstancePort && *other.InstanceProtocol == *l.InstanceProtocol {
			return nil
		}
		return wire.Errorf(
			"DuplicateListener",
			"A listener already exists for %s with LoadBalancerPort %d, but with a different InstancePort, Protocol, or SSLCertificateId",
			b.name,
			l.LoadBalancerPort,
		)
	}
	b.listeners = append(b.listeners, l)
	return nil
}

func (s *Service) createListeners(
	ctx context.Context, in *elb.CreateLoadBalancerListenersInput,
) (*elb.CreateLoadBalancerListenersOutput, error) {
	return nil, s.on(ctx, in.LoadBalancerName, func(r *region, b *balancer) error {
		before := slices.Clone(b.listeners)
		for _, l := range in.Listeners {
			if err := b.listen(l); err != nil {
				b.listeners = before
				return err
			}
		}
		if err := s.within(ListenersOfBalancer, len(b.listeners), "InvalidConfigurationRequest", "listeners"); err != nil {
			b.listeners = before
			return err
		}
		return s.listenOn(r, b)
	})
}

func (s *Service) deleteListeners(
	ctx context.Context, in *elb.DeleteLoadBalancerListenersInput,
) (*elb.DeleteLoadBalancerListenersOutput, error) {
	return nil, s.on(ctx, in.LoadBalancerName, func(r *region, b *balancer) error {
		b.listeners = slices.DeleteFunc(
			b.listeners, func(l types.Listener) bool { return slices.Contains(in.LoadBalancerPorts, l.LoadBalancerPort) },
		)
		return s.listenOn(r, b)
	})
}

// standardHealthCheck returns the default health check, of the first listener's instance port.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/classic/elb-healthchecks.html
func standardHealthCheck(listeners []types.Listener) *types.HealthCheck {
	port := int32(80)
	if len(listeners) > 0 {
		port = deref(listeners[0].InstancePort)
	}
	return &types.HealthCheck{
		Target: aws.String(fmt.Sprintf("TCP:%d", port)), Interval: aws.Int32(30), Timeout: aws.Int32(5),
		HealthyThreshold: aws.Int32(10), UnhealthyThreshold: aws.Int32(2),
	}
}

func (s *Service) configureHealthCheck(ctx context.Context, in *elb.ConfigureHealthCheckInput) (*elb.ConfigureHealthCheckOutput, error) {
	h := in.HealthCheck
	if h == nil || deref(h.Target) == "" {
		return nil, validation("HealthCheck must have a target")
	}
	if protocol, _, ok := strings.Cut(*h.Target, ":"); !ok ||
		!slices.Contains([]string{"TCP", "HTTP", "HTTPS", "SSL"}, strings.ToUpper(protocol)) {
		return nil, validation("HealthCheck Target must begin with one of HTTP, TCP, HTTPS, SSL")
	}
	return &elb.ConfigureHealthCheckOutput{HealthCheck: h}, s.on(ctx, in.LoadBalancerName, func(_ *region, b *balancer) error {
		b.health = h
		return nil
	})
}

// standardAttributes returns the attributes of a new load balancer. All are stored but have no
// effect.
func standardAttributes() *types.LoadBalancerAttributes {
	return &types.LoadBalancerAttributes{
		CrossZoneLoadBalancing: &types.CrossZoneLoadBalancing{}, AccessLog: &types.AccessLog{},
		ConnectionDraining: &types.ConnectionDraining{
			Timeout: aws.Int32(300),
		}, ConnectionSettings: &types.ConnectionSettings{IdleTimeout: aws.Int32(60)},
		AdditionalAttributes: []types.AdditionalAttribute{
			{Key: aws.String("elb.http.desyncmitigationmode"), Value: aws.String("defensive")},
		},
	}
}

func (s *Service) describeAttributes(
	ctx context.Context, in *elb.DescribeLoadBalancerAttributesInput,
) (*elb.DescribeLoadBalancerAttributesOutput, error) {
	out := &elb.DescribeLoadBalancerAttributesOutput{}
	return out, s.on(ctx, in.LoadBalancerName, func(_ *region, b *balancer) error {
		out.LoadBalancerAttributes = b.attributes
		return nil
	})
}

func (s *Service) modifyAttributes(
	ctx context.Context, in *elb.ModifyLoadBalancerAttributesInput,
) (*elb.ModifyLoadBalancerAttributesOutput, error) {
	out := &elb.ModifyLoadBalancerAttributesOutput{LoadBalancerName: in.LoadBalancerName}
	return out, s.on(ctx, in.LoadBalancerName, func(_ *region, b *balancer) error {
		next := *b.attributes
		if a := in.LoadBalancerAttributes; a != nil {
			change(&next.AccessLog, a.AccessLog)
			change(&next.ConnectionDraining, a.ConnectionDraining)
			change(&next.ConnectionSettings, a.ConnectionSettings)
			change(&next.CrossZoneLoadBalancing, a.CrossZoneLoadBalancing)
			if len(a.AdditionalAttributes) > 0 {
				next.AdditionalAttributes = a.AdditionalAttributes
			}
		}
		b.attributes = &next
		out.LoadBalancerAttributes = b.attributes
		return nil
	})
}

func change[T any](to **T, from *T) {
	if from != nil {
		*to = from
	}
}

func ids(list []string) []types.Instance {
	out := make([]types.Instance, len(list))
	for i, id := range list {
		out[i] = types.Instance{InstanceId: aws.String(id)}
	}
	return out
}

func (s *Service) registerInstances(
	ctx context.Context, in *elb.RegisterInstancesWithLoadBalancerInput,
) (*elb.RegisterInstancesWithLoadBalancerOutput, error) {
	r := s.at(ctx)
	for _, i := range in.Instances {
		if _, ok := s.options.Compute.Instance(r.Account, r.Region, deref(i.InstanceId)); !ok {
			return nil, wire.Errorf("InvalidInstance", "Could not find EC2 instance %s.", deref(i.InstanceId))
		}
	}
	out := &elb.RegisterInstancesWithLoadBalancerOutput{}
	return out, s.on(ctx, in.LoadBalancerName, func(_ *region, b *balancer) error {
		next := slices.Clone(b.instances)
		for _, i := range in.Instances {
			if !slices.Contains(next, *i.InstanceId) {
				next = append(next, *i.InstanceId)
			}
		}
		if err := s.within(InstancesOfBalancer, len(next), "ValidationError", "registered instances"); err != nil {
			return err
		}
		b.instances = next
		out.Instances = ids(b.instances)
		return nil
	})
}

func (s *Service) deregisterInstances(
	ctx context.Context, in *elb.DeregisterInstancesFromLoadBalancerInput,
) (*elb.DeregisterInstancesFromLoadBalancerOutput, error) {
	out := &elb.DeregisterInstancesFromLoadBalancerOutput{}
	return out, s.on(ctx, in.LoadBalancerName, func(_ *region, b *balancer) error {
		for _, i := range in.Instances {
			b.instances = slices.DeleteFunc(b.instances, func(id string) bool { return id == deref(i.InstanceId) })
		}
		out.Instances = ids(b.instances)
		return nil
	})
}

func (s *Service) describeInstanceHealth(
	ctx context.Context, in *elb.DescribeInstanceHealthInput,
) (*elb.DescribeInstanceHealthOutput, error) {
	var registered []string
	err := s.on(ctx, in.LoadBalancerName, func(_ *region, b *balancer) error {
		registered = slices.Clone(b.instances)
		return nil
	})
	if err != nil {
		return nil, err
	}
	asked := registered
	if len(in.Instances) > 0 {
		asked = nil
		for _, i := range in.Instances {
			asked = append(asked, deref(i.InstanceId))
		}
	}
	r := s.at(ctx)
	out := &elb.DescribeInstanceHealthOutput{InstanceStates: []types.InstanceState{}}
	for _, id := range asked {
		state, reason, text := "OutOfService", "Instance", "Instance is not currently registered with the LoadBalancer."
		if slices.Contains(registered, id) {
			text = "Instance is in stopped state."
			if i, ok := s.options.Compute.Instance(r.Account, r.Region, id); ok && i.State == compute.InstanceStateNameRunning {
				state, reason, text = "InService", "N/A", "N/A"
			}
		}
		out.InstanceStates = append(
			out.InstanceStates, types.InstanceState{InstanceId: aws.String(id), State: &state, ReasonCode: &reason, Description: &text},
		)
	}
	return out, nil
}
