package quota

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/servicequotas"
	quotatypes "github.com/aws/aws-sdk-go-v2/service/servicequotas/types"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/partition"
)

// Report says whether the quotas of an account suffice.
type Report struct {
	// Region is the region of the stacks.
	Region string `json:"region"`
	// Findings are the quotas of which the stacks need more, in the order of services and names.
	Findings []Finding `json:"quotas,omitempty"`
	// Unchecked are sentences about what could not be checked.
	Unchecked []string `json:"unchecked,omitempty"`
}

// Finding is a quota, how much of it is in use, and how much more is needed.
type Finding struct {
	Need

	// Limit is the quota, Used how much of it is in use.
	Limit float64 `json:"limit"`
	Used  float64 `json:"used"`
	// Exceeded is true if the quota is lower than what is used and what is needed at least.
	Exceeded bool `json:"exceeded,omitempty"`
	// MayExceed is true if it is lower than what is used and what is needed at most.
	MayExceed bool `json:"mayExceed,omitempty"`
}

// checker asks AWS.
type checker struct {
	clients *awsapi.Clients
	target  awsapi.Target
	vCPUs   map[string]int32
	used    map[Quota]float64 // of vCPUs, once they were read
}

// Check returns whether the quotas suffice for a change of stacks in an account and region. What cannot be read is in
// the report; the only errors are those of the context.
func Check(ctx context.Context, clients *awsapi.Clients, target awsapi.Target, stacks []Stack) (*Report, error) {
	c := &checker{clients: clients, target: target, vCPUs: map[string]int32{}}
	report := &Report{Region: clients.Region(target)}
	if err := c.learn(ctx, Types(stacks)); err != nil {
		report.unchecked("vCPUs of instance types: %s", err)
	}
	all, unknown := Needs(stacks, c.vCPUs)
	for _, what := range unknown {
		report.unchecked("%s", what)
	}
	for _, need := range all {
		found, err := c.check(ctx, need)
		if err != nil {
			report.unchecked("%s: %s", need.Name, err)
			continue
		}
		report.Findings = append(report.Findings, *found)
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("check quotas: %w", err)
	}
	return report, nil
}

func (r *Report) unchecked(format string, args ...any) {
	r.Unchecked = append(r.Unchecked, fmt.Sprintf(format, args...))
}

func (c *checker) check(ctx context.Context, need Need) (*Finding, error) {
	limit, err := c.limit(ctx, need.Quota)
	if err != nil {
		return nil, err
	}
	used, err := c.use(ctx, need.Quota)
	if err != nil {
		return nil, err
	}
	return &Finding{
		Need: need, Limit: limit, Used: used,
		Exceeded: need.Low > 0 && used+need.Low > limit, MayExceed: used+need.High > limit,
	}, nil
}

// limit returns a quota of the account, which is the default one unless it was raised:
// https://docs.aws.amazon.com/servicequotas/2019-06-24/apireference/API_GetServiceQuota.html
func (c *checker) limit(ctx context.Context, q Quota) (float64, error) {
	at := c.target
	if q.Global {
		_, region := placeOf(c.clients.Region(at))
		if region == "" {
			return 0, errNoGlobalRegion
		}
		at.Region = region
	}
	quotas := c.clients.ServiceQuotas(at)
	out, err := quotas.GetServiceQuota(ctx, &servicequotas.GetServiceQuotaInput{ServiceCode: &q.Service, QuotaCode: &q.Code})
	if err == nil {
		return valueOf(out.Quota)
	}
	if _, absent := errors.AsType[*quotatypes.NoSuchResourceException](err); !absent {
		return 0, awsapi.Explain(err)
	}
	standard, err := quotas.GetAWSDefaultServiceQuota(
		ctx, &servicequotas.GetAWSDefaultServiceQuotaInput{ServiceCode: &q.Service, QuotaCode: &q.Code},
	)
	if err != nil {
		return 0, awsapi.Explain(err)
	}
	return valueOf(standard.Quota)
}

var (
	errNoValue        = errors.New("no value was returned by Service Quotas")
	errNoGlobalRegion = errors.New("the region in which Service Quotas has the quotas of global services is not known for this partition")
)

// placeOf returns the host of the console for a region, and the region in which Service Quotas has the quotas of
// global services, empty if it is not known:
// https://docs.aws.amazon.com/general/latest/gr/servicequotas.html
func placeOf(region string) (console, global string) {
	switch name, _ := partition.Of(region); name {
	case "aws":
		return "console.aws.amazon.com", "us-east-1"
	case "aws-us-gov":
		return "console.amazonaws-us-gov.com", "us-gov-west-1"
	case "aws-cn":
		return "console.amazonaws.cn", ""
	}
	return "", ""
}

func valueOf(q *quotatypes.ServiceQuota) (float64, error) {
	if q == nil || q.Value == nil {
		return 0, errNoValue
	}
	return *q.Value, nil
}

// use returns how much of a quota is in use.
func (c *checker) use(ctx context.Context, q Quota) (float64, error) {
	for kind, of := range counted {
		switch {
		case of != q:
		case kind == typeBalancer+"/application" || kind == typeBalancer+"/network":
			return c.balancers(ctx, kind)
		case kind == typeStack:
			return c.stacks(ctx)
		case kind == typeAddress:
			return c.addresses(ctx)
		default:
			return c.count(ctx, kind)
		}
	}
	if c.used == nil {
		used, err := c.processors(ctx)
		if err != nil {
			return 0, err
		}
		c.used = used
	}
	return c.used[q], nil
}

// count returns the number of resources of a type.
func (c *checker) count(ctx context.Context, kind string) (float64, error) {
	in, n := &cloudcontrol.ListResourcesInput{TypeName: &kind}, 0.0
	pages := cloudcontrol.NewListResourcesPaginator(c.clients.Inventory(c.target), in)
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return 0, awsapi.Explain(err)
		}
		n += float64(len(page.ResourceDescriptions))
	}
	return n, nil
}

// stacks returns the number of stacks, nested ones included.
func (c *checker) stacks(ctx context.Context) (float64, error) {
	n := 0.0
	pages := cloudformation.NewDescribeStacksPaginator(c.clients.CloudFormation(c.target), &cloudformation.DescribeStacksInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return 0, awsapi.Explain(err)
		}
		n += float64(len(page.Stacks))
	}
	return n, nil
}

// addresses returns the number of Elastic IP addresses.
func (c *checker) addresses(ctx context.Context) (float64, error) {
	out, err := c.clients.EC2(c.target).DescribeAddresses(ctx, &ec2.DescribeAddressesInput{})
	if err != nil {
		return 0, awsapi.Explain(err)
	}
	return float64(len(out.Addresses)), nil
}

// balancers returns the number of load balancers of a type.
func (c *checker) balancers(ctx context.Context, kind string) (float64, error) {
	n := 0.0
	pages := elbv2.NewDescribeLoadBalancersPaginator(c.clients.LoadBalancerReader(c.target), &elbv2.DescribeLoadBalancersInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return 0, awsapi.Explain(err)
		}
		for i := range page.LoadBalancers {
			if typeBalancer+"/"+string(page.LoadBalancers[i].Type) == kind {
				n++
			}
		}
	}
	return n, nil
}

// processors returns how many vCPUs instances have, by quota. Stopped instances do not count:
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-on-demand-instances.html#ec2-on-demand-instances-limits
func (c *checker) processors(ctx context.Context) (map[Quota]float64, error) {
	type key struct {
		kind string
		spot bool
	}
	numbers := map[key]float64{}
	state := types.Filter{Name: aws.String("instance-state-name"), Values: []string{"pending", "running"}}
	pages := ec2.NewDescribeInstancesPaginator(c.clients.EC2(c.target), &ec2.DescribeInstancesInput{Filters: []types.Filter{state}})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, awsapi.Explain(err)
		}
		for i := range page.Reservations {
			for j := range page.Reservations[i].Instances {
				one := &page.Reservations[i].Instances[j]
				numbers[key{string(one.InstanceType), one.InstanceLifecycle == types.InstanceLifecycleTypeSpot}]++
			}
		}
	}
	var missing []string
	for k := range numbers {
		missing = append(missing, k.kind)
	}
	if err := c.learn(ctx, missing); err != nil {
		return nil, err
	}
	used := map[Quota]float64{}
	for k, n := range numbers {
		if q, ok := processorsOf(k.kind, k.spot); ok {
			used[q] += n * float64(c.vCPUs[k.kind])
		}
	}
	return used, nil
}

// atOnce is how many types one call may name:
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeInstanceTypes.html
const atOnce = 100

// learn asks for the vCPUs of types that are not known yet.
func (c *checker) learn(ctx context.Context, names []string) error {
	var missing []types.InstanceType
	for _, name := range names {
		if _, known := c.vCPUs[name]; !known {
			missing = append(missing, types.InstanceType(name))
		}
	}
	for some := range slices.Chunk(missing, atOnce) {
		out, err := c.clients.EC2(c.target).DescribeInstanceTypes(ctx, &ec2.DescribeInstanceTypesInput{InstanceTypes: some})
		if err != nil {
			return awsapi.Explain(err)
		}
		for i := range out.InstanceTypes {
			one := &out.InstanceTypes[i]
			if one.VCpuInfo != nil {
				c.vCPUs[string(one.InstanceType)] = aws.ToInt32(one.VCpuInfo.DefaultVCpus)
			}
		}
	}
	return nil
}
