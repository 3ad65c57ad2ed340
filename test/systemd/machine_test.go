//go:build linux

package systemd

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/local/nodebuild"
	"github.com/aws-operator/aws-operator/internal/machines/process"
	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
)

const (
	account = "123456789012"
	region  = "eu-central-1"
)

// newHost returns a host of machines that run the distribution. kube is the program of kubeadm and
// the control plane.
func newHost(t *testing.T, kube string) (*process.Host, nodebuild.Programs) {
	t.Helper()
	path := tree(t)
	programs, err := nodebuild.Ensure(t.Context(), nodebuild.Options{Progress: os.Stderr, WithoutRestore: true})
	if err != nil {
		t.Fatal(err)
	}
	host, err := process.New(process.Options{
		Dir: filepath.Join(t.TempDir(), "machines"), Machine: programs.Machine, Kube: kube, Tree: path,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(host.Close)
	return host, programs
}

// stopped is when a command is killed. At a shutdown, systemd stops all processes for a moment, and
// nsenter stops itself with its child, for ever.
const stopped = 2 * time.Minute

// run runs a command in a machine, and returns what it wrote.
func run(ctx context.Context, host *process.Host, instance string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, stopped)
	defer cancel()
	cmd, err := host.Command(ctx, instance, args...)
	if err != nil {
		return "", err
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(out))
	}
	return strings.TrimSpace(string(out)), err
}

// must runs a command that has to succeed.
func must(t *testing.T, host *process.Host, instance string, args ...string) string {
	t.Helper()
	out, err := run(t.Context(), host, instance, args...)
	if err != nil {
		t.Error(err)
	}
	return out
}

// showConsole logs what a machine wrote if the test has failed.
func showConsole(t *testing.T, host *process.Host, instance string) {
	t.Helper()
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		console, err := host.Console(instance)
		t.Logf("the console of %s: %v\n%s", instance, err, console[max(0, len(console)-6000):])
	})
}

// awaitCloudInit returns what cloud-init reports when it has finished.
func awaitCloudInit(t *testing.T, host *process.Host, instance string) string {
	t.Helper()
	patience.Until(t, "cloud-init to finish on "+instance, func() error {
		if !host.Running(instance) {
			t.Fatal("the machine has ended")
		}
		_, err := run(t.Context(), host, instance, "test", "-e", "/run/cloud-init/result.json")
		return err
	})
	status, _ := run(t.Context(), host, instance, "cloud-init", "status", "--long") // it fails if a module has failed
	return status
}

// reboot reboots an instance and returns when its systemd runs again.
func reboot(t *testing.T, client *ec2.Client, host *process.Host, instance string) {
	t.Helper()
	const id = "/proc/sys/kernel/random/boot_id"
	before := must(t, host, instance, "cat", id)
	if _, err := client.RebootInstances(t.Context(), &ec2.RebootInstancesInput{InstanceIds: []string{instance}}); err != nil {
		t.Fatal(err)
	}
	patience.Until(t, "the instance to boot again", func() error {
		now, err := run(t.Context(), host, instance, "cat", id)
		if err == nil && now == before {
			err = errors.New("it has not yet")
		}
		return err
	})
}

// settled waits until systemd has no jobs, and returns the state of the system and its failed units.
func settled(t *testing.T, host *process.Host, instance string) string {
	t.Helper()
	patience.Until(t, "the units of "+instance+" to have started", func() error {
		jobs, err := run(t.Context(), host, instance, "systemctl", "list-jobs", "--no-legend")
		if err == nil && jobs != "" && !strings.Contains(jobs, "No jobs") {
			err = fmt.Errorf("jobs: %s", jobs)
		}
		return err
	})
	state, _ := run(t.Context(), host, instance, "systemctl", "is-system-running") // it fails if a unit has failed
	if state == "running" {
		return state
	}
	failed, _ := run(t.Context(), host, instance, "systemctl", "list-units", "--failed", "--no-legend", "--plain")
	return state + ", failed: " + failed
}

// newAWS returns a configuration for clients of a simulated AWS whose instances the host runs.
func newAWS(t *testing.T, host *process.Host) aws.Config {
	t.Helper()
	sim := simulatortest.New(t, simulator.Options{Account: account, Region: region, Machines: host})
	server := httptest.NewServer(sim.Handler())
	t.Cleanup(server.Close)
	return aws.Config{
		Region: region, BaseEndpoint: &server.URL, Credentials: credentials.NewStaticCredentialsProvider(account, "secret", ""),
	}
}

// launch runs an instance with user data, in an AWS of its own.
func launch(t *testing.T, host *process.Host, script string) (*ec2.Client, string) {
	t.Helper()
	client := ec2.NewFromConfig(newAWS(t, host))
	return client, launchIn(t, client, host, script, nil)
}

// launchIn runs an instance with user data and an instance profile, which may be new, and waits until
// its machine has started.
func launchIn(t *testing.T, client *ec2.Client, host *process.Host, script string, profile *types.IamInstanceProfileSpecification) string {
	t.Helper()
	images, err := client.DescribeImages(t.Context(), &ec2.DescribeImagesInput{
		Filters: []types.Filter{{Name: aws.String("architecture"), Values: []string{"x86_64"}}},
	})
	if err != nil || len(images.Images) == 0 {
		t.Fatalf("there are %d images, %v", len(images.Images), err)
	}
	subnets, err := client.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{})
	if err != nil || len(subnets.Subnets) == 0 {
		t.Fatalf("there are %d default subnets, %v", len(subnets.Subnets), err)
	}
	var out *ec2.RunInstancesOutput
	patience.Until(t, "the instance to launch", func() error {
		out, err = client.RunInstances(t.Context(), &ec2.RunInstancesInput{
			ImageId: images.Images[0].ImageId, InstanceType: types.InstanceTypeT3Medium, MinCount: aws.Int32(1), MaxCount: aws.Int32(1),
			IamInstanceProfile: profile,
			SubnetId:           subnets.Subnets[0].SubnetId,
			UserData:           aws.String(base64.StdEncoding.EncodeToString([]byte(script))),
			MetadataOptions:    &types.InstanceMetadataOptionsRequest{HttpTokens: types.HttpTokensStateRequired},
		})
		return err
	})
	instance := *out.Instances[0].InstanceId
	patience.UntilTrue(t, "the machine to start", func() bool { return host.Running(instance) })
	return instance
}
