package trial

import (
	"fmt"
	"strings"
)

// charge is what AWS charges for a part of a tier, in USD for an hour.
type charge struct {
	what string
	usd  float64
	// page is AWS's page with the price.
	page string
}

// hoursPerMonth is what AWS divides prices of a month by.
const hoursPerMonth = 730

// hourCharges are the prices of us-east-1. They could not be confirmed on AWS's pages, of which
// only the text without the numbers was available. While an instance is replaced, the old and the new one
// run at the same time.
var hourCharges = []charge{
	{"3 instances t3.medium at most: control plane, worker, and a replacement", 3 * 0.0416, "https://aws.amazon.com/ec2/pricing/on-demand/"},
	{"1 network load balancer with 1 capacity unit", 0.0225 + 0.006, "https://aws.amazon.com/elasticloadbalancing/pricing/"},
	{"4 public IPv4 addresses at most: instances and load balancer", 4 * 0.005, "https://aws.amazon.com/vpc/pricing/"},
	{
		"110 GiB of EBS volumes (gp3) at most: 30 GiB for each instance, 20 GiB for etcd", 110 * 0.08 / hoursPerMonth,
		"https://aws.amazon.com/ebs/pricing/",
	},
	{"1 KMS key; it is not charged while its deletion is pending", 1.0 / hoursPerMonth, "https://aws.amazon.com/kms/pricing/"},
	// Free if it is deleted within 12 hours.
	{"1 hosted zone that is deleted within 12 hours", 0, "https://aws.amazon.com/route53/pricing/"},
	{"requests, objects, messages and a snapshot", 0.01, "https://aws.amazon.com/pricing/"},
}

// total adds up charges.
func total(charges []charge) (usd float64) {
	for _, one := range charges {
		usd += one.usd
	}
	return usd
}

// priceList returns a line for each charge, with the page; nothing if there are none.
func priceList(charges []charge) string {
	var b strings.Builder
	if len(charges) > 0 {
		b.WriteString("\n  USD an hour in us-east-1, with AWS's page of the price, which you should check:\n")
	}
	for _, one := range charges {
		fmt.Fprintf(&b, "  %.3f  %s\n         %s\n", one.usd, one.what, one.page)
	}
	if len(charges) > 0 {
		fmt.Fprintf(&b, "  %.3f  in total\n\n", total(charges))
	}
	return b.String()
}
