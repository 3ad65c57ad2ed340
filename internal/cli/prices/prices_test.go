package prices

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/internal/price"
	"github.com/aws-operator/aws-operator/internal/price/offer"
)

// priceLists serves price lists as AWS does, for eu-central-1 only.
func priceLists(t *testing.T, files map[string]string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := files[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(text))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// one is a price list with one product.
func one(code, family, usage, unit, usd string) string {
	return fmt.Sprintf(`{"formatVersion": "v1.0", "offerCode": %q, "publicationDate": "2026-11-20T00:00:00Z",
"products": {"SKU": {"sku": "SKU", "productFamily": %q, "attributes": {"usagetype": %q}}},
"terms": {"OnDemand": {"SKU": {"SKU.TERM": {"priceDimensions": {
  "SKU.TERM.FREE": {"unit": %[4]q, "beginRange": "0", "endRange": "1", "pricePerUnit": {"USD": "0.0000000000"}},
  "SKU.TERM.RATE": {"unit": %[4]q, "beginRange": "1", "endRange": "Inf", "pricePerUnit": {"USD": %[5]q}}}}}}}}`, code, family, usage, unit, usd)
}

// files are the price lists of all services.
func files(t *testing.T) map[string]string {
	t.Helper()
	ec2, err := os.ReadFile("../../price/offer/testdata/AmazonEC2.json")
	if err != nil {
		t.Fatal(err)
	}
	lists := map[string]string{
		"AmazonEC2":         string(ec2),
		"AWSELB":            one("AWSELB", "Load Balancer-Network", "EUC1-LoadBalancerUsage", "Hrs", "0.0270000000"),
		"AmazonVPC":         one("AmazonVPC", "", "EUC1-PublicIPv4:InUseAddress", "Hrs", "0.0050000000"),
		"awskms":            one("awskms", "Encryption Key", "eu-central-1-KMS-Keys", "Keys", "1.0000000000"),
		"AWSSecretsManager": one("AWSSecretsManager", "Secret", "EUC1-AWSSecretsManager-Secrets", "Secrets", "0.4000000000"),
		"AmazonDynamoDB":    one("AmazonDynamoDB", "Provisioned IOPS", "EUC1-ReadCapacityUnit-Hrs", "ReadCapacityUnit-Hrs", "0.0001586000"),
		"AmazonEKS":         one("AmazonEKS", "Compute", "EUC1-AmazonEKS-Hours:perCluster", "Hours", "0.1000000000"),
		"AmazonKinesis":     one("AmazonKinesis", "Kinesis Streams", "EUC1-Storage-ShardHour", "ShardHour", "0.0180000000"),
	}
	served := map[string]string{
		"/offers/v1.0/aws/AmazonRoute53/current/index.json": one("AmazonRoute53", "DNS Zone", "HostedZone", "HostedZone", "0.5000000000"),
	}
	for _, code := range offer.Codes() {
		path := "/offers/v1.0/aws/" + code + "/20261120000000/eu-central-1/index.json"
		served["/offers/v1.0/aws/"+code+"/current/region_index.json"] = fmt.Sprintf(
			`{"formatVersion": "v1.0", "regions": {"eu-central-1": {"regionCode": "eu-central-1", "currentVersionUrl": %q}}}`, path,
		)
		served[path] = lists[code]
	}
	return served
}

func run(t *testing.T, args ...string) (out, errOut string, err error) {
	t.Helper()
	var o, e bytes.Buffer
	cmd := Command()
	cmd.SetArgs(append([]string{"update"}, args...))
	cmd.SetOut(&o)
	cmd.SetErr(&e)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err = cmd.ExecuteContext(t.Context())
	return o.String(), e.String(), err
}

func TestUpdateTakesPricesFromAWSsLists(t *testing.T) {
	endpoint, file := priceLists(t, files(t)), filepath.Join(t.TempDir(), "prices.yaml")
	out, errOut, err := run(t, "--region", "eu-central-1,eu-test-9", "--out", file, "--endpoint", endpoint)
	if err != nil || out != file+": 13 prices of eu-central-1, eu-test-9.\n" {
		t.Fatalf("%s%s, %v", out, errOut, err)
	}
	if !strings.Contains(errOut, "AWS has no prices of AmazonEC2 for region eu-test-9.\n") {
		t.Errorf("what is missing is not said: %s", errOut)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"LoadBalancerUsage/network: 0.027\n", "PublicIPv4:InUseAddress: 0.005\n", "KMS-Keys: 1\n", "AWSSecretsManager-Secrets: 0.4\n",
		"ReadCapacityUnit-Hrs: 0.0001586\n", "Storage-ShardHour: 0.018\n", "AmazonEKS-Hours:perCluster: 0.1\n", "HostedZone: 0.5\n", "EBS:VolumeP-Throughput.gp3: 0.0476\n",
		"  source: " + endpoint + "/offers/v1.0/aws/AmazonEC2/20261120000000/eu-central-1/index.json\n", `date: "2026-11-20"`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	again, _, err := run(t, "--region", "eu-central-1", "--out", file, "--endpoint", endpoint)
	if err != nil {
		t.Fatal(again, err)
	}
	if now, err := os.ReadFile(file); err != nil || !bytes.Equal(now, text) {
		t.Errorf("the second time, the file is\n%s", now)
	}
}

func TestPricesOfOtherRegionsStay(t *testing.T) {
	endpoint, file := priceLists(t, files(t)), filepath.Join(t.TempDir(), "prices.yaml")
	const before = `formatVersion: v1
sections:
- {region: us-east-1, offer: AmazonEC2, date: "2026-01-02", source: x, prices: {NatGateway-Hours: 0.045}}
- {region: eu-central-1, offer: AmazonEC2, date: "2026-01-02", source: x, prices: {"BoxUsage:m1.small": 0.05}}
`
	if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := run(t, "--region", "eu-central-1", "--out", file, "--endpoint", endpoint, "--instance-families", "m6i"); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	list, err := price.Parse(text)
	if err != nil || !list.Has("us-east-1") || strings.Contains(string(text), "m1.small") || strings.Contains(string(text), "c6g.metal") ||
		!strings.Contains(string(text), "BoxUsage:m6i.large: 0.115\n") {
		t.Errorf("%v\n%s", err, text)
	}
}

func TestNothingIsWrittenAfterAFailure(t *testing.T) {
	for want, change := range map[string]func(map[string]string){
		"says 404 Not Found": func(m map[string]string) { delete(m, "/offers/v1.0/aws/AWSELB/current/region_index.json") },
		"which is not a path of price lists": func(m map[string]string) {
			m["/offers/v1.0/aws/AWSELB/current/region_index.json"] = `{"regions": {"eu-central-1": {"currentVersionUrl": "//elsewhere.example.com/offers/x"}}}`
		},
		"unexpected EOF": func(m map[string]string) {
			path := "/offers/v1.0/aws/awskms/20261120000000/eu-central-1/index.json"
			m[path] = m[path][:100]
		},
	} {
		t.Run(want, func(t *testing.T) {
			served, dir := files(t), t.TempDir()
			change(served)
			_, _, err := run(t, "--region", "eu-central-1", "--out", filepath.Join(dir, "prices.yaml"), "--endpoint", priceLists(t, served))
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q", err, want)
			}
			if left, _ := os.ReadDir(dir); len(left) > 0 {
				t.Errorf("there is %v", left)
			}
		})
	}
	dir := t.TempDir()
	if _, _, err := run(t, "--region", "eu-test-9", "--out", filepath.Join(dir, "prices.yaml"), "--endpoint", priceLists(t, files(t))); err == nil ||
		!strings.Contains(err.Error(), "AWS's price lists have nothing for eu-test-9") {
		t.Errorf("an unknown region: %v", err)
	}
	if _, _, err := run(t, "--region", "eu-central-1", "--out", filepath.Join(dir, "x"), "--endpoint", "example.com"); err == nil ||
		!strings.Contains(err.Error(), "--endpoint example.com is invalid") {
		t.Errorf("an endpoint without a scheme: %v", err)
	}
}
