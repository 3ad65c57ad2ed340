//go:build linux

package systemd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap"
	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
	"github.com/aws-operator/aws-operator/internal/cluster/diagnosis"
	"github.com/aws-operator/aws-operator/internal/local/kubebuild"
	"github.com/aws-operator/aws-operator/internal/machines/process"
	"github.com/aws-operator/aws-operator/internal/patience"
)

const bucket = "demo-bucket"

// apiStage is the first task of a worker that needs a control plane.
const apiStage = "API"

// The user data of a worker fetches nodeup with Debian's shell and curl, and nodeup writes and starts
// units under systemd until it needs the control plane, which does not exist here. After a reboot,
// nodeup.service continues from there.
func TestWorkerBootsToItsControlPlane(t *testing.T) {
	host, programs := newHost(t, "/bin/true")
	config := newAWS(t, host)
	profile := &types.IamInstanceProfileSpecification{Name: makeProfile(t, config)}
	client := ec2.NewFromConfig(config)
	instance := launchIn(t, client, host, publish(t, config, programs.Nodeup), profile)
	showConsole(t, host, instance)

	awaitStage(t, host, instance, "cloud-final.service")
	console, err := host.Console(instance)
	if err != nil {
		t.Fatal(err)
	}
	if boot := diagnosis.Read(console, false); boot.Stage != apiStage {
		t.Errorf("the diagnosis of the console, as cloud-init writes to it, is %+v", boot)
	}
	for _, unit := range []string{"nodeup.service", "kubelet.service", "containerd.service"} {
		if said := must(t, host, instance, "systemd-analyze", "verify", "/etc/systemd/system/"+unit); said != "" {
			t.Errorf("systemd-analyze verify %s: %s", unit, said)
		}
	}
	check := func(when string, boots int) {
		t.Helper()
		// They start together, in any order, once in each boot.
		started := strings.Fields(must(t, host, instance, "sort", "/root/units"))
		want := slices.Concat(slices.Repeat([]string{"agent.service"}, boots), slices.Repeat([]string{"group.service"}, boots))
		if !slices.Equal(started, want) {
			t.Errorf("%s, the units of the user were started: %v, want %v", when, started, want)
		}
		for file, want := range map[string]string{
			"/proc/sys/net/ipv4/ip_forward": "1", "/proc/sys/vm/overcommit_memory": "1", "/root/extra": "once",
			"/etc/agent/agent.conf": "a",
		} {
			if got := must(t, host, instance, "cat", file); got != want {
				t.Errorf("%s, %s has %q, want %q", when, file, got, want)
			}
		}
		must(t, host, instance, "systemctl", "is-active", "containerd")
		must(t, host, instance, "systemctl", "is-enabled", "containerd", "nodeup")
		if failed := must(t, host, instance, "systemctl", "list-units", "--failed", "--no-legend", "--plain"); failed != "" {
			t.Errorf("%s, units have failed: %s", when, failed)
		}
	}
	check("at the first boot", 1)
	for _, unit := range []string{"agent.service", "group.service"} {
		// Exec* and the drop-in are in effect.
		if nice := must(t, host, instance, "systemctl", "show", "--property=Nice", "--value", unit); nice != "5" {
			t.Errorf("%s runs with the nice level %q", unit, nice)
		}
	}
	if owner := must(t, host, instance, "stat", "--format=%U %a", "/etc/agent/agent.conf"); owner != "daemon 640" {
		t.Errorf("the file of spec.nodes has the owner and mode %s", owner)
	}
	if state := must(t, host, instance, "systemctl", "show", "--property=UnitFileState", "--value", "apt-daily.timer"); state != "masked" {
		t.Errorf("the masked unit is %s", state)
	}

	reboot(t, client, host, instance)
	awaitStage(t, host, instance, "nodeup.service")
	check("after a reboot", 2)
	if said := must(
		t,
		host,
		instance,
		"journalctl",
		"--boot",
		"--no-pager",
		"--output=cat",
		"--unit=cloud-final.service",
	); strings.Contains(
		said,
		"msg=",
	) {
		t.Errorf("cloud-init ran the user data again:\n%s", said)
	}
}

// awaitStage waits until nodeup, in a unit, has come to the task that needs the control plane.
func awaitStage(t *testing.T, host *process.Host, instance, unit string) {
	t.Helper()
	patience.Until(t, unit+" to come to the stage "+apiStage, func() error {
		if !host.Running(instance) {
			t.Fatal("the machine has ended")
		}
		journal, err := run(t.Context(), host, instance, "journalctl", "--boot", "--no-pager", "--output=cat", "--unit="+unit)
		if err != nil {
			return err
		}
		for line := range strings.Lines(journal) {
			if strings.Contains(line, "msg="+apiStage+" ") {
				return nil
			}
		}
		return errors.New(journal[max(0, len(journal)-500):])
	})
}

// makeProfile makes an instance profile with a role that may read buckets.
func makeProfile(t *testing.T, config aws.Config) *string {
	t.Helper()
	client, name := iam.NewFromConfig(config), aws.String("node")
	trust := aws.String(
		`{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}]}`,
	)
	_, err := client.CreateRole(t.Context(), &iam.CreateRoleInput{RoleName: name, AssumeRolePolicyDocument: trust})
	if err == nil {
		_, err = client.PutRolePolicy(t.Context(), &iam.PutRolePolicyInput{RoleName: name, PolicyName: name, PolicyDocument: aws.String(
			`{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::*"}]}`,
		)})
	}
	if err == nil {
		_, err = client.CreateInstanceProfile(t.Context(), &iam.CreateInstanceProfileInput{InstanceProfileName: name})
	}
	if err == nil {
		_, err = client.AddRoleToInstanceProfile(t.Context(), &iam.AddRoleToInstanceProfileInput{InstanceProfileName: name, RoleName: name})
	}
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// publish uploads nodeup and a worker's bundle, and returns the user data.
func publish(t *testing.T, config aws.Config, nodeup string) string {
	t.Helper()
	program, err := os.ReadFile(nodeup)
	if err != nil {
		t.Fatal(err)
	}
	document := workerBundle(t)
	client := s3.NewFromConfig(config, func(o *s3.Options) { o.UsePathStyle = true })
	if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{
		Bucket: aws.String(bucket), CreateBucketConfiguration: &s3types.CreateBucketConfiguration{LocationConstraint: region},
	}); err != nil {
		t.Fatal(err)
	}
	for key, data := range map[string][]byte{
		bundle.NodeupKey(bundle.HashOf(program), "amd64"): program, bundle.Key(bundle.HashOf(document)): document,
	} {
		_, err := client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String(bucket), Key: &key, Body: bytes.NewReader(data)})
		if err != nil {
			t.Fatal(err)
		}
	}
	script, err := bootstrap.UserData(bootstrap.UserDataInput{
		Region: region, DNSSuffix: "amazonaws.com", Bucket: bucket, Architecture: "amd64",
		NodeupSHA256: bundle.HashOf(program), BundleSHA256: bundle.HashOf(document), Signed: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	return script
}

// workerBundle returns the bundle of a worker, as the operator renders it, without artifacts to
// download. Its containerd only notifies systemd.
func workerBundle(t *testing.T) []byte {
	t.Helper()
	root, err := kubebuild.FindRoot()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "internal/cluster/bootstrap/testdata/worker-1.2.0.json"))
	if err != nil {
		t.Fatal(err)
	}
	var b bundle.Bundle
	if err := json.Unmarshal(text, &b); err != nil {
		t.Fatal(err)
	}
	b.Artifacts = nil
	b.Files = append(b.Files, bundle.File{Path: "/usr/local/bin/containerd", Mode: "0755", Content: notifier})
	b.ExtraUnits = append(b.ExtraUnits, bundle.Unit{Name: "apt-daily.timer", State: bundle.UnitMasked})
	b.ExtraUserData = "#!/bin/sh\necho once >>/root/extra\n"
	if text, err = json.Marshal(b); err != nil {
		t.Fatal(fmt.Errorf("encode the bundle: %w", err))
	}
	return text
}
