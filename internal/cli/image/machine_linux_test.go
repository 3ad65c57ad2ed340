package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cli/exit"
	"github.com/aws-operator/aws-operator/internal/machines/process"
	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
	"github.com/aws-operator/aws-operator/internal/state"
)

// Stubs of containerd and its client, which record what they are asked to pull.
const (
	stubContainerd = "#!/bin/sh\ntouch /run/containerd-runs\nexec sleep 1000\n"
	stubClient     = "#!/bin/sh\ntest -e /run/containerd-runs || exit 1\necho \"$*\" >>/opt/pulled\n"
)

// The script runs in a machine: it downloads from a public bucket without credentials, and machines of
// the image have what it downloaded, and no identity of the instance that did.
func TestMachinesOfAnImageHaveWhatTheReleaseNeeds(t *testing.T) {
	s := newSuite(t)
	machines := newMachines(t)
	_, endpoint := simulatortest.Start(t, simulator.Options{Region: region, Machines: machines, Lag: simulator.NoLag})
	t.Setenv("AWS_ENDPOINT_URL", endpoint)
	s.api = ec2.NewFromConfig(simulatortest.Root(endpoint, accountID, region))
	public, err := s.api.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{
		Filters: []types.Filter{{Name: aws.String("default-for-az"), Values: []string{"true"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.subnet = *public.Subnets[0].SubnetId
	archive := tarball(t, map[string]string{"bin/containerd": stubContainerd, "bin/ctr": stubClient})
	kubelet := []byte("#!kubelet")
	mirror := s3.NewFromConfig(simulatortest.Root(endpoint, accountID, region), func(o *s3.Options) { o.UsePathStyle = true })
	publish(t, mirror, map[string][]byte{"containerd.tar.gz": archive, "kubelet": kubelet})
	s.writeRelease(map[string][]byte{"containerd.tar.gz": archive, "kubelet": kubelet})

	out, errOut, code := s.run(
		"create", "--subnet-id", s.subnet, "--arch", runtime.GOARCH, "--node-images", "--release", "v1.36.4-mirror.1", "--timeout", "5m",
	)
	if code != exit.Done {
		t.Fatalf("exit code %d, standard error %q", code, errOut)
	}
	id, _, _ := strings.Cut(out, "\n")
	launched, err := s.api.RunInstances(t.Context(), &ec2.RunInstancesInput{
		ImageId: &id, InstanceType: types.InstanceType(builders[v1alpha1.Architecture(runtime.GOARCH)]), SubnetId: &s.subnet,
		MinCount: aws.Int32(1), MaxCount: aws.Int32(1),
		UserData: aws.String(base64.StdEncoding.EncodeToString([]byte(`#!/bin/sh
sha256sum /usr/local/bin/kubelet /var/cache/nodeup/*
stat -c '%a' /usr/local/bin/kubelet
cat /opt/pulled
ls /var/lib/nodeup /var/log/containerd-image.log
test -s /etc/machine-id && echo seen
`))),
	})
	if err != nil {
		t.Fatal(err)
	}
	var console []byte
	patience.UntilTrue(t, "the machine of the image", func() bool {
		console, _ = machines.Console(*launched.Instances[0].InstanceId)
		return bytes.Contains(console, []byte("\nseen\n"))
	})
	for _, want := range []string{
		hashOf(kubelet) + "  /usr/local/bin/kubelet\n", hashOf(archive) + "  /var/cache/nodeup/" + hashOf(archive) + "\n", "\n755\n",
		"-n k8s.io images pull --platform linux/" + runtime.GOARCH + " registry.k8s.io/pause:3.10.2\n",
		"-n k8s.io images label registry.k8s.io/kube-proxy:v1.36.4 io.cri-containerd.image=managed io.cri-containerd.pinned=pinned\n",
		"'/var/lib/nodeup': No such file", "'/var/log/containerd-image.log': No such file",
	} {
		if !strings.Contains(string(console), want) {
			t.Errorf("the console lacks %q:\n%s", want, console)
		}
	}
}

func newMachines(t *testing.T) *process.Host {
	t.Helper()
	if err := process.Supported(); err != nil {
		t.Skip(err)
	}
	program := filepath.Join(t.TempDir(), "machine")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags=-s -w", "-o", program, "../../../cmd/machine")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	machines, err := process.New(process.Options{Dir: filepath.Join(t.TempDir(), "machines"), Machine: program, Kube: "/bin/true"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(machines.Close)
	return machines
}

func hashOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

func tarball(t *testing.T, programs map[string]string) []byte {
	t.Helper()
	var buffer bytes.Buffer
	zipped := gzip.NewWriter(&buffer)
	archive := tar.NewWriter(zipped)
	for name, text := range programs {
		if err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return buffer.Bytes()
}

// publish makes a bucket that everybody may read.
func publish(t *testing.T, to *s3.Client, objects map[string][]byte) {
	t.Helper()
	bucket := aws.String("mirror")
	_, err := to.CreateBucket(t.Context(), &s3.CreateBucketInput{
		Bucket: bucket, CreateBucketConfiguration: &s3types.CreateBucketConfiguration{LocationConstraint: region},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := to.DeletePublicAccessBlock(t.Context(), &s3.DeletePublicAccessBlockInput{Bucket: bucket}); err != nil {
		t.Fatal(err)
	}
	if _, err := to.PutBucketPolicy(t.Context(), &s3.PutBucketPolicyInput{Bucket: bucket, Policy: aws.String(
		`{"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::mirror/*"}}`,
	)}); err != nil {
		t.Fatal(err)
	}
	for key, content := range objects {
		if _, err := to.PutObject(t.Context(), &s3.PutObjectInput{Bucket: bucket, Key: &key, Body: bytes.NewReader(content)}); err != nil {
			t.Fatal(err)
		}
	}
}

// writeRelease writes a Release whose artifacts are in the bucket.
func (s *suite) writeRelease(content map[string][]byte) {
	s.t.Helper()
	sources := func(key string) map[v1alpha1.Architecture]v1alpha1.ArtifactSource {
		return map[v1alpha1.Architecture]v1alpha1.ArtifactSource{v1alpha1.Architecture(runtime.GOARCH): {
			URL: fmt.Sprintf("https://mirror.s3.%s.amazonaws.com/%s", region, key), SHA256: hashOf(content[key]),
		}}
	}
	of := &v1alpha1.Release{}
	of.Name = "v1.36.4-mirror.1"
	of.Spec = v1alpha1.ReleaseSpec{
		Kubernetes: "v1.36.4", ResourceSet: "1.2.0", Components: map[string]string{"pause": "3.10.2", "etcd": "3.6.8-0", "coredns": "v1.14.2"},
		Images: map[v1alpha1.Architecture]v1alpha1.MachineImage{v1alpha1.Architecture(runtime.GOARCH): {
			Parameter: "/aws/service/canonical/ubuntu/server/24.04/stable/20260714/" + runtime.GOARCH + "/hvm/ebs-gp3/ami-id",
		}},
		Artifacts: []v1alpha1.Artifact{
			{Name: "containerd", Format: v1alpha1.ArtifactTarGz, Path: "/usr/local", Sources: sources("containerd.tar.gz")},
			{Name: "kubelet", Path: "/usr/local/bin/kubelet", Sources: sources("kubelet")},
		},
	}
	into, err := state.Open(s.t.Context(), s.state, state.Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := into.Replace(s.t.Context(), []client.Object{of}); err != nil {
		s.t.Fatal(err)
	}
}
