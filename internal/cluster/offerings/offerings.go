// Package offerings checks whether AWS offers what a cluster asks for before anything is created:
// instance types in zones, and machine images.
package offerings

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cfn/cause"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

// Want is what one field of an object asks for.
type Want struct {
	// Field is the path of the field, such as spec.controlPlane.instanceType.
	Field string
	// Types are instance types, of which each zone must offer one.
	Types []string
	// Zones are the zones of the instances.
	Zones []string
	// Image is the ID of the instances' image, empty if an SSM parameter has it. ImageField is the
	// field that determines it.
	Image, ImageField string
}

// OfCluster returns what the control plane and the bastions of a cluster ask for.
func OfCluster(c *model.Cluster) []Want {
	if c.EKS() != nil {
		return nil
	}
	var zones []string
	for _, slot := range c.Slots {
		zones = append(zones, slot.Zone)
	}
	plane := &c.Spec.ControlPlane
	wants := []Want{{
		Field: "spec.controlPlane.instanceType", Types: []string{plane.InstanceType}, Zones: zones,
		Image: c.ControlPlaneImage.ID, ImageField: imageField(plane.Image, "spec.controlPlane.image"),
	}}
	if bastion := c.Spec.Bastion; bastion != nil {
		wants = append(wants, Want{Field: "spec.bastion.instanceType", Types: []string{bastion.InstanceType}, Image: c.BastionImage.ID, ImageField: imageField("", "")})
	}
	return wants
}

// OfGroup returns what an instance group asks for.
func OfGroup(g *model.Group) []Want {
	var zones []string
	for _, subnet := range g.Subnets {
		zones = append(zones, subnet.Zone)
	}
	return []Want{{
		Field: "spec.instanceTypes", Types: g.Spec.InstanceTypes, Zones: zones,
		Image: g.Image.ID, ImageField: imageField(g.Spec.Image, "spec.image"),
	}}
}

// imageField returns the field that determines an image: the object's own, or the release.
func imageField(image, field string) string {
	if image == "" {
		return "spec.release"
	}
	return field
}

const (
	// knownFor is how long the zones of an instance type are cached, unknownFor that no zone offers
	// it.
	knownFor, unknownFor = time.Hour, time.Minute
)

// Catalog caches what AWS offers.
type Catalog struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	known map[key]entry
}

type key struct {
	target awsapi.Target
	typ    string
}

type entry struct {
	zones []string
	until time.Time
}

// New returns an empty catalog.
func New(clock clock.PassiveClock) *Catalog {
	return &Catalog{clock: clock, known: map[key]entry{}}
}

// Problem is a field that asks for something that AWS does not offer.
type Problem struct {
	// Reason is the reason of a condition. Message is one or two sentences that name the field.
	Reason, Message string
}

// Find returns the first problem, nil if there is none. It returns an error if AWS cannot be asked.
func (c *Catalog) Find(ctx context.Context, api awsapi.EC2Offerings, target awsapi.Target, wants []Want) (*Problem, error) {
	if err := c.learn(ctx, api, target, wants); err != nil {
		return nil, err
	}
	for i := range wants {
		if problem := c.typeProblem(target, &wants[i]); problem != "" {
			return &Problem{cause.Type, problem}, nil
		}
		if problem, err := imageProblem(ctx, api, &wants[i]); problem != "" || err != nil {
			return &Problem{cause.Image, problem}, err
		}
	}
	return nil, nil
}

// learn asks AWS for the zones of the types that are not cached.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeInstanceTypeOfferings.html
func (c *Catalog) learn(ctx context.Context, api awsapi.EC2Offerings, target awsapi.Target, wants []Want) error {
	now, zones := c.clock.Now(), map[string][]string{}
	c.mu.Lock()
	for i := range wants {
		for _, one := range wants[i].Types {
			if known, ok := c.known[key{target, one}]; !ok || now.After(known.until) {
				zones[one] = nil
			}
		}
	}
	c.mu.Unlock()
	if len(zones) == 0 {
		return nil
	}
	var names []string
	for one := range zones {
		names = append(names, one)
	}
	slices.Sort(names)
	pages := ec2.NewDescribeInstanceTypeOfferingsPaginator(api, &ec2.DescribeInstanceTypeOfferingsInput{
		LocationType: types.LocationTypeAvailabilityZone,
		Filters:      []types.Filter{{Name: aws.String("instance-type"), Values: names}},
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return fmt.Errorf("list the zones of instance types: %w", err)
		}
		for _, offer := range page.InstanceTypeOfferings {
			zones[string(offer.InstanceType)] = append(zones[string(offer.InstanceType)], aws.ToString(offer.Location))
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for one, in := range zones {
		slices.Sort(in)
		until := now.Add(knownFor)
		if len(in) == 0 {
			until = now.Add(unknownFor)
		}
		c.known[key{target, one}] = entry{zones: in, until: until}
	}
	return nil
}

// typeProblem reports a type that no zone of the region offers, or a zone that offers none of the
// types.
func (c *Catalog) typeProblem(target awsapi.Target, want *Want) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var offered []string
	for _, one := range want.Types {
		zones := c.known[key{target, one}].zones
		if len(zones) == 0 {
			return fmt.Sprintf("%s: AWS does not offer instance type %s in the cluster's region. Choose another type.", want.Field, one)
		}
		offered = append(offered, zones...)
	}
	slices.Sort(offered)
	for _, zone := range want.Zones {
		if !slices.Contains(offered, zone) {
			return fmt.Sprintf("%s: zone %s does not offer %s; %s offer it. Choose another type or other zones.",
				want.Field, zone, strings.Join(want.Types, " or "), strings.Join(slices.Compact(offered), ", "))
		}
	}
	return ""
}

// imageProblem reports an image that does not exist in the region.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
func imageProblem(ctx context.Context, api awsapi.EC2Offerings, want *Want) (string, error) {
	if want.Image == "" {
		return "", nil
	}
	_, err := api.DescribeImages(ctx, &ec2.DescribeImagesInput{ImageIds: []string{want.Image}})
	switch code := awsapi.Code(err); {
	case err == nil:
		return "", nil
	case code == "InvalidAMIID.NotFound", code == "InvalidAMIID.Malformed", code == "InvalidAMIID.Unavailable":
		return fmt.Sprintf("%s: image %s does not exist in the region, or this account may not use it.", want.ImageField, want.Image), nil
	default:
		return "", fmt.Errorf("describe image %s: %w", want.Image, err)
	}
}
