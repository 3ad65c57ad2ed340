package reads_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/wire/wiretest"
)

// start starts a simulator and returns a client for its EC2.
func start(t *testing.T, o simulator.Options) *ec2.Client {
	t.Helper()
	s := simulator.New(o)
	t.Cleanup(s.Close)
	return ec2.NewFromConfig(wiretest.ServeRoot(t, s.Handler()), func(o *ec2.Options) { o.Retryer = retry.NewStandard() })
}

func volumes(t *testing.T, client *ec2.Client, count int) []string {
	t.Helper()
	var ids []string
	for range count {
		// The SDK writes a client token into a request, so each volume needs its own.
		in := &ec2.CreateVolumeInput{AvailabilityZone: aws.String("eu-central-1a"), Size: aws.Int32(1)}
		made, err := client.CreateVolume(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, *made.VolumeId)
	}
	return ids
}

func idsOf(found []types.Volume) []string {
	var ids []string
	for i := range found {
		ids = append(ids, *found[i].VolumeId)
	}
	return ids
}

func TestOrderChangesFromReadToRead(t *testing.T) {
	client := start(t, simulator.Options{Seed: 1})
	want := slices.Sorted(slices.Values(volumes(t, client, 8)))
	orders := map[string]bool{}
	for range 5 {
		out, err := client.DescribeVolumes(t.Context(), &ec2.DescribeVolumesInput{})
		if err != nil {
			t.Fatal(err)
		}
		got := idsOf(out.Volumes)
		orders[strings.Join(got, " ")] = true
		if d := cmp.Diff(want, slices.Sorted(slices.Values(got))); d != "" {
			t.Fatalf("volumes (-want +got)\n%s", d)
		}
	}
	if len(orders) < 2 {
		t.Error("five reads have the same order")
	}
}

func TestPagesVaryAndMissNothing(t *testing.T) {
	client := start(t, simulator.Options{Seed: 1})
	want := slices.Sorted(slices.Values(volumes(t, client, 40)))
	sizes := map[int]bool{}
	for range 5 {
		var got []string
		for pages := ec2.NewDescribeVolumesPaginator(client, &ec2.DescribeVolumesInput{MaxResults: aws.Int32(20)}); pages.HasMorePages(); {
			page, err := pages.NextPage(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if n := len(page.Volumes); n > 20 {
				t.Errorf("a page has %d results, more than asked for", n)
			}
			sizes[len(page.Volumes)] = true
			got = append(got, idsOf(page.Volumes)...)
		}
		if d := cmp.Diff(want, slices.Sorted(slices.Values(got))); d != "" {
			t.Fatalf("volumes (-want +got)\n%s", d)
		}
	}
	if len(sizes) < 3 {
		t.Errorf("pages have only the sizes %v", sizes)
	}
}

func TestReadsLagBehindChanges(t *testing.T) {
	seen := map[string]map[string]bool{}
	for seed := range uint64(10) {
		clock := testingclock.NewFakeClock(time.Now())
		client := start(t, simulator.Options{Seed: seed + 1, Lag: 5 * time.Second, Clock: clock})
		id := volumes(t, client, 1)[0]
		read := func(when string) {
			if seen[when] == nil {
				seen[when] = map[string]bool{}
			}
			out, err := client.DescribeVolumes(t.Context(), &ec2.DescribeVolumesInput{VolumeIds: []string{id}})
			switch {
			case err != nil:
				seen[when][awsapi.Code(err)] = true
			case len(out.Volumes[0].Tags) == 0:
				seen[when]["untagged"] = true
			default:
				seen[when]["tagged"] = true
			}
		}
		read("just created")
		clock.Step(10 * time.Second)
		read("seconds after the creation")
		clock.Step(time.Second)
		tag := &ec2.CreateTagsInput{Resources: []string{id}, Tags: []types.Tag{{Key: aws.String("a"), Value: aws.String("b")}}}
		if _, err := client.CreateTags(t.Context(), tag); err != nil {
			t.Fatal(err)
		}
		clock.Step(time.Second)
		read("just tagged")
		clock.Step(10 * time.Second)
		read("seconds after the tag")
	}
	want := map[string]map[string]bool{
		"just created":               {"InvalidVolume.NotFound": true, "untagged": true},
		"seconds after the creation": {"untagged": true},
		"just tagged":                {"tagged": true, "untagged": true},
		"seconds after the tag":      {"tagged": true},
	}
	if d := cmp.Diff(want, seen); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}
