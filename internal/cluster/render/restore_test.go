package render_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

// TestRestoredVolumes are made of the snapshot, and are found by the machines that are made for
// them only: those from before look for the slot's number alone.
func TestRestoredVolumes(t *testing.T) {
	const snapshot = "snap-0123456789abcdef0"
	f := read(t, "testdata/public.yaml")
	before := f.stacks(t, setRelease("1.1.0"))[0]
	f.cluster.Spec.ControlPlane.RestoreSnapshot = snapshot
	after := f.stacks(t, setRelease("1.1.0"))[0]
	seen := 0
	for slot, id := range ofType(after, "AWS::EC2::Volume") {
		seen++
		if got := property(after, id, "SnapshotId"); got != `"`+snapshot+`"` {
			t.Errorf("%s is made of %s", id, got)
		}
		old := ofType(before, "AWS::EC2::Volume")[slot]
		if property(before, old, "SnapshotId") != "" {
			t.Errorf("%s has a snapshot before", old)
		}
		if old == id {
			t.Errorf("%s is another volume and the same resource, of which CloudFormation does not update the snapshot", id)
		}
		tag := func(value string) string { return fmt.Sprintf(`{"Key":%q,"Value":%q}`, model.TagEtcdSlot, value) }
		was, is := property(before, old, "Tags"), property(after, id, "Tags")
		if !strings.Contains(was, tag(fmt.Sprint(slot))) || strings.Contains(is, tag(fmt.Sprint(slot))) ||
			!strings.Contains(is, tag(fmt.Sprintf("%d/%s", slot, snapshot))) {
			t.Errorf("%s is tagged %s, and %s when it is restored", id, was, is)
		}
	}
	if seen == 0 {
		t.Error("there are no volumes")
	}
}
