package eks

import (
	"context"
	"maps"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/eks"

	"github.com/aws-operator/aws-operator/internal/simulator/access"
	"github.com/aws-operator/aws-operator/internal/simulator/tagging"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// https://docs.aws.amazon.com/eks/latest/userguide/eks-using-tags.html#tag-restrictions
var tagRules = tagging.Rules{
	Reserved: tagging.Refusal{Code: "InvalidParameterException", Message: "Invalid tag key {key}: aws: is reserved for AWS use."},
	Key:      tagging.Refusal{Code: "InvalidParameterException", Message: "Invalid tag key {key}: a key has 1 to 128 characters."},
	Value:    tagging.Refusal{Code: "InvalidParameterException", Message: "Invalid value of tag {key}: a value has at most 256 characters."},
	TooMany:  tagging.Refusal{Code: "InvalidParameterException", Message: "A resource can have at most 50 tags."},
}

// checkTags returns an error if tags cannot be added to those that a resource has.
func checkTags(cluster string, has, added map[string]string) error {
	err := tagRules.Check(has, added)
	if err == nil {
		return nil
	}
	return invalidParameter(cluster, "%s", messageOf(err))
}

func messageOf(err error) string {
	_, message, ok := strings.Cut(err.Error(), ": ")
	if !ok {
		return err.Error()
	}
	return message
}

// tagsOf returns the tags of a resource by its ARN. The caller replaces the map to change them.
func (r *region) tagsOf(arn string) (tags *map[string]string, ok bool) {
	for _, c := range r.clusters {
		if *c.Arn == arn {
			return &c.Tags, true
		}
		for _, n := range c.nodegroups {
			if *n.NodegroupArn == arn {
				return &n.Tags, true
			}
		}
		for _, a := range c.addons {
			if *a.AddonArn == arn {
				return &a.Tags, true
			}
		}
		for _, e := range c.entries {
			if *e.AccessEntryArn == arn {
				return &e.Tags, true
			}
		}
		for _, a := range c.associations {
			if *a.AssociationArn == arn {
				return &a.Tags, true
			}
		}
	}
	return nil, false
}

// tagged returns the tags of the resource in a request, for reading and for replacing them.
func (r *region) tagged(arn *string) (*map[string]string, error) {
	tags, ok := r.tagsOf(value(arn))
	if ok {
		return tags, nil
	}
	if at, _ := wire.TargetOf(value(arn)); at != r.Target {
		return nil, refuse("BadRequestException", 400, nil, "The resourceArn %s is not valid in this account and region.", []any{value(arn)})
	}
	return nil, refuse("NotFoundException", 404, nil, "Resource was not found: %s", []any{value(arn)})
}

// https://docs.aws.amazon.com/eks/latest/APIReference/API_TagResource.html
func (s *Service) tagResource(ctx context.Context, in *eks.TagResourceInput) (*eks.TagResourceOutput, error) {
	r := s.here(ctx)
	defer s.leave(r)
	tags, err := r.tagged(in.ResourceArn)
	if err != nil {
		return nil, err
	}
	if err := tagRules.Check(*tags, in.Tags); err != nil {
		return nil, refuse("BadRequestException", 400, nil, "%s", []any{messageOf(err)})
	}
	after := maps.Clone(*tags)
	if after == nil {
		after = map[string]string{}
	}
	maps.Copy(after, in.Tags)
	*tags = after
	return nil, nil
}

// https://docs.aws.amazon.com/eks/latest/APIReference/API_UntagResource.html
func (s *Service) untagResource(ctx context.Context, in *eks.UntagResourceInput) (*eks.UntagResourceOutput, error) {
	r := s.here(ctx)
	defer s.leave(r)
	tags, err := r.tagged(in.ResourceArn)
	if err != nil {
		return nil, err
	}
	after := maps.Clone(*tags)
	for _, key := range in.TagKeys {
		delete(after, key)
	}
	*tags = after
	return nil, nil
}

// https://docs.aws.amazon.com/eks/latest/APIReference/API_ListTagsForResource.html
func (s *Service) listTags(ctx context.Context, in *eks.ListTagsForResourceInput) (*eks.ListTagsForResourceOutput, error) {
	r := s.here(ctx)
	defer s.leave(r)
	tags, err := r.tagged(in.ResourceArn)
	if err != nil {
		return nil, err
	}
	return &eks.ListTagsForResourceOutput{Tags: *tags}, nil
}

// nameOf returns the part of an access entry's ARN that names the principal.
func nameOf(_ wire.Target, member, principal string) string {
	if member != "PrincipalArn" {
		return ""
	}
	entity, path, _ := strings.Cut(principal[strings.LastIndexByte(principal, ':')+1:], "/")
	return entity + "/" + accountOf(principal) + "/" + path[strings.LastIndexByte(path, '/')+1:]
}

// access returns the tags of a resource by its ARN. The last part of the ARN of most resources is an ID
// that requests do not name, so that a request's ARN ends in an asterisk.
// https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonelastickubernetesservice.html
func (s *Service) access(arn string) access.Resource {
	at, _ := wire.TargetOf(arn)
	r := s.regions.At(at)
	r.mu.Lock()
	defer r.mu.Unlock()
	found, ok := arn, false
	if prefix, open := strings.CutSuffix(arn, "*"); open {
		if found, ok = r.complete(prefix); !ok {
			return access.Resource{}
		}
	}
	tags, ok := r.tagsOf(found)
	if !ok {
		return access.Resource{}
	}
	return access.Resource{ARN: found, Account: at.Account, Tags: maps.Clone(*tags)}
}

// complete returns the ARN of a resource by its beginning.
func (r *region) complete(prefix string) (arn string, ok bool) {
	for _, c := range r.clusters {
		arns := []string{}
		for _, n := range c.nodegroups {
			arns = append(arns, *n.NodegroupArn)
		}
		for _, a := range c.addons {
			arns = append(arns, *a.AddonArn)
		}
		for _, e := range c.entries {
			arns = append(arns, *e.AccessEntryArn)
		}
		for _, arn := range arns {
			if strings.HasPrefix(arn, prefix) {
				return arn, true
			}
		}
	}
	return "", false
}
