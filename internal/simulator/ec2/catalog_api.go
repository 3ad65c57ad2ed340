package ec2

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/vpc"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// catalogOperations are the operations on what AWS offers: images and instance types.
func (s *Service) catalogOperations() map[string]wire.Operation {
	return map[string]wire.Operation{
		"DescribeImages":                wire.Op(s.describeImages),
		"DescribeInstanceTypeOfferings": wire.Op(s.describeInstanceTypeOfferings),
		"DescribeInstanceTypes":         wire.Op(s.describeInstanceTypes),
		"DescribeSpotPriceHistory":      wire.Op(s.describeSpotPriceHistory),
		"GetEbsEncryptionByDefault":     wire.Op(s.getEbsEncryptionByDefault),
	}
}

var imageFields = vpc.Fields[*types.Image]{
	"image-id":            func(i *types.Image) []string { return []string{aws.ToString(i.ImageId)} },
	"name":                func(i *types.Image) []string { return []string{aws.ToString(i.Name)} },
	"description":         func(i *types.Image) []string { return []string{aws.ToString(i.Description)} },
	"architecture":        func(i *types.Image) []string { return []string{string(i.Architecture)} },
	"owner-id":            func(i *types.Image) []string { return []string{aws.ToString(i.OwnerId)} },
	"owner-alias":         func(i *types.Image) []string { return []string{aws.ToString(i.ImageOwnerAlias)} },
	"state":               func(i *types.Image) []string { return []string{string(i.State)} },
	"source-instance-id":  func(i *types.Image) []string { return []string{aws.ToString(i.SourceInstanceId)} },
	"is-public":           func(i *types.Image) []string { return []string{strconv.FormatBool(aws.ToBool(i.Public))} },
	"image-type":          func(i *types.Image) []string { return []string{string(i.ImageType)} },
	"hypervisor":          func(i *types.Image) []string { return []string{string(i.Hypervisor)} },
	"root-device-name":    func(i *types.Image) []string { return []string{aws.ToString(i.RootDeviceName)} },
	"root-device-type":    func(i *types.Image) []string { return []string{string(i.RootDeviceType)} },
	"virtualization-type": func(i *types.Image) []string { return []string{string(i.VirtualizationType)} },
	"creation-date":       func(i *types.Image) []string { return []string{aws.ToString(i.CreationDate)} },
	"ena-support":         func(i *types.Image) []string { return []string{strconv.FormatBool(aws.ToBool(i.EnaSupport))} },
	"boot-mode":           func(i *types.Image) []string { return []string{string(i.BootMode)} },
}

// describeImages describes public images and those of the account.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeImages.html
func (s *Service) describeImages(ctx context.Context, in *ec2.DescribeImagesInput) (*ec2.DescribeImagesOutput, error) {
	r := s.here(ctx)
	defer r.mu.Unlock()
	passes, err := imageFields.Compile(in.Filters)
	if err != nil {
		return nil, err
	}
	if err := dry(in.DryRun); err != nil {
		return nil, err
	}
	for _, id := range in.ImageIds {
		if _, err := s.image(r, id); err != nil {
			return nil, err
		}
	}
	var found []types.Image
	for _, i := range append(s.ownImages(r), s.images.all(r.Region)...) {
		owned := len(in.Owners) == 0 || slices.ContainsFunc(in.Owners, func(owner string) bool {
			return owner == aws.ToString(i.OwnerId) || owner == aws.ToString(i.ImageOwnerAlias) ||
				owner == "self" && r.Account == aws.ToString(i.OwnerId)
		})
		asked := len(in.ImageIds) == 0 || slices.Contains(in.ImageIds, *i.ImageId)
		if owned && asked && passes(i, s.tags(r.Target).Of(*i.ImageId)) {
			found = append(found, *i)
		}
	}
	found, next, err := vpc.Page(found, func(i types.Image) string { return *i.ImageId }, in.MaxResults, in.NextToken)
	if err != nil {
		return nil, err
	}
	return &ec2.DescribeImagesOutput{Images: append([]types.Image{}, found...), NextToken: next}, nil
}

var kindFields = vpc.Fields[*kind]{
	"instance-type":                         func(k *kind) []string { return []string{k.name} },
	"current-generation":                    func(k *kind) []string { return []string{strconv.FormatBool(!strings.HasPrefix(k.name, "t2."))} },
	"burstable-performance-supported":       func(k *kind) []string { return []string{strconv.FormatBool(k.burst)} },
	"bare-metal":                            func(*kind) []string { return []string{"false"} },
	"hypervisor":                            func(k *kind) []string { return []string{string(k.describe().Hypervisor)} },
	"processor-info.supported-architecture": func(k *kind) []string { return []string{string(k.architecture())} },
	"vcpu-info.default-vcpus":               func(k *kind) []string { return []string{strconv.Itoa(int(k.vCPUs))} },
	"memory-info.size-in-mib":               func(k *kind) []string { return []string{strconv.Itoa(int(k.MiB))} },
	"supported-usage-class":                 func(*kind) []string { return []string{"on-demand", "spot"} },
	"supported-virtualization-type":         func(*kind) []string { return []string{"hvm"} },
	"instance-storage-supported":            func(*kind) []string { return []string{"false"} },
	"network-info.ena-support":              func(k *kind) []string { return []string{string(k.describe().NetworkInfo.EnaSupport)} },
}

func (s *Service) describeInstanceTypes(_ context.Context, in *ec2.DescribeInstanceTypesInput) (*ec2.DescribeInstanceTypesOutput, error) {
	passes, err := kindFields.Compile(in.Filters)
	if err != nil {
		return nil, err
	}
	if err := dry(in.DryRun); err != nil {
		return nil, err
	}
	asked := map[string]bool{}
	var unknown []string
	for _, t := range in.InstanceTypes {
		asked[string(t)] = true
		if kinds[string(t)] == nil {
			unknown = append(unknown, string(t))
		}
	}
	if len(unknown) > 0 {
		return nil, wire.Errorf(
			"InvalidInstanceType", "The following supplied instance types do not exist: [%s]", strings.Join(unknown, ", "),
		)
	}
	var found []*kind
	for _, name := range kindNames() {
		if (len(asked) == 0 || asked[name]) && passes(kinds[name], nil) {
			found = append(found, kinds[name])
		}
	}
	most := in.MaxResults
	if most == nil && len(asked) == 0 {
		most = aws.Int32(100)
	}
	found, next, err := vpc.Page(found, func(k *kind) string { return k.name }, most, in.NextToken)
	if err != nil {
		return nil, err
	}
	out := &ec2.DescribeInstanceTypesOutput{InstanceTypes: []types.InstanceTypeInfo{}, NextToken: next}
	for _, k := range found {
		out.InstanceTypes = append(out.InstanceTypes, k.describe())
	}
	return out, nil
}

// describeInstanceTypeOfferings returns the instance types that zones offer.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeInstanceTypeOfferings.html
func (s *Service) describeInstanceTypeOfferings(
	ctx context.Context, in *ec2.DescribeInstanceTypeOfferingsInput,
) (*ec2.DescribeInstanceTypeOfferingsOutput, error) {
	region := wire.CallFrom(ctx).Region
	passes, err := vpc.Fields[types.InstanceTypeOffering]{
		"location":      func(o types.InstanceTypeOffering) []string { return []string{*o.Location} },
		"instance-type": func(o types.InstanceTypeOffering) []string { return []string{string(o.InstanceType)} },
	}.Compile(in.Filters)
	if err != nil {
		return nil, err
	}
	if err := dry(in.DryRun); err != nil {
		return nil, err
	}
	by := cmp.Or(in.LocationType, types.LocationTypeRegion)
	locations := []string{region}
	switch by {
	case types.LocationTypeRegion:
	case types.LocationTypeAvailabilityZone:
		locations = zonesOf(region)
	default:
		return nil, unsupported("LocationType")
	}
	var found []types.InstanceTypeOffering
	for _, name := range kindNames() {
		for _, location := range locations {
			o := types.InstanceTypeOffering{InstanceType: types.InstanceType(name), Location: aws.String(location), LocationType: by}
			offered := by == types.LocationTypeRegion || s.scarce.offers(location, name)
			if offered && passes(o, nil) {
				found = append(found, o)
			}
		}
	}
	found, next, err := vpc.Page(
		found, func(o types.InstanceTypeOffering) string { return string(o.InstanceType) + "/" + *o.Location }, in.MaxResults, in.NextToken,
	)
	if err != nil {
		return nil, err
	}
	return &ec2.DescribeInstanceTypeOfferingsOutput{
		InstanceTypeOfferings: append([]types.InstanceTypeOffering{}, found...),
		NextToken:             next,
	}, nil
}

func (s *Service) getEbsEncryptionByDefault(
	context.Context, *ec2.GetEbsEncryptionByDefaultInput,
) (*ec2.GetEbsEncryptionByDefaultOutput, error) {
	return &ec2.GetEbsEncryptionByDefaultOutput{EbsEncryptionByDefault: aws.Bool(false)}, nil
}
