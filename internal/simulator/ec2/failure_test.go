package ec2_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/ec2"
)

// checks returns the results of an instance's two status checks, and whether the instance status
// check reports since when it fails.
func (w *suite) checks(id string) (system, instance types.SummaryStatus, since bool) {
	w.t.Helper()
	out, err := w.DescribeInstanceStatus(w.t.Context(), &awsec2.DescribeInstanceStatusInput{InstanceIds: []string{id}})
	if err != nil || len(out.InstanceStatuses) != 1 {
		w.t.Fatalf("status: %+v %v", out, err)
	}
	s := out.InstanceStatuses[0]
	return s.SystemStatus.Status, s.InstanceStatus.Status, s.InstanceStatus.Details[0].ImpairedSince != nil
}

func TestStatusChecksFailIndependently(t *testing.T) {
	w := start(t)
	id := *w.launch(w.request()).InstanceId
	if err := w.service.SetStatusCheck(account, region, id, ec2.InstanceCheck, false); err != nil {
		t.Fatal(err)
	}
	if system, instance, since := w.checks(id); system != "ok" || instance != "impaired" || !since {
		t.Errorf("system %s, instance %s, since %t", system, instance, since)
	}
	if err := w.service.SetStatusCheck(account, region, id, ec2.InstanceCheck, true); err != nil {
		t.Fatal(err)
	}
	if system, instance, since := w.checks(id); system != "ok" || instance != "ok" || since {
		t.Errorf("afterwards: system %s, instance %s, since %t", system, instance, since)
	}
}

func TestInstanceOfUnbootableImageRunsWithoutMachine(t *testing.T) {
	w := start(t)
	in := w.request()
	w.service.SetBootable(*in.ImageId, false)
	i := w.launch(in)
	if i.State.Name != "running" || w.host.called("boot "+*i.InstanceId) {
		t.Errorf("the instance is %s, and its machine was booted: %t", i.State.Name, w.host.called("boot "+*i.InstanceId))
	}
	if system, instance, _ := w.checks(*i.InstanceId); system != "ok" || instance != "impaired" {
		t.Errorf("system %s, instance %s", system, instance)
	}
}

func TestShutdownBehaviorIsHonored(t *testing.T) {
	for behaviour, want := range map[types.ShutdownBehavior]types.InstanceStateName{
		"": types.InstanceStateNameStopped, types.ShutdownBehaviorStop: types.InstanceStateNameStopped,
		types.ShutdownBehaviorTerminate: types.InstanceStateNameTerminated,
	} {
		t.Run(string(behaviour), func(t *testing.T) {
			w := start(t)
			in := w.request()
			in.InstanceInitiatedShutdownBehavior = behaviour
			id := *w.launch(in).InstanceId
			if err := w.service.ShutDown(account, region, id); err != nil {
				t.Fatal(err)
			}
			if i := w.until(id, want); aws.ToString(i.StateReason.Code) != "Client.InstanceInitiatedShutdown" {
				t.Errorf("the reason is %+v", i.StateReason)
			}
		})
	}
}
