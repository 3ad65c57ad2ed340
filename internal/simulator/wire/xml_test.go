package wire_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

type shape struct {
	Name  *string
	Tags  []pair
	Flat  []string
	Pairs map[string]string
	At    *time.Time
	Count *int32
	Data  []byte
}

type pair struct{ Key, Value string }

func TestXMLRoundTrip(t *testing.T) {
	service := &wire.Service{
		XMLNamespace: "http://example.com/",
		Names:        map[string]wire.Name{"shape.Tags": {Item: "Tag"}, "shape.Flat": {Flattened: true}},
	}
	in := shape{
		Name: new("a <b> & c"), Tags: []pair{{"k", "v"}, {"l", ""}}, Flat: []string{"1", "2"},
		Pairs: map[string]string{"x": "y"}, At: new(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)), Count: new(int32(7)), Data: []byte{1, 2},
	}
	var buf bytes.Buffer
	if err := service.EncodeXML(&buf, "Shape", &in); err != nil {
		t.Fatal(err)
	}
	text := buf.String()
	for _, want := range []string{
		`<Shape xmlns="http://example.com/">`, "<Name>a &lt;b&gt; &amp; c</Name>", "<Tags><Tag><Key>k</Key><Value>v</Value></Tag>",
		"<Flat>1</Flat><Flat>2</Flat>", "<Pairs><entry><key>x</key><value>y</value></entry></Pairs>", "<At>2026-01-02T03:04:05Z</At>",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s lacks %s", text, want)
		}
	}
	var out shape
	if err := service.DecodeXML(&buf, &out); err != nil {
		t.Fatal(err)
	}
	in.Tags[1].Value = out.Tags[1].Value // an empty string is left out
	if diff := cmp.Diff(in, out); diff != "" {
		t.Error(diff)
	}
}

// The EC2 Query protocol: https://smithy.io/2.0/aws/protocols/aws-ec2-query-protocol.html
func TestEC2Query(t *testing.T) {
	type describeInput struct {
		InstanceIds []string //nolint:revive // the SDK's name
		Filters     []struct {
			Name   *string
			Values []string
		}
	}
	type describeOutput struct {
		Reservations []struct{ ReservationId *string } //nolint:revive // the SDK's name
	}
	var got describeInput
	service := &wire.Service{
		Name: "ec2", Protocols: []wire.Protocol{wire.EC2Query}, XMLNamespace: "http://ec2.amazonaws.com/doc/2016-11-15/",
		Names: map[string]wire.Name{
			"describeInput.InstanceIds": {Wire: "InstanceId"}, "describeInput.Filters": {Wire: "Filter"}, "Values": {Wire: "Value"},
			"describeOutput.Reservations": {Wire: "reservationSet"},
		},
		Operations: map[string]wire.Operation{
			"DescribeInstances": wire.Op(func(_ context.Context, in *describeInput) (*describeOutput, error) {
				got = *in
				if len(in.InstanceIds) == 0 {
					return nil, wire.Errorf("InvalidInstanceID.NotFound", "The instance ID does not exist")
				}
				out := &describeOutput{}
				out.Reservations = append(out.Reservations, struct{ ReservationId *string }{new("r-1")}) //nolint:revive // the SDK's name
				return out, nil
			}),
		},
	}
	router := wire.NewRouter([]*wire.Service{service}, nil, clock.RealClock{})
	post := func(form string) string {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader("Action=DescribeInstances&"+form))
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set(
			"Authorization", "AWS4-HMAC-SHA256 Credential=AK/20260101/us-east-1/ec2/aws4_request, SignedHeaders=host, Signature=0",
		)
		answer := httptest.NewRecorder()
		router.ServeHTTP(answer, req)
		return answer.Body.String()
	}
	body := post("InstanceId.1=i-1&InstanceId.2=i-2&Filter.1.Name=state&Filter.1.Value.1=running")
	if len(got.InstanceIds) != 2 || *got.Filters[0].Name != "state" || got.Filters[0].Values[0] != "running" {
		t.Errorf("decoded %+v", got)
	}
	if !strings.Contains(body, "<reservationSet><item><reservationId>r-1</reservationId></item></reservationSet>") {
		t.Errorf("encoded %s", body)
	}
	if body = post(""); !strings.Contains(body, "<Response><Errors><Error><Code>InvalidInstanceID.NotFound</Code>") {
		t.Errorf("error %s", body)
	}
}

func FuzzDecode(f *testing.F) {
	service := &wire.Service{
		Name: "ec2", Protocols: []wire.Protocol{wire.Query, wire.JSON10},
		Operations: map[string]wire.Operation{"A": wire.Op(func(context.Context, *shape) (*shape, error) { return nil, nil })},
	}
	router := wire.NewRouter([]*wire.Service{service}, nil, clock.RealClock{})
	f.Add("Tags.member.1.Key=k&Pairs.entry.1.key=a", "application/x-www-form-urlencoded")
	f.Add(`{"Tags":[{"Key":"k"}],"At":1.5,"Data":"AA=="}`, "application/x-amz-json-1.0")
	f.Fuzz(func(t *testing.T, body, contentType string) {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/?Action=A", strings.NewReader(body))
		req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=AK/1/r/ec2/aws4_request")
		req.Header.Set("Content-Type", contentType)
		if strings.Contains(contentType, "json") {
			req.Header.Set("X-Amz-Target", "T.A")
		}
		answer := httptest.NewRecorder()
		router.ServeHTTP(answer, req)
		if answer.Code != http.StatusOK && answer.Code != http.StatusBadRequest {
			t.Errorf("status %d", answer.Code)
		}
	})
}
