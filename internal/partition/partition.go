// Package partition tells the partitions of AWS apart: groups of regions with ARNs and names of
// their own.
package partition

import "strings"

// partitions are AWS's partitions other than aws by the beginning of their regions' names:
// https://docs.aws.amazon.com/general/latest/gr/aws-arns-and-namespaces.html and
// https://docs.aws.amazon.com/sdkref/latest/guide/feature-region.html
var partitions = []struct{ prefix, name, suffix string }{
	{"cn-", "aws-cn", "amazonaws.com.cn"},
	{"us-gov-", "aws-us-gov", "amazonaws.com"},
	{"us-isob-", "aws-iso-b", "sc2s.sgov.gov"},
	{"us-iso-", "aws-iso", "c2s.ic.gov"},
	{"eusc-", "aws-eusc", "amazonaws.eu"},
}

// Of returns the partition of a region, as in ARNs, and the suffix of its endpoints.
func Of(region string) (name, dnsSuffix string) {
	for _, p := range partitions {
		if strings.HasPrefix(region, p.prefix) {
			return p.name, p.suffix
		}
	}
	return "aws", "amazonaws.com"
}

// Named returns the suffix of the endpoints of a partition by its name, as in ARNs.
func Named(name string) (dnsSuffix string, ok bool) {
	for _, p := range partitions {
		if p.name == name {
			return p.suffix, true
		}
	}
	return "amazonaws.com", name == "aws"
}
