package state_test

import (
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/simulator/fault"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	simulated "github.com/aws-operator/aws-operator/internal/simulator/s3"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
	"github.com/aws-operator/aws-operator/internal/state"
)

const inBucket = "s3://acme-clusters/production"

// s3Suite is a bucket behind a real HTTP server, which the SDK's environment leads to.
type s3Suite struct {
	faults *fault.Injector
	client *s3.Client
}

func newS3(t *testing.T) *s3Suite {
	t.Helper()
	w := &s3Suite{faults: fault.New()}
	buckets := simulated.New(&resource.Env{Clock: clock.RealClock{}, Partition: "aws"})
	server := httptest.NewServer(wire.NewRouter([]*wire.Service{buckets.Service()}, w.faults, clock.RealClock{}))
	t.Cleanup(server.Close)
	for key, value := range map[string]string{
		"AWS_ENDPOINT_URL": server.URL, "AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "123456789012",
		"AWS_SECRET_ACCESS_KEY": "secret",
		"AWS_CONFIG_FILE":       "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null", "AWS_PROFILE": "", "AWS_SESSION_TOKEN": "",
	} {
		t.Setenv(key, value)
	}
	w.client = s3.New(s3.Options{
		BaseEndpoint: &server.URL, Region: "eu-central-1", UsePathStyle: true,
		Credentials: credentials.NewStaticCredentialsProvider("123456789012", "secret", ""),
	})
	if _, err := w.client.CreateBucket(t.Context(), &s3.CreateBucketInput{
		Bucket:                    aws.String("acme-clusters"),
		CreateBucketConfiguration: &types.CreateBucketConfiguration{LocationConstraint: "eu-central-1"},
	}); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *s3Suite) keys(t *testing.T) string {
	t.Helper()
	out, err := w.client.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: aws.String("acme-clusters")})
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, object := range out.Contents {
		keys = append(keys, *object.Key)
	}
	return strings.Join(keys, " ")
}

func TestBucketStoresClustersLikeAFolder(t *testing.T) {
	w := newS3(t)
	s := open(t, inBucket)
	if got := actions(t, s, demo, workers); got != "Cluster demo created, InstanceGroup workers created" {
		t.Error(got)
	}
	const want = "production/demo/cluster.yaml production/demo/instancegroups/workers.yaml production/demo/secrets/demo-ca.yaml " +
		"production/demo/secrets/demo-etcd-ca.yaml production/demo/secrets/demo-front-proxy-ca.yaml production/demo/secrets/demo-sa.yaml " +
		"production/demo/status/cluster.yaml production/demo/status/instancegroups/workers.yaml"
	if got := w.keys(t); got != want {
		t.Errorf("the bucket has %s", got)
	}
	another := open(t, inBucket) // which has not read anything yet
	if got := actions(t, another, demo, strings.Replace(workers, "maxSize: 3", "maxSize: 4", 1)); got != "Cluster demo unchanged, InstanceGroup workers changed" {
		t.Error(got)
	}
	loaded, err := s.Load(t.Context(), "demo")
	if err != nil || loaded.Groups[0].Spec.MaxSize != 4 {
		t.Fatalf("%+v, %v", loaded, err)
	}
	if names, err := another.Clusters(t.Context()); err != nil || strings.Join(names, " ") != "demo" {
		t.Errorf("%v, %v", names, err)
	}
	for _, object := range loaded.All() {
		if err := s.Remove(t.Context(), "demo", object); err != nil {
			t.Error(err)
		}
	}
	if left := w.keys(t); left != "" {
		t.Errorf("left: %s", left)
	}
}

func TestConcurrentWritesConflict(t *testing.T) {
	newS3(t)
	one, other := open(t, inBucket), open(t, inBucket)
	actions(t, one, demo)
	mine, err := one.Load(t.Context(), "demo")
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := other.Load(t.Context(), "demo")
	if err != nil {
		t.Fatal(err)
	}
	theirs.Cluster.Status.Version = "v1.36.3"
	if err := other.Save(t.Context(), "demo", theirs.Cluster); err != nil {
		t.Fatal(err)
	}
	mine.Cluster.Status.Version = "v1.35.7"
	if err := one.Save(t.Context(), "demo", mine.Cluster); err == nil ||
		!strings.Contains(err.Error(), "another client has changed ") || !strings.Contains(err.Error(), "status/cluster.yaml meanwhile") {
		t.Errorf("got %v", err)
	}
}

func TestWriteWithALostResponseSucceeds(t *testing.T) {
	w := newS3(t)
	defer w.faults.Add(fault.Rule{
		Service: "s3", Operation: "PutObject", Skip: 1, Times: 2,
		Code: "InternalError", Message: "We encountered an internal error.", Status: 500, AfterEffect: true,
	})()
	s := open(t, inBucket)
	if got := actions(t, s, demo, workers); got != "Cluster demo created, InstanceGroup workers created" {
		t.Error(got)
	}
	if _, err := s.Load(t.Context(), "demo"); err != nil {
		t.Error(err)
	}
}

func TestTheLockOfABucketNamesItsHolder(t *testing.T) {
	w := newS3(t)
	one, other := open(t, inBucket), open(t, inBucket)
	unlock, err := one.Lock(t.Context(), "demo", "apply")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := one.Lock(t.Context(), "demo", "replace"); err != nil {
		t.Errorf("its holder is refused: %v", err)
	}
	_, err = other.Replace(t.Context(), objects(t, demo))
	locked, ok := errors.AsType[*state.LockedError](err)
	if !ok || locked.Holder.Purpose != "apply" || locked.Holder.Process == 0 ||
		!strings.Contains(err.Error(), "aws s3 rm s3://acme-clusters/production/demo/lock") {
		t.Errorf("got %v", err)
	}
	if got := w.keys(t); got != "production/demo/lock" {
		t.Errorf("something was written: %s", got)
	}
	if err := unlock(); err != nil {
		t.Error(err)
	}
	if got := actions(t, other, demo); got != "Cluster demo created" {
		t.Error(got)
	}
}

func TestLockOfAnExitedLocalProcessIsTakenOver(t *testing.T) {
	w := newS3(t)
	for name, test := range map[string]struct {
		host string
		free bool
	}{
		"of this machine":    {hostname(t), true},
		"of another one":     {"elsewhere.example.com", false},
		"of one that is not": {"", false},
	} {
		t.Run(name, func(t *testing.T) {
			// Linux assigns no process ID that large.
			text := "user: ada\nhost: \"" + test.host + "\"\nprocess: 4194305\nsince: \"2026-01-02T03:04:05Z\"\npurpose: apply\n"
			if _, err := w.client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String("acme-clusters"), Key: aws.String("production/demo/lock"), Body: strings.NewReader(text)}); err != nil {
				t.Fatal(err)
			}
			unlock, err := open(t, inBucket).Lock(t.Context(), "demo", "delete")
			switch {
			case test.free && err != nil:
				t.Errorf("got %v", err)
			case test.free:
				if err := unlock(); err != nil {
					t.Error(err)
				}
			case err == nil || !strings.Contains(err.Error(), "since 2026-01-02T03:04:05Z, for apply"):
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestObjectsAreEncryptedWithTheGivenKey(t *testing.T) {
	w := newS3(t)
	s, err := state.Open(t.Context(), inBucket, state.Options{KMSKey: "alias/clusters"})
	if err != nil {
		t.Fatal(err)
	}
	actions(t, s, demo)
	for object := range strings.FieldsSeq(w.keys(t)) {
		head, err := w.client.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: aws.String("acme-clusters"), Key: &object})
		if err != nil || head.ServerSideEncryption != types.ServerSideEncryptionAwsKms ||
			!strings.Contains(aws.ToString(head.SSEKMSKeyId), "alias/clusters") {
			t.Errorf("%s: %+v, %v", object, head, err)
		}
	}
}

func TestS3ErrorsAreOneSentence(t *testing.T) {
	for name, test := range map[string]struct {
		ref, code, message string
		status             int
		want               string
	}{
		"credentials that have expired": {inBucket, "ExpiredToken", "The provided token has expired.", 400, "The AWS credentials have expired; renew them"},
		"a permission that is missing": {
			inBucket, "AccessDenied",
			"User: arn:aws:iam::123456789012:user/ada is not authorized to perform: s3:ListBucket on resource: \"arn:aws:s3:::acme-clusters\" because no identity-based policy allows the s3:ListBucket action",
			403, "arn:aws:iam::123456789012:user/ada lacks the permission s3:ListBucket",
		},
		"a bucket that there is not":   {"s3://missing-bucket/x", "", "", 0, "bucket missing-bucket does not exist"},
		"a bucket of another region":   {inBucket, "PermanentRedirect", "The bucket you are attempting to access must be addressed using the specified endpoint.", 301, "set AWS_REGION"},
		"a reference without a bucket": {"s3:///x", "", "", 0, "has no bucket name"},
		"a scheme that there is not":   {"gs://acme/x", "", "", 0, "is of an unknown type"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newS3(t)
			if test.code != "" {
				w.faults.Add(fault.Rule{Service: "s3", Code: test.code, Message: test.message, Status: test.status})
			}
			s, err := state.Open(t.Context(), test.ref, state.Options{})
			if err == nil {
				_, err = s.Replace(t.Context(), objects(t, demo))
			}
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "https response error") ||
				strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v", err)
			}
		})
	}
}
