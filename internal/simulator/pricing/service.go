package pricing

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	"github.com/aws/aws-sdk-go-v2/service/pricing/types"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// computeCode is the code of the service that has prices.
const computeCode = "AmazonEC2"

// Price is what an hour of an instance type costs on demand with Linux.
type Price struct {
	// InstanceType is the instance type; VCPUs and MiB are its size.
	InstanceType string
	VCPUs, MiB   int32
	// BareMetal says that it has no hypervisor.
	BareMetal bool
	// USD is the price in US dollars.
	USD float64
}

// Service is the simulated price list.
type Service struct{ prices func() []Price }

// New returns a service with prices.
func New(prices func() []Price) *Service { return &Service{prices: prices} }

// Service returns the operations for the wire layer.
func (s *Service) Service() *wire.Service {
	return &wire.Service{
		Name: "pricing", Protocols: []wire.Protocol{wire.JSON11}, TargetPrefix: "AWSPriceListService", APIVersion: "2017-10-15",
		Operations: map[string]wire.Operation{"GetProducts": wire.Op(s.getProducts)},
	}
}

func invalid(format string, args ...any) *wire.Error {
	return wire.Errorf("InvalidParameterException", format, args...)
}

// getProducts returns the products that match all filters, of one region.
// https://docs.aws.amazon.com/aws-cost-management/latest/APIReference/API_pricing_GetProducts.html
func (s *Service) getProducts(_ context.Context, in *pricing.GetProductsInput) (*pricing.GetProductsOutput, error) {
	switch format := aws.ToString(in.FormatVersion); {
	case in.ServiceCode == nil:
		return nil, invalid("ServiceCode is missing.")
	case *in.ServiceCode != computeCode:
		return nil, invalid("The simulator has no prices of service %s.", *in.ServiceCode)
	case format != "" && format != "aws_v1":
		return nil, invalid("FormatVersion %s is not supported: use aws_v1.", format)
	case in.MaxResults != nil && (*in.MaxResults < 1 || *in.MaxResults > 100):
		return nil, invalid("MaxResults is %d, but must be 1 to 100.", *in.MaxResults)
	}
	region := ""
	for _, f := range in.Filters {
		if f.Type != types.FilterTypeTermMatch {
			return nil, invalid("The simulator does not support filters of type %s.", f.Type)
		}
		if strings.EqualFold(aws.ToString(f.Field), "regionCode") {
			region = aws.ToString(f.Value)
		}
	}
	if region == "" {
		return nil, invalid("The simulator needs a filter by regionCode.")
	}
	var found []string
	for _, p := range s.sorted() {
		if attributes := p.attributes(region); matches(attributes, in.Filters) {
			document, err := p.document(attributes)
			if err != nil {
				return nil, err
			}
			found = append(found, document)
		}
	}
	return page(found, in)
}

func (s *Service) sorted() []Price {
	all := slices.Clone(s.prices())
	slices.SortFunc(all, func(a, b Price) int { return cmp.Compare(a.InstanceType, b.InstanceType) })
	return all
}

// page returns a page of documents; the token is the number of documents before it.
func page(found []string, in *pricing.GetProductsInput) (*pricing.GetProductsOutput, error) {
	start := 0
	if in.NextToken != nil {
		n, err := strconv.Atoi(*in.NextToken)
		if err != nil || n < 0 || n > len(found) {
			return nil, wire.Errorf("InvalidNextTokenException", "The token %s is invalid.", *in.NextToken)
		}
		start = n
	}
	size := 100
	if in.MaxResults != nil {
		size = int(*in.MaxResults)
	}
	end := min(start+size, len(found))
	out := &pricing.GetProductsOutput{FormatVersion: aws.String("aws_v1"), PriceList: append([]string{}, found[start:end]...)}
	if end < len(found) {
		out.NextToken = aws.String(strconv.Itoa(end))
	}
	return out, nil
}

// attributes returns what filters compare.
// https://docs.aws.amazon.com/awsaccountbilling/latest/aboutv2/reading-service-price-list-file-for-services.html
func (p *Price) attributes(region string) map[string]string {
	family, tenancy := "Compute Instance", "Shared"
	if p.BareMetal {
		family, tenancy = "Compute Instance (bare metal)", "Dedicated"
	}
	return map[string]string{
		"productFamily": family, "servicecode": computeCode, "regionCode": region, "locationType": "AWS Region",
		"instanceType": p.InstanceType, "vcpu": strconv.Itoa(int(p.VCPUs)), "memory": memory(p.MiB), "tenancy": tenancy,
		"operatingSystem": "Linux", "preInstalledSw": "NA", "licenseModel": "No License required", "capacitystatus": "Used",
		"marketoption": "OnDemand", "operation": "RunInstances",
	}
}

// memory returns a size as price lists write it, such as 0.5 GiB.
func memory(mib int32) string { return strconv.FormatFloat(float64(mib)/1024, 'f', -1, 64) + " GiB" }

// matches reports whether attributes have all values. Names of fields are compared without case: AWS finds
// servicecode by serviceCode, too.
// https://github.com/aws/karpenter-provider-aws/blob/v1.14.1/pkg/providers/pricing/pricing.go
func matches(attributes map[string]string, filters []types.Filter) bool {
	lower := make(map[string]string, len(attributes))
	for name, value := range attributes {
		lower[strings.ToLower(name)] = value
	}
	for _, f := range filters {
		if lower[strings.ToLower(aws.ToString(f.Field))] != aws.ToString(f.Value) {
			return false
		}
	}
	return true
}

// The codes of a term on demand and of its price by the hour are the same for all products.
const (
	onDemandTerm = "JRTCKXETXF"
	hourlyRate   = "6YS6EN2CT7"
)

// document returns the price list's document of a product.
func (p *Price) document(attributes map[string]string) (string, error) {
	sku := strings.ToUpper(strings.NewReplacer(".", "", "-", "").Replace(p.InstanceType))
	term := sku + "." + onDemandTerm
	rate := term + "." + hourlyRate
	family := attributes["productFamily"]
	delete(attributes, "productFamily")
	usd := strconv.FormatFloat(p.USD, 'f', 10, 64)
	text, err := json.Marshal(map[string]any{
		"serviceCode": computeCode,
		"product":     map[string]any{"productFamily": family, "sku": sku, "attributes": attributes},
		"terms": map[string]any{"OnDemand": map[string]any{term: map[string]any{
			"sku": sku, "offerTermCode": onDemandTerm, "termAttributes": map[string]any{},
			"priceDimensions": map[string]any{rate: map[string]any{
				"rateCode": rate, "unit": "Hrs", "beginRange": "0", "endRange": "Inf", "pricePerUnit": map[string]string{"USD": usd},
				"description": fmt.Sprintf("$%s per On Demand Linux %s Instance Hour", usd, p.InstanceType), "appliesTo": []any{},
			}},
		}}},
	})
	if err != nil {
		return "", wire.Errorf("InternalErrorException", "cannot write a product: %v", err).WithStatus(500)
	}
	return string(text), nil
}
