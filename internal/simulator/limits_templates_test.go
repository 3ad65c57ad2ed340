package simulator_test

import (
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfntypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	route53types "github.com/aws/aws-sdk-go-v2/service/route53/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

const (
	topicResource  = `"Resources":{"A":{"Type":"AWS::SNS::Topic"}}`
	quotasOfNames  = "https://docs.aws.amazon.com/Route53/latest/DeveloperGuide/DNSLimitations.html"
	formatOfNames  = "https://docs.aws.amazon.com/Route53/latest/DeveloperGuide/DomainNameFormat.html"
	pageOfValues   = "https://docs.aws.amazon.com/Route53/latest/APIReference/API_ResourceRecord.html"
	pageOfChanges  = "https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_CreateChangeSet.html"
	lettersOfLabel = 60
)

// limitsOfTemplates are those of templates and change sets.
var limitsOfTemplates = []limit{
	{"bytes of a template's description", 1024, "ValidationError", quotasOfCloudFormation, true, func(l *limited, n int) error {
		return createStack(l, named("description", n), fmt.Sprintf(`{"Description":%q,%s}`, *long(n), topicResource))
	}},
	// The page says 1 MB, the error that users report 1000000 bytes:
	// https://github.com/aws-samples/aws-vpc-cidr-mgmt/issues/10
	{"bytes of a template in S3", 1_000_000, "ValidationError", quotasOfCloudFormation, true, func(l *limited, n int) error {
		buckets, name := s3.NewFromConfig(l.Config, usePath), aws.String("templates")
		if _, err := buckets.CreateBucket(l.ctx, &s3.CreateBucketInput{
			Bucket: name, CreateBucketConfiguration: inFrankfurt,
		}); err != nil && codeOf(err) != "BucketAlreadyOwnedByYou" {
			return err
		}
		body := "{" + topicResource + "}"
		if _, err := buckets.PutObject(l.ctx, &s3.PutObjectInput{
			Bucket: name, Key: aws.String("t"), Body: strings.NewReader(body + strings.Repeat(" ", n-len(body))),
		}); err != nil {
			return err
		}
		_, err := cloudformation.NewFromConfig(l.Config).CreateStack(l.ctx, &cloudformation.CreateStackInput{
			StackName: named("url", n), TemplateURL: aws.String("https://templates.s3.eu-central-1.amazonaws.com/t"),
		})
		return err
	}},
	{"mappings of a template", 200, "ValidationError", quotasOfCloudFormation, true, func(l *limited, n int) error {
		return createStack(l, named("mappings", n), `{"Mappings":{`+members(n, `"M%d":{"a":{"b":"c"}}`)+`},`+topicResource+`}`)
	}},
	{"attributes of a mapping", 200, "ValidationError", quotasOfCloudFormation, true, func(l *limited, n int) error {
		return createStack(l, named("attributes", n), `{"Mappings":{"M":{`+members(n, `"a%d":{"b":"c"}`)+`}},`+topicResource+`}`)
	}},
	{"characters of a resource's name", 255, "ValidationError", quotasOfCloudFormation, true, func(l *limited, n int) error {
		return createStack(l, named("resource", n), fmt.Sprintf(`{"Resources":{%q:{"Type":"AWS::SNS::Topic"}}}`, *long(n)))
	}},
	{"characters of a parameter's name", 255, "ValidationError", quotasOfCloudFormation, true, func(l *limited, n int) error {
		parameters := fmt.Sprintf(`"Parameters":{%q:{"Type":"String","Default":"v"}}`, *long(n))
		return createStack(l, named("parameter", n), "{"+parameters+","+topicResource+"}")
	}},
	{"characters of an output's name", 255, "ValidationError", quotasOfCloudFormation, true, func(l *limited, n int) error {
		return createStack(l, named("output", n), fmt.Sprintf(`{%s,"Outputs":{%q:{"Value":"v"}}}`, topicResource, *long(n)))
	}},
	{"characters of a mapping's name", 255, "ValidationError", quotasOfCloudFormation, true, func(l *limited, n int) error {
		return createStack(l, named("mapping", n), fmt.Sprintf(`{"Mappings":{%q:{"a":{"b":"c"}}},%s}`, *long(n), topicResource))
	}},
	{"bytes of a parameter's value", 4096, "ValidationError", quotasOfCloudFormation, true, func(l *limited, n int) error {
		_, err := cloudformation.NewFromConfig(l.Config).CreateStack(l.ctx, &cloudformation.CreateStackInput{
			StackName: named("value", n), TemplateBody: aws.String(`{"Parameters":{"P":{"Type":"String"}},` + topicResource + `}`),
			Parameters: []cfntypes.Parameter{{ParameterKey: aws.String("P"), ParameterValue: long(n)}},
		})
		return err
	}},
	{"characters of a change set's name", 128, "ValidationError", pageOfChanges, true, func(l *limited, n int) error {
		return createChangeSet(l, named("named", n), long(n))
	}},
	// The page documents LimitExceededException, but no number: this one is a guess.
	{"change sets of a stack", 1000, "LimitExceededException", pageOfChanges, false, func(l *limited, n int) error {
		return each(n, func(i int) error { return createChangeSet(l, aws.String("many"), named("c", i)) })
	}},
}

func createChangeSet(l *limited, stack, name *string) error {
	_, err := cloudformation.NewFromConfig(l.Config).CreateChangeSet(l.ctx, &cloudformation.CreateChangeSetInput{
		StackName: stack, ChangeSetName: name, ChangeSetType: cfntypes.ChangeSetTypeCreate,
		TemplateBody: aws.String("{" + topicResource + "}"),
	})
	return err
}

// limitsOfNames are those of Route 53.
var limitsOfNames = []limit{
	{"records of a batch that creates them", 1000, "InvalidChangeBatch", quotasOfNames, true, func(l *limited, n int) error {
		return changeRecords(l, route53types.ChangeActionCreate, addresses(fmt.Sprintf("create%d", n), n)...)
	}},
	{"records of a batch that upserts them", 500, "InvalidChangeBatch", quotasOfNames, true, func(l *limited, n int) error {
		return changeRecords(l, route53types.ChangeActionUpsert, addresses("upsert", n)...)
	}},
	{"characters of the values of a batch", 32000, "InvalidChangeBatch", quotasOfNames, true, func(l *limited, n int) error {
		const most = 4000
		var records []route53types.ResourceRecordSet
		for left := n; left > 0; left -= most {
			records = append(records, text(fmt.Sprintf("text%d-%d", n, left), max(min(left, most), 2)))
		}
		return changeRecords(l, route53types.ChangeActionCreate, records...)
	}},
	{"characters of a record's value", 4000, "InvalidInput", pageOfValues, true, func(l *limited, n int) error {
		return changeRecords(l, route53types.ChangeActionUpsert, text("value", n))
	}},
	{
		"characters of a string of a TXT record", 255, "InvalidChangeBatch",
		"https://docs.aws.amazon.com/Route53/latest/DeveloperGuide/ResourceRecordTypes.html#TXTFormat", true, func(l *limited, n int) error {
			return changeRecords(l, route53types.ChangeActionUpsert, record("string", route53types.RRTypeTxt, `"`+*long(n)+`"`))
		},
	},
	{"characters of a label", 63, "InvalidChangeBatch", formatOfNames, true, func(l *limited, n int) error {
		return changeRecords(l, route53types.ChangeActionUpsert, record(*long(n), route53types.RRTypeA, "192.0.2.1"))
	}},
	{"characters of a domain name", 255, "InvalidChangeBatch", formatOfNames, true, func(l *limited, n int) error {
		name := ""
		for left := n - len(".example.com."); left > 0; left = n - len(".example.com.") - len(name) {
			if name != "" {
				name, left = name+".", left-1
			}
			name += *long(min(left, lettersOfLabel))
		}
		return changeRecords(l, route53types.ChangeActionUpsert, record(name, route53types.RRTypeA, "192.0.2.1"))
	}},
	// The code for it is not on record.
	{
		"tags that a request adds to a zone", 10, "InvalidInput",
		"https://docs.aws.amazon.com/Route53/latest/APIReference/API_ChangeTagsForResource.html", true, func(l *limited, n int) error {
			all := tags{}
			for i := range n {
				all[fmt.Sprint("k", i)] = "v"
			}
			add, err := taggedZone(l, fmt.Sprint("request", n), nil)
			if err != nil {
				return err
			}
			return add(all)
		},
	},
	{
		"characters of a label of a zone", 63, "InvalidDomainName", formatOfNames, true, func(l *limited, n int) error {
			_, err := route53.NewFromConfig(l.Config).CreateHostedZone(l.ctx, &route53.CreateHostedZoneInput{
				Name: aws.String(*long(n) + ".example"), CallerReference: named("label", n),
			})
			return err
		},
	},
}

func record(label string, kind route53types.RRType, value string) route53types.ResourceRecordSet {
	return route53types.ResourceRecordSet{
		Name: aws.String(label + ".example.com"), Type: kind, TTL: aws.Int64(60),
		ResourceRecords: []route53types.ResourceRecord{{Value: &value}},
	}
}

func addresses(prefix string, n int) []route53types.ResourceRecordSet {
	list := make([]route53types.ResourceRecordSet, n)
	for i := range list {
		list[i] = record(fmt.Sprintf("%s-%d", prefix, i), route53types.RRTypeA, "192.0.2.1")
	}
	return list
}

// text returns a TXT record with so many characters in strings of at most 255.
func text(label string, n int) route53types.ResourceRecordSet {
	part := `"` + strings.Repeat("a", 97) + `" `
	value := strings.Repeat(part, max(n-150, 0)/len(part))
	return record(label, route53types.RRTypeTxt, value+`"`+strings.Repeat("a", n-len(value)-2)+`"`)
}

func changeRecords(l *limited, action route53types.ChangeAction, records ...route53types.ResourceRecordSet) error {
	client := route53.NewFromConfig(l.Config)
	zones, err := client.ListHostedZonesByName(l.ctx, &route53.ListHostedZonesByNameInput{DNSName: aws.String("example.com")})
	if err != nil {
		return err
	}
	var zone *string
	for _, z := range zones.HostedZones {
		if *z.Name == "example.com." {
			zone = z.Id
		}
	}
	if zone == nil {
		made, err := client.CreateHostedZone(l.ctx, &route53.CreateHostedZoneInput{
			Name: aws.String("example.com"), CallerReference: aws.String("limits"),
		})
		if err != nil {
			return err
		}
		zone = made.HostedZone.Id
	}
	batch := &route53types.ChangeBatch{}
	for i := range records {
		batch.Changes = append(batch.Changes, route53types.Change{Action: action, ResourceRecordSet: &records[i]})
	}
	_, err = client.ChangeResourceRecordSets(l.ctx, &route53.ChangeResourceRecordSetsInput{HostedZoneId: zone, ChangeBatch: batch})
	return err
}
