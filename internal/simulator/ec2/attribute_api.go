package ec2

import (
	"context"
	"encoding/base64"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/vpc"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

func (s *Service) attributeOperations() map[string]wire.Operation {
	return map[string]wire.Operation{
		"AssociateIamInstanceProfile":            wire.Op(s.associateIamInstanceProfile),
		"AttachNetworkInterface":                 wire.Op(s.attachNetworkInterface),
		"DescribeIamInstanceProfileAssociations": wire.Op(s.describeIamInstanceProfileAssociations),
		"DescribeInstanceAttribute":              wire.Op(s.describeInstanceAttribute),
		"DescribeSpotInstanceRequests":           wire.Op(s.describeSpotInstanceRequests),
		"DetachNetworkInterface":                 wire.Op(s.detachNetworkInterface),
		"DisassociateIamInstanceProfile":         wire.Op(s.disassociateIamInstanceProfile),
		"ModifyInstanceAttribute":                wire.Op(s.modifyInstanceAttribute),
		"ModifyInstanceMetadataOptions":          wire.Op(s.modifyInstanceMetadataOptions),
	}
}

func value(b bool) *types.AttributeBooleanValue {
	return &types.AttributeBooleanValue{Value: aws.Bool(b)}
}

func text(s string) *types.AttributeValue { return &types.AttributeValue{Value: wire.Optional(s)} }

// describeInstanceAttribute returns one attribute.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeInstanceAttribute.html
func (s *Service) describeInstanceAttribute(
	ctx context.Context, in *ec2.DescribeInstanceAttributeInput,
) (*ec2.DescribeInstanceAttributeOutput, error) {
	r := s.here(ctx)
	defer r.mu.Unlock()
	i, err := r.instance(aws.ToString(in.InstanceId))
	if err != nil {
		return nil, err
	}
	out := &ec2.DescribeInstanceAttributeOutput{InstanceId: &i.ID}
	switch in.Attribute {
	case types.InstanceAttributeNameInstanceType:
		out.InstanceType = text(i.Type)
	case types.InstanceAttributeNameUserData:
		out.UserData = text(base64.StdEncoding.EncodeToString(i.userData))
	case types.InstanceAttributeNameDisableApiTermination:
		out.DisableApiTermination = value(i.protect)
	case types.InstanceAttributeNameDisableApiStop:
		out.DisableApiStop = value(i.protectStop)
	case types.InstanceAttributeNameInstanceInitiatedShutdownBehavior:
		out.InstanceInitiatedShutdownBehavior = text(string(i.shutdown))
		if i.shutdown == "" {
			out.InstanceInitiatedShutdownBehavior = text(string(types.ShutdownBehaviorStop))
		}
	case types.InstanceAttributeNameRootDeviceName:
		out.RootDeviceName = text(i.rootDevice)
	case types.InstanceAttributeNameEbsOptimized:
		out.EbsOptimized = value(aws.ToBool(i.data.EbsOptimized))
	case types.InstanceAttributeNameEnaSupport:
		out.EnaSupport = value(true)
	case types.InstanceAttributeNameSourceDestCheck, types.InstanceAttributeNameGroupSet, types.InstanceAttributeNameBlockDeviceMapping:
		d := s.describeInstance(r, i)
		out.Groups, out.BlockDeviceMappings = d.SecurityGroups, d.BlockDeviceMappings
		out.SourceDestCheck = value(aws.ToBool(d.SourceDestCheck))
	default:
		return nil, unsupported("Attribute " + string(in.Attribute))
	}
	return out, nil
}

// modifyInstanceAttribute changes one attribute; AWS accepts only one per call.
func (s *Service) modifyInstanceAttribute(
	ctx context.Context, in *ec2.ModifyInstanceAttributeInput,
) (*ec2.ModifyInstanceAttributeOutput, error) {
	if in.Attribute != "" || in.EnaSupport != nil || in.Kernel != nil || in.Ramdisk != nil || in.SriovNetSupport != nil {
		return nil, unsupported("Attribute")
	}
	if err := dry(in.DryRun); err != nil {
		return nil, err
	}
	r := s.here(ctx)
	defer r.mu.Unlock()
	i, err := r.instance(aws.ToString(in.InstanceId))
	if err != nil {
		return nil, err
	}
	if in.DisableApiTermination != nil {
		i.protect = aws.ToBool(in.DisableApiTermination.Value)
	}
	if in.DisableApiStop != nil {
		i.protectStop = aws.ToBool(in.DisableApiStop.Value)
	}
	if in.InstanceInitiatedShutdownBehavior != nil {
		i.shutdown = types.ShutdownBehavior(aws.ToString(in.InstanceInitiatedShutdownBehavior.Value))
	}
	for _, d := range in.BlockDeviceMappings {
		for _, v := range r.attached(i.ID) {
			if v.attachment.device == aws.ToString(d.DeviceName) && d.Ebs != nil && d.Ebs.DeleteOnTermination != nil {
				v.attachment.deleteToo = *d.Ebs.DeleteOnTermination
			}
		}
	}
	if len(in.Groups) > 0 || in.SourceDestCheck != nil {
		var check *bool
		if in.SourceDestCheck != nil {
			check = in.SourceDestCheck.Value
		}
		if err := s.network.SetInterface(r.Account, r.Region, i.InterfaceID, in.Groups, nil, check); err != nil {
			return nil, err
		}
	}
	return nil, s.changeStopped(i, in)
}

// changeStopped changes attributes that can change only while the instance is stopped.
func (s *Service) changeStopped(i *instance, in *ec2.ModifyInstanceAttributeInput) error {
	if in.InstanceType == nil && in.UserData == nil && in.EbsOptimized == nil {
		return nil
	}
	if i.State != stopped {
		return wire.Errorf("IncorrectInstanceState", "The instance '%s' is not in the 'stopped' state.", i.ID)
	}
	if in.UserData != nil {
		// The member is a blob, so it is already decoded.
		if len(in.UserData.Value) > maxUserData {
			return invalid("User data is limited to %d bytes", maxUserData)
		}
		i.userData = in.UserData.Value
	}
	if in.InstanceType != nil {
		name := aws.ToString(in.InstanceType.Value)
		k, ok := kinds[name]
		if !ok {
			return invalid("Invalid value '%s' for InstanceType.", name)
		}
		if k.arm != i.kind.arm {
			return invalid("The instance type '%s' has another architecture than the instance '%s'.", name, i.ID)
		}
		i.kind, i.Type = k, name
	}
	if in.EbsOptimized != nil {
		i.data.EbsOptimized = in.EbsOptimized.Value
	}
	return nil
}

func (s *Service) modifyInstanceMetadataOptions(
	ctx context.Context, in *ec2.ModifyInstanceMetadataOptionsInput,
) (*ec2.ModifyInstanceMetadataOptionsOutput, error) {
	if err := dry(in.DryRun); err != nil {
		return nil, err
	}
	r := s.here(ctx)
	defer r.mu.Unlock()
	i, err := r.instance(aws.ToString(in.InstanceId))
	if err != nil {
		return nil, err
	}
	own, err := recast[types.InstanceMetadataOptionsResponse](in)
	if err != nil {
		return nil, err
	}
	overlay(&i.metadata, own)
	answer := i.metadata
	return &ec2.ModifyInstanceMetadataOptionsOutput{InstanceId: &i.ID, InstanceMetadataOptions: &answer}, nil
}

func (i *instance) describeAssociation() *types.IamInstanceProfileAssociation {
	return &types.IamInstanceProfileAssociation{
		AssociationId: &i.association, InstanceId: &i.ID, State: types.IamInstanceProfileAssociationStateAssociated,
		IamInstanceProfile: &types.IamInstanceProfile{Arn: aws.String(i.profile.ARN), Id: aws.String(i.profile.ID)},
	}
}

func (s *Service) associateIamInstanceProfile(
	ctx context.Context, in *ec2.AssociateIamInstanceProfileInput,
) (*ec2.AssociateIamInstanceProfileOutput, error) {
	if in.IamInstanceProfile == nil {
		return nil, missing("IamInstanceProfile")
	}
	r := s.here(ctx)
	defer r.mu.Unlock()
	i, err := r.instance(aws.ToString(in.InstanceId))
	if err != nil {
		return nil, err
	}
	if i.association != "" {
		return nil, incorrectState("There is an existing association for instance %s", i.ID)
	}
	wanted := types.LaunchTemplateIamInstanceProfileSpecification(*in.IamInstanceProfile)
	if i.profile, err = s.profileOf(r.Account, &wanted); err != nil {
		return nil, err
	}
	i.association, i.session = newID("iip-assoc"), session{}
	return &ec2.AssociateIamInstanceProfileOutput{IamInstanceProfileAssociation: i.describeAssociation()}, nil
}

func (s *Service) disassociateIamInstanceProfile(
	ctx context.Context, in *ec2.DisassociateIamInstanceProfileInput,
) (*ec2.DisassociateIamInstanceProfileOutput, error) {
	r := s.here(ctx)
	defer r.mu.Unlock()
	for _, i := range r.instances {
		if i.association != "" && i.association == aws.ToString(in.AssociationId) {
			described := *i.describeAssociation()
			described.AssociationId, described.State = in.AssociationId, types.IamInstanceProfileAssociationStateDisassociating
			i.association = ""
			i.profile.ARN, i.profile.RoleName = "", ""
			return &ec2.DisassociateIamInstanceProfileOutput{IamInstanceProfileAssociation: &described}, nil
		}
	}
	return nil, wire.Errorf("NoSuchAssociation", "An invalid association-id of '%s' was given", aws.ToString(in.AssociationId))
}

func (s *Service) describeIamInstanceProfileAssociations(
	ctx context.Context, in *ec2.DescribeIamInstanceProfileAssociationsInput,
) (*ec2.DescribeIamInstanceProfileAssociationsOutput, error) {
	r := s.here(ctx)
	defer r.mu.Unlock()
	items := map[string]*instance{}
	for _, i := range r.instances {
		if i.association != "" {
			items[i.association] = i
		}
	}
	found, next, err := choose(s, r, choice[*instance]{
		items: items, ids: in.AssociationIds, filters: in.Filters, token: in.NextToken, most: in.MaxResults,
		missing: func(id string) *wire.Error {
			return wire.Errorf("InvalidAssociationID.NotFound", "The association ID '%s' does not exist", id)
		},
		fields: vpc.Fields[*instance]{
			"instance-id": func(i *instance) []string { return []string{i.ID} },
			"state":       func(*instance) []string { return []string{"associated"} },
		},
	})
	if err != nil {
		return nil, err
	}
	out := &ec2.DescribeIamInstanceProfileAssociationsOutput{
		IamInstanceProfileAssociations: []types.IamInstanceProfileAssociation{},
		NextToken:                      next,
	}
	for _, i := range found {
		out.IamInstanceProfileAssociations = append(out.IamInstanceProfileAssociations, *i.describeAssociation())
	}
	return out, nil
}

func (s *Service) attachNetworkInterface(
	ctx context.Context, in *ec2.AttachNetworkInterfaceInput,
) (*ec2.AttachNetworkInterfaceOutput, error) {
	if err := dry(in.DryRun); err != nil {
		return nil, err
	}
	r := s.here(ctx)
	defer r.mu.Unlock()
	i, err := r.instance(aws.ToString(in.InstanceId))
	if err != nil {
		return nil, err
	}
	cards := s.cards(r, i)
	switch {
	case i.State != running && i.State != stopped:
		return nil, wire.Errorf("IncorrectInstanceState", "The instance '%s' is not in the 'running' or 'stopped' state.", i.ID)
	case len(cards) >= int(i.kind.interfaces):
		return nil, wire.Errorf("AttachmentLimitExceeded", "Interface count %d exceeds the limit for %s", len(cards)+1, i.Type)
	case in.DeviceIndex == nil:
		return nil, missing("DeviceIndex")
	}
	for _, card := range cards {
		if card.Attachment != nil && card.Attachment.DeviceIndex == *in.DeviceIndex {
			return nil, invalid("Instance '%s' already has an interface attached at device index '%d'.", i.ID, *in.DeviceIndex)
		}
	}
	card, err := s.network.AttachInterface(
		r.Account, r.Region, aws.ToString(in.NetworkInterfaceId), vpc.Attachment{InstanceID: i.ID, DeviceIndex: *in.DeviceIndex},
	)
	if err != nil {
		return nil, err
	}
	i.cards = append(i.cards, card.ID)
	return &ec2.AttachNetworkInterfaceOutput{AttachmentId: aws.String(card.Attachment.ID), NetworkCardIndex: aws.Int32(0)}, nil
}

func (s *Service) detachNetworkInterface(
	ctx context.Context, in *ec2.DetachNetworkInterfaceInput,
) (*ec2.DetachNetworkInterfaceOutput, error) {
	if err := dry(in.DryRun); err != nil {
		return nil, err
	}
	r := s.here(ctx)
	defer r.mu.Unlock()
	for _, i := range r.instances {
		for _, card := range s.cards(r, i) {
			if card.Attachment == nil || card.Attachment.ID != aws.ToString(in.AttachmentId) {
				continue
			}
			if card.ID == i.InterfaceID {
				return nil, wire.Errorf("OperationNotPermitted", "The network interface at device index 0 cannot be detached.")
			}
			i.cards = slices.DeleteFunc(i.cards, func(id string) bool { return id == card.ID })
			return nil, s.network.DetachInterface(r.Account, r.Region, card.ID)
		}
	}
	return nil, wire.Errorf("InvalidAttachmentID.NotFound", "Attachment %s is not valid", aws.ToString(in.AttachmentId))
}

// describeSpotInstanceRequests returns the requests of the running spot instances.
func (s *Service) describeSpotInstanceRequests(
	ctx context.Context, in *ec2.DescribeSpotInstanceRequestsInput,
) (*ec2.DescribeSpotInstanceRequestsOutput, error) {
	r := s.here(ctx)
	defer r.mu.Unlock()
	items := map[string]*instance{}
	for _, i := range r.instances {
		if i.Spot {
			items[i.spotRequest] = i
		}
	}
	found, next, err := choose(s, r, choice[*instance]{
		items: items, ids: in.SpotInstanceRequestIds, filters: in.Filters, token: in.NextToken, most: in.MaxResults,
		missing: func(id string) *wire.Error {
			return wire.Errorf("InvalidSpotInstanceRequestID.NotFound", "The spot instance request ID '%s' does not exist", id)
		},
		fields: vpc.Fields[*instance]{
			"instance-id":              func(i *instance) []string { return []string{i.ID} },
			"spot-instance-request-id": func(i *instance) []string { return []string{i.spotRequest} },
			"state":                    func(i *instance) []string { return []string{string(i.spotState())} },
		},
	})
	if err != nil {
		return nil, err
	}
	out := &ec2.DescribeSpotInstanceRequestsOutput{SpotInstanceRequests: []types.SpotInstanceRequest{}, NextToken: next}
	for _, i := range found {
		code, message := "fulfilled", "Your Spot request is fulfilled."
		switch {
		case i.notice.action != "" && i.spotState() == types.SpotInstanceStateActive:
			code, message = "marked-for-"+map[string]string{"terminate": "termination", "stop": "stop"}[i.notice.action], "Your Spot instance is marked for interruption."
		case i.notice.action != "":
			code, message = "instance-terminated-no-capacity", "Your Spot instance was terminated because there is no capacity."
		case i.spotState() == types.SpotInstanceStateClosed:
			code, message = "instance-terminated-by-user", "Spot Instance terminated due to user-initiated termination."
		}
		out.SpotInstanceRequests = append(out.SpotInstanceRequests, types.SpotInstanceRequest{
			SpotInstanceRequestId: &i.spotRequest, InstanceId: &i.ID, State: i.spotState(), Type: types.SpotInstanceTypeOneTime,
			CreateTime:               &i.Launched,
			LaunchedAvailabilityZone: &i.Zone, InstanceInterruptionBehavior: types.InstanceInterruptionBehaviorTerminate,
			Status: &types.SpotInstanceStatus{Code: &code, Message: &message}, ProductDescription: types.RIProductDescriptionLinuxUnix,
		})
	}
	return out, nil
}

func (i *instance) spotState() types.SpotInstanceState {
	if i.State == shuttingDown || i.State == terminated {
		return types.SpotInstanceStateClosed
	}
	return types.SpotInstanceStateActive
}
