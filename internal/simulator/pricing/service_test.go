package pricing_test

import (
	"encoding/json"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awspricing "github.com/aws/aws-sdk-go-v2/service/pricing"
	"github.com/aws/aws-sdk-go-v2/service/pricing/types"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/simulator/pricing"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
	"github.com/aws-operator/aws-operator/internal/simulator/wire/wiretest"
)

func start(t *testing.T) *awspricing.Client {
	t.Helper()
	service := pricing.New(func() []pricing.Price {
		return []pricing.Price{
			{InstanceType: "m6i.large", VCPUs: 2, MiB: 8192, USD: 0.096},
			{InstanceType: "c6i.large", VCPUs: 2, MiB: 4096, USD: 0.085},
			{InstanceType: "m6i.metal", VCPUs: 128, MiB: 524288, USD: 6.144, BareMetal: true},
		}
	})
	config := wiretest.Serve(t, wire.NewRouter([]*wire.Service{service.Service()}, nil, clock.RealClock{}))
	return awspricing.NewFromConfig(config)
}

func filters(pairs ...string) (list []types.Filter) {
	for n := 0; n < len(pairs); n += 2 {
		list = append(list, types.Filter{Type: types.FilterTypeTermMatch, Field: &pairs[n], Value: &pairs[n+1]})
	}
	return list
}

// https://docs.aws.amazon.com/aws-cost-management/latest/APIReference/API_pricing_GetProducts.html
func TestProductsHavePrices(t *testing.T) {
	client := start(t)
	prices := map[string]string{}
	pages := awspricing.NewGetProductsPaginator(client, &awspricing.GetProductsInput{
		ServiceCode: aws.String("AmazonEC2"), MaxResults: aws.Int32(1), Filters: filters(
			"regionCode", "eu-central-1", "serviceCode", "AmazonEC2", "operatingSystem", "Linux", "tenancy", "Shared",
			"productFamily", "Compute Instance",
		),
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range page.PriceList {
			var product struct {
				Product struct{ Attributes map[string]string }
				Terms   struct {
					OnDemand map[string]struct {
						PriceDimensions map[string]struct{ PricePerUnit map[string]string }
					}
				}
			}
			if err := json.Unmarshal([]byte(text), &product); err != nil {
				t.Fatal(err)
			}
			for _, term := range product.Terms.OnDemand {
				for _, rate := range term.PriceDimensions {
					prices[product.Product.Attributes["instanceType"]] = rate.PricePerUnit["USD"]
				}
			}
		}
	}
	if len(prices) != 2 || prices["m6i.large"] != "0.0960000000" || prices["c6i.large"] != "0.0850000000" {
		t.Errorf("prices are %v", prices)
	}
}

func TestPriceListRefusesRequests(t *testing.T) {
	client := start(t)
	good := func() *awspricing.GetProductsInput {
		return &awspricing.GetProductsInput{ServiceCode: aws.String("AmazonEC2"), Filters: filters("regionCode", "eu-central-1")}
	}
	for name, test := range map[string]struct {
		edit func(*awspricing.GetProductsInput)
		want string
	}{
		"another service": {func(in *awspricing.GetProductsInput) { in.ServiceCode = aws.String("AmazonS3") }, "InvalidParameterException"},
		"another format":  {func(in *awspricing.GetProductsInput) { in.FormatVersion = aws.String("v2") }, "InvalidParameterException"},
		"no region":       {func(in *awspricing.GetProductsInput) { in.Filters = nil }, "InvalidParameterException"},
		"a large page":    {func(in *awspricing.GetProductsInput) { in.MaxResults = aws.Int32(101) }, "InvalidParameterException"},
		"a broken token":  {func(in *awspricing.GetProductsInput) { in.NextToken = aws.String("x") }, "InvalidNextTokenException"},
		"another type of filter": {
			func(in *awspricing.GetProductsInput) { in.Filters[0].Type = types.FilterTypeContains }, "InvalidParameterException",
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := good()
			test.edit(in)
			_, err := client.GetProducts(t.Context(), in)
			wiretest.WantCode(t, err, test.want)
		})
	}
}
