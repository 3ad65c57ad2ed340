package simulated

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/aws-operator/aws-operator/internal/cfn/schema"
)

// formats are example values of the formats in the schemas.
var formats = map[string]string{
	"AWS::IAM::Role.Arn":           "arn:aws:iam::123456789012:role/example",
	"AWS::KMS::Key.Arn":            "arn:aws:kms:us-east-1:123456789012:key/11111111-2222-3333-4444-555555555555",
	"AWS::KMS::Key.Id":             "11111111-2222-3333-4444-555555555555",
	"AWS::KMS::Alias.AliasName":    "alias/example",
	"AWS::EC2::SecurityGroup.Id":   "sg-0123456789abcdef0",
	"AWS::EC2::SecurityGroup.Name": "example",
	"AWS::S3::Bucket.Name":         "example-bucket",
	"AWS::EC2::Subnet.Id":          "subnet-0123456789abcdef0",
	"AWS::EC2::VPC.Id":             "vpc-0123456789abcdef0",
	"AWS::EC2::Image.Id":           "ami-0123456789abcdef0",
	"AWS::SNS::Topic.Arn":          "arn:aws:sns:us-east-1:123456789012:example",
	"AWS::SQS::Queue.Arn":          "arn:aws:sqs:us-east-1:123456789012:example",
	"AWS::Lambda::Function.Arn":    "arn:aws:lambda:us-east-1:123456789012:function:example",
	"AWS::Lambda::Function.Name":   "example",
	"AWS::Logs::LogGroup.Name":     "/example",
	"AWS::ACM::Certificate.Arn":    "arn:aws:acm:us-east-1:123456789012:certificate/11111111-2222-3333-4444-555555555555",
	"date-time":                    "2024-01-01T00:00:00Z",
	"timestamp":                    "2024-01-01T00:00:00Z",
	"json":                         "{}",
	"ipv4-network":                 "10.0.0.0/16",
	"ipv6-network":                 "2001:db8::/56",
	"uri":                          "https://example.com",
	"password":                     "Example-Password-1",
	"double":                       "1.0",
	"int64":                        "1",
}

// text generates a string that matches format, pattern and length.
func (g *generator) text(p *schema.Property, name string) (any, error) {
	minimum, maximum := 0, -1
	if p.MinLength != nil {
		minimum = *p.MinLength
	}
	if p.MaxLength != nil {
		maximum = *p.MaxLength
	}
	fits := func(s string) bool {
		return len(s) >= minimum && (maximum < 0 || len(s) <= maximum) && (p.Pattern == "" || Matches(p.Pattern, s))
	}
	for _, candidate := range g.candidates(p, name) {
		if fits(candidate) {
			return candidate, nil
		}
	}
	if p.Pattern != "" {
		if s, ok := example(p.Pattern, max(minimum, 1), maximum, g.seed); ok {
			return s, nil
		}
		if s, ok := example(p.Pattern, minimum, maximum, g.seed); ok {
			return s, nil
		}
		return nil, fmt.Errorf("%s: no text was found for the pattern %s with length %d to %d", name, p.Pattern, minimum, maximum)
	}
	s := strings.Repeat("a", max(minimum, 1))
	if maximum == 0 {
		s = ""
	}
	return s, nil
}

// candidates returns likely values for a property with the name.
func (g *generator) candidates(p *schema.Property, path string) []string {
	suffix := ""
	if g.seed > 0 {
		suffix = strconv.Itoa(g.seed)
	}
	var out []string
	if f, ok := formats[p.Format]; ok {
		out = append(out, f)
	}
	name := path[strings.LastIndexByte(path, '/')+1:]
	switch {
	case strings.HasSuffix(name, "Arn") || strings.HasSuffix(name, "ARN"):
		out = append(out, "arn:aws:example:us-east-1:123456789012:example/example"+suffix, "arn:aws:iam::123456789012:role/example"+suffix)
	case strings.HasSuffix(name, "Url") || strings.HasSuffix(name, "Uri"):
		out = append(out, "https://example.com/"+suffix, "s3://example-bucket/example"+suffix)
	case strings.Contains(name, "Cidr") || strings.Contains(name, "CIDR"):
		out = append(out, "10."+strconv.Itoa(g.seed)+".0.0/16", "10.0.0.0")
	case strings.Contains(name, "Email"):
		out = append(out, "someone"+suffix+"@example.com")
	}
	return append(out, "example"+suffix, "Example"+suffix, "example-"+strconv.Itoa(g.seed), "123456789012",
		"arn:aws:example:us-east-1:123456789012:example/example"+suffix, "11111111-2222-3333-4444-"+fmt.Sprintf("%012d", g.seed),
		"us-east-1", "example.com", "someone@example.com", "https://example.com", "1", "arn:aws:s3:::example-bucket",
		"arn:aws:iam::123456789012:role/example", "2024-01-01T00:00:00Z")
}
