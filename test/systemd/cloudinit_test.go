//go:build linux

package systemd

import (
	"strings"
	"testing"
)

// cloud-init recognizes EC2 by the hardware, gets a token of the metadata service, reads the
// instance's metadata and runs the user data.
// https://docs.cloud-init.io/en/latest/reference/datasources/ec2.html
func TestCloudInitRunsUserDataFromMetadata(t *testing.T) {
	host, _ := newHost(t, "/bin/true")
	_, instance := launch(t, host, "#!/bin/sh\necho the instance $(cat /var/lib/cloud/data/instance-id) has its user data\n")
	showConsole(t, host, instance)
	status := awaitCloudInit(t, host, instance)
	if !strings.Contains(status, "status: done") || !strings.Contains(status, "DataSourceEc2") {
		t.Errorf("cloud-init reports:\n%s", status)
	}
	console, err := host.Console(instance)
	if want := "the instance " + instance + " has its user data"; err != nil || !strings.Contains(string(console), want) {
		t.Errorf("the console does not show %q: %v", want, err)
	}
}
