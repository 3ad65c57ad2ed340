package vpc

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// Tags are the tags of EC2's resources in one account and region. An ID is registered as long as
// its resource exists.
type Tags struct {
	mu  sync.RWMutex
	ids map[string]*tagged
	// having indexes the IDs by tag, so that filters need not scan the whole region.
	having map[tag]map[string]struct{}
}

// tag is a key with its value.
type tag struct{ key, value string }

// tagged holds the tags of an ID. Its map is never changed, only replaced, so that it can be read
// without the lock.
type tagged struct {
	kind types.ResourceType
	tags map[string]string
}

// Register registers an ID with its tags.
func (t *Tags) Register(id string, kind types.ResourceType, tags map[string]string) {
	c := maps.Clone(tags)
	if c == nil {
		c = map[string]string{}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ids[id] = &tagged{kind: kind}
	t.replaceTags(id, c)
}

// replaceTags replaces the tags of an ID. The caller holds the lock, and must not change the map
// afterwards.
func (t *Tags) replaceTags(id string, tags map[string]string) {
	e := t.ids[id]
	for key, value := range e.tags {
		if of := t.having[tag{key, value}]; len(of) > 1 {
			delete(of, id)
		} else {
			delete(t.having, tag{key, value})
		}
	}
	e.tags = tags
	for key, value := range tags {
		of := t.having[tag{key, value}]
		if of == nil {
			of = map[string]struct{}{}
			t.having[tag{key, value}] = of
		}
		of[id] = struct{}{}
	}
}

// Forget forgets an id and its tags.
func (t *Tags) Forget(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.ids[id]; ok {
		t.replaceTags(id, nil)
		delete(t.ids, id)
	}
}

// Get returns a copy of the tags of an id.
func (t *Tags) Get(id string) map[string]string {
	if tags := maps.Clone(t.Of(id)); tags != nil {
		return tags
	}
	return map[string]string{}
}

// Of returns the current tags of an ID, for reading only.
func (t *Tags) Of(id string) map[string]string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if e, ok := t.ids[id]; ok {
		return e.tags
	}
	return nil
}

// List returns the sorted tags of an ID in the form of EC2's responses.
func (t *Tags) List(id string) []types.Tag {
	tags := t.Of(id)
	list := make([]types.Tag, 0, len(tags))
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		list = append(list, types.Tag{Key: aws.String(key), Value: aws.String(tags[key])})
	}
	return list
}

// Set adds or changes tags of a registered ID.
func (t *Tags) Set(id string, tags map[string]string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e, ok := t.ids[id]; ok {
		all := maps.Clone(e.tags)
		maps.Copy(all, tags)
		t.replaceTags(id, all)
	}
}

// Replace replaces the tags of a registered ID.
func (t *Tags) Replace(id string, tags map[string]string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.ids[id]; ok {
		all := map[string]string{}
		maps.Copy(all, tags)
		t.replaceTags(id, all)
	}
}

// Delete removes tags from an id.
func (t *Tags) Delete(id string, keys ...string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e, ok := t.ids[id]; ok {
		left := maps.Clone(e.tags)
		for _, key := range keys {
			delete(left, key)
		}
		t.replaceTags(id, left)
	}
}

// Kind returns the kind of resource of an ID; false if it is not registered.
func (t *Tags) Kind(id string) (types.ResourceType, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	e, ok := t.ids[id]
	if !ok {
		return "", false
	}
	return e.kind, true
}

// Narrow returns the IDs, of resources of any kind, that can pass the filters on tags. It returns
// false if no filter names the value of a tag, so that all IDs can pass.
func (t *Tags) Narrow(filters []types.Filter) (ids []string, ok bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	fewest := -1
	for i := range filters {
		key, isTag := strings.CutPrefix(aws.ToString(filters[i].Name), "tag:")
		if !isTag || slices.ContainsFunc(filters[i].Values, func(value string) bool { return strings.ContainsAny(value, special) }) {
			continue
		}
		count := 0
		for _, value := range filters[i].Values {
			count += len(t.having[tag{key, value}])
		}
		if fewest >= 0 && count >= fewest {
			continue
		}
		fewest, ids = count, nil
		for _, value := range filters[i].Values {
			ids = slices.AppendSeq(ids, maps.Keys(t.having[tag{key, value}]))
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), fewest >= 0
}

// Having returns the sorted IDs that have a tag with the key and, unless it is "", the value.
func (t *Tags) Having(key, value string) []string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	var ids []string
	for id, e := range t.ids {
		if v, ok := e.tags[key]; ok && (value == "" || v == value) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// maxTags is the maximum number of user tags on a resource.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/Using_Tags.html#tag-restrictions
const maxTags = 50

// CheckTags validates tags by EC2's rules. Only AWS's own services may use aws: tags.
func CheckTags(tags map[string]string, ofAWS bool) error {
	count := 0
	for key, value := range tags {
		reserved := strings.HasPrefix(strings.ToLower(key), "aws:")
		switch {
		case key == "":
			return wire.Errorf("InvalidParameterValue", "Tag key cannot be empty.")
		case reserved && !ofAWS:
			return wire.Errorf(
				"InvalidParameterValue",
				"Value ( %s ) for parameter key is invalid. Tag keys starting with 'aws:' are reserved for internal use",
				key,
			)
		case utf8.RuneCountInString(key) > 128:
			return wire.Errorf("InvalidParameterValue", "Tag key exceeds the maximum length of 128 characters")
		case utf8.RuneCountInString(value) > 256:
			return wire.Errorf("InvalidParameterValue", "Tag value exceeds the maximum length of 256 characters")
		}
		if !reserved {
			count++
		}
	}
	if count > maxTags {
		return wire.Errorf("TagLimitExceeded", "The maximum number of Tags for a resource has been reached.")
	}
	return nil
}

// TagsFor returns the tags that a request specifies, by kind of resource. It returns an error if
// the request specifies tags for a kind that is not in kinds.
func TagsFor(specifications []types.TagSpecification, kinds ...types.ResourceType) (map[types.ResourceType]map[string]string, error) {
	all := map[types.ResourceType]map[string]string{}
	for _, s := range specifications {
		if !slices.Contains(kinds, s.ResourceType) {
			return nil, wire.Errorf(
				"InvalidParameterValue", "'%s' is not a valid taggable resource type for this operation.", s.ResourceType,
			)
		}
		tags := all[s.ResourceType]
		if tags == nil {
			tags = map[string]string{}
		}
		maps.Copy(tags, tagMap(s.Tags))
		if err := CheckTags(tags, false); err != nil {
			return nil, err
		}
		all[s.ResourceType] = tags
	}
	return all, nil
}

func tagMap(list []types.Tag) map[string]string {
	m := map[string]string{}
	for _, t := range list {
		m[aws.ToString(t.Key)] = aws.ToString(t.Value)
	}
	return m
}

// createTags and deleteTags change all resources or none, like EC2.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateTags.html
func (r *region) createTags(in *ec2.CreateTagsInput) (*ec2.CreateTagsOutput, error) {
	tags := tagMap(in.Tags)
	if len(tags) == 0 || len(in.Resources) == 0 {
		return nil, missing("tag")
	}
	if err := CheckTags(tags, false); err != nil {
		return nil, err
	}
	for _, id := range in.Resources {
		if _, ok := r.tags.Kind(id); !ok {
			return nil, noID(id)
		}
		all := r.tags.Get(id)
		maps.Copy(all, tags)
		if err := CheckTags(all, true); err != nil {
			return nil, err
		}
	}
	for _, id := range in.Resources {
		r.tags.Set(id, tags)
	}
	return &ec2.CreateTagsOutput{}, nil
}

func (r *region) deleteTags(in *ec2.DeleteTagsInput) (*ec2.DeleteTagsOutput, error) {
	for _, id := range in.Resources {
		if _, ok := r.tags.Kind(id); !ok {
			return nil, noID(id)
		}
	}
	for _, id := range in.Resources {
		r.tags.Delete(id, r.keysToDelete(id, in.Tags)...)
	}
	return &ec2.DeleteTagsOutput{}, nil
}

// keysToDelete returns the keys that DeleteTags removes from an ID: the named ones whose value
// matches or is not given, or all user tags if none are named.
func (r *region) keysToDelete(id string, named []types.Tag) []string {
	tags := r.tags.Get(id)
	var keys []string
	if len(named) == 0 {
		for key := range tags {
			if !strings.HasPrefix(key, "aws:") {
				keys = append(keys, key)
			}
		}
	}
	for _, t := range named {
		value, ok := tags[aws.ToString(t.Key)]
		if ok && (t.Value == nil || *t.Value == value) {
			keys = append(keys, *t.Key)
		}
	}
	return keys
}

// tagFields are the filters of DescribeTags.
var tagFields = Fields[types.TagDescription]{
	"key":           func(t types.TagDescription) []string { return []string{*t.Key} },
	"value":         func(t types.TagDescription) []string { return []string{*t.Value} },
	"resource-id":   func(t types.TagDescription) []string { return []string{*t.ResourceId} },
	"resource-type": func(t types.TagDescription) []string { return []string{string(t.ResourceType)} },
}

func (r *region) describeTags(in *ec2.DescribeTagsInput) (*ec2.DescribeTagsOutput, error) {
	pass, err := tagFields.Compile(in.Filters)
	if err != nil {
		return nil, err
	}
	found := []types.TagDescription{}
	r.tags.mu.RLock()
	for id, e := range r.tags.ids {
		for key, value := range e.tags {
			d := types.TagDescription{Key: aws.String(key), Value: aws.String(value), ResourceId: aws.String(id), ResourceType: e.kind}
			if pass(d, map[string]string{key: value}) {
				found = append(found, d)
			}
		}
	}
	r.tags.mu.RUnlock()
	page, next, err := Page(
		found, func(t types.TagDescription) string { return *t.ResourceId + "\x00" + *t.Key }, in.MaxResults, in.NextToken,
	)
	if err != nil {
		return nil, err
	}
	return &ec2.DescribeTagsOutput{Tags: page, NextToken: next}, nil
}

// notFoundOf are the error codes and messages for an ID that does not exist, by its prefix.
var notFoundOf = map[string]struct{ code, words string }{
	"vpc":      {"InvalidVpcID.NotFound", "The vpc ID '%s' does not exist"},
	"subnet":   {"InvalidSubnetID.NotFound", "The subnet ID '%s' does not exist"},
	"rtb":      {"InvalidRouteTableID.NotFound", "The routeTable ID '%s' does not exist"},
	"igw":      {"InvalidInternetGatewayID.NotFound", "The internetGateway ID '%s' does not exist"},
	"eigw":     {"InvalidEgressOnlyInternetGatewayId.NotFound", "The egressOnlyInternetGateway ID '%s' does not exist"},
	"nat":      {"NatGatewayNotFound", "The Nat Gateway %s was not found"},
	"eipalloc": {"InvalidAllocationID.NotFound", "The allocation ID '%s' does not exist"},
	"sg":       {"InvalidGroup.NotFound", "The security group '%s' does not exist"},
	"sgr":      {"InvalidSecurityGroupRuleId.NotFound", "The security group rule ID '%s' does not exist"},
	"eni":      {"InvalidNetworkInterfaceID.NotFound", "The networkInterface ID '%s' does not exist"},
	"vpce":     {"InvalidVpcEndpointId.NotFound", "The Vpc Endpoint Id '%s' does not exist"},
	"dopt":     {"InvalidDhcpOptionID.NotFound", "The dhcpOption ID '%s' does not exist"},
	"acl":      {"InvalidNetworkAclID.NotFound", "The networkAcl ID '%s' does not exist"},
	"pl":       {"InvalidPrefixListID.NotFound", "The prefix list ID '%s' does not exist"},
	"i":        {"InvalidInstanceID.NotFound", "The instance ID '%s' does not exist"},
	"vol":      {"InvalidVolume.NotFound", "The volume '%s' does not exist."},
	"snap":     {"InvalidSnapshot.NotFound", "The snapshot '%s' does not exist."},
	"ami":      {"InvalidAMIID.NotFound", "The image id '[%s]' does not exist"},
	"lt":       {"InvalidLaunchTemplateId.NotFound", "The specified launch template, with template ID %s, does not exist."},
	"key":      {"InvalidKeyPair.NotFound", "The key pair '%s' does not exist"},
}

func noID(id string) *wire.Error {
	prefix, _, ok := strings.Cut(id, "-")
	e, known := notFoundOf[prefix]
	if !ok || !known {
		return wire.Errorf("InvalidID", "The ID '%s' is not valid", cmp.Or(id, " "))
	}
	return wire.Errorf(e.code, e.words, id)
}
