//go:build linux

package agent

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"k8s.io/utils/clock"
)

// metadata is the instance metadata service.
const metadata = "http://169.254.169.254/latest/"

// filterValues is the maximum number of values in a filter:
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_Filter.html
const filterValues = 200

// ec2 calls EC2 with the machine's own role. The SDK's EC2 client would triple the size of this
// program, for one call.
type ec2 struct {
	clock  clock.PassiveClock
	client *http.Client
}

func newEC2(clk clock.PassiveClock) *ec2 {
	return &ec2{clock: clk, client: &http.Client{Timeout: patience}}
}

// instance is an instance that EC2 describes.
type instance struct {
	ID    string `xml:"instanceId"`
	State string `xml:"instanceState>name"`
	Type  string `xml:"instanceType"`
	Zone  string `xml:"placement>availabilityZone"`
}

// describe returns the instances that EC2 knows. The filter ignores unknown IDs.
func (e *ec2) describe(ctx context.Context, ids []string) (map[string]instance, error) {
	token, err := e.fetch(ctx, http.MethodPut, "api/token", "X-aws-ec2-metadata-token-ttl-seconds", "60")
	if err != nil {
		return nil, err
	}
	credentials, err := e.credentials(ctx, string(token))
	if err != nil {
		return nil, err
	}
	region, err := e.get(ctx, string(token), "placement/region")
	if err != nil {
		return nil, err
	}
	suffix, err := e.get(ctx, string(token), "services/domain")
	if err != nil {
		suffix = []byte("amazonaws.com")
	}
	endpoint := fmt.Sprintf("https://ec2.%s.%s/", region, suffix)
	found := map[string]instance{}
	for len(ids) > 0 {
		batch := ids[:min(filterValues, len(ids))]
		ids = ids[len(batch):]
		instances, err := e.ask(ctx, endpoint, string(region), credentials, batch)
		if err != nil {
			return nil, err
		}
		for _, i := range instances {
			found[i.ID] = i
		}
	}
	return found, nil
}

// credentials returns the credentials of the machine's role:
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instance-metadata-security-credentials.html
func (e *ec2) credentials(ctx context.Context, token string) (aws.Credentials, error) {
	role, err := e.get(ctx, token, "iam/security-credentials/")
	if err != nil {
		return aws.Credentials{}, err
	}
	name, _, _ := strings.Cut(strings.TrimSpace(string(role)), "\n")
	data, err := e.get(ctx, token, "iam/security-credentials/"+name)
	if err != nil {
		return aws.Credentials{}, err
	}
	var c struct {
		AccessKeyID     string `json:"AccessKeyId"`
		SecretAccessKey string
		Token           string
	}
	if err := json.Unmarshal(data, &c); err != nil {
		return aws.Credentials{}, fmt.Errorf("read the role's credentials: %w", err)
	}
	return aws.Credentials{AccessKeyID: c.AccessKeyID, SecretAccessKey: c.SecretAccessKey, SessionToken: c.Token}, nil
}

func (e *ec2) get(ctx context.Context, token, path string) ([]byte, error) {
	return e.fetch(ctx, http.MethodGet, "meta-data/"+path, "X-aws-ec2-metadata-token", token)
}

func (e *ec2) fetch(ctx context.Context, method, path, header, value string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, metadata+path, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("request %s from the metadata service: %w", path, err)
	}
	request.Header.Set(header, value)
	return e.do(request, "the metadata service for "+path)
}

func (e *ec2) do(request *http.Request, what string) ([]byte, error) {
	response, err := e.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", what, err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("read the response of %s: %w", what, err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("call %s: %s: %.300s", what, response.Status, body)
	}
	return body, nil
}

// ask sends one DescribeInstances and reads all its pages:
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeInstances.html
func (e *ec2) ask(ctx context.Context, endpoint, region string, credentials aws.Credentials, ids []string) ([]instance, error) {
	form := url.Values{"Action": {"DescribeInstances"}, "Version": {"2016-11-15"}, "Filter.1.Name": {"instance-id"}}
	for i, id := range ids {
		form.Set("Filter.1.Value."+strconv.Itoa(i+1), id)
	}
	var all []instance
	for {
		body := []byte(form.Encode())
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, bytes.NewReader(body))
		if err != nil {
			return nil, fmt.Errorf("call EC2: %w", err)
		}
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
		sum := sha256.Sum256(body)
		if err := v4.NewSigner().SignHTTP(ctx, credentials, request, hex.EncodeToString(sum[:]), "ec2", region, e.clock.Now()); err != nil {
			return nil, fmt.Errorf("sign a request to EC2: %w", err)
		}
		answer, err := e.do(request, "EC2")
		if err != nil {
			return nil, err
		}
		var page struct {
			Instances []instance `xml:"reservationSet>item>instancesSet>item"`
			Next      string     `xml:"nextToken"`
		}
		if err := xml.Unmarshal(answer, &page); err != nil {
			return nil, fmt.Errorf("read EC2's response: %w", err)
		}
		all = append(all, page.Instances...)
		if page.Next == "" {
			return all, nil
		}
		form.Set("NextToken", page.Next)
	}
}
