package price

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/aws-operator/aws-operator/internal/cfn/launch"
	"github.com/aws-operator/aws-operator/internal/cfn/template"
)

// launched are the instances that a resource launches.
type launched struct {
	*launch.Launch

	number count
	prices *regional
}

const usageInstance = "BoxUsage:"

// instanceType matches names of instance types, which are printed.
var instanceType = regexp.MustCompile(`^[a-z0-9-]+\.[a-z0-9-]+$`)

// instances: the launch of an instance or of an Auto Scaling group.
func (r *resource) instances() []part {
	of := launch.Of(r.Resource, r.all)
	switch {
	case of.Unknown == launch.UnknownTemplate:
		return []part{unknown("instances", "instance", of.Unknown)}
	case of.Unknown == launch.UnknownNumber:
		return []part{unknown("instances", "instances", of.Unknown)}
	case of.High == 0:
		return nil
	}
	l := launched{Launch: of, number: count{of.Low, of.High}, prices: r.prices}
	return l.parts()
}

// burstable matches the types that may use more CPU than they have, which is charged, unless their
// launch template says standard:
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/burstable-performance-instances-unlimited-mode.html
var burstable = regexp.MustCompile(`^t[3-9]`)

// parts returns what AWS charges for instances, for their disks and for their addresses.
func (l *launched) parts() []part {
	made := []part{{"instances", l.instances()}, {"traffic", Cost{Usage: "traffic of instances"}}}
	if l.Prepaid {
		made[0] = part{"instances", Cost{Usage: "instances of a Capacity Block, which is paid for in advance"}}
	}
	if credits, _ := l.Data.Get("CreditSpecification").Get("CpuCredits").Scalar(); credits != "standard" &&
		slices.ContainsFunc(l.Types, burstable.MatchString) {
		made = append(made, part{"credits", Cost{Usage: "CPU credits of burstable instances"}})
	}
	if l.Data == nil {
		return append(made, unknown("disks", "disks", "the launch template, which is not in the stack"))
	}
	made = append(made, part{"disks", l.disks()})
	return append(made, l.addresses()...)
}

// instances returns the price of instances. The lower bound is that of the cheapest type at the
// least number, without spot instances, whose price has no lower bound; the upper bound is that of
// the most expensive type on demand, which the price of spot instances does not exceed:
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/using-spot-instances.html
func (l *launched) instances() Cost {
	b := &bill{prices: l.prices}
	if l.Unknown != "" {
		b.lacks(l.Unknown)
	}
	if len(l.Types) == 0 && l.Unknown == "" {
		b.lacks("the type of the instances")
	}
	var cheap, dear float64
	for i, name := range l.Types {
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
	b.low = HoursPerMonth * cheap * (min(l.number.low, l.Base) + max(0, l.number.low-l.Base)*l.Share)
	b.high = HoursPerMonth * dear * l.number.high
	made := b.cost(l.number.of(l.describe()), one)
	made.Spot = made.Unknown == "" && l.Share < 1 && l.number.high > l.Base
	return made
}

// describe names the types, and whether they are spot instances.
func (l *launched) describe() string {
	const shown = 3
	kinds := slices.DeleteFunc(slices.Clone(l.Types), func(name string) bool { return !instanceType.MatchString(name) })
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
	case l.Share == 1 || l.number.high <= l.Base:
		return text
	case l.Share == 0 && l.Base == 0:
		return text + " (spot)"
	}
	return text + " (partly spot)"
}

// disks returns the price of the volumes of each instance.
func (l *launched) disks() Cost {
	b := &bill{prices: l.prices}
	var each []string
	for _, mapping := range listed(l.Data.Get("BlockDeviceMappings")) {
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
func (l *launched) addresses() []part {
	public := l.Data.Get("AssociatePublicIpAddress")
	for _, one := range listed(l.Data.Get("NetworkInterfaces")) {
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
