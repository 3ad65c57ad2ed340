package vpc

import (
	"strings"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// arnTypes are the resource types in ARNs by the prefix of IDs.
// https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonec2.html#amazonec2-resources-for-iam-policies
var arnTypes = map[string]string{
	"acl": "network-acl", "ami": "image", "cr": "capacity-reservation", "dopt": "dhcp-options", "eigw": "egress-only-internet-gateway", "eipalloc": "elastic-ip",
	"eni": "network-interface", "i": "instance", "igw": "internet-gateway", "key": "key-pair", "lt": "launch-template",
	"nat": "natgateway", "pl": "prefix-list", "rtb": "route-table", "sg": "security-group", "sgr": "security-group-rule",
	"sir": "spot-instances-request", "snap": "snapshot", "subnet": "subnet", "vol": "volume", "vpc": "vpc", "vpce": "vpc-endpoint",
}

// ResourceARN returns the ARN of a resource by its ID. Images and snapshots have no account in theirs.
func ResourceARN(partition string, at wire.Target, id string) string {
	prefix, _, _ := strings.Cut(id, "-")
	kind, ok := arnTypes[prefix]
	if !ok {
		return ""
	}
	if kind == "image" || kind == "snapshot" {
		at.Account = ""
	}
	return at.ARN(partition, "ec2", kind+"/"+id)
}
