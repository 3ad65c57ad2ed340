//go:build linux

package guest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// nodeup calls mount in the first form, and systemd's mount units in the second.
func TestMountFindsDeviceAndTarget(t *testing.T) {
	want := []string{"/dev/disk/by-id/x", "/var/lib/etcd"}
	for _, args := range [][]string{
		want, {want[0], want[1], "-t", "ext4"}, {"-n", "-t", "ext4", "-o", "rw,noatime", want[0], want[1]},
	} {
		if diff := cmp.Diff(want, operandsOf(args)); diff != "" {
			t.Errorf("operands of %v (-want +got):\n%s", args, diff)
		}
	}
}
