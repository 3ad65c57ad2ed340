package model

import "strings"

// partitions are AWS's partitions other than aws by the beginning of their regions' names:
// https://docs.aws.amazon.com/general/latest/gr/aws-arns-and-namespaces.html and
// https://docs.aws.amazon.com/sdkref/latest/guide/feature-region.html
var partitions = []struct{ prefix, partition, suffix string }{
	{"cn-", "aws-cn", "amazonaws.com.cn"},
	{"us-gov-", "aws-us-gov", "amazonaws.com"},
	{"eusc-", "aws-eusc", "amazonaws.eu"},
}

// Partition returns the partition of a region and the suffix of its endpoints.
func Partition(region string) (name, dnsSuffix string) {
	for _, p := range partitions {
		if strings.HasPrefix(region, p.prefix) {
			return p.partition, p.suffix
		}
	}
	return "aws", "amazonaws.com"
}
