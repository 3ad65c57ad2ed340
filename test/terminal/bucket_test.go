package terminal

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/machines/fake"
	"github.com/aws-operator/aws-operator/internal/state"
	"github.com/aws-operator/aws-operator/test/inventory"
)

// bucket is the bucket of a team's clusters.
const bucket, prefix = "team", "clusters/" // as users write it, with a slash

func (p *user) s3() *s3.Client {
	return s3.NewFromConfig(p.aws(), func(o *s3.Options) { o.UsePathStyle = true })
}

// keepInBucket stores the user's clusters in a bucket that encrypts everything with a key,
// whose ARN is returned.
func (p *user) keepInBucket() (key string) {
	p.t.Helper()
	_, err := p.s3().CreateBucket(p.t.Context(), &s3.CreateBucketInput{
		Bucket: aws.String(bucket), CreateBucketConfiguration: &types.CreateBucketConfiguration{LocationConstraint: region},
	})
	if err != nil {
		p.t.Fatal(err)
	}
	made, err := kms.NewFromConfig(p.aws()).CreateKey(p.t.Context(), &kms.CreateKeyInput{})
	if err != nil {
		p.t.Fatal(err)
	}
	p.env = append(p.env, "AWS_OPERATOR_STATE=s3://"+bucket+"/"+prefix)
	return aws.ToString(made.KeyMetadata.Arn)
}

// kept returns the names of the objects in the bucket.
func (p *user) kept() (names []string) {
	p.t.Helper()
	out, err := p.s3().ListObjectsV2(p.t.Context(), &s3.ListObjectsV2Input{Bucket: aws.String(bucket)})
	if err != nil {
		p.t.Fatal(err)
	}
	for i := range out.Contents {
		names = append(names, aws.ToString(out.Contents[i].Key))
	}
	return names
}

// encrypted reports an error for objects that are not encrypted by the key.
func (p *user) encrypted(key string) {
	p.t.Helper()
	names := p.kept()
	if !slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, prefix+"demo/secrets/") }) {
		p.t.Errorf("the keys are not among %v", names)
	}
	for _, name := range names {
		out, err := p.s3().HeadObject(p.t.Context(), &s3.HeadObjectInput{Bucket: aws.String(bucket), Key: &name})
		if err != nil {
			p.t.Fatal(err)
		}
		if out.ServerSideEncryption != types.ServerSideEncryptionAwsKms || aws.ToString(out.SSEKMSKeyId) != key {
			p.t.Errorf("%s is encrypted by %q with %q", name, out.ServerSideEncryption, aws.ToString(out.SSEKMSKeyId))
		}
	}
}

// lockOfAnother makes the lock in the bucket belong to another machine, on which the process cannot
// be checked.
func (p *user) lockOfAnother() {
	p.t.Helper()
	name := aws.String(prefix + "demo/lock")
	out, err := p.s3().GetObject(p.t.Context(), &s3.GetObjectInput{Bucket: aws.String(bucket), Key: name})
	if err != nil {
		p.t.Fatal(err)
	}
	data, err := io.ReadAll(out.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	var holder state.Holder
	if err := yaml.Unmarshal(data, &holder); err != nil {
		p.t.Fatal(err)
	}
	holder.Host = "build-7"
	if data, err = yaml.Marshal(holder); err != nil {
		p.t.Fatal(err)
	}
	if _, err := p.s3().PutObject(p.t.Context(), &s3.PutObjectInput{
		Bucket: aws.String(bucket), Key: name, Body: strings.NewReader(string(data)),
	}); err != nil {
		p.t.Fatal(err)
	}
}

// A team keeps its cluster in a bucket: nothing is stored as plain text, only one process at a time
// changes it, and a killed process does not block others. The user has the least permissions for that.
func TestClusterLifecycleInABucket(t *testing.T) {
	t.Parallel()
	p := newUser(t, fake.Options{})
	key := p.keepInBucket()
	p.limit(key)
	with := []string{"--state-kms-key", key, "--nodeup-dir", p.path("nodeup"), "--poll", "200ms"}
	command := func(args ...string) []string { return append(args, with...) }
	before := inventory.Of(t, p.aws())

	p.manifests("demo.yaml", asItIs)
	out, errOut := p.run(0, command("apply", "-f", "demo.yaml", "--yes")...)
	p.says(out, "Cluster demo: created\n", "Cluster demo is ready at https://")
	p.says(errOut, "The keys of cluster demo are in s3://team/clusters/demo/secrets.")
	p.encrypted(key)

	p.manifests("demo.yaml", func(_ *v1alpha1.Cluster, g *v1alpha1.InstanceGroup) { g.Spec.InstanceTypes = []string{"m6a.large"} })
	first := p.start(command("apply", "-f", "demo.yaml", "--yes")...)
	first.await("UPDATE_IN_PROGRESS")
	first.signal(syscall.SIGSTOP) // or it may be done before the second process has started
	_, errOut = p.run(1, command("apply", "cluster", "demo", "--yes")...)
	p.says(
		errOut,
		"Error: cluster demo is being changed by ",
		fmt.Sprintf("(process %d)", first.command.Process.Pid),
		", for apply; wait until it is done",
	)
	first.kill()

	p.lockOfAnother()
	_, errOut = p.run(1, command("apply", "cluster", "demo", "--yes")...)
	p.says(errOut, " on build-7 ", "if that process no longer exists, remove its lock with aws s3 rm s3://team/clusters/demo/lock\n")
	if _, err := p.s3().DeleteObject(t.Context(), &s3.DeleteObjectInput{
		Bucket: aws.String(bucket), Key: aws.String(prefix + "demo/lock"),
	}); err != nil {
		t.Fatal(err)
	}
	p.run(0, command("apply", "cluster", "demo", "--yes")...)
	p.launchedAs("m6a.large", "demo-workers", 2)
	p.run(0, "plan", "-f", "demo.yaml", "--nodeup-dir", p.path("nodeup"), "--detailed-exitcode", "--drift")
	p.reads()

	out, _ = p.run(0, "rolling-update", "cluster", "demo", "--state-kms-key", key)
	p.says(out, "No instance needs to be replaced.\n")
	machines := p.launchedAs("m6a.large", "demo-workers", 2)
	p.run(0, "rolling-update", "cluster", "demo", "--state-kms-key", key, "--force", "--instance-group", "workers", "--yes")
	p.replaced(machines, "m6a.large", "demo-workers", 2)
	p.encrypted(key)

	second := p.start(command("delete", "cluster", "demo", "--yes")...)
	second.await("DELETE_IN_PROGRESS")
	second.kill() // its lock belongs to an exited process of this machine
	p.run(0, command("delete", "cluster", "demo", "--yes")...)
	if diff := cmp.Diff(before, inventory.Of(t, p.aws())); diff != "" {
		t.Errorf("deletion left a trace (-before +after):\n%s", diff)
	}
	if left := slices.DeleteFunc(p.kept(), func(name string) bool { return strings.HasPrefix(name, prefix+"releases/") }); len(left) > 0 {
		t.Errorf("left in the bucket: %v", left)
	}
	p.everyStatementIsNeeded()
}
