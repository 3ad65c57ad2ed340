package ec2_test

import (
	"encoding/base64"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	testclock "k8s.io/utils/clock/testing"
)

// ask sends a request to a metadata service.
func ask(t *testing.T, method, address string, headers map[string]string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range headers {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// imdsSuite is a suite with an instance that has all kinds of metadata.
func imdsSuite(t *testing.T, tokens types.HttpTokensState) (w *suite, id, address string) {
	t.Helper()
	w = startWith(t, testclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)), nil)
	w.profile("node")
	in := w.request()
	in.IamInstanceProfile = &types.IamInstanceProfileSpecification{Name: aws.String("node")}
	in.UserData = aws.String(base64.StdEncoding.EncodeToString([]byte("#!/bin/sh\necho hello\n")))
	in.MetadataOptions = &types.InstanceMetadataOptionsRequest{
		HttpTokens:           tokens,
		InstanceMetadataTags: types.InstanceMetadataTagsStateEnabled,
	}
	in.TagSpecifications = []types.TagSpecification{
		{ResourceType: types.ResourceTypeInstance, Tags: []types.Tag{{Key: aws.String("slot"), Value: aws.String("2")}}},
	}
	i := w.launch(in)
	return w, *i.InstanceId, serve(t, w.host.specs[*i.InstanceId].Metadata)
}

// The status codes are those of
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instance-metadata-returns.html
func TestMetadataTokens(t *testing.T) {
	w, _, address := imdsSuite(t, types.HttpTokensStateRequired)
	const ttl, show = "X-aws-ec2-metadata-token-ttl-seconds", "X-aws-ec2-metadata-token"
	status, token := ask(t, http.MethodPut, address+"/latest/api/token", map[string]string{ttl: "60"})
	if status != http.StatusOK || token == "" {
		t.Fatalf("a token: %d %s", status, token)
	}
	for _, c := range []struct {
		reason, method, path string
		headers              map[string]string
		status               int
	}{
		{"a request without a token, which is required", http.MethodGet, "/latest/meta-data/instance-id", nil, http.StatusUnauthorized},
		{"a request with a token", http.MethodGet, "/latest/meta-data/instance-id", map[string]string{show: token}, http.StatusOK},
		{"a token that is none", http.MethodGet, "/latest/meta-data/instance-id", map[string]string{show: "x"}, http.StatusUnauthorized},
		{"a token asked for without a lifetime", http.MethodPut, "/latest/api/token", nil, http.StatusBadRequest},
		{"a token for more than six hours", http.MethodPut, "/latest/api/token", map[string]string{ttl: "21601"}, http.StatusBadRequest},
		{"a token asked for through a proxy", http.MethodPut, "/latest/api/token", map[string]string{ttl: "60", "X-Forwarded-For": "10.0.0.9"}, http.StatusForbidden},
		{"a path that is none", http.MethodGet, "/latest/meta-data/nothing", map[string]string{show: token}, http.StatusNotFound},
		{"the interruption of an instance that is on demand", http.MethodGet, "/latest/meta-data/spot/instance-action", map[string]string{show: token}, http.StatusNotFound},
	} {
		t.Run(c.reason, func(t *testing.T) {
			if status, body := ask(t, c.method, address+c.path, c.headers); status != c.status {
				t.Errorf("%d, want %d: %s", status, c.status, body)
			}
		})
	}
	w.clock.Step(time.Minute)
	if status, _ := ask(t, http.MethodGet, address+"/latest/meta-data/", map[string]string{show: token}); status != http.StatusUnauthorized {
		t.Errorf("an old token is answered with %d", status)
	}
	_, optional, plain := imdsSuite(t, types.HttpTokensStateOptional)
	if status, body := ask(t, http.MethodGet, plain+"/latest/meta-data/instance-id", nil); status != http.StatusOK || body != optional {
		t.Errorf("without a token where none is required: %d %s", status, body)
	}
}

func TestMetadataDescribesInstance(t *testing.T) {
	w, id, address := imdsSuite(t, types.HttpTokensStateRequired)
	client := imds.New(imds.Options{Endpoint: address})
	ctx := t.Context()
	i := w.until(id, types.InstanceStateNameRunning)
	for path, want := range map[string]string{
		"instance-id": id, "local-ipv4": *i.PrivateIpAddress, "local-hostname": *i.PrivateDnsName, "hostname": *i.PrivateDnsName,
		"placement/availability-zone": region + "a", "placement/region": region, "instance-type": "m6i.large", "ami-id": *i.ImageId,
		"mac": *i.NetworkInterfaces[0].MacAddress, "tags/instance/slot": "2", "instance-life-cycle": "on-demand", "tags/instance/": "slot",
		"iam/security-credentials/": "node-role",
		"network/interfaces/macs/" + *i.NetworkInterfaces[0].MacAddress + "/subnet-id": w.subnets[region+"a"],
		"placement/": "availability-zone\navailability-zone-id\nregion",
	} {
		out, err := client.GetMetadata(ctx, &imds.GetMetadataInput{Path: path})
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if got, _ := io.ReadAll(out.Content); string(got) != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
	data, err := client.GetUserData(ctx, &imds.GetUserDataInput{})
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := io.ReadAll(data.Content); string(got) != "#!/bin/sh\necho hello\n" {
		t.Errorf("user data is %q", got)
	}
	document, err := client.GetInstanceIdentityDocument(ctx, &imds.GetInstanceIdentityDocumentInput{})
	if err != nil || document.InstanceID != id || document.Region != region || document.AccountID != account ||
		document.Architecture != "x86_64" {
		t.Errorf("identity %+v %v", document, err)
	}
	info, err := client.GetIAMInfo(ctx, &imds.GetIAMInfoInput{})
	if err != nil || !strings.HasSuffix(info.InstanceProfileArn, "instance-profile/node") {
		t.Errorf("profile %+v %v", info, err)
	}
}

// Programs request the versions that they were written for: cloud-init asks for 2021-03-23 and falls
// back to 2009-04-04. A version has the categories that were released by then.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-instance-metadata.html#instancedata-data-categories
func TestMetadataVersionsHaveWhatWasReleasedByThen(t *testing.T) {
	_, id, address := imdsSuite(t, types.HttpTokensStateRequired)
	lifetime := map[string]string{"X-aws-ec2-metadata-token-ttl-seconds": "60"}
	_, token := ask(t, http.MethodPut, address+"/latest/api/token", lifetime)
	get := func(path string) (int, string) {
		return ask(t, http.MethodGet, address+path, map[string]string{"X-aws-ec2-metadata-token": token})
	}
	_, versions := get("/")
	for _, version := range []string{"1.0", "2009-04-04", "2016-09-02", "2018-09-24", "2021-03-23", "latest"} {
		if !slices.Contains(strings.Split(versions, "\n"), version) {
			t.Errorf("the versions do not have %s: %q", version, versions)
		}
		if status, body := get("/" + version + "/meta-data/instance-id"); status != http.StatusOK || body != id {
			t.Errorf("the instance's ID in %s: %d %q", version, status, body)
		}
	}
	for path, want := range map[string]int{
		"/2008-02-01/dynamic/instance-identity/document": http.StatusNotFound, "/2009-04-04/dynamic/instance-identity/document": http.StatusOK,
		"/2018-09-24/meta-data/tags/instance/slot": http.StatusNotFound, "/2021-03-23/meta-data/tags/instance/slot": http.StatusOK,
		"/2009-04-04/meta-data/placement/availability-zone": http.StatusOK, "/2019-10-01/meta-data/placement/region": http.StatusNotFound,
		"/2020-10-27/meta-data/placement/region": http.StatusOK, "/2011-05-01/meta-data/iam/info": http.StatusNotFound,
		"/2012-01-12/meta-data/iam/info": http.StatusOK, "/2009-04-04/user-data": http.StatusOK, "/2010-01-01/meta-data/": http.StatusNotFound,
	} {
		if status, body := get(path); status != want {
			t.Errorf("%s: %d %q, want %d", path, status, body, want)
		}
	}
	if _, top := get("/2008-02-01/"); top != "meta-data\nuser-data" {
		t.Errorf("a version without dynamic data has %q", top)
	}
	if status, _ := ask(t, http.MethodPut, address+"/2021-03-23/api/token", lifetime); status != http.StatusForbidden {
		t.Errorf("a request for a token with a version: %d, want 403", status)
	}
}

// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instance-metadata-security-credentials.html
func TestRoleCredentialsWorkAndAreRenewed(t *testing.T) {
	w, id, address := imdsSuite(t, types.HttpTokensStateRequired)
	client := imds.New(imds.Options{Endpoint: address})
	read := func() aws.Credentials {
		out, err := client.GetMetadata(t.Context(), &imds.GetMetadataInput{Path: "iam/security-credentials/node-role"})
		if err != nil {
			t.Fatal(err)
		}
		var c struct {
			AccessKeyId, SecretAccessKey, Token string //nolint:revive // as the document spells it
			Expiration                          time.Time
		}
		decode(t, out.Content, &c)
		return aws.Credentials{AccessKeyID: c.AccessKeyId, SecretAccessKey: c.SecretAccessKey, SessionToken: c.Token, Expires: c.Expiration}
	}
	first := read()
	config := w.config.Copy()
	config.Credentials = credentials.StaticCredentialsProvider{Value: first}
	who, err := sts.NewFromConfig(config).GetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{})
	if err != nil || *who.Arn != "arn:aws:sts::"+account+":assumed-role/node-role/"+id {
		t.Errorf("calls are %+v's, %v", who, err)
	}
	if again := read(); again.AccessKeyID != first.AccessKeyID {
		t.Error("credentials change at once")
	}
	w.clock.Step(5*time.Hour + time.Minute)
	if later := read(); later.AccessKeyID == first.AccessKeyID || later.Expires.Sub(w.clock.Now()) < 5*time.Hour {
		t.Errorf("credentials are not renewed: %+v", later)
	}
	if _, err := w.TerminateInstances(t.Context(), &awsec2.TerminateInstancesInput{InstanceIds: []string{id}}); err != nil {
		t.Fatal(err)
	}
}

func TestMetadataHasSpotInterruptionNotice(t *testing.T) {
	w := startWith(t, testclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)), nil)
	in := w.request()
	in.InstanceMarketOptions = &types.InstanceMarketOptionsRequest{MarketType: types.MarketTypeSpot}
	i := w.launch(in)
	address := serve(t, w.host.specs[*i.InstanceId].Metadata)
	if status, _ := ask(t, http.MethodGet, address+"/latest/meta-data/spot/instance-action", nil); status != http.StatusNotFound {
		t.Errorf("before the notice: %d", status)
	}
	if err := w.service.InterruptSpot(account, region, *i.InstanceId, "terminate"); err != nil {
		t.Fatal(err)
	}
	if err := w.service.RecommendRebalance(account, region, *i.InstanceId); err != nil {
		t.Fatal(err)
	}
	var action struct{ Action, Time string }
	_, body := ask(t, http.MethodGet, address+"/latest/meta-data/spot/instance-action", nil)
	decode(t, strings.NewReader(body), &action)
	if action.Action != "terminate" || action.Time != "2026-01-01T00:02:00Z" {
		t.Errorf("instance action = %s", body)
	}
	if status, _ := ask(t, http.MethodGet, address+"/latest/meta-data/events/recommendations/rebalance", nil); status != http.StatusOK {
		t.Errorf("the recommendation: %d", status)
	}
}
