//go:build linux

package process_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/aws-operator/aws-operator/internal/patience"
)

// The test copies a volume while its machine repeatedly writes to a first and then to a last file,
// with much data to copy between them: the last file of the copy never contains anything that is
// not in the first.
func TestSnapshotIsConsistent(t *testing.T) {
	host := newHost(t)
	const write = `
disk=/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_vol1
until test -e $disk; do sleep 0.01; done
mkfs.ext4 -q $disk
mkdir /data && mount $disk /data
head -c 50000000 /dev/zero > /data/middle
i=0
while true; do
  i=$((i+1))
  echo $i >> /data/a
  echo $i >> /data/z
  test $i = 100 && echo writing
done
`
	boot(t, host, spec("i-1", "vpc-1", "10.0.0.5", write))
	if err := host.Attach("i-1", "vol-1", "/dev/sdf"); err != nil {
		t.Fatal(err)
	}
	awaitConsole(t, host, "i-1", "writing")
	lines := func(volume, name string) int {
		found, err := filepath.Glob(filepath.Join(host.Dir(), "volumes", volume, "*", name))
		if err != nil || len(found) != 1 {
			t.Fatalf("%s has %v, %v", volume, found, err)
		}
		text, err := os.ReadFile(found[0])
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(text), "\n")
	}
	for _, snapshot := range []string{"snap-1", "snap-2", "snap-3"} {
		if err := host.CopyVolume("vol-1", snapshot); err != nil {
			t.Fatal(err)
		}
		first, final := lines(snapshot, "a"), lines(snapshot, "z")
		if final > first || first > final+1 {
			t.Errorf("%s is of several moments: %d lines are in the first file, %d in the last", snapshot, first, final)
		}
		err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, patience.Left(t), true, func(context.Context) (bool, error) {
			return lines("vol-1", "a") > first, nil
		})
		if err != nil {
			t.Fatalf("the machine stands still since it was copied: %d lines", first)
		}
	}
}
