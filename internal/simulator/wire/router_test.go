package wire_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/ecr"
	ecrtypes "github.com/aws/aws-sdk-go-v2/service/ecr/types"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	snstypes "github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/simulator/fault"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
	"github.com/aws-operator/aws-operator/internal/simulator/wire/wiretest"
)

func TestMain(m *testing.M) {
	wire.RegisterUnion[ddbtypes.AttributeValue](
		&ddbtypes.AttributeValueMemberB{}, &ddbtypes.AttributeValueMemberBOOL{}, &ddbtypes.AttributeValueMemberBS{},
		&ddbtypes.AttributeValueMemberL{}, &ddbtypes.AttributeValueMemberM{}, &ddbtypes.AttributeValueMemberN{},
		&ddbtypes.AttributeValueMemberNS{}, &ddbtypes.AttributeValueMemberNULL{}, &ddbtypes.AttributeValueMemberS{},
		&ddbtypes.AttributeValueMemberSS{})
	m.Run()
}

func start(t *testing.T, faults *fault.Injector, services ...*wire.Service) aws.Config {
	t.Helper()
	return wiretest.Serve(t, wire.NewRouter(services, faults, clock.RealClock{}))
}

func dynamo(op wire.Operation, name string) *wire.Service {
	return &wire.Service{
		Name: "dynamodb", Protocols: []wire.Protocol{wire.JSON10}, TargetPrefix: "DynamoDB_20120810",
		Operations: map[string]wire.Operation{name: op},
	}
}

func TestJSONRoundTripsUnionsBlobsAndTimes(t *testing.T) {
	item := map[string]ddbtypes.AttributeValue{
		"s":    &ddbtypes.AttributeValueMemberS{Value: "a \"quoted\" <é> \x01"},
		"n":    &ddbtypes.AttributeValueMemberN{Value: "1.5"},
		"b":    &ddbtypes.AttributeValueMemberB{Value: []byte{0, 1, 255}},
		"bs":   &ddbtypes.AttributeValueMemberBS{Value: [][]byte{{1}, {2}}},
		"null": &ddbtypes.AttributeValueMemberNULL{Value: true},
		"l": &ddbtypes.AttributeValueMemberL{Value: []ddbtypes.AttributeValue{
			&ddbtypes.AttributeValueMemberM{
				Value: map[string]ddbtypes.AttributeValue{"x": &ddbtypes.AttributeValueMemberBOOL{Value: false}},
			},
		}},
	}
	echo := wire.Op(func(_ context.Context, in *dynamodb.PutItemInput) (*dynamodb.PutItemOutput, error) {
		return &dynamodb.PutItemOutput{Attributes: in.Item}, nil
	})
	client := dynamodb.NewFromConfig(start(t, nil, dynamo(echo, "PutItem")))
	out, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("t"), Item: item})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(item, out.Attributes, cmpopts.IgnoreUnexported(
		ddbtypes.AttributeValueMemberS{}, ddbtypes.AttributeValueMemberN{}, ddbtypes.AttributeValueMemberB{},
		ddbtypes.AttributeValueMemberBS{}, ddbtypes.AttributeValueMemberNULL{}, ddbtypes.AttributeValueMemberL{},
		ddbtypes.AttributeValueMemberM{}, ddbtypes.AttributeValueMemberBOOL{})); diff != "" {
		t.Error(diff)
	}
}

func TestJSONLowerCamel(t *testing.T) {
	made := time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC)
	service := &wire.Service{
		Name: "ecr", Protocols: []wire.Protocol{wire.JSON11}, LowerCamel: true,
		Operations: map[string]wire.Operation{
			"CreateRepository": wire.Op(func(_ context.Context, in *ecr.CreateRepositoryInput) (*ecr.CreateRepositoryOutput, error) {
				return &ecr.CreateRepositoryOutput{Repository: &ecrtypes.Repository{
					RepositoryName: in.RepositoryName, CreatedAt: &made, ImageTagMutability: in.ImageTagMutability,
					ImageScanningConfiguration: in.ImageScanningConfiguration,
				}}, nil
			}),
		},
	}
	client := ecr.NewFromConfig(start(t, nil, service))
	out, err := client.CreateRepository(t.Context(), &ecr.CreateRepositoryInput{
		RepositoryName: aws.String("app"), ImageTagMutability: ecrtypes.ImageTagMutabilityImmutable,
		ImageScanningConfiguration: &ecrtypes.ImageScanningConfiguration{ScanOnPush: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	r := out.Repository
	if *r.RepositoryName != "app" || !r.CreatedAt.Equal(made) || r.ImageTagMutability != "IMMUTABLE" ||
		!r.ImageScanningConfiguration.ScanOnPush {
		t.Errorf("got %+v", r)
	}
}

func snsService() *wire.Service {
	return &wire.Service{
		Name: "sns", Protocols: []wire.Protocol{wire.Query}, APIVersion: "2010-03-31",
		XMLNamespace: "http://sns.amazonaws.com/doc/2010-03-31/",
		Operations: map[string]wire.Operation{
			"CreateTopic": wire.Op(func(ctx context.Context, in *sns.CreateTopicInput) (*sns.CreateTopicOutput, error) {
				c := wire.CallFrom(ctx)
				return &sns.CreateTopicOutput{TopicArn: aws.String(strings.Join([]string{
					c.Account, c.Region, *in.Name, in.Attributes["DisplayName"], *in.Tags[0].Key, *in.Tags[1].Value,
				}, "|"))}, nil
			}),
			"ListTopics": wire.Op(func(context.Context, *sns.ListTopicsInput) (*sns.ListTopicsOutput, error) {
				return &sns.ListTopicsOutput{Topics: []snstypes.Topic{{TopicArn: aws.String("a<b>")}, {TopicArn: aws.String("c&d")}}}, nil
			}),
			"GetTopicAttributes": wire.Op(func(context.Context, *sns.GetTopicAttributesInput) (*sns.GetTopicAttributesOutput, error) {
				return &sns.GetTopicAttributesOutput{Attributes: map[string]string{"x": "1", "y": "2"}}, nil
			}),
			"Publish": wire.Op(func(_ context.Context, in *sns.PublishInput) (*sns.PublishOutput, error) {
				return nil, &wire.Error{
					Code:    "NotFound",
					Message: "Topic <" + *in.MessageAttributes["k"].StringValue + ">",
					Status:  http.StatusNotFound,
				}
			}),
		},
	}
}

func TestQuery(t *testing.T) {
	client := sns.NewFromConfig(start(t, nil, snsService()))
	topic, err := client.CreateTopic(t.Context(), &sns.CreateTopicInput{
		Name: aws.String("t"), Attributes: map[string]string{"DisplayName": "d.e"},
		Tags: []snstypes.Tag{{Key: aws.String("k1"), Value: aws.String("v1")}, {Key: aws.String("k2"), Value: aws.String("v2")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := "123456789012|eu-central-1|t|d.e|k1|v2"; *topic.TopicArn != want {
		t.Errorf("got %s, want %s", *topic.TopicArn, want)
	}
	list, err := client.ListTopics(t.Context(), nil)
	if err != nil || len(list.Topics) != 2 || *list.Topics[0].TopicArn != "a<b>" || *list.Topics[1].TopicArn != "c&d" {
		t.Errorf("lists: %+v %v", list, err)
	}
	attributes, err := client.GetTopicAttributes(t.Context(), &sns.GetTopicAttributesInput{TopicArn: aws.String("t")})
	if err != nil || attributes.Attributes["x"] != "1" || attributes.Attributes["y"] != "2" {
		t.Errorf("maps: %+v %v", attributes, err)
	}
	_, err = client.Publish(t.Context(), &sns.PublishInput{
		Message: aws.String("m"), TopicArn: aws.String("t"),
		MessageAttributes: map[string]snstypes.MessageAttributeValue{"k": {DataType: aws.String("String"), StringValue: aws.String("v")}},
	})
	var notFound *snstypes.NotFoundException
	if !errors.As(err, &notFound) || notFound.ErrorMessage() != "Topic <v>" {
		t.Errorf("errors: %v", err)
	}
}

func TestUnknownOperationsReturnErrors(t *testing.T) {
	noop := wire.Op(func(context.Context, *dynamodb.PutItemInput) (*dynamodb.PutItemOutput, error) { return nil, nil })
	config := start(t, nil, dynamo(noop, "PutItem"), snsService())
	tests := []struct {
		name, code string
		call       func() error
	}{
		{"JSON operation that is not there", "UnknownOperationException", func() error {
			_, err := dynamodb.NewFromConfig(config).ListTables(t.Context(), nil)
			return err
		}},
		{"Query action that is not there", "InvalidAction", func() error {
			_, err := sns.NewFromConfig(config).ListSubscriptions(t.Context(), nil)
			return err
		}},
		{"service that is not there", "NotImplemented", func() error {
			_, err := sts.NewFromConfig(config).GetCallerIdentity(t.Context(), nil)
			return err
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { wiretest.WantCode(t, tt.call(), tt.code) })
	}
}

func TestRequestsWithoutCredentialsAreRefused(t *testing.T) {
	config := start(t, nil, snsService())
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, *config.BaseEndpoint, strings.NewReader("Action=ListTopics"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := config.HTTPClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusForbidden || !bytes.Contains(body, []byte("<Code>MissingAuthenticationToken</Code>")) {
		t.Errorf("got %d %s", resp.StatusCode, body)
	}
}

func TestCompressedBodiesAreUnpacked(t *testing.T) {
	config := start(t, nil, snsService())
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	_, _ = zip.Write([]byte("Action=ListTopics&Version=2010-03-31"))
	zip.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, *config.BaseEndpoint, &packed)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	req.Header.Set("Content-Encoding", "gzip")
	req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=AK/20260101/us-east-1/sns/aws4_request, SignedHeaders=host, Signature=0")
	resp, err := config.HTTPClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK {
		t.Errorf("got %d %s", resp.StatusCode, body)
	}
}

func TestAccountFollowsFromTheAccessKey(t *testing.T) {
	keys := &wire.Keys{}
	id, _ := keys.Issue("ASIA", wire.Principal{Account: "999999999999", ARN: "arn:aws:sts::999999999999:assumed-role/r/s"})
	var got wire.Call
	service := &wire.Service{
		Name: "sts", Protocols: []wire.Protocol{wire.Query},
		Operations: map[string]wire.Operation{"GetCallerIdentity": wire.Op(
			func(ctx context.Context, _ *sts.GetCallerIdentityInput) (*sts.GetCallerIdentityOutput, error) {
				got = *wire.CallFrom(ctx)
				return &sts.GetCallerIdentityOutput{}, nil
			})},
	}
	server := httptest.NewServer(wire.NewRouter([]*wire.Service{service}, nil, clock.RealClock{}, wire.WithKeys(keys)))
	t.Cleanup(server.Close)
	for key, want := range map[string]string{
		"210987654321": "210987654321", id: "999999999999", "AKIAWHATEVER": "123456789012", "test": "123456789012",
	} {
		_, err := sts.New(sts.Options{
			Region: "us-west-2", BaseEndpoint: aws.String(server.URL),
			Credentials: credentials.NewStaticCredentialsProvider(key, "s", ""),
		}).GetCallerIdentity(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got.Account != want || got.Region != "us-west-2" || got.Endpoint() != server.URL {
			t.Errorf("%s: %+v", key, got)
		}
	}
}
