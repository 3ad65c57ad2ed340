package eks

import (
	"context"
	"maps"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/aws-operator/aws-operator/internal/simulator/property"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

const (
	clusterType     = "AWS::EKS::Cluster"
	nodegroupType   = "AWS::EKS::Nodegroup"
	entryType       = "AWS::EKS::AccessEntry"
	addonType       = "AWS::EKS::Addon"
	associationType = "AWS::EKS::PodIdentityAssociation"
)

// Providers returns the providers of the CloudFormation types of EKS.
func (s *Service) Providers() map[string]resource.Provider {
	return map[string]resource.Provider{
		clusterType: clusterProvider{s}, nodegroupType: nodegroupProvider{s}, entryType: entryProvider{s}, addonType: addonProvider{s},
		associationType: associationProvider{s},
	}
}

var (
	_ resource.Finisher   = clusterProvider{}
	_ resource.Stabilizer = nodegroupProvider{}
	_ resource.Stabilizer = addonProvider{}
)

// calling returns the context in which a handler of CloudFormation calls EKS for a stack.
func calling(ctx context.Context, r resource.Request) context.Context {
	if r.Principal == "" && wire.CallFrom(ctx).Account == r.Account {
		return ctx // a call of Cloud Control API
	}
	return wire.WithCall(ctx, &wire.Call{Account: r.Account, Region: r.Region, Principal: r.Principal, Service: "eks"})
}

// handled returns the error of a handler.
func handled(err error) error { return property.HandlerError("Eks", err) }

// decode decodes properties into the SDK's structures, which have the names of properties.
func decode[T any](properties map[string]any) (*T, error) {
	p := new(T)
	return p, property.Decode(properties, p)
}

// stackTags merges a resource's own tags over the stack's. Tags of CloudFormation are not tags of EKS's
// resources.
func stackTags(r resource.Request, own []property.Tag) map[string]string {
	tags := property.Tags(r.Tags, own)
	maps.DeleteFunc(tags, func(key, _ string) bool { return strings.HasPrefix(key, "aws:") })
	return tags
}

// ownTags is the inverse, for reading.
func ownTags(r resource.Request, tags map[string]string) any {
	if list := property.OwnTags(tags, r.Tags); list != nil {
		return list
	}
	return nil
}

// plain returns properties without those that are not set.
func plain(properties map[string]any) map[string]any {
	maps.DeleteFunc(properties, func(_ string, v any) bool { return v == nil })
	return properties
}

// split returns the two parts of a compound identifier.
func split(id, separator string) (first, second string) {
	first, second, _ = strings.Cut(id, separator)
	return first, second
}

// look runs fn with the cluster of a name under the lock of its region.
func (s *Service) look(r resource.Request, cluster string, fn func(*cluster) error) error {
	reg := s.enter(r.Target())
	defer s.leave(reg)
	c, err := reg.find(&cluster)
	if err != nil {
		return err
	}
	return fn(c)
}

// ended reports whether all updates of a cluster, a node group or an add-on have ended. If the last one
// failed, it returns an error.
func ended(c *cluster, nodegroup, addon string) (bool, error) {
	var last *update
	for _, u := range c.updates {
		if u.nodegroup != nodegroup || u.addon != addon {
			continue
		}
		if u.Status == types.UpdateStatusInProgress {
			return false, nil
		}
		last = u
	}
	if last != nil && last.Status == types.UpdateStatusFailed {
		return false, resource.Errorf(resource.NotStabilized, "%s", value(last.Errors[0].ErrorMessage))
	}
	return true, nil
}
