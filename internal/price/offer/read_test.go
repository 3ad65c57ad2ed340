package offer_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aws-operator/aws-operator/internal/price"
	"github.com/aws-operator/aws-operator/internal/price/offer"
)

func file(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("testdata/AmazonEC2.json")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// The file has what is not to be kept, too: Windows, reserved and dedicated instances, local zones,
// other regions, and data through NAT gateways.
func TestPricesAreTakenFromAWSsFile(t *testing.T) {
	got, err := offer.Read(strings.NewReader(file(t)), offer.Options{Region: "eu-central-1", Offer: "AmazonEC2", Source: "test"})
	if err != nil {
		t.Fatal(err)
	}
	want := price.Section{
		Region: "eu-central-1", Offer: "AmazonEC2", Date: "2026-11-20", Source: "test",
		Prices: map[string]float64{
			"BoxUsage:m6i.large": 0.115, "BoxUsage:c6g.metal": 2.6, "EBS:VolumeUsage.gp3": 0.0952, "EBS:VolumeP-Throughput.gp3": 0.0476,
			"NatGateway-Hours": 0.052,
		},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	got, err = offer.Read(strings.NewReader(file(t)), offer.Options{Region: "eu-central-1", Offer: "AmazonEC2", Families: []string{"m6i"}})
	if err != nil || got.Prices["BoxUsage:m6i.large"] == 0 || got.Prices["BoxUsage:c6g.metal"] != 0 || got.Prices["NatGateway-Hours"] == 0 {
		t.Errorf("only one family: %v, %v", got.Prices, err)
	}
}

func TestFilesThatCannotBeTrustedAreRefused(t *testing.T) {
	all := file(t)
	for name, c := range map[string]struct{ text, want string }{
		"not JSON":             {"<html>", "invalid character"},
		"another value":        {"[]", "instead of an object"},
		"half a file":          {all[:len(all)/2], "unexpected EOF"},
		"another service":      {strings.Replace(all, `"offerCode": "AmazonEC2"`, `"offerCode": "AmazonRDS"`, 1), `the file is of "AmazonRDS"`},
		"no date":              {strings.Replace(all, "publicationDate", "published", 1), "no publicationDate"},
		"another unit":         {strings.Replace(all, `"unit": "GB-Mo"`, `"unit": "TB-Mo"`, 1), `the price of EBS:VolumeUsage.gp3 is for one "TB-Mo"`},
		"another currency":     {strings.Replace(all, `{"USD": "0.0520000000"}`, `{"CNY": "0.4"}`, 1), "the price of NatGateway-Hours is not in USD"},
		"a price that is none": {strings.Replace(all, "0.0520000000", "-1", 1), `the price of NatGateway-Hours is "-1"`},
		"two prices":           {strings.Replace(all, `"operatingSystem": "Windows"`, `"operatingSystem": "Linux"`, 1), "BoxUsage:m6i.large has two prices"},
		"terms first":          {`{"offerCode": "AmazonEC2", "terms": {}, "products": {}}`, "the terms come before the products"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := offer.Read(strings.NewReader(c.text), offer.Options{Region: "eu-central-1", Offer: "AmazonEC2"})
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "AmazonEC2 for eu-central-1") {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	data, err := os.ReadFile("testdata/AmazonEC2.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(data))
	f.Fuzz(func(t *testing.T, text string) {
		got, err := offer.Read(strings.NewReader(text), offer.Options{Region: "eu-central-1", Offer: "AmazonEC2"})
		if err != nil {
			return
		}
		for usage, usd := range got.Prices {
			if usd <= 0 {
				t.Errorf("%s costs %v", usage, usd)
			}
		}
	})
}
