package simulator_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/fault"
	"github.com/aws-operator/aws-operator/internal/simulator/wire/wiretest"
)

// Clients in any language make incidents happen by the control endpoint, and observe them as on AWS.
func TestIncidentsArePosted(t *testing.T) {
	var mu sync.Mutex
	emitted := map[string]int{}
	sim := simulator.New(simulator.Options{
		Region: "eu-central-1", Lag: simulator.NoLag,
		Events: func(_, detailType string, _ []string, _ any) {
			mu.Lock()
			defer mu.Unlock()
			emitted[detailType]++
		},
	})
	server := httptest.NewServer(sim.Control())
	t.Cleanup(func() {
		sim.Close()
		server.Close()
	})
	config := aws.Config{
		Region: "eu-central-1", BaseEndpoint: aws.String(server.URL), Retryer: func() aws.Retryer { return aws.NopRetryer{} },
		HTTPClient:  wiretest.SteadyClient{HTTPClient: awshttp.NewBuildableClient()},
		Credentials: credentials.NewStaticCredentialsProvider("123456789012", "secret", ""),
	}
	client := ec2.NewFromConfig(config)
	launch := func() (string, error) {
		out, err := client.RunInstances(t.Context(), &ec2.RunInstancesInput{
			MinCount: aws.Int32(1), MaxCount: aws.Int32(1), InstanceType: "m6i.large",
			ImageId:               imageOf(&limited{Config: config, ctx: t.Context()}),
			Placement:             &ec2types.Placement{AvailabilityZone: aws.String("eu-central-1a")},
			InstanceMarketOptions: &ec2types.InstanceMarketOptionsRequest{MarketType: ec2types.MarketTypeSpot},
		})
		if err != nil {
			return "", err
		}
		return *out.Instances[0].InstanceId, nil
	}
	post := func(want int, body string) {
		t.Helper()
		if status, text := postJSON(t, server.URL+fault.IncidentPath, "application/json", body); status != want {
			t.Errorf("%s: got %d %s, want %d", body, status, text, want)
		}
	}

	post(http.StatusNoContent, `{"kind":"Capacity","zone":"eu-central-1a","instanceType":"m6i.large"}`)
	if _, err := launch(); codeOf(err) != "InsufficientInstanceCapacity" {
		t.Errorf("without capacity: %v", err)
	}
	post(http.StatusNoContent, `{"kind":"Capacity","zone":"eu-central-1a","instanceType":"m6i.large","resolved":true}`)
	id, err := launch()
	if err != nil {
		t.Fatal(err)
	}
	waiter := ec2.NewInstanceRunningWaiter(client, func(o *ec2.InstanceRunningWaiterOptions) { o.MinDelay, o.MaxDelay = 1e6, 1e7 })
	if err := waiter.Wait(t.Context(), &ec2.DescribeInstancesInput{InstanceIds: []string{id}}, patience.Left(t)); err != nil {
		t.Fatal(err)
	}

	post(http.StatusNoContent, `{"kind":"StatusCheck","instance":"`+id+`","check":"system"}`)
	status, err := client.DescribeInstanceStatus(t.Context(), &ec2.DescribeInstanceStatusInput{InstanceIds: []string{id}})
	if err != nil || status.InstanceStatuses[0].SystemStatus.Status != ec2types.SummaryStatusImpaired ||
		status.InstanceStatuses[0].InstanceStatus.Status != ec2types.SummaryStatusOk {
		t.Errorf("the status checks are %+v, %v", status, err)
	}
	post(http.StatusNoContent, `{"kind":"ScheduledEvent","instance":"`+id+`","event":"instance-retirement"}`)
	status, err = client.DescribeInstanceStatus(t.Context(), &ec2.DescribeInstanceStatusInput{
		Filters: []ec2types.Filter{{Name: aws.String("event.code"), Values: []string{"instance-retirement"}}},
	})
	if err != nil || len(status.InstanceStatuses) != 1 || len(status.InstanceStatuses[0].Events) != 1 ||
		status.InstanceStatuses[0].Events[0].Code != ec2types.EventCodeInstanceRetirement {
		t.Errorf("the scheduled events are %+v, %v", status, err)
	}
	post(http.StatusNoContent, `{"kind":"RebalanceRecommendation","instance":"`+id+`"}`)
	post(http.StatusNoContent, `{"kind":"SpotInterruption","instance":"`+id+`"}`)
	patience.UntilTrue(t, "the events of the notices", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return emitted["EC2 Instance Rebalance Recommendation"] == 1 && emitted["EC2 Spot Instance Interruption Warning"] == 1 &&
			emitted["AWS Health Event"] == 1
	})

	for _, refused := range []string{
		`{`, `{"kind":"Flood"}`, `{"kind":"Flood","instance":"i-1"}`, `{"kind":"Capacity"}`, `{"kind":"Capacity","az":"a"}`,
		`{"kind":"StatusCheck","instance":"` + id + `"}`, `{"kind":"SpotInterruption","instance":"i-0123456789abcdef0"}`,
		`{"kind":"SpotInterruption","instance":"` + id + `","action":"hibernate"}`,
		`{"kind":"ScheduledEvent","instance":"` + id + `","event":"flood"}`,
		`{"kind":"ScheduledEvent","instance":"` + id + `","event":"instance-stop","after":"soon"}`,
	} {
		post(http.StatusBadRequest, refused)
	}
	if code, _ := postJSON(t, server.URL+fault.IncidentPath, "text/plain", `{}`); code != http.StatusUnsupportedMediaType {
		t.Errorf("a form of a web page gets %d", code)
	}
}

func postJSON(t *testing.T, url, contentType, body string) (status int, text string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", contentType)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	read, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(read)
}
