package servicequotas_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsquotas "github.com/aws/aws-sdk-go-v2/service/servicequotas"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/servicequotas"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
	"github.com/aws-operator/aws-operator/internal/simulator/wire/wiretest"
)

// A list has, in pages, exactly the quotas with an applied value.
func TestListHasTheAppliedQuotas(t *testing.T) {
	raised := servicequotas.Quota{Service: "vpc", Code: "L-F678F1CE"}
	service := servicequotas.New(&resource.Env{Partition: "aws"}, servicequotas.Options{
		Seed: 1, Enforced: map[servicequotas.Quota]func(wire.Target) float64{raised: func(wire.Target) float64 { return 42 }},
	})
	config := wiretest.Serve(t, wire.NewRouter([]*wire.Service{service.Service()}, nil, clock.RealClock{}))
	client := awsquotas.NewFromConfig(config)
	got := map[string]float64{}
	pages := awsquotas.NewListServiceQuotasPaginator(client, &awsquotas.ListServiceQuotasInput{
		ServiceCode: &raised.Service, MaxResults: aws.Int32(1),
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Quotas) > 1 {
			t.Errorf("a page has %d quotas", len(page.Quotas))
		}
		for _, q := range page.Quotas {
			got[*q.QuotaCode] = *q.Value
		}
	}
	if got[raised.Code] != 42 {
		t.Errorf("the raised quota is not among %v", got)
	}
	for _, code := range []string{"L-407747CB", "L-A4707A72", "L-E79EC296", "L-F678F1CE", "L-FE5A380F"} {
		_, err := client.GetServiceQuota(t.Context(), &awsquotas.GetServiceQuotaInput{ServiceCode: &raised.Service, QuotaCode: &code})
		if _, listed := got[code]; listed != (err == nil) {
			t.Errorf("%s: in the list %t, and GetServiceQuota returns %v", code, listed, err)
		}
	}
	_, err := client.ListServiceQuotas(t.Context(), &awsquotas.ListServiceQuotasInput{ServiceCode: aws.String("none")})
	wiretest.WantCode(t, err, "NoSuchResourceException")
}
