package terraform

import (
	"slices"
	"strings"
	"unicode"
)

// snake returns a name as Terraform's are: PrivateSubnetEuCentral1a becomes
// private_subnet_eu_central_1a, APILoadBalancer api_load_balancer.
func snake(name string) string {
	var out strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			out.WriteByte('_')
			continue
		}
		if i > 0 && begins(runes, i) {
			out.WriteByte('_')
		}
		out.WriteRune(unicode.ToLower(r))
	}
	return strings.Trim(out.String(), "_")
}

// begins reports whether a word begins at i.
func begins(runes []rune, i int) bool {
	before, r := runes[i-1], runes[i]
	switch {
	case !unicode.IsLetter(before) && !unicode.IsDigit(before):
		return false
	case unicode.IsUpper(r) && (unicode.IsLower(before) || unicode.IsDigit(before)):
		return true
	case unicode.IsUpper(r) && unicode.IsUpper(before): // The last capital of an abbreviation begins the next word.
		return i+1 < len(runes) && unicode.IsLower(runes[i+1])
	case unicode.IsDigit(r):
		return unicode.IsLower(before)
	}
	return false
}

// nameOf returns the name of the resource that a CloudFormation resource becomes: the stack's, and
// the logical ID without what the type says already, as aws_iam_role.demo_control_plane for
// ControlPlaneRole. In the base stack Auto Scaling groups and launch templates keep the whole:
// bastions are not to be taken for an instance group named bastion.
func nameOf(stack string, isBase bool, logicalID, cfnType string) string {
	noun := cfnType[strings.LastIndex(cfnType, ":")+1:]
	if short := shortNouns[cfnType]; short != "" {
		noun = short
	}
	if !isBase || noun != "AutoScalingGroup" && noun != "LaunchTemplate" {
		logicalID = strings.TrimSuffix(logicalID, noun)
	}
	return strings.TrimSuffix(plain(stack)+"_"+snake(logicalID), "_")
}

// shortNouns are what logical IDs end in where that is not the type's own name.
var shortNouns = map[string]string{
	"AWS::EC2::SubnetRouteTableAssociation": "RouteTableAssociation",
	"AWS::EC2::VPCEndpoint":                 "Endpoint",
	"AWS::EC2::VPCGatewayAttachment":        "InternetGatewayAttachment",
	"AWS::IAM::ManagedPolicy":               "Policy",
	"AWS::Route53::RecordSet":               "Record",
}

// plain returns a stack's name as Terraform takes it. Letters and digits stay together: node-1 is
// not node1.
func plain(stack string) string { return strings.NewReplacer("-", "_", ".", "_").Replace(stack) }

// Rename says how resources of a type were called by an earlier version of this package: where a
// name ends in Now, it ended in Former. Type is Terraform's.
type Rename struct{ Type, Former, Now string }

// renames are all renames, oldest first. A change that renames an existing resource adds a line, so
// that Terraform moves the resource in its state instead of creating another.
var renames []Rename

// formerNames returns what a resource was called before, the latest first.
func formerNames(renames []Rename, resource, name string) []string {
	var former []string
	for _, r := range slices.Backward(renames) {
		if stem, ok := strings.CutSuffix(name, r.Now); ok && r.Type == resource {
			name = stem + r.Former
			former = append(former, name)
		}
	}
	return former
}
