package autoscaling_test

import (
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsas "github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	testclock "k8s.io/utils/clock/testing"

	"github.com/aws-operator/aws-operator/internal/simulator/wire/wiretest"
)

// secondVersion creates another version of the launch template.
func (w *suite) secondVersion() {
	w.t.Helper()
	if _, err := w.ec2.CreateLaunchTemplateVersion(w.t.Context(), &awsec2.CreateLaunchTemplateVersionInput{
		LaunchTemplateId: &w.template, SourceVersion: aws.String("1"),
		LaunchTemplateData: &ec2types.RequestLaunchTemplateData{InstanceType: ec2types.InstanceTypeM6iXlarge},
	}); err != nil {
		w.t.Fatal(err)
	}
}

// refresh starts a refresh to a version of the launch template.
func (w *suite) refresh(version string, p *types.RefreshPreferences) (string, error) {
	in := &awsas.StartInstanceRefreshInput{AutoScalingGroupName: aws.String("g"), Preferences: p}
	if version != "" {
		in.DesiredConfiguration = &types.DesiredConfiguration{LaunchTemplate: &types.LaunchTemplateSpecification{
			LaunchTemplateId: &w.template, Version: &version,
		}}
	}
	out, err := w.StartInstanceRefresh(w.t.Context(), in)
	if err != nil {
		return "", err
	}
	return *out.InstanceRefreshId, nil
}

func (w *suite) latestRefresh() types.InstanceRefresh {
	w.t.Helper()
	out, err := w.DescribeInstanceRefreshes(w.t.Context(), &awsas.DescribeInstanceRefreshesInput{AutoScalingGroupName: aws.String("g")})
	return must(w.t, out, err).InstanceRefreshes[0]
}

// refreshed waits until the latest refresh has a status while it steps the clock. It returns the
// lowest and the highest number of instances in service, warm or not.
func (w *suite) refreshed(want types.InstanceRefreshStatus, size int) (fewest, most int) {
	w.t.Helper()
	fewest, most = size, size
	w.eventually("the refresh to be "+string(want), func() bool {
		w.clock.Step(time.Second)
		n := len(w.inService("g"))
		fewest, most = min(fewest, n), max(most, n)
		return w.latestRefresh().Status == want
	})
	return fewest, most
}

func startRefresh(t *testing.T, size int32) (*suite, []string) {
	t.Helper()
	w := startWith(t, testclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)))
	in := w.group("g", size, size)
	in.LaunchTemplate.Version = aws.String("1")
	w.create(in)
	ids := w.until("g", int(size))
	w.secondVersion()
	return w, ids
}

func TestRefreshReplacesInstancesAndKeepsMinimumHealthy(t *testing.T) {
	for what, c := range map[string]struct {
		least, most            *int32
		size, wantMin, wantMax int
	}{
		"half of them":                 {aws.Int32(50), nil, 4, 2, 4},
		"all of them, so launch first": {aws.Int32(100), nil, 3, 3, 4},
		"up to twice as many":          {aws.Int32(100), aws.Int32(200), 2, 2, 4},
		"one that cannot be kept":      {nil, nil, 1, 0, 1},
	} {
		t.Run(what, func(t *testing.T) {
			w, old := startRefresh(t, int32(c.size))
			p := &types.RefreshPreferences{MinHealthyPercentage: c.least, MaxHealthyPercentage: c.most, InstanceWarmup: aws.Int32(5)}
			if _, err := w.refresh("2", p); err != nil {
				t.Fatal(err)
			}
			if g := w.get("g"); *g.LaunchTemplate.Version != "1" {
				t.Errorf("before the refresh has succeeded the group shows version %s", *g.LaunchTemplate.Version)
			}
			fewest, most := w.refreshed(types.InstanceRefreshStatusSuccessful, c.size)
			if fewest < c.wantMin || most > c.wantMax {
				t.Errorf("from %d to %d instances were in service", fewest, most)
			}
			if left := w.others("g", old...); len(left) != c.size {
				t.Errorf("new: %v", left)
			}
			w.until("g", c.size)
			if g := w.get("g"); *g.LaunchTemplate.Version != "2" || *g.Instances[0].LaunchTemplate.Version != "2" {
				t.Errorf("the group is %+v", g)
			}
			if r := w.latestRefresh(); *r.PercentageComplete != 100 || *r.InstancesToUpdate != 0 || r.EndTime == nil {
				t.Errorf("the refresh is %+v", r)
			}
		})
	}
}

func TestRefreshSkipsMatchingInstances(t *testing.T) {
	w, old := startRefresh(t, 2)
	if _, err := w.refresh("1", &types.RefreshPreferences{SkipMatching: aws.Bool(true)}); err != nil {
		t.Fatal(err)
	}
	w.refreshed(types.InstanceRefreshStatusSuccessful, 2)
	if now := w.inService("g"); !slices.Equal(now, old) {
		t.Errorf("%v became %v", old, now)
	}
	_, err := w.CancelInstanceRefresh(t.Context(), &awsas.CancelInstanceRefreshInput{AutoScalingGroupName: aws.String("g")})
	wiretest.WantCode(t, err, "ActiveInstanceRefreshNotFound")
}

func TestRefreshCanBeCancelledAndRolledBack(t *testing.T) {
	w, old := startRefresh(t, 2)
	slow := &types.RefreshPreferences{MinHealthyPercentage: aws.Int32(50), InstanceWarmup: aws.Int32(60)}
	if _, err := w.refresh("2", slow); err != nil {
		t.Fatal(err)
	}
	_, err := w.refresh("2", slow)
	wiretest.WantCode(t, err, "InstanceRefreshInProgress")
	w.eventually("the first new instance", func() bool { return len(w.others("g", old...)) == 1 && len(w.get("g").Instances) == 2 })
	if _, err := w.RollbackInstanceRefresh(t.Context(), &awsas.RollbackInstanceRefreshInput{
		AutoScalingGroupName: aws.String("g"),
	}); err != nil {
		t.Fatal(err)
	}
	w.refreshed(types.InstanceRefreshStatusRollbackSuccessful, 2)
	w.until("g", 2)
	for _, i := range w.get("g").Instances {
		if *i.LaunchTemplate.Version != "1" {
			t.Errorf("after the rollback there is %+v", i)
		}
	}
	if _, err := w.refresh("2", slow); err != nil {
		t.Fatal(err)
	}
	if _, err := w.CancelInstanceRefresh(t.Context(), &awsas.CancelInstanceRefreshInput{
		AutoScalingGroupName: aws.String("g"),
	}); err != nil {
		t.Fatal(err)
	}
	if r := w.latestRefresh(); r.Status != types.InstanceRefreshStatusCancelled {
		t.Errorf("the refresh is %+v", r)
	}
	if g := w.get("g"); *g.LaunchTemplate.Version != "1" {
		t.Errorf("a cancelled refresh leaves version %s", *g.LaunchTemplate.Version)
	}
	if _, err := w.refresh("", slow); err != nil {
		t.Fatal(err)
	}
	_, err = w.RollbackInstanceRefresh(t.Context(), &awsas.RollbackInstanceRefreshInput{AutoScalingGroupName: aws.String("g")})
	wiretest.WantCode(t, err, "IrreversibleInstanceRefresh")
}

func TestUnsupportedRefreshesAreRefused(t *testing.T) {
	w, _ := startRefresh(t, 1)
	for what, p := range map[string]*types.RefreshPreferences{
		"checkpoints":          {CheckpointPercentages: []int32{50}},
		"automatic rollback":   {AutoRollback: aws.Bool(true)},
		"more than a hundred":  {MinHealthyPercentage: aws.Int32(101)},
		"a maximum alone":      {MaxHealthyPercentage: aws.Int32(110)},
		"too wide a range":     {MinHealthyPercentage: aws.Int32(50), MaxHealthyPercentage: aws.Int32(160)},
		"an end of standby":    {StandbyInstances: types.StandbyInstancesTerminate},
		"time for the results": {BakeTime: aws.Int32(60)},
	} {
		t.Run(what, func(t *testing.T) {
			_, err := w.refresh("", p)
			wiretest.WantCode(t, err, "ValidationError")
		})
	}
}
