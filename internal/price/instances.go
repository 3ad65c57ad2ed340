package price

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/aws-operator/aws-operator/internal/cfn/template"
)

// launch is how instances are launched, of which there may be several.
type launch struct {
	*resource

	number count
	// types are the types that they may have. Unknown says why these are not known.
	types   []string
	unknown string
	// base and share are how many of them are on demand at least, and the share of the others that
	// is.
	base, share float64
	// data are the properties of an instance or of a launch template's data; nil if not known.
	data *template.Node
}

const usageInstance = "BoxUsage:"

// instanceType matches names of instance types, which are printed.
var instanceType = regexp.MustCompile(`^[a-z0-9-]+\.[a-z0-9-]+$`)

func (r *resource) instance() []part {
	l := launch{resource: r, number: one, share: 1, data: r.Properties}
	if r.at("LaunchTemplate") != nil {
		return []part{unknown("instances", "instance", "what its launch template adds to an instance")}
	}
	if kind := r.at("InstanceType"); kind != nil {
		l.types = []string{r.text("", "InstanceType")}
	}
	return l.parts()
}

// group: the instances of an Auto Scaling group are those of its launch template, or of the types
// that override that of the template.
func (r *resource) group() []part {
	l := launch{resource: r, share: 1}
	low, ok := number(r.at("MinSize"), 0)
	high, ok2 := number(r.at("MaxSize"), 0)
	if wanted := r.at("DesiredCapacity"); wanted != nil {
		low, ok = number(wanted, 0)
		high, ok2 = low, ok
	}
	if !ok || !ok2 || high < low {
		return []part{unknown("instances", "instances", "the number of instances")}
	}
	l.number = count{low, high}
	if high == 0 {
		return nil
	}
	mixed := r.at("MixedInstancesPolicy")
	if mixed == nil {
		l.launchTemplate(r.at("LaunchTemplate"))
		return l.parts()
	}
	l.launchTemplate(mixed.Get("LaunchTemplate").Get("LaunchTemplateSpecification"))
	l.override(mixed.Get("LaunchTemplate").Get("Overrides"))
	l.distribute(mixed.Get("InstancesDistribution"))
	return l.parts()
}

// launchTemplate sets what the launch template of a specification defines.
func (l *launch) launchTemplate(specification *template.Node) {
	for _, name := range []string{"LaunchTemplateId", "LaunchTemplateName"} {
		for _, reference := range specification.Get(name).References() {
			if t := l.all[reference.Target]; t != nil && t.Type == "AWS::EC2::LaunchTemplate" {
				l.data = t.Properties.Get("LaunchTemplateData")
			}
		}
	}
	if l.data == nil {
		l.unknown = "the launch template, which is not in the stack"
		return
	}
	if kind := l.data.Get("InstanceType"); kind != nil {
		text, _ := kind.Scalar()
		l.types = []string{text}
	}
	if market, _ := l.data.Get("InstanceMarketOptions").Get("MarketType").Scalar(); market == "spot" {
		l.share = 0
	}
}

// override sets the types of a mixed instances policy, if it has any.
func (l *launch) override(overrides *template.Node) {
	if overrides == nil {
		return
	}
	l.types = nil
	for _, o := range overrides.Items {
		text, _ := o.Get("InstanceType").Scalar()
		if o.Get("WeightedCapacity") != nil || o.Get("LaunchTemplateSpecification") != nil {
			l.unknown = "instances with weights or launch templates of their own"
		}
		l.types = append(l.types, text)
	}
}

// distribute sets how many of the instances are on demand. By default, all are:
// https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_InstancesDistribution.html
func (l *launch) distribute(distribution *template.Node) {
	const all = 100
	base, ok := number(distribution.Get("OnDemandBaseCapacity"), 0)
	percentage, ok2 := number(distribution.Get("OnDemandPercentageAboveBaseCapacity"), all)
	if !ok || !ok2 || percentage > all {
		l.unknown = "how many of the instances are spot instances"
		return
	}
	l.base, l.share = base, percentage/all
}

// burstable matches the types that may use more CPU than they have, which is charged, unless their
// launch template says standard:
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/burstable-performance-instances-unlimited-mode.html
var burstable = regexp.MustCompile(`^t[3-9]`)

// parts returns what AWS charges for instances, for their disks and for their addresses.
func (l *launch) parts() []part {
	made := []part{{"instances", l.instances()}, {"traffic", Cost{Usage: "traffic of instances"}}}
	if credits, _ := l.data.Get("CreditSpecification").Get("CpuCredits").Scalar(); credits != "standard" &&
		slices.ContainsFunc(l.types, burstable.MatchString) {
		made = append(made, part{"credits", Cost{Usage: "CPU credits of burstable instances"}})
	}
	if l.data == nil {
		return append(made, unknown("disks", "disks", "the launch template, which is not in the stack"))
	}
	made = append(made, part{"disks", l.disks()})
	return append(made, l.addresses()...)
}

// instances returns the price of instances. The lower bound is that of the cheapest type at the
// least number, without spot instances, whose price has no lower bound; the upper bound is that of
// the most expensive type on demand, which the price of spot instances does not exceed:
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/using-spot-instances.html
func (l *launch) instances() Cost {
	b := &bill{prices: l.prices}
	if l.unknown != "" {
		b.lacks(l.unknown)
	}
	if len(l.types) == 0 && l.unknown == "" {
		b.lacks("the type of the instances")
	}
	var cheap, dear float64
	for i, name := range l.types {
		if !instanceType.MatchString(name) {
			b.lacks("the type of the instances")
			continue
		}
		usd, ok := l.prices.usd(usageInstance + name)
		if !ok {
			b.lacks("the price of " + name)
			continue
		}
		if i == 0 || usd < cheap {
			cheap = usd
		}
		dear = max(dear, usd)
	}
	b.low = HoursPerMonth * cheap * (min(l.number.low, l.base) + max(0, l.number.low-l.base)*l.share)
	b.high = HoursPerMonth * dear * l.number.high
	made := b.cost(l.number.of(l.describe()), one)
	made.Spot = made.Unknown == "" && l.share < 1 && l.number.high > l.base
	return made
}

// describe names the types, and whether they are spot instances.
func (l *launch) describe() string {
	const shown = 3
	kinds := slices.DeleteFunc(slices.Clone(l.types), func(name string) bool { return !instanceType.MatchString(name) })
	var text string
	switch n := len(kinds); {
	case n == 0:
		text = "instance"
	case n > shown:
		text = fmt.Sprintf("one of %d types", n)
	default:
		text = strings.Join(kinds, " or ")
	}
	switch {
	case l.share == 1 || l.number.high <= l.base:
		return text
	case l.share == 0 && l.base == 0:
		return text + " (spot)"
	}
	return text + " (partly spot)"
}

// disks returns the price of the volumes of each instance.
func (l *launch) disks() Cost {
	b := &bill{prices: l.prices}
	var each []string
	for _, mapping := range listed(l.data.Get("BlockDeviceMappings")) {
		ebs := mapping.Get("Ebs")
		if ebs == nil { // an instance store, or a device that is left out
			continue
		}
		each = append(each, b.disk(ebs.Get("VolumeSize"), ebs.Get("VolumeType"), ebs.Get("Iops"), ebs.Get("Throughput")))
	}
	if len(each) == 0 {
		b.lacks("the size of the image's disk")
		each = []string{"disk of the image"}
	}
	return b.cost(l.number.of(strings.Join(each, " and ")), l.number)
}

// addresses returns the price of the public addresses of instances.
func (l *launch) addresses() []part {
	public := l.data.Get("AssociatePublicIpAddress")
	for _, one := range listed(l.data.Get("NetworkInterfaces")) {
		if associate := one.Get("AssociatePublicIpAddress"); associate != nil {
			public = associate
		}
	}
	text, _ := public.Scalar()
	switch text {
	case "false":
		return nil
	case "true":
		b := &bill{prices: l.prices}
		b.add(usageAddress, HoursPerMonth, HoursPerMonth)
		return []part{{"addresses", b.cost(l.number.of("public IPv4 address"), l.number)}}
	}
	return []part{unknown("addresses", l.number.of("public IPv4 address"), "whether the subnet gives instances public addresses")}
}

// listed returns the items of a list, none if it is not one.
func listed(node *template.Node) []*template.Node {
	if node == nil {
		return nil
	}
	return node.Items
}
