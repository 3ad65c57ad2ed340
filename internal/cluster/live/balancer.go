package live

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	r53types "github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

// mostDescribed is the maximum number of load balancers or target groups per DescribeTags call:
// https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_DescribeTags.html
const mostDescribed = 20

// loadBalancer finds the API's load balancer by the slots' target group, or, without one, by its
// tags.
func (f *finder) loadBalancer(ctx context.Context) error {
	api := f.clients.LoadBalancerReader(f.found.Target)
	arns, err := f.forwarding(ctx, api)
	if err != nil {
		return err
	}
	in := &elbv2.DescribeLoadBalancersInput{LoadBalancerArns: arns}
	for {
		out, err := api.DescribeLoadBalancers(ctx, in)
		if awsapi.Code(err) == "LoadBalancerNotFound" {
			return nil
		}
		if err != nil {
			return fmt.Errorf("describe the API's load balancer: %w", err)
		}
		some := out.LoadBalancers
		if len(arns) == 0 {
			if some, err = f.ours(ctx, api, some); err != nil {
				return err
			}
		}
		if len(some) > 0 {
			f.found.LoadBalancer = &LoadBalancer{
				ARN: aws.ToString(some[0].LoadBalancerArn), Name: aws.ToString(some[0].LoadBalancerName),
				DNSName: aws.ToString(some[0].DNSName),
			}
			return nil
		}
		if in.Marker = out.NextMarker; aws.ToString(in.Marker) == "" {
			return nil
		}
	}
}

// forwarding returns the ARNs of the load balancers that forward to the slots, none if no slot is
// known.
func (f *finder) forwarding(ctx context.Context, api awsapi.LoadBalancerReader) ([]string, error) {
	if f.target == "" {
		return nil, nil
	}
	out, err := api.DescribeTargetGroups(ctx, &elbv2.DescribeTargetGroupsInput{TargetGroupArns: []string{f.target}})
	switch {
	case awsapi.Code(err) == "TargetGroupNotFound":
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("describe the API's target group: %w", err)
	case len(out.TargetGroups) == 0:
		return nil, nil
	default:
		return out.TargetGroups[0].LoadBalancerArns, nil
	}
}

// ours returns the API's load balancers by their tags: those of the cluster's Services do not have
// the operator's tags.
func (f *finder) ours(ctx context.Context, api awsapi.LoadBalancerReader, all []elbtypes.LoadBalancer) ([]elbtypes.LoadBalancer, error) {
	wanted := map[string]string{model.TagCluster: f.of.Name, "Name": f.of.Name + "-api"}
	var found []elbtypes.LoadBalancer
	for some := range slices.Chunk(all, mostDescribed) {
		var arns []string
		for i := range some {
			arns = append(arns, aws.ToString(some[i].LoadBalancerArn))
		}
		out, err := api.DescribeTags(ctx, &elbv2.DescribeTagsInput{ResourceArns: arns})
		if err != nil {
			return nil, fmt.Errorf("describe the tags of load balancers: %w", err)
		}
		for i := range out.TagDescriptions {
			matches := 0
			for _, tag := range out.TagDescriptions[i].Tags {
				if value, ok := wanted[aws.ToString(tag.Key)]; ok && value == aws.ToString(tag.Value) {
					matches++
				}
			}
			if matches == len(wanted) {
				at := slices.Index(arns, aws.ToString(out.TagDescriptions[i].ResourceArn))
				found = append(found, some[at])
			}
		}
	}
	return found, nil
}

// targets reads the health of the instances as the load balancer reports it.
func (f *finder) targets(ctx context.Context) error {
	if f.found.LoadBalancer == nil || f.target == "" {
		return nil
	}
	out, err := f.clients.LoadBalancerReader(f.found.Target).
		DescribeTargetHealth(ctx, &elbv2.DescribeTargetHealthInput{TargetGroupArn: &f.target})
	if err != nil {
		return fmt.Errorf("describe the health of the API's targets: %w", err)
	}
	for i := range out.TargetHealthDescriptions {
		one := &out.TargetHealthDescriptions[i]
		health := TargetHealth{Instance: aws.ToString(one.Target.Id)}
		if one.TargetHealth != nil {
			health.State, health.Description = one.TargetHealth.State, aws.ToString(one.TargetHealth.Description)
		}
		f.found.LoadBalancer.Targets = append(f.found.LoadBalancer.Targets, health)
	}
	slices.SortFunc(f.found.LoadBalancer.Targets, func(a, b TargetHealth) int { return strings.Compare(a.Instance, b.Instance) })
	return nil
}

// record finds the API's record in its hosted zone, if it has one.
func (f *finder) record(ctx context.Context) error {
	dns := f.of.Spec.DNS
	if dns == nil || dns.Name == "" {
		return nil
	}
	f.found.Record = &Record{Name: dns.Name, Zone: dns.HostedZoneID}
	name := strings.TrimSuffix(dns.Name, ".") + "."
	out, err := f.clients.Records(f.found.Target).ListResourceRecordSets(ctx, &route53.ListResourceRecordSetsInput{
		HostedZoneId: &dns.HostedZoneID, StartRecordName: &name, StartRecordType: r53types.RRTypeA, MaxItems: aws.Int32(1),
	})
	if awsapi.Code(err) == "NoSuchHostedZone" {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find %s in hosted zone %s: %w", dns.Name, dns.HostedZoneID, err)
	}
	for i := range out.ResourceRecordSets {
		set := &out.ResourceRecordSets[i]
		if strings.EqualFold(aws.ToString(set.Name), name) && set.AliasTarget != nil {
			f.found.Record.Alias = strings.TrimSuffix(aws.ToString(set.AliasTarget.DNSName), ".")
		}
	}
	return nil
}
