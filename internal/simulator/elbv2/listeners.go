package elbv2

import (
	"context"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// listener is a port of a load balancer. Its region's lock guards it.
type listener struct {
	arn        string
	balancer   *balancer
	port       int32
	protocol   types.ProtocolEnum
	actions    []types.Action
	group      string
	attributes map[string]string
	tags       map[string]string
	// end stops the forwarding.
	end func()
}

const idleTimeout = "tcp.idle_timeout.seconds"

// forwardTo returns the target group that default actions forward to.
func forwardTo(actions []types.Action) (string, error) {
	if len(actions) != 1 {
		return "", validation("Exactly one default action must be specified")
	}
	a := actions[0]
	switch {
	case a.Type != types.ActionTypeEnumForward:
		return "", unsupported("actions of type " + string(a.Type))
	case deref(a.TargetGroupArn) != "":
		return *a.TargetGroupArn, nil
	case a.ForwardConfig == nil || len(a.ForwardConfig.TargetGroups) == 0:
		return "", validation("A target group must be specified")
	case len(a.ForwardConfig.TargetGroups) > 1:
		return "", unsupported("weighted target groups")
	}
	return deref(a.ForwardConfig.TargetGroups[0].TargetGroupArn), nil
}

func (s *Service) createListener(ctx context.Context, in *elb.CreateListenerInput) (*elb.CreateListenerOutput, error) {
	if err := checkTags(in.Tags); err != nil {
		return nil, err
	}
	r := s.at(ctx)
	l, err := s.newListener(r, in)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return &elb.CreateListenerOutput{Listeners: []types.Listener{l.describe()}}, nil
}

// newListener creates a listener and starts to forward.
func (s *Service) newListener(r *region, in *elb.CreateListenerInput) (*listener, error) {
	tags, err := tagsOf(in.Tags)
	if err != nil {
		return nil, err
	}
	arn, err := forwardTo(in.DefaultActions)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	b, err := r.balancer(in.LoadBalancerArn)
	if err != nil {
		r.mu.Unlock()
		return nil, err
	}
	l := &listener{balancer: b, port: deref(in.Port), protocol: in.Protocol, actions: in.DefaultActions, group: arn, tags: tags}
	l.arn = r.arn(s, "listener/"+b.fullName+"/"+randomHex())
	l.attributes = map[string]string{idleTimeout: "350"}
	if err := l.check(r, len(in.Certificates) > 0); err != nil {
		r.mu.Unlock()
		return nil, err
	}
	if err := s.checkTargets(r.groups[l.group], nil, []*balancer{b}); err != nil {
		r.mu.Unlock()
		return nil, err
	}
	if err := s.open(r, l); err != nil {
		r.mu.Unlock()
		return nil, err
	}
	b.listeners[l.arn] = l
	r.groups[l.group].listeners[l] = struct{}{}
	r.mu.Unlock()
	s.refresh(r, l.group)
	return l, nil
}

// maxListeners is the quota of listeners of a load balancer.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/network/load-balancer-limits.html
const maxListeners = 50

// check returns an error if the load balancer cannot have the listener.
func (l *listener) check(r *region, certificates bool) error {
	g, err := r.group(&l.group)
	if err != nil {
		return err
	}
	b := l.balancer
	network := b.kind == types.LoadBalancerTypeEnumNetwork
	switch {
	case l.port < 1 || l.port > 65535:
		return validation("A port must be specified, in the range 1-65535")
	case network && l.protocol != types.ProtocolEnumTcp, l.protocol == types.ProtocolEnumHttps, certificates:
		return unsupported("listeners of protocol " + string(l.protocol))
	case !network && l.protocol != types.ProtocolEnumHttp:
		return validation("Listener protocol '%s' must be one of 'HTTPS, HTTP'", l.protocol)
	case network != (g.protocol == types.ProtocolEnumTcp):
		return wire.Errorf(
			"IncompatibleProtocols", "The protocols of listener ('%s') and target group ('%s') are incompatible", l.protocol, g.protocol,
		)
	case g.vpcID != b.vpcID:
		return wire.Errorf("InvalidConfigurationRequest", "The target group and the load balancer must be in the same VPC")
	}
	if b.listeners[l.arn] == nil && len(b.listeners) >= maxListeners {
		return wire.Errorf("TooManyListeners", "The maximum number of listeners on load balancer '%s' has been reached", b.arn)
	}
	for _, other := range b.listeners {
		if other != l && other.port == l.port {
			return wire.Errorf("DuplicateListener", "A listener already exists on this port for this load balancer '%s'", b.arn)
		}
	}
	for _, user := range g.users() {
		if user != b && !network {
			return wire.Errorf(
				"TargetGroupAssociationLimit",
				"The following target groups cannot be associated with more than one load balancer: %s",
				l.group,
			)
		}
	}
	return nil
}

// forget removes a listener from its target group. The caller holds the lock.
func (l *listener) forget(r *region) {
	if g, ok := r.groups[l.group]; ok {
		delete(g.listeners, l)
	}
}

func (l *listener) describe() types.Listener {
	return types.Listener{
		ListenerArn: &l.arn, LoadBalancerArn: &l.balancer.arn, Port: aws.Int32(l.port), Protocol: l.protocol,
		DefaultActions: []types.Action{{
			Type: types.ActionTypeEnumForward, TargetGroupArn: aws.String(l.group), Order: l.actions[0].Order,
			ForwardConfig: &types.ForwardActionConfig{
				TargetGroups: []types.TargetGroupTuple{{TargetGroupArn: aws.String(l.group)}},
			},
		}},
	}
}

func (r *region) listener(arn *string) (*listener, error) {
	for _, b := range r.balancers {
		if l, ok := b.listeners[deref(arn)]; ok {
			return l, nil
		}
	}
	return nil, wire.Errorf("ListenerNotFound", "One or more listeners not found")
}

func (s *Service) describeListeners(ctx context.Context, in *elb.DescribeListenersInput) (*elb.DescribeListenersOutput, error) {
	r := s.at(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	found := map[string]*listener{}
	switch {
	case deref(in.LoadBalancerArn) != "":
		b, err := r.balancer(in.LoadBalancerArn)
		if err != nil {
			return nil, err
		}
		for arn, l := range b.listeners {
			if chosen(in.ListenerArns, arn) {
				found[arn] = l
			}
		}
	case len(in.ListenerArns) == 0:
		return nil, validation("You must specify either listener ARNs or a load balancer ARN")
	}
	for _, arn := range in.ListenerArns {
		l, err := r.listener(&arn)
		if err != nil {
			return nil, err
		}
		found[arn] = l
	}
	arns, next := pages.Page(sortedKeys(found), in.Marker, in.PageSize)
	out := &elb.DescribeListenersOutput{Listeners: []types.Listener{}, NextMarker: next}
	for _, arn := range arns {
		out.Listeners = append(out.Listeners, found[arn].describe())
	}
	return out, nil
}

func (s *Service) modifyListener(ctx context.Context, in *elb.ModifyListenerInput) (*elb.ModifyListenerOutput, error) {
	r := s.at(ctx)
	l, err := s.changeListener(r, in)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return &elb.ModifyListenerOutput{Listeners: []types.Listener{l.describe()}}, nil
}

// changeListener changes the given parameters of a listener.
func (s *Service) changeListener(r *region, in *elb.ModifyListenerInput) (*listener, error) {
	r.mu.Lock()
	l, err := r.listener(in.ListenerArn)
	if err != nil {
		r.mu.Unlock()
		return nil, err
	}
	next := *l
	set(&next.port, in.Port)
	if in.Protocol != "" {
		next.protocol = in.Protocol
	}
	if len(in.DefaultActions) > 0 {
		next.actions = in.DefaultActions
		next.group, err = forwardTo(in.DefaultActions)
	}
	if err == nil {
		err = checkNext(r, l, &next, len(in.Certificates) > 0)
	}
	if err == nil && next.port != l.port {
		err = s.open(r, &next)
		if err == nil {
			l.close()
		}
	}
	was := l.group
	if err == nil {
		l.forget(r)
		*l = next
		r.groups[l.group].listeners[l] = struct{}{}
	}
	r.mu.Unlock()
	s.refresh(r, was, l.group)
	return l, err
}

// checkNext validates the new settings of a listener against the load balancer's other listeners.
func checkNext(r *region, l, next *listener, certificates bool) error {
	delete(l.balancer.listeners, l.arn)
	defer func() { l.balancer.listeners[l.arn] = l }()
	return next.check(r, certificates)
}

func (s *Service) deleteListener(ctx context.Context, in *elb.DeleteListenerInput) (*elb.DeleteListenerOutput, error) {
	return nil, s.removeListener(s.at(ctx), deref(in.ListenerArn))
}

func (s *Service) removeListener(r *region, arn string) error {
	r.mu.Lock()
	l, err := r.listener(&arn)
	if err != nil {
		r.mu.Unlock()
		return err
	}
	l.close()
	l.forget(r)
	delete(l.balancer.listeners, arn)
	r.mu.Unlock()
	s.refresh(r, l.group)
	return nil
}

// values returns a listener's attributes. The idle timeout is stored but has no effect.
func (l *listener) values() map[string]string { return l.attributes }

func (l *listener) setAttributes(list []types.ListenerAttribute) error {
	for _, a := range list {
		if deref(a.Key) != idleTimeout {
			return validation("Listener attribute key '%s' is not recognized", deref(a.Key))
		}
		l.attributes[idleTimeout] = deref(a.Value)
	}
	return nil
}

func (s *Service) describeListenerAttributes(
	ctx context.Context, in *elb.DescribeListenerAttributesInput,
) (*elb.DescribeListenerAttributesOutput, error) {
	list, err := describeAttributes[types.ListenerAttribute](ctx, s, (*region).listener, in.ListenerArn)
	return &elb.DescribeListenerAttributesOutput{Attributes: list}, err
}

func (s *Service) modifyListenerAttributes(
	ctx context.Context, in *elb.ModifyListenerAttributesInput,
) (*elb.ModifyListenerAttributesOutput, error) {
	r := s.at(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	l, err := r.listener(in.ListenerArn)
	if err != nil {
		return nil, err
	}
	if err := l.setAttributes(in.Attributes); err != nil {
		return nil, err
	}
	return &elb.ModifyListenerAttributesOutput{Attributes: attributeList[types.ListenerAttribute](l.attributes)}, nil
}

// tagsByARN returns the tags of the resource with an ARN.
func (r *region) tagsByARN(arn string) (map[string]string, error) {
	if b, ok := r.balancers[arn]; ok {
		return b.tags, nil
	}
	if g, ok := r.groups[arn]; ok {
		return g.tags, nil
	}
	if l, err := r.listener(&arn); err == nil {
		return l.tags, nil
	}
	return nil, wire.Errorf("LoadBalancerNotFound", "One or more of the resources '%s' not found", arn)
}

func (s *Service) addTags(ctx context.Context, in *elb.AddTagsInput) (*elb.AddTagsOutput, error) {
	r := s.at(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	added, err := tagsOf(in.Tags)
	if err != nil {
		return nil, err
	}
	for _, arn := range in.ResourceArns {
		tags, err := r.tagsByARN(arn)
		if err != nil {
			return nil, err
		}
		if err := tagRules.Check(tags, added); err != nil {
			return nil, err
		}
		maps.Copy(tags, added)
	}
	return nil, nil
}

func (s *Service) removeTags(ctx context.Context, in *elb.RemoveTagsInput) (*elb.RemoveTagsOutput, error) {
	r := s.at(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, arn := range in.ResourceArns {
		tags, err := r.tagsByARN(arn)
		if err != nil {
			return nil, err
		}
		for _, key := range in.TagKeys {
			delete(tags, key)
		}
	}
	return nil, nil
}

func (s *Service) describeTags(ctx context.Context, in *elb.DescribeTagsInput) (*elb.DescribeTagsOutput, error) {
	r := s.at(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	out := &elb.DescribeTagsOutput{TagDescriptions: []types.TagDescription{}}
	for _, arn := range slices.Compact(slices.Clone(in.ResourceArns)) {
		tags, err := r.tagsByARN(arn)
		if err != nil {
			return nil, err
		}
		d := types.TagDescription{ResourceArn: aws.String(arn), Tags: []types.Tag{}}
		for _, key := range sortedKeys(tags) {
			d.Tags = append(d.Tags, types.Tag{Key: aws.String(key), Value: aws.String(tags[key])})
		}
		out.TagDescriptions = append(out.TagDescriptions, d)
	}
	return out, nil
}
