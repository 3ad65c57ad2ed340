package ec2

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/vpc"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

func (s *Service) instanceOperations() map[string]wire.Operation {
	return map[string]wire.Operation{
		"CreateFleet":              wire.Op(s.createFleet),
		"DescribeInstanceStatus":   wire.Op(s.describeInstanceStatus),
		"DescribeInstanceTopology": wire.Op(s.describeInstanceTopology),
		"DescribeInstances":        wire.Op(s.describeInstances),
		"GetConsoleOutput":         wire.Op(s.getConsoleOutput),
		"RebootInstances":          wire.Op(s.rebootInstances),
		"RunInstances":             wire.Op(s.runInstances),
		"StartInstances":           wire.Op(s.startInstances),
		"StopInstances":            wire.Op(s.stopInstances),
		"TerminateInstances":       wire.Op(s.terminateInstances),
	}
}

// launchOf derives the launch from a request and the launch template that it names. The caller
// holds the lock.
func (r *region) launchOf(in *ec2.RunInstancesInput) (*launch, error) {
	request, err := recast[launchData](in)
	if err != nil {
		return nil, err
	}
	l := &launch{
		subnet: aws.ToString(in.SubnetId), privateIP: aws.ToString(in.PrivateIpAddress), least: int(*in.MinCount), most: int(*in.MaxCount),
		token: aws.ToString(in.ClientToken),
	}
	if in.LaunchTemplate == nil {
		l.data = request
		return l, nil
	}
	if l.template, err = r.template(in.LaunchTemplate.LaunchTemplateId, in.LaunchTemplate.LaunchTemplateName); err != nil {
		return nil, err
	}
	v, err := l.template.version(aws.ToString(in.LaunchTemplate.Version))
	if err != nil {
		return nil, err
	}
	l.version = strconv.FormatInt(v.number, 10)
	l.data, err = merged(v.data, request)
	return l, err
}

func (s *Service) runInstances(ctx context.Context, in *ec2.RunInstancesInput) (*ec2.RunInstancesOutput, error) {
	if err := checkRequest(in); err != nil {
		return nil, err
	}
	r := s.here(ctx)
	defer r.mu.Unlock()
	token := aws.ToString(in.ClientToken)
	if made, ok := r.launches[token]; ok && token != "" {
		if made.digest != digest(in) {
			return nil, wire.Errorf(
				"IdempotentParameterMismatch",
				"Arguments on this idempotent request are inconsistent with arguments used in previous request(s).",
			)
		}
		return recast[ec2.RunInstancesOutput](s.describeReservation(r, made, made.instances))
	}
	l, err := r.launchOf(in)
	if err != nil {
		return nil, err
	}
	if err := s.mayReadImageParameter(ctx, l); err != nil {
		return nil, err
	}
	if in.LaunchTemplate != nil || aws.ToBool(in.DryRun) {
		if err := s.decide(r, l); err != nil {
			return nil, err
		}
	}
	if in.LaunchTemplate != nil { // which names resources that the request does not
		if err := s.mayRun(ctx, l, "RunInstances"); err != nil {
			return nil, err
		}
	}
	if err := dry(in.DryRun); err != nil {
		return nil, err
	}
	made, err := s.run(r, l)
	if err != nil {
		return nil, err
	}
	if token != "" {
		made.digest = digest(in)
		r.launches[token] = made
	}
	return recast[ec2.RunInstancesOutput](s.describeReservation(r, made, made.instances))
}

func (s *Service) describeReservation(r *region, made *reservation, instances []*instance) types.Reservation {
	d := types.Reservation{
		ReservationId: &made.id, OwnerId: &made.owner, RequesterId: wire.Optional(made.requester),
		Groups: []types.GroupIdentifier{}, Instances: []types.Instance{},
	}
	for _, i := range instances {
		d.Instances = append(d.Instances, s.describeInstance(r, i))
	}
	return d
}

// change runs fn on each instance, all of which must exist, and returns the changes of their
// states.
func (s *Service) change(r *region, ids []string, check, fn func(*instance) error) ([]types.InstanceStateChange, error) {
	if len(ids) == 0 {
		return nil, missing("InstanceId")
	}
	list := make([]*instance, 0, len(ids))
	for _, id := range ids {
		i, err := r.instance(id)
		if err != nil {
			return nil, err
		}
		if err := check(i); err != nil {
			return nil, err
		}
		list = append(list, i)
	}
	changes := []types.InstanceStateChange{}
	for _, i := range list {
		before := i.State
		if err := fn(i); err != nil {
			return nil, err
		}
		changes = append(
			changes, types.InstanceStateChange{InstanceId: &i.ID, PreviousState: stateOf(before), CurrentState: stateOf(i.State)},
		)
	}
	return changes, nil
}

func (s *Service) terminateInstances(ctx context.Context, in *ec2.TerminateInstancesInput) (*ec2.TerminateInstancesOutput, error) {
	r := s.here(ctx)
	defer r.mu.Unlock()
	changes, err := s.change(r, in.InstanceIds, func(i *instance) error {
		if i.protect {
			return wire.Errorf(
				"OperationNotPermitted",
				"The instance '%s' may not be terminated. Modify its 'disableApiTermination' instance attribute and try again.",
				i.ID,
			)
		}
		return dry(in.DryRun)
	}, func(i *instance) error {
		s.terminate(r, i)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &ec2.TerminateInstancesOutput{TerminatingInstances: changes}, nil
}

func (s *Service) stopInstances(ctx context.Context, in *ec2.StopInstancesInput) (*ec2.StopInstancesOutput, error) {
	if aws.ToBool(in.Hibernate) {
		return nil, unsupported("Hibernate")
	}
	r := s.here(ctx)
	defer r.mu.Unlock()
	changes, err := s.change(r, in.InstanceIds, func(i *instance) error {
		switch {
		case i.protectStop:
			return wire.Errorf(
				"OperationNotPermitted",
				"The instance '%s' may not be stopped. Modify its 'disableApiStop' instance attribute and try again.",
				i.ID,
			)
		case i.Spot:
			return wire.Errorf(
				"UnsupportedOperation",
				"You can't stop the Spot Instance '%s' because it is associated with a one-time Spot Instance request. You can only stop Spot Instances associated with persistent Spot Instance requests.",
				i.ID,
			)
		case i.State != running && i.State != stopping && i.State != stopped:
			return wire.Errorf("IncorrectInstanceState", "This instance '%s' is not in a state from which it can be stopped.", i.ID)
		}
		return dry(in.DryRun)
	}, func(i *instance) error {
		if i.State == running {
			s.stop(r, i, reason("Client.UserInitiatedShutdown", "User initiated shutdown"), "User initiated")
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &ec2.StopInstancesOutput{StoppingInstances: changes}, nil
}

func (s *Service) startInstances(ctx context.Context, in *ec2.StartInstancesInput) (*ec2.StartInstancesOutput, error) {
	r := s.here(ctx)
	defer r.mu.Unlock()
	changes, err := s.change(r, in.InstanceIds, func(i *instance) error {
		if i.State != stopped && i.State != running && i.State != pending {
			return wire.Errorf("IncorrectInstanceState", "The instance '%s' is not in a state from which it can be started.", i.ID)
		}
		return dry(in.DryRun)
	}, func(i *instance) error {
		if i.State == stopped {
			return s.start(r, i)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &ec2.StartInstancesOutput{StartingInstances: changes}, nil
}

func (s *Service) rebootInstances(ctx context.Context, in *ec2.RebootInstancesInput) (*ec2.RebootInstancesOutput, error) {
	r := s.here(ctx)
	defer r.mu.Unlock()
	_, err := s.change(r, in.InstanceIds, func(i *instance) error {
		if i.State != running {
			return wire.Errorf("IncorrectState", "The instance '%s' is not in a state from which it can be rebooted.", i.ID)
		}
		return dry(in.DryRun)
	}, func(i *instance) error {
		s.reboot(r, i)
		return nil
	})
	return nil, err
}

// instanceFields are the filters of DescribeInstances that the simulator supports.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeInstances.html
func (s *Service) instanceFields(r *region) vpc.Fields[*instance] {
	networked := func(value func(*instance) string) func(*instance) []string {
		return func(i *instance) []string {
			if i.State == terminated {
				return nil
			}
			return []string{value(i)}
		}
	}
	volumes := func(value func(*volume) string) func(*instance) []string {
		return func(i *instance) (values []string) {
			for _, v := range r.attached(i.ID) {
				values = append(values, value(v))
			}
			return values
		}
	}
	cards := func(values func(*vpc.Interface) []string) func(*instance) []string {
		return func(i *instance) (all []string) {
			for _, card := range s.cards(r, i) {
				all = append(all, values(&card)...)
			}
			return all
		}
	}
	groups := cards(func(c *vpc.Interface) []string { return c.SecurityGroups })
	names := cards(func(c *vpc.Interface) (names []string) {
		for _, g := range s.groups(r.Target, c.SecurityGroups) {
			names = append(names, aws.ToString(g.GroupName))
		}
		return names
	})
	public := cards(func(c *vpc.Interface) []string {
		if !c.PublicIP.IsValid() {
			return nil
		}
		return []string{c.PublicIP.String()}
	})
	return vpc.Fields[*instance]{
		"instance-id":                            func(i *instance) []string { return []string{i.ID} },
		"instance-state-name":                    func(i *instance) []string { return []string{string(i.State)} },
		"instance-state-code":                    func(i *instance) []string { return []string{strconv.Itoa(int(stateCodes[i.State]))} },
		"instance-type":                          func(i *instance) []string { return []string{i.Type} },
		"image-id":                               func(i *instance) []string { return []string{i.ImageID} },
		"architecture":                           func(i *instance) []string { return []string{string(i.kind.architecture())} },
		"availability-zone":                      func(i *instance) []string { return []string{i.Zone} },
		"vpc-id":                                 networked(func(i *instance) string { return i.VPCID }),
		"subnet-id":                              networked(func(i *instance) string { return i.SubnetID }),
		"private-dns-name":                       networked(func(i *instance) string { return i.PrivateDNSName }),
		"private-ip-address":                     networked(func(i *instance) string { return i.PrivateIP.String() }),
		"ip-address":                             public,
		"instance.group-id":                      groups,
		"instance.group-name":                    names,
		"reservation-id":                         func(i *instance) []string { return []string{i.reservation.id} },
		"owner-id":                               func(*instance) []string { return []string{r.Account} },
		"requester-id":                           func(i *instance) []string { return []string{i.reservation.requester} },
		"client-token":                           func(i *instance) []string { return []string{i.token} },
		"key-name":                               func(i *instance) []string { return []string{aws.ToString(i.data.KeyName)} },
		"launch-time":                            func(i *instance) []string { return []string{formatTime(i.Launched)} },
		"root-device-name":                       func(i *instance) []string { return []string{i.rootDevice} },
		"root-device-type":                       func(*instance) []string { return []string{"ebs"} },
		"tenancy":                                func(*instance) []string { return []string{"default"} },
		"virtualization-type":                    func(*instance) []string { return []string{"hvm"} },
		"platform-details":                       func(*instance) []string { return []string{"Linux/UNIX"} },
		"instance-lifecycle":                     lifecycleOf,
		"spot-instance-request-id":               func(i *instance) []string { return []string{i.spotRequest} },
		"state-reason-code":                      func(i *instance) []string { return []string{aws.ToString(i.Reason.Code)} },
		"iam-instance-profile.arn":               func(i *instance) []string { return []string{i.profile.ARN} },
		"iam-instance-profile.id":                func(i *instance) []string { return []string{i.profile.ID} },
		"block-device-mapping.volume-id":         volumes(func(v *volume) string { return v.id }),
		"block-device-mapping.device-name":       volumes(func(v *volume) string { return v.attachment.device }),
		"network-interface.network-interface-id": cards(func(c *vpc.Interface) []string { return []string{c.ID} }),
		"network-interface.subnet-id":            cards(func(c *vpc.Interface) []string { return []string{c.SubnetID} }),
		"network-interface.vpc-id":               cards(func(c *vpc.Interface) []string { return []string{c.VPCID} }),
		"network-interface.group-id":             groups,
		"network-interface.addresses.private-ip-address": cards(
			func(c *vpc.Interface) []string { return []string{c.PrivateIP.String()} },
		),
		"network-interface.addresses.association.public-ip": public,
		"metadata-options.http-tokens":                      func(i *instance) []string { return []string{string(i.metadata.HttpTokens)} },
	}
}

// lifecycleOf returns nothing for an on-demand instance, because the filter has no value for it.
func lifecycleOf(i *instance) []string {
	if i.Spot {
		return []string{"spot"}
	}
	return nil
}

func (s *Service) describeInstances(ctx context.Context, in *ec2.DescribeInstancesInput) (*ec2.DescribeInstancesOutput, error) {
	if len(in.InstanceIds) > 0 && in.MaxResults != nil {
		return nil, wire.Errorf("InvalidParameterCombination", "The parameter instancesSet cannot be used with the parameter maxResults")
	}
	r := s.here(ctx)
	defer r.mu.Unlock()
	for _, id := range in.InstanceIds {
		if err := checkID("InvalidInstanceID", "i-", id); err != nil {
			return nil, err
		}
	}
	found, next, err := choose(s, r, choice[*instance]{
		items: r.instances, ids: in.InstanceIds, missing: noInstance, filters: in.Filters, fields: s.instanceFields(r),
		token: in.NextToken, most: in.MaxResults,
	})
	if err != nil {
		return nil, err
	}
	var order []*reservation
	of := map[*reservation][]*instance{}
	for _, i := range found {
		if _, ok := of[i.reservation]; !ok {
			order = append(order, i.reservation)
		}
		of[i.reservation] = append(of[i.reservation], i)
	}
	out := &ec2.DescribeInstancesOutput{Reservations: []types.Reservation{}, NextToken: next}
	for _, made := range order {
		slices.SortFunc(of[made], func(a, b *instance) int { return cmp.Compare(a.index, b.index) })
		out.Reservations = append(out.Reservations, s.describeReservation(r, made, of[made]))
	}
	return out, nil
}

func (s *Service) describeInstanceStatus(
	ctx context.Context, in *ec2.DescribeInstanceStatusInput,
) (*ec2.DescribeInstanceStatusOutput, error) {
	r := s.here(ctx)
	defer r.mu.Unlock()
	summary := func(check StatusCheck) func(*instance) []string {
		return func(i *instance) []string {
			status, _ := i.status(check)
			return []string{string(status)}
		}
	}
	reachability := func(check StatusCheck) func(*instance) []string {
		return func(i *instance) []string {
			_, reachable := i.status(check)
			return []string{string(reachable)}
		}
	}
	all := s.instanceFields(r)
	items := map[string]*instance{}
	for id, i := range r.instances {
		if i.State == running || aws.ToBool(in.IncludeAllInstances) || slices.Contains(in.InstanceIds, id) {
			items[id] = i
		}
	}
	found, next, err := choose(s, r, choice[*instance]{
		items: items, ids: in.InstanceIds, missing: noInstance, filters: in.Filters, token: in.NextToken, most: in.MaxResults,
		fields: vpc.Fields[*instance]{
			"availability-zone": all["availability-zone"], "instance-state-name": all["instance-state-name"],
			"instance-state-code":    all["instance-state-code"],
			"instance-status.status": summary(InstanceCheck), "system-status.status": summary(SystemCheck),
			"instance-status.reachability": reachability(InstanceCheck), "system-status.reachability": reachability(SystemCheck),
			"event.code":              eventFields(func(e *scheduled) string { return string(e.code) }),
			"event.instance-event-id": eventFields(func(e *scheduled) string { return e.id }),
			"event.description":       eventFields((*scheduled).describe),
		},
	})
	if err != nil {
		return nil, err
	}
	out := &ec2.DescribeInstanceStatusOutput{InstanceStatuses: []types.InstanceStatus{}, NextToken: next}
	for _, i := range found {
		if i.State == running || aws.ToBool(in.IncludeAllInstances) {
			out.InstanceStatuses = append(out.InstanceStatuses, i.describeStatus())
		}
	}
	return out, nil
}
