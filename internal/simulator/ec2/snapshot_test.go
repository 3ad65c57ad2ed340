package ec2_test

import (
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	testclock "k8s.io/utils/clock/testing"

	"github.com/aws-operator/aws-operator/internal/simulator/wire/wiretest"
)

func (w *suite) snapshot(volume string, tags map[string]string) string {
	w.t.Helper()
	var list []types.Tag
	for key, value := range tags {
		list = append(list, types.Tag{Key: &key, Value: &value})
	}
	in := &awsec2.CreateSnapshotInput{VolumeId: &volume}
	if len(list) > 0 {
		in.TagSpecifications = []types.TagSpecification{{ResourceType: types.ResourceTypeSnapshot, Tags: list}}
	}
	out, err := w.CreateSnapshot(w.t.Context(), in)
	if err != nil {
		w.t.Fatal(err)
	}
	if out.State != types.SnapshotStatePending {
		w.t.Errorf("a new snapshot is %s", out.State)
	}
	return *out.SnapshotId
}

func (w *suite) snapshots(filters ...types.Filter) []types.Snapshot {
	w.t.Helper()
	var found []types.Snapshot
	pages := awsec2.NewDescribeSnapshotsPaginator(
		w.Client, &awsec2.DescribeSnapshotsInput{OwnerIds: []string{"self"}, Filters: filters, MaxResults: aws.Int32(5)},
	)
	for pages.HasMorePages() {
		page, err := pages.NextPage(w.t.Context())
		if err != nil {
			w.t.Fatal(err)
		}
		found = append(found, page.Snapshots...)
	}
	return found
}

// A snapshot is pending until its time is over, cannot be used until then, and may fail.
func TestSnapshotsTakeTime(t *testing.T) {
	w := startWith(t, testclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)), nil)
	w.service.SetSnapshotTime(time.Minute)
	volume := w.volume(region + "a")
	id := w.snapshot(volume, nil)
	w.clock.Step(30 * time.Second)
	if got := w.snapshots()[0]; got.State != types.SnapshotStatePending || *got.Progress != "50%" || got.CompletionTime != nil {
		t.Errorf("after half of its time it is %+v", got)
	}
	_, err := w.CreateVolume(t.Context(), &awsec2.CreateVolumeInput{AvailabilityZone: aws.String(region + "a"), SnapshotId: &id})
	wiretest.WantCode(t, err, "IncorrectState")
	w.clock.Step(30 * time.Second)
	if got := w.snapshots()[0]; got.State != types.SnapshotStateCompleted || !got.CompletionTime.Equal(w.clock.Now()) || !*got.Encrypted {
		t.Errorf("after its time it is %+v", got)
	}
	w.service.FailSnapshot(volume, "out of luck")
	failed := w.snapshot(volume, nil)
	w.clock.Step(time.Minute)
	if got := w.snapshots(types.Filter{Name: aws.String("status"), Values: []string{"error"}}); len(got) != 1 ||
		*got[0].SnapshotId != failed ||
		*got[0].StateMessage != "out of luck" {
		t.Errorf("failed are %+v", got)
	}
	for range 5 {
		w.snapshot(volume, nil)
	}
	_, err = w.CreateSnapshot(t.Context(), &awsec2.CreateSnapshotInput{VolumeId: &volume})
	wiretest.WantCode(t, err, "ConcurrentSnapshotLimitExceeded")
}

// Snapshots are found by their tags, page by page, until they are deleted.
func TestSnapshotsAreFound(t *testing.T) {
	w := start(t)
	volume := w.volume(region + "a")
	var ours []string
	for range 7 {
		ours = append(ours, w.snapshot(volume, map[string]string{"cluster": "ours", "slot": "0"}))
		w.snapshot(volume, map[string]string{"cluster": "theirs"})
	}
	find := func() (ids []string) {
		for _, one := range w.snapshots(types.Filter{
			Name: aws.String("tag:cluster"), Values: []string{"ours"},
		}, types.Filter{Name: aws.String("tag-key"), Values: []string{"slot"}}) {
			ids = append(ids, *one.SnapshotId)
		}
		slices.Sort(ids)
		return ids
	}
	slices.Sort(ours)
	if got := find(); !slices.Equal(got, ours) {
		t.Errorf("found %v, want %v", got, ours)
	}
	if _, err := w.DeleteSnapshot(t.Context(), &awsec2.DeleteSnapshotInput{SnapshotId: &ours[0]}); err != nil {
		t.Fatal(err)
	}
	if got := find(); !slices.Equal(got, ours[1:]) {
		t.Errorf("found %v, want %v", got, ours[1:])
	}
	_, err := w.DeleteSnapshot(t.Context(), &awsec2.DeleteSnapshotInput{SnapshotId: &ours[0]})
	wiretest.WantCode(t, err, "InvalidSnapshot.NotFound")
	_, err = w.DeleteSnapshot(t.Context(), &awsec2.DeleteSnapshotInput{SnapshotId: aws.String("snap")})
	wiretest.WantCode(t, err, "InvalidSnapshotID.Malformed")
}
