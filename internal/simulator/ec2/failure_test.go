package ec2_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	testclock "k8s.io/utils/clock/testing"

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

// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/monitoring-instances-status-check_sched.html
func TestScheduledEventIsReportedAndThenStopsOrRebootsTheInstance(t *testing.T) {
	for code, want := range map[types.EventCode]string{
		types.EventCodeInstanceRetirement: "stopped", types.EventCodeInstanceStop: "stopped",
		types.EventCodeSystemReboot: "rebooted", types.EventCodeSystemMaintenance: "running",
	} {
		t.Run(string(code), func(t *testing.T) {
			clk := testclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
			w := startWith(t, clk, nil)
			id := *w.launch(w.request()).InstanceId
			w.until(id, types.InstanceStateNameRunning)
			address := serve(t, w.host.specs[id].Metadata)
			if err := w.service.ScheduleEvent(account, region, id, string(code), time.Hour); err != nil {
				t.Fatal(err)
			}
			if err := w.service.ScheduleEvent(account, region, id, "instance-reboot", time.Hour); err != nil {
				t.Fatal(err)
			}
			if err := w.service.CancelEvents(account, region, id, "instance-reboot"); err != nil {
				t.Fatal(err)
			}
			events := func() []types.InstanceStatusEvent {
				out, err := w.DescribeInstanceStatus(t.Context(), &awsec2.DescribeInstanceStatusInput{
					InstanceIds: []string{id}, IncludeAllInstances: aws.Bool(true),
				})
				if err != nil || len(out.InstanceStatuses[0].Events) != 2 {
					t.Fatalf("status: %+v %v", out, err)
				}
				return out.InstanceStatuses[0].Events
			}
			before := events()
			if e := before[0]; e.Code != code || !e.NotBefore.Equal(clk.Now().Add(time.Hour)) || strings.HasPrefix(*e.Description, "[") {
				t.Errorf("the event is %+v", e)
			}
			if text := *before[1].Description; !strings.HasPrefix(text, "[Canceled] ") {
				t.Errorf("the canceled event is described as %s", text)
			}
			var announced []struct{ NotBefore, Code, State string }
			_, body := ask(t, http.MethodGet, address+"/latest/meta-data/events/maintenance/scheduled", nil)
			decode(t, strings.NewReader(body), &announced)
			if len(announced) != 1 || announced[0].NotBefore != "1 Jan 2026 01:00:00 GMT" || announced[0].Code != string(code) {
				t.Errorf("instance metadata: %s", body)
			}
			w.eventually("the events of AWS Health", func() bool { return len(w.published("AWS Health Event")) == 2 })
			clk.Step(time.Hour)
			w.eventually("the end of the event", func() bool { return strings.HasPrefix(*events()[0].Description, "[Completed] ") })
			switch want {
			case "stopped":
				if why := w.until(id, types.InstanceStateNameStopped).StateReason; *why.Code != "Server.ScheduledStop" {
					t.Errorf("stopped because of %+v", why)
				}
			case "rebooted":
				w.eventually("the reboot", func() bool { return w.host.called("terminate " + id) })
			}
			w.eventually(want, func() bool {
				i, _ := w.service.Instance(account, region, id)
				return i.Due && (i.State == types.InstanceStateNameStopped) == (want == "stopped")
			})
		})
	}
}
