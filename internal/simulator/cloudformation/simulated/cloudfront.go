package simulated

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws-operator/aws-operator/internal/simulator/resource"
)

const (
	distributionType  = "AWS::CloudFront::Distribution"
	accessControlType = "AWS::CloudFront::OriginAccessControl"
)

// distributionConfig is the path of a distribution's configuration.
const distributionConfig = "DistributionConfig/"

// distributionRules are the rules of distributions. The errors are those of
// https://docs.aws.amazon.com/cloudfront/latest/APIReference/API_CreateDistribution.html#API_CreateDistribution_Errors, in the
// words that its users report.
var distributionRules = []refusal{
	// https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/CNAMEs.html#alternate-domain-names-requirements
	// https://github.com/aws-cloudformation/aws-cloudformation-templates/issues/315
	{
		func(wanted, _ map[string]any) bool {
			return isSet(distributionConfig+"Aliases")(wanted) && !isSet(distributionConfig+"ViewerCertificate/AcmCertificateArn")(wanted) &&
				!isSet(distributionConfig+"ViewerCertificate/IamCertificateId")(wanted)
		},
		"InvalidViewerCertificate", ofDistribution + "To add an alternate domain name (CNAME) to a CloudFront distribution, you must attach a " +
			"trusted certificate that validates your authorization to use the domain name.",
	},
	// https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/cnames-and-https-requirements.html
	// https://github.com/aws-samples/connected-drink-dispenser-workshop/issues/12
	{
		func(wanted, _ map[string]any) bool {
			arn := textOf(wanted, distributionConfig+"ViewerCertificate/AcmCertificateArn")
			return strings.HasPrefix(arn, "arn:aws:") && !strings.HasPrefix(arn, "arn:aws:acm:us-east-1:")
		},
		"InvalidViewerCertificate", noCertificate,
	},
	// https://docs.aws.amazon.com/cloudfront/latest/APIReference/API_DistributionConfig.html (WebACLId)
	{
		func(wanted, _ map[string]any) bool {
			arn := textOf(wanted, distributionConfig+"WebACLId")
			global := strings.Contains(arn, ":wafv2:us-east-1:") && strings.Contains(arn, ":global/webacl/")
			return strings.HasPrefix(arn, "arn:") && !global
		},
		"InvalidWebACLId", ofDistribution + "Web ACL is not accessible by the requester.",
	},
	// https://docs.aws.amazon.com/cloudfront/latest/APIReference/API_DistributionConfig.html (DefaultRootObject)
	{
		func(wanted, _ map[string]any) bool {
			name := textOf(wanted, distributionConfig+"DefaultRootObject")
			return strings.HasPrefix(name, "/") || len(name) > 255 //nolint:mnd // the limit of the page
		},
		"InvalidDefaultRootObject", ofDistribution + "The default root object file name is too big or contains an invalid character.",
	},
	// https://docs.aws.amazon.com/cloudfront/latest/APIReference/API_DistributionConfig.html (Comment)
	{
		func(wanted, _ map[string]any) bool {
			comment := textOf(wanted, distributionConfig+"Comment")
			return len(comment) > 128 //nolint:mnd // the limit of the page
		},
		"InvalidArgument", ofDistribution + "The parameter Comment is too big.",
	},
	// https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/private-content-restricting-access-to-s3.html
	// https://github.com/awslabs/aws-solutions-constructs/issues/1206
	{
		anyOrigin(func(origin map[string]any) bool {
			identity := textOf(origin, "S3OriginConfig/OriginAccessIdentity")
			return isSet("OriginAccessControlId")(origin) && identity != ""
		}),
		"IllegalOriginAccessConfiguration", ofDistribution + "Cannot use both Origin Access Control and Origin Access Identity on an origin",
	},
	// https://github.com/aws-cloudformation/cfn-lint/issues/2881
	{
		anyOrigin(func(origin map[string]any) bool {
			given := func(name string) bool { return origin[name] != nil }
			return count([]string{"CustomOriginConfig", "S3OriginConfig", "VpcOriginConfig"}, given) != 1
		}),
		"InvalidOrigin", "Invalid request provided: Exactly one of CustomOriginConfig and S3OriginConfig must be specified",
	},
	// https://github.com/aws-cloudformation/rain/issues/517
	{
		anyBehavior(func(behavior, wanted map[string]any) bool {
			return !slices.Contains(targets(wanted), fmt.Sprint(behavior["TargetOriginId"]))
		}),
		"NoSuchOrigin", ofDistribution + "One or more of your cache behavior target origins or origin groups do not exist.",
	},
	// https://github.com/hashicorp/terraform-provider-aws/pull/29015
	{
		anyBehavior(func(behavior, _ map[string]any) bool {
			return textOf(behavior, "CachePolicyId") == "" && !isSet("ForwardedValues")(behavior)
		}),
		"InvalidArgument", ofDistribution + "The parameter ForwardedValues is required.",
	},
	{
		anyBehavior(func(behavior, _ map[string]any) bool {
			return textOf(behavior, "CachePolicyId") != "" && isSet("ForwardedValues")(behavior)
		}),
		"InvalidArgument",
		ofDistribution + "The parameter ForwardedValues cannot be used when a cache policy is associated to the cache behavior.",
	},
	// https://docs.aws.amazon.com/cloudfront/latest/APIReference/API_CustomErrorResponse.html
	{
		anyOf(distributionConfig+"CustomErrorResponses", func(response map[string]any) bool {
			path := textOf(response, "ResponsePagePath")
			return path != "" && !strings.HasPrefix(path, "/") || isSet("ResponseCode")(response) != (path != "")
		}),
		"InvalidArgument", ofDistribution + "The parameters ResponseCode and ResponsePagePath belong together, and the path begins with a slash.",
	},
	// https://docs.aws.amazon.com/cloudfront/latest/APIReference/API_GeoRestriction.html
	{
		func(wanted, _ map[string]any) bool {
			const restriction = distributionConfig + "Restrictions/GeoRestriction"
			none := is(restriction+"/RestrictionType", "none")(wanted)
			return isSet(restriction)(wanted) && isSet(restriction+"/Locations")(wanted) == none
		},
		"InvalidGeoRestrictionParameter", ofDistribution + "The specified geo restriction parameter is not valid.",
	},
}

// ofDistribution is how the handler of distributions begins its messages.
const ofDistribution = "Invalid request provided: AWS::CloudFront::Distribution: "

const noCertificate = ofDistribution +
	"The specified SSL certificate doesn't exist, isn't in us-east-1 region, isn't valid, or doesn't include a valid certificate chain."

const cnameTaken = ofDistribution + "One or more of the CNAMEs you provided are already associated with a different resource."

// managedCaches and managedHeaders are AWS's own policies.
// https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/using-managed-cache-policies.html
// https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/using-managed-response-headers-policies.html
var (
	managedCaches = []string{
		"2e54312d-136d-493c-8eb9-b001f22f67d2", "4135ea2d-6df8-44a3-9df3-4b5a84be39ad", "658327ea-f89d-4fab-a63d-7e88639e58f6",
		"b2884449-e4de-46a7-ac36-70bc7f1ddd6d", "08627262-05a9-4f76-9ded-b50ca2e3a84f", "83da9c7e-98b4-4e11-a168-04f0df8e2c65",
		"4cc15a8a-d715-48a4-82b8-cc0b614638fe",
	}
	managedHeaders = []string{
		"e61eb60c-9c35-4d20-a928-2b84e02af89c", "5cc3b908-e619-4b99-88e5-2cf7f45965bd", "eaab4381-ed33-4a86-88ca-d9558dc6cd63",
		"67f7725c-6f97-4210-82d7-5512b31e9d03", "60669652-455b-4ae9-85a4-c4c02393f86c",
	}
)

// textOf returns the text at a path, or an empty one.
func textOf(properties map[string]any, path string) string {
	text, _ := at(properties, path).(string)
	return text
}

// objects returns the objects of a list.
func objects(value any) (all []map[string]any) {
	list, _ := value.([]any)
	for _, one := range list {
		if object, ok := one.(map[string]any); ok {
			all = append(all, object)
		}
	}
	return all
}

// texts returns the values of a list as text.
func texts(value any) (all []string) {
	list, _ := value.([]any)
	for _, one := range list {
		all = append(all, fmt.Sprint(one))
	}
	return all
}

// anyOf is broken by an object of a list for which a condition holds.
func anyOf(path string, holds condition) func(wanted, previous map[string]any) bool {
	return func(wanted, _ map[string]any) bool { return slices.ContainsFunc(objects(at(wanted, path)), holds) }
}

// anyOrigin is broken by an origin for which a condition holds.
func anyOrigin(holds condition) func(wanted, previous map[string]any) bool {
	return anyOf(distributionConfig+"Origins", holds)
}

// behaviors returns the cache behaviors of a distribution, of which the default is the first.
func behaviors(wanted map[string]any) []map[string]any {
	first, _ := at(wanted, distributionConfig+"DefaultCacheBehavior").(map[string]any)
	return append([]map[string]any{first}, objects(at(wanted, distributionConfig+"CacheBehaviors"))...)
}

// anyBehavior is broken by a cache behavior for which a condition holds.
func anyBehavior(holds func(behavior, wanted map[string]any) bool) func(wanted, previous map[string]any) bool {
	return func(wanted, _ map[string]any) bool {
		return slices.ContainsFunc(behaviors(wanted), func(b map[string]any) bool { return holds(b, wanted) })
	}
}

// targets returns the IDs of a distribution's origins and groups of origins.
func targets(wanted map[string]any) (ids []string) {
	for _, one := range slices.Concat(
		objects(at(wanted, distributionConfig+"Origins")), objects(at(wanted, distributionConfig+"OriginGroups/Items")),
	) {
		ids = append(ids, fmt.Sprint(one["Id"]))
	}
	return ids
}

// distribution implements what depends on other resources of CloudFront, which is one service for all regions.
type distribution struct{ *provider }

// Create creates a distribution.
func (d *distribution) Create(ctx context.Context, r resource.Request) (resource.Result, error) {
	d.store.cloudFront.Lock()
	defer d.store.cloudFront.Unlock()
	if err := d.check(r); err != nil {
		return resource.Result{}, err
	}
	return d.provider.Create(ctx, r)
}

// Update changes a distribution in place.
func (d *distribution) Update(ctx context.Context, r resource.Request) (resource.Result, error) {
	d.store.cloudFront.Lock()
	defer d.store.cloudFront.Unlock()
	if err := d.check(r); err != nil {
		return resource.Result{}, err
	}
	return d.provider.Update(ctx, r)
}

// Delete deletes a distribution. CloudFormation disables it before.
// https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/HowToDeleteDistribution.html
func (d *distribution) Delete(ctx context.Context, r resource.Request) error {
	d.store.cloudFront.Lock()
	defer d.store.cloudFront.Unlock()
	return d.provider.Delete(ctx, r)
}

// check returns CloudFront's error if a distribution conflicts with other resources, or needs what does not exist.
func (d *distribution) check(r resource.Request) error {
	if err := refuse(distributionType, r.Properties, nil); err != nil {
		return err
	}
	if arn := textOf(r.Properties, distributionConfig+"ViewerCertificate/AcmCertificateArn"); strings.Count(arn, ":") > 4 &&
		strings.Split(arn, ":")[4] != r.Account {
		return refusedBy(distributionType, noCertificate, "InvalidViewerCertificate")
	}
	aliases := texts(at(r.Properties, distributionConfig+"Aliases"))
	for id, other := range d.store.everywhere(distributionType) {
		if id != r.PhysicalID && slices.ContainsFunc(texts(at(other, distributionConfig+"Aliases")), func(alias string) bool {
			return slices.ContainsFunc(aliases, func(own string) bool { return strings.EqualFold(own, alias) })
		}) {
			// https://github.com/jogold/cloudstructs/issues/169
			return refusedBy(distributionType, cnameTaken, "CNAMEAlreadyExists")
		}
	}
	for _, origin := range objects(at(r.Properties, distributionConfig+"Origins")) {
		id := textOf(origin, "OriginAccessControlId")
		if id != "" && d.store.properties(r, accessControlType)[id] == nil {
			return refusedBy(distributionType, ofDistribution+"The origin access control is not valid.", "InvalidOriginAccessControl")
		}
	}
	for _, behavior := range behaviors(r.Properties) {
		if id := textOf(behavior, "CachePolicyId"); id != "" && !slices.Contains(managedCaches, id) &&
			d.store.properties(r, "AWS::CloudFront::CachePolicy")[id] == nil {
			return refusedBy(distributionType, ofDistribution+"The specified cache policy does not exist.", "NoSuchCachePolicy")
		}
		if id := textOf(behavior, "ResponseHeadersPolicyId"); id != "" && !slices.Contains(managedHeaders, id) &&
			d.store.properties(r, "AWS::CloudFront::ResponseHeadersPolicy")[id] == nil {
			const missing = ofDistribution + "The specified response headers policy does not exist."
			return refusedBy(distributionType, missing, "NoSuchResponseHeadersPolicy")
		}
	}
	return nil
}

// accessControl implements the names of origin access controls and their use.
// https://docs.aws.amazon.com/cloudfront/latest/APIReference/API_CreateOriginAccessControl.html
type accessControl struct{ *provider }

// Create creates an origin access control.
func (c *accessControl) Create(ctx context.Context, r resource.Request) (resource.Result, error) {
	c.store.cloudFront.Lock()
	defer c.store.cloudFront.Unlock()
	if err := c.check(r); err != nil {
		return resource.Result{}, err
	}
	return c.provider.Create(ctx, r)
}

// Update changes an origin access control in place.
func (c *accessControl) Update(ctx context.Context, r resource.Request) (resource.Result, error) {
	c.store.cloudFront.Lock()
	defer c.store.cloudFront.Unlock()
	if err := c.check(r); err != nil {
		return resource.Result{}, err
	}
	return c.provider.Update(ctx, r)
}

// Delete deletes an origin access control that no distribution uses.
// https://docs.aws.amazon.com/cloudfront/latest/APIReference/API_DeleteOriginAccessControl.html
func (c *accessControl) Delete(ctx context.Context, r resource.Request) error {
	c.store.cloudFront.Lock()
	defer c.store.cloudFront.Unlock()
	for _, other := range c.store.properties(r, distributionType) {
		if slices.ContainsFunc(objects(at(other, distributionConfig+"Origins")), func(origin map[string]any) bool {
			return origin["OriginAccessControlId"] == r.PhysicalID
		}) {
			// https://github.com/hashicorp/terraform-provider-aws/issues/28595
			return resource.Errorf(resource.ResourceConflict, "The CloudFront origin access control is still being used. "+
				"(Service: CloudFront, Status Code: 409, Error Code: OriginAccessControlInUse)")
		}
	}
	return c.provider.Delete(ctx, r)
}

func (c *accessControl) check(r resource.Request) error {
	const name = "OriginAccessControlConfig/Name"
	if text := textOf(r.Properties, name); len(text) > 64 { //nolint:mnd // the limit of the page
		return refusedBy(accessControlType, "The parameter Name is too big.", "InvalidArgument")
	}
	for id, other := range c.store.properties(r, accessControlType) {
		if id != r.PhysicalID && at(other, name) == at(r.Properties, name) {
			return resource.Errorf(resource.AlreadyExists, "An origin access control with the same name already exists. "+
				"(Service: CloudFront, Status Code: 409, Error Code: OriginAccessControlAlreadyExists)")
		}
	}
	return nil
}

// properties returns the properties of the resources of a type in the account and region of a request, by identifier.
func (s *Store) properties(r resource.Request, resourceType string) map[string]map[string]any {
	all := map[string]map[string]any{}
	sh := s.shard(r, resourceType)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	for id, it := range sh.items {
		all[id] = it.properties
	}
	return all
}

// everywhere returns the properties of the resources of a type in all accounts, by identifier.
func (s *Store) everywhere(resourceType string) map[string]map[string]any {
	all := map[string]map[string]any{}
	s.shards.Range(func(key, _ any) bool {
		if key, ok := key.(shardKey); ok && key.resourceType == resourceType {
			maps.Copy(all, s.properties(resource.Request{Account: key.account, Region: key.region}, resourceType))
		}
		return true
	})
	return all
}
