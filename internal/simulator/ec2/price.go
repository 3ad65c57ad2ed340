package ec2

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/pricing"
	"github.com/aws-operator/aws-operator/internal/simulator/vpc"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// hourly are the prices in USD of an hour of the size large, on demand with Linux in us-east-1. The
// other sizes of a family are multiples. The simulator has the same prices in all regions.
// https://github.com/aws/karpenter-provider-aws/blob/v1.14.1/pkg/providers/pricing/zz_generated.pricing_aws.go
var hourly = map[string]float64{
	"m5": 0.096, "m5a": 0.086, "m5d": 0.113, "m6a": 0.0864, "m6g": 0.077, "m6i": 0.096, "m6id": 0.11865, "m7a": 0.11592,
	"m7g": 0.0816, "m7i": 0.1008, "m7i-flex": 0.09576, "m8g": 0.08976,
	"c5": 0.085, "c5a": 0.077, "c6a": 0.0765, "c6g": 0.068, "c6i": 0.085, "c7a": 0.10264, "c7g": 0.0725, "c7i": 0.08925,
	"c7i-flex": 0.08479, "c8g": 0.07976,
	"r5": 0.126, "r5a": 0.113, "r6a": 0.1134, "r6g": 0.1008, "r6i": 0.126, "r7a": 0.15215, "r7g": 0.1071, "r7i": 0.1323,
	"r8g": 0.11782,
	"t2":  0.0928, "t3": 0.0832, "t3a": 0.0752, "t4g": 0.0672,
}

// spotShare is the price of a spot instance as a part of the price on demand. Real prices differ by
// pool and change with demand; no value of AWS is on record.
const spotShare = 0.4

// priceOf returns the price of an hour on demand, or 0 for an unknown instance type.
func priceOf(name string) float64 {
	k, ok := kinds[name]
	if !ok {
		return 0
	}
	family, _, _ := strings.Cut(name, ".")
	large := kinds[family+".large"]
	if k.burst { // sizes differ in memory, not in vCPUs
		return hourly[family] * float64(k.MiB) / float64(large.MiB)
	}
	return hourly[family] * float64(k.vCPUs) / float64(large.vCPUs)
}

// metals are instance types without a hypervisor, which the price list has, and types with the same
// price. EC2 itself does not offer them in the simulator.
var metals = map[string]string{
	"m5.metal": "m5.24xlarge", "c5.metal": "c5.24xlarge", "r5.metal": "r5.24xlarge", "m6i.metal": "m6i.32xlarge",
}

// Prices returns what instance types cost on demand.
func Prices() []pricing.Price {
	all := make([]pricing.Price, 0, len(kinds)+len(metals))
	for name, k := range kinds {
		all = append(all, pricing.Price{InstanceType: name, VCPUs: k.vCPUs, MiB: k.MiB, USD: priceOf(name)})
	}
	for name, same := range metals {
		k := kinds[same]
		all = append(all, pricing.Price{InstanceType: name, VCPUs: k.vCPUs, MiB: k.MiB, USD: priceOf(same), BareMetal: true})
	}
	return all
}

// spotProduct is the only product of the simulator.
const spotProduct = "Linux/UNIX"

// describeSpotPriceHistory returns one price of each pool, which has been the same since the epoch.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeSpotPriceHistory.html
func (s *Service) describeSpotPriceHistory(
	ctx context.Context, in *ec2.DescribeSpotPriceHistoryInput,
) (*ec2.DescribeSpotPriceHistoryOutput, error) {
	if in.AvailabilityZoneId != nil {
		return nil, unsupported("AvailabilityZoneId")
	}
	region := wire.CallFrom(ctx).Region
	passes, err := vpc.Fields[types.SpotPrice]{
		"availability-zone":   func(p types.SpotPrice) []string { return []string{*p.AvailabilityZone} },
		"instance-type":       func(p types.SpotPrice) []string { return []string{string(p.InstanceType)} },
		"product-description": func(p types.SpotPrice) []string { return []string{string(p.ProductDescription)} },
		"spot-price":          func(p types.SpotPrice) []string { return []string{*p.SpotPrice} },
	}.Compile(in.Filters)
	if err != nil {
		return nil, err
	}
	if err := dry(in.DryRun); err != nil {
		return nil, err
	}
	for _, t := range in.InstanceTypes {
		if kinds[string(t)] == nil {
			return nil, invalid("Invalid value '%s' for InstanceType.", t)
		}
	}
	var found []types.SpotPrice
	for _, p := range s.spotPrices(region) {
		if (len(in.InstanceTypes) == 0 || slices.Contains(in.InstanceTypes, p.InstanceType)) &&
			(len(in.ProductDescriptions) == 0 || slices.Contains(in.ProductDescriptions, spotProduct)) &&
			(in.AvailabilityZone == nil || *in.AvailabilityZone == *p.AvailabilityZone) && passes(p, nil) {
			found = append(found, p)
		}
	}
	found, next, err := vpc.Page(
		found, func(p types.SpotPrice) string { return string(p.InstanceType) + "/" + *p.AvailabilityZone }, in.MaxResults, in.NextToken,
	)
	if err != nil {
		return nil, err
	}
	return &ec2.DescribeSpotPriceHistoryOutput{SpotPriceHistory: append([]types.SpotPrice{}, found...), NextToken: next}, nil
}

// spotPrices returns the price of each pool of a region.
func (s *Service) spotPrices(region string) (all []types.SpotPrice) {
	for _, name := range kindNames() {
		for _, zone := range zonesOf(region) {
			if !s.scarce.offers(zone, name) {
				continue
			}
			all = append(all, types.SpotPrice{
				InstanceType: types.InstanceType(name), AvailabilityZone: aws.String(zone), ProductDescription: spotProduct,
				SpotPrice: aws.String(strconv.FormatFloat(priceOf(name)*spotShare, 'f', 6, 64)), Timestamp: aws.Time(time.Unix(0, 0).UTC()),
			})
		}
	}
	return all
}
