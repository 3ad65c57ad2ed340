//go:build linux

package systemd

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
)

// cloud-init recognizes EC2 by the hardware, gets a token of the metadata service, reads the
// instance's metadata and runs the user data, at the first boot only.
// https://docs.cloud-init.io/en/latest/reference/datasources/ec2.html
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/user-data.html
func TestCloudInitRunsUserDataOnce(t *testing.T) {
	host, _ := newHost(t, "/bin/true")
	client, instance := launch(t, host, "#!/bin/sh\necho boot >>/root/boots\necho the instance $(cat /var/lib/cloud/data/instance-id) has its user data\n")
	showConsole(t, host, instance)
	status := awaitCloudInit(t, host, instance)
	if !strings.Contains(status, "status: done") || !strings.Contains(status, "DataSourceEc2") {
		t.Errorf("cloud-init reports:\n%s", status)
	}
	console, err := host.Console(instance)
	if want := "the instance " + instance + " has its user data"; err != nil || !strings.Contains(string(console), want) {
		t.Errorf("the console does not show %q: %v", want, err)
	}
	described, err := client.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{InstanceIds: []string{instance}})
	if err != nil {
		t.Fatal(err)
	}
	name, _, _ := strings.Cut(aws.ToString(described.Reservations[0].Instances[0].PrivateDnsName), ".")
	for i := range 2 {
		if state := settled(t, host, instance); state != "running" {
			t.Errorf("boot %d: the system is %s", i+1, state)
		}
		if got := must(t, host, instance, "hostname"); got != name {
			t.Errorf("boot %d: the hostname is %q, want %q", i+1, got, name)
		}
		if got := must(t, host, instance, "cat", "/root/boots"); got != "boot" {
			t.Errorf("after boot %d, user data has run at %q", i+1, got)
		}
		if i == 0 {
			reboot(t, client, host, instance)
			awaitCloudInit(t, host, instance)
		}
	}
}
