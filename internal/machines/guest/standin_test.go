//go:build linux

package guest

import (
	"os"
	"path/filepath"
	"strings"
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

func TestUnitsAreEnabledAndMaskedAsBySystemd(t *testing.T) {
	folders := []string{t.TempDir(), t.TempDir()}
	for _, path := range []string{filepath.Join(folders[0], "own.service"), filepath.Join(folders[1], "images.service")} {
		if err := os.WriteFile(path, []byte("[Service]\nExecStart=/bin/true\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ verb, unit, want string }{
		{"enable", "own.service", ""},
		{"enable", "images", ""},
		{"enable", "missing.service", "unit file missing.service does not exist"},
		{"mask", "own.service", "failed to mask unit"},
		{"mask", "images.service", ""},
		{"mask", "images.service", ""},
		{"mask", "missing.service", ""},
	} {
		err := checkUnitFiles(order{Verb: c.verb, Units: []string{c.unit}}, folders)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: got %v, want %q", c.verb, c.unit, err, c.want)
		}
	}
	if _, err := readUnit("images.service", folders); err == nil || !strings.Contains(err.Error(), "is masked") {
		t.Errorf("the masked unit is read: %v", err)
	}
}
