package launch

import (
	"math"
	"slices"
	"strconv"

	"github.com/aws-operator/aws-operator/internal/cfn/template"
)

// The types that launch instances.
const (
	TypeGroup     = "AWS::AutoScaling::AutoScalingGroup"
	TypeInstance  = "AWS::EC2::Instance"
	TypeNodegroup = "AWS::EKS::Nodegroup"

	typeTemplate = "AWS::EC2::LaunchTemplate"
)

// The reasons for which a launch is not known.
const (
	// UnknownNumber is the number of instances, and so all else.
	UnknownNumber = "the number of instances"
	// UnknownTemplate is what a launch template that is not in the stack adds.
	UnknownTemplate = "what its launch template adds to an instance"
)

// Launch is which instances a resource launches.
type Launch struct {
	// Low and High are the least and the largest number of instances.
	Low, High float64
	// Types are the types that they may have, "" for one that only AWS knows.
	Types []string
	// Unknown says why the instances are not known, empty if they are.
	Unknown string
	// Base is how many of them are on demand at least, and Share the share of the others that is,
	// from 0 to 1.
	Base, Share float64
	// Prepaid says that they are those of a Capacity Block, which is paid for in advance and does not
	// count for the quotas of instances:
	// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-capacity-blocks.html
	Prepaid bool
	// Data are the properties of an instance or of a launch template's data; nil if not known.
	Data *template.Node
}

// Of returns the launch of an Auto Scaling group, a managed node group or an instance with resolved
// properties, nil if the resource is none of them. All are the resources of the stack, by logical ID.
func Of(r *template.Resource, all map[string]*template.Resource) *Launch {
	switch r.Type {
	case TypeInstance:
		return instance(r)
	case TypeGroup:
		return group(r, all)
	case TypeNodegroup:
		return nodegroup(r, all)
	}
	return nil
}

func instance(r *template.Resource) *Launch {
	l := &Launch{Low: 1, High: 1, Share: 1, Data: r.Properties}
	if r.Properties.Get("LaunchTemplate") != nil {
		l.Unknown, l.Data = UnknownTemplate, nil
	}
	if kind := r.Properties.Get("InstanceType"); kind != nil {
		text, _ := kind.Scalar()
		l.Types = []string{text}
	}
	return l
}

// group: the instances of an Auto Scaling group are those of its launch template, or of the types
// that override that of the template.
func group(r *template.Resource, all map[string]*template.Resource) *Launch {
	l := &Launch{Share: 1}
	low, ok := Number(r.Properties.Get("MinSize"), 0)
	high, ok2 := Number(r.Properties.Get("MaxSize"), 0)
	if wanted := r.Properties.Get("DesiredCapacity"); wanted != nil {
		low, ok = Number(wanted, 0)
		high, ok2 = low, ok
	}
	if !ok || !ok2 || high < low {
		return &Launch{Unknown: UnknownNumber}
	}
	l.Low, l.High = low, high
	mixed := r.Properties.Get("MixedInstancesPolicy")
	if mixed == nil {
		l.template(r.Properties.Get("LaunchTemplate"), all)
		return l
	}
	l.template(mixed.Get("LaunchTemplate").Get("LaunchTemplateSpecification"), all)
	l.override(mixed.Get("LaunchTemplate").Get("Overrides"))
	l.distribute(mixed.Get("InstancesDistribution"))
	return l
}

// nodegroup: the instances of a managed node group, all of them spot or all on demand.
func nodegroup(r *template.Resource, all map[string]*template.Resource) *Launch {
	scaling := r.Properties.Get("ScalingConfig")
	number, ok := Number(scaling.Get("DesiredSize"), 0)
	if !ok || scaling.Get("DesiredSize") == nil {
		return &Launch{Unknown: UnknownNumber}
	}
	l := &Launch{Low: number, High: number, Share: 1}
	if specification := r.Properties.Get("LaunchTemplate"); specification != nil {
		for _, reference := range specification.Get("Id").References() {
			if t := all[reference.Target]; t != nil && t.Type == typeTemplate {
				l.Data = t.Properties.Get("LaunchTemplateData")
			}
		}
	}
	if l.Data == nil {
		l.Unknown = UnknownTemplate
	}
	if types := r.Properties.Get("InstanceTypes"); types != nil {
		for _, item := range types.Items {
			text, _ := item.Scalar()
			l.Types = append(l.Types, text)
		}
	}
	if kind := l.Data.Get("InstanceType"); kind != nil {
		text, _ := kind.Scalar()
		l.Types = []string{text}
	}
	l.Prepaid = marketOf(l.Data) == capacityBlock
	if capacity, _ := r.Properties.Get("CapacityType").Scalar(); capacity == "SPOT" {
		l.Share = 0
	}
	return l
}

// template sets what the launch template of a specification defines.
func (l *Launch) template(specification *template.Node, all map[string]*template.Resource) {
	for _, name := range []string{"LaunchTemplateId", "LaunchTemplateName"} {
		for _, reference := range specification.Get(name).References() {
			if t := all[reference.Target]; t != nil && t.Type == typeTemplate {
				l.Data = t.Properties.Get("LaunchTemplateData")
			}
		}
	}
	if l.Data == nil {
		l.Unknown = "the launch template, which is not in the stack"
		return
	}
	if kind := l.Data.Get("InstanceType"); kind != nil {
		text, _ := kind.Scalar()
		l.Types = []string{text}
	}
	switch marketOf(l.Data) {
	case "spot":
		l.Share = 0
	case capacityBlock:
		l.Prepaid = true
	}
}

// capacityBlock is the market of instances of a Capacity Block.
const capacityBlock = "capacity-block"

// marketOf returns the market of the instances of a launch template.
func marketOf(data *template.Node) string {
	market, _ := data.Get("InstanceMarketOptions").Get("MarketType").Scalar()
	return market
}

// override sets the types of a mixed instances policy, if it has any.
func (l *Launch) override(overrides *template.Node) {
	if overrides == nil {
		return
	}
	l.Types = nil
	for _, o := range overrides.Items {
		text, _ := o.Get("InstanceType").Scalar()
		if o.Get("WeightedCapacity") != nil || o.Get("LaunchTemplateSpecification") != nil {
			l.Unknown = "instances with weights or launch templates of their own"
		}
		l.Types = append(l.Types, text)
	}
}

// distribute sets how many of the instances are on demand. By default, all are:
// https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_InstancesDistribution.html
func (l *Launch) distribute(distribution *template.Node) {
	const all = 100
	base, ok := Number(distribution.Get("OnDemandBaseCapacity"), 0)
	percentage, ok2 := Number(distribution.Get("OnDemandPercentageAboveBaseCapacity"), all)
	if !ok || !ok2 || percentage > all {
		l.Unknown = "how many of the instances are spot instances"
		return
	}
	l.Base, l.Share = base, percentage/all
}

// Most is more than any size or number that AWS accepts. It keeps sums finite.
const Most = 1e9

// Number returns the number of a node, or a default if the node is nil; false if only AWS knows it,
// or if it is not a number that AWS accepts.
func Number(node *template.Node, or float64) (float64, bool) {
	if node == nil {
		return or, true
	}
	text, _ := node.Scalar()
	n, err := strconv.ParseFloat(text, 64)
	return n, err == nil && n >= 0 && n <= Most // false for NaN
}

// Number returns the least and the largest number of instances that are on demand, or that are spot
// instances.
func (l *Launch) Number(spot bool) (low, high float64) {
	least, most := l.onDemand(l.Low), l.onDemand(l.High)
	if spot {
		return l.Low - least, l.High - most
	}
	return least, most
}

// onDemand returns how many of n instances are on demand, rounded up as Auto Scaling does:
// https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_InstancesDistribution.html
func (l *Launch) onDemand(n float64) float64 {
	base := min(n, l.Base)
	return base + math.Ceil((n-base)*l.Share)
}

// Equal reports whether two launches have the same instances.
func (l *Launch) Equal(other *Launch) bool {
	return l.Low == other.Low && l.High == other.High && l.Unknown == other.Unknown && l.Base == other.Base && l.Share == other.Share &&
		l.Prepaid == other.Prepaid && slices.Equal(l.Types, other.Types)
}
