package s3

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/aws-operator/aws-operator/internal/simulator/property"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// bucketProvider implements AWS::S3::Bucket.
type bucketProvider struct{ buckets *Buckets }

// notServed are the properties that the simulator does not support.
var notServed = []string{
	"AbacStatus", "AnalyticsConfigurations", "BucketNamePrefix", "BucketNamespace", "IntelligentTieringConfigurations",
	"InventoryConfigurations", "MetadataConfiguration", "MetadataTableConfiguration", "MetricsConfigurations",
}

func checkServed(properties map[string]any) error {
	for _, name := range notServed {
		if _, given := properties[name]; given {
			return resource.Errorf(resource.InvalidRequest, "The simulator does not serve the property %s of AWS::S3::Bucket", name)
		}
	}
	return nil
}

// Create creates a bucket.
func (p *bucketProvider) Create(_ context.Context, r resource.Request) (resource.Result, error) {
	if err := checkServed(r.Properties); err != nil {
		return resource.Result{}, err
	}
	name, _ := r.Properties["BucketName"].(string)
	if name == "" {
		name = generatedName(r)
	}
	b := p.buckets
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.buckets[name] != nil {
		return resource.Result{}, resource.Errorf(resource.AlreadyExists, "%s already exists", name)
	}
	made, err := b.create(name, r.Account, r.Region)
	if err != nil {
		return resource.Result{}, refused(err)
	}
	if err := b.applyProperties(made, r); err != nil {
		delete(b.buckets, name)
		return resource.Result{}, refused(err)
	}
	return b.result(made), nil
}

// generatedName returns stack-logical-random in lower case, cut to 63 characters:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-s3-bucket.html#cfn-s3-bucket-bucketname
func generatedName(r resource.Request) string {
	const most, random = 63, 12
	stack, logical := r.StackName, r.LogicalID
	if len(stack)+len(logical)+random+2 > most {
		stack, logical = stack[:min(len(stack), 24)], logical[:min(len(logical), 24)]
	}
	return strings.ToLower(strings.Trim(stack, "-") + "-" + logical + "-" + wire.RandomName(random))
}

// applyProperties applies a template's properties. It removes configurations that are no longer in
// the template, and keeps those that were never in it.
func (b *Buckets) applyProperties(k *bucket, r resource.Request) error {
	if truth(r.Properties["ObjectLockEnabled"]) && !k.objectLock {
		k.objectLock = true
		k.configuration["versioning"] = element("VersioningConfiguration", leaf("Status", "Enabled"))
		k.configuration["object-lock"] = element("ObjectLockConfiguration", leaf("ObjectLockEnabled", "Enabled"))
	}
	for _, p := range bucketProperties {
		want, given := r.Properties[p.property].(map[string]any)
		if !given {
			k.removeProperty(p.property, p.query, r.Previous)
			continue
		}
		if err := k.configureProperty(p.query, p.fields, want); err != nil {
			return err
		}
	}
	if err := k.applyACL(r); err != nil {
		return err
	}
	k.tags = maps.Clone(r.Tags)
	if k.tags == nil {
		k.tags = map[string]string{}
	}
	list, _ := r.Properties["Tags"].([]any)
	for _, tag := range list {
		if tag, ok := tag.(map[string]any); ok {
			k.tags[scalar(tag["Key"])] = scalar(tag["Value"])
		}
	}
	return nil
}

func truth(v any) bool { return v == true || v == "true" }

func (k *bucket) configureProperty(query string, fields []mapping, want map[string]any) error {
	s := subresourceNamed(query)
	n, err := toXML(s.root, fields, want)
	if err != nil {
		return err
	}
	switch query {
	case "lifecycle":
		simplifyFilters(n)
	case "logging":
		if enabled := n.child("LoggingEnabled"); enabled == nil || enabled.child("TargetBucket") == nil {
			// The default target of logs is the bucket itself.
			n.children = append(
				[]*node{},
				element("LoggingEnabled", leaf("TargetBucket", k.name), leaf("TargetPrefix", n.at("LoggingEnabled", "TargetPrefix"))),
			)
		}
	case "notification":
		if bridge := n.child("EventBridgeConfiguration"); bridge != nil && bridge.at("EventBridgeEnabled") == "false" {
			n.children = slices.DeleteFunc(n.children, func(c *node) bool { return c == bridge })
		}
	case "publicAccessBlock":
		n = publicAccessBlock(n.at("BlockPublicAcls") == "true", n.at("IgnorePublicAcls") == "true",
			n.at("BlockPublicPolicy") == "true", n.at("RestrictPublicBuckets") == "true")
	case "versioning":
		if n.at("Status") == "" {
			n = element(n.name, leaf("Status", "Suspended"))
		}
	}
	return k.configure(s, n)
}

// removeProperty removes a configuration that was in the previous template.
func (k *bucket) removeProperty(property, query string, previous map[string]any) {
	if _, had := previous[property]; !had {
		return
	}
	if query == "versioning" {
		k.configuration[query] = element("VersioningConfiguration", leaf("Status", "Suspended"))
		return
	}
	delete(k.configuration, query)
}

// cannedNames maps the values of AccessControl to canned ACLs.
var cannedNames = map[string]string{
	"Private": "private", "PublicRead": "public-read", "PublicReadWrite": "public-read-write", "AuthenticatedRead": "authenticated-read",
	"LogDeliveryWrite": "log-delivery-write", "BucketOwnerRead": "bucket-owner-read",
	"BucketOwnerFullControl": "bucket-owner-full-control", "AwsExecRead": "aws-exec-read",
}

// applyACL applies AccessControl. A bucket without OwnershipControls accepts only values that grant
// nothing to others:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-s3-bucket.html#cfn-s3-bucket-accesscontrol
func (k *bucket) applyACL(r resource.Request) error {
	want, given := r.Properties["AccessControl"].(string)
	if !given {
		if _, had := r.Previous["AccessControl"]; !had {
			return nil
		}
		want = "Private"
	}
	canned, known := cannedNames[want]
	if !known {
		return invalidRequest("#/AccessControl: " + want + " is not a valid enum value")
	}
	if err := k.checkNewACL(canned); err != nil {
		return err
	}
	return k.setACL(canned, nil)
}

func (b *Buckets) result(k *bucket) resource.Result {
	suffix := "amazonaws.com"
	if strings.HasPrefix(k.region, "cn-") {
		suffix = "amazonaws.com.cn"
	}
	return resource.Result{PhysicalID: k.name, Attributes: map[string]any{
		"Arn":                 b.arn(k),
		"DomainName":          k.name + ".s3." + suffix,
		"RegionalDomainName":  k.name + ".s3." + k.region + "." + suffix,
		"DualStackDomainName": k.name + ".s3.dualstack." + k.region + "." + suffix,
		"WebsiteURL":          "http://" + k.name + websiteMark(k.region) + k.region + "." + suffix,
	}}
}

// websiteMark returns the separator between bucket and region in a website's address, which differs
// between older and newer regions:
// https://docs.aws.amazon.com/general/latest/gr/s3.html#s3_website_region_endpoints
func websiteMark(region string) string {
	if slices.Contains([]string{
		"us-east-1", "us-west-1", "us-west-2", "ap-southeast-1", "ap-southeast-2", "ap-northeast-1", "eu-west-1", "sa-east-1",
		"us-gov-west-1",
	}, region) {
		return ".s3-website-"
	}
	return ".s3-website."
}

func (p *bucketProvider) find(r resource.Request) (*bucket, error) {
	if k := p.buckets.buckets[r.PhysicalID]; k != nil && k.account == r.Account && k.region == r.Region {
		return k, nil
	}
	return nil, resource.Errorf(resource.NotFound, "The specified bucket does not exist")
}

// Update changes a bucket in place.
func (p *bucketProvider) Update(_ context.Context, r resource.Request) (resource.Result, error) {
	if err := checkServed(r.Properties); err != nil {
		return resource.Result{}, err
	}
	p.buckets.mu.Lock()
	defer p.buckets.mu.Unlock()
	k, err := p.find(r)
	if err != nil {
		return resource.Result{}, err
	}
	before := *k
	before.configuration = maps.Clone(k.configuration)
	if err := p.buckets.applyProperties(k, r); err != nil {
		*k = before
		return resource.Result{}, refused(err)
	}
	return p.buckets.result(k), nil
}

// Delete deletes an empty bucket.
func (p *bucketProvider) Delete(_ context.Context, r resource.Request) error {
	p.buckets.mu.Lock()
	defer p.buckets.mu.Unlock()
	k, err := p.find(r)
	if err != nil {
		return err
	}
	if err := p.buckets.delete(k); err != nil {
		return refused(err)
	}
	return nil
}

// List returns the names of the account's buckets in the region.
func (p *bucketProvider) List(_ context.Context, at wire.Target) ([]string, error) {
	p.buckets.mu.RLock()
	defer p.buckets.mu.RUnlock()
	var names []string
	for name, k := range p.buckets.buckets {
		if k.account == at.Account && k.region == at.Region {
			names = append(names, name)
		}
	}
	return names, nil
}

// Read returns a bucket's live properties.
func (p *bucketProvider) Read(_ context.Context, r resource.Request) (map[string]any, error) {
	p.buckets.mu.RLock()
	defer p.buckets.mu.RUnlock()
	k, err := p.find(r)
	if err != nil {
		return nil, err
	}
	out := map[string]any{"BucketName": k.name}
	maps.Copy(out, p.buckets.result(k).Attributes)
	for _, property := range bucketProperties {
		n := k.configuration[property.query]
		if n == nil && property.query == "encryption" {
			n = defaultEncryption(k)
		}
		if n == nil {
			continue
		}
		if property.query == "lifecycle" {
			n = expandFilters(n)
		}
		out[property.property] = fromXML(n, property.fields)
	}
	if k.objectLock {
		out["ObjectLockEnabled"] = true
	}
	if tags := property.OwnTags(k.tags, r.Tags); tags != nil {
		out["Tags"] = tags
	}
	return out, nil
}

// refused converts S3's error to a resource handler's.
func refused(err error) error {
	return property.Refusal(err, map[string]string{
		"BucketAlreadyExists": resource.AlreadyExists, "BucketAlreadyOwnedByYou": resource.AlreadyExists,
		"NoSuchBucket": resource.NotFound, "AccessDenied": resource.AccessDenied, "BucketNotEmpty": resource.GeneralService,
	})
}

// policyProvider implements AWS::S3::BucketPolicy, whose physical ID is the bucket:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-s3-bucketpolicy.html
type policyProvider struct{ buckets *Buckets }

// find returns the bucket of a policy. The caller holds the lock.
func (p *policyProvider) find(r resource.Request, name string) (*bucket, error) {
	return (&bucketProvider{p.buckets}).find(resource.Request{Account: r.Account, Region: r.Region, PhysicalID: name})
}

func (p *policyProvider) put(r resource.Request, name string, replace bool) (resource.Result, error) {
	p.buckets.mu.Lock()
	defer p.buckets.mu.Unlock()
	k, err := p.find(r, name)
	if err != nil {
		return resource.Result{}, err
	}
	if k.policy != "" && !replace {
		return resource.Result{}, resource.Errorf(resource.AlreadyExists, "The bucket policy already exists on bucket %s.", name)
	}
	text, isText := r.Properties["PolicyDocument"].(string)
	if !isText {
		data, err := json.Marshal(r.Properties["PolicyDocument"])
		if err != nil {
			return resource.Result{}, resource.Errorf(resource.InvalidRequest, "Policies must be valid JSON: %v", err)
		}
		text = string(data)
	}
	err = p.buckets.changePolicy(k, func() error { return k.setPolicy(p.buckets.arn(k), text) })
	if err != nil {
		return resource.Result{}, refused(err)
	}
	return resource.Result{PhysicalID: name, Attributes: map[string]any{}}, nil
}

// Create sets a bucket's policy.
func (p *policyProvider) Create(_ context.Context, r resource.Request) (resource.Result, error) {
	return p.put(r, scalar(r.Properties["Bucket"]), false)
}

// Update replaces a bucket's policy.
func (p *policyProvider) Update(_ context.Context, r resource.Request) (resource.Result, error) {
	return p.put(r, r.PhysicalID, true)
}

// Delete deletes a bucket's policy.
func (p *policyProvider) Delete(_ context.Context, r resource.Request) error {
	p.buckets.mu.Lock()
	defer p.buckets.mu.Unlock()
	k, err := p.find(r, r.PhysicalID)
	if err != nil {
		return err
	}
	if k.policy == "" {
		return resource.Errorf(resource.NotFound, "The bucket policy does not exist")
	}
	k.policy = ""
	return nil
}

// Read returns a bucket's policy.
func (p *policyProvider) Read(_ context.Context, r resource.Request) (map[string]any, error) {
	p.buckets.mu.RLock()
	defer p.buckets.mu.RUnlock()
	k, err := p.find(r, r.PhysicalID)
	if err != nil {
		return nil, err
	}
	var document any
	if k.policy == "" || json.Unmarshal([]byte(k.policy), &document) != nil {
		return nil, resource.Errorf(resource.NotFound, "The bucket policy does not exist")
	}
	return map[string]any{"Bucket": k.name, "PolicyDocument": document}, nil
}
