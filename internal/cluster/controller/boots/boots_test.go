package boots_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"
	testclock "k8s.io/utils/clock/testing"

	"github.com/aws-operator/aws-operator/internal/cluster/controller/boots"
)

var launched = time.Date(2026, 11, 23, 22, 0, 0, 0, time.UTC)

// account is EC2 with instances of slots, and what their consoles show.
type account struct {
	consoles map[string]string // by instance; the ID ends with the slot
	read     []string
	xen      bool
	denied   bool
	failure  error // of DescribeInstances
}

func (a *account) DescribeInstances(
	_ context.Context, in *ec2.DescribeInstancesInput, _ ...func(*ec2.Options),
) (*ec2.DescribeInstancesOutput, error) {
	if len(in.Filters) != 2 || aws.ToString(in.Filters[1].Name) != "tag:cluster" {
		return nil, fmt.Errorf("unexpected filters %v", in.Filters)
	}
	if a.failure != nil {
		return nil, a.failure
	}
	out := &ec2.DescribeInstancesOutput{}
	for id := range a.consoles {
		slot := id[len(id)-1:]
		out.Reservations = append(out.Reservations, types.Reservation{Instances: []types.Instance{{
			InstanceId: aws.String(id), LaunchTime: &launched,
			Tags: []types.Tag{{Key: aws.String("cluster-operator.aws/slot"), Value: aws.String(slot)}},
		}}})
	}
	return out, nil
}

func (a *account) GetConsoleOutput(
	_ context.Context, in *ec2.GetConsoleOutputInput, _ ...func(*ec2.Options),
) (*ec2.GetConsoleOutputOutput, error) {
	switch {
	case a.denied:
		return nil, &smithy.OperationError{ServiceID: "EC2", OperationName: "GetConsoleOutput", Err: &smithy.GenericAPIError{
			Code: "UnauthorizedOperation", Message: "You are not authorized to perform this operation.",
		}}
	case a.xen && aws.ToBool(in.Latest):
		return nil, &smithy.GenericAPIError{Code: "UnsupportedOperation", Message: "This instance type does not support it."}
	}
	a.read = append(a.read, *in.InstanceId)
	return &ec2.GetConsoleOutputOutput{Output: aws.String(base64.StdEncoding.EncodeToString([]byte(a.consoles[*in.InstanceId])))}, nil
}

// line returns a line of nodeup, written after some time.
func line(after time.Duration, level, task, problem string) string {
	text := fmt.Sprintf("time=%s level=%s msg=%q", launched.Add(after).Format(time.RFC3339), level, task)
	if problem != "" {
		text += fmt.Sprintf(" error=%q", problem)
	}
	return text + "\n"
}

func ask(t *testing.T, b *boots.Boots, a *account, joined ...string) boots.Answer {
	t.Helper()
	answer, err := b.Ask(t.Context(), &boots.Question{
		UID: "one", Of: "the control plane", EC2: a, Tags: map[string]string{"cluster": "demo"}, Since: launched, Most: 3,
		Joined: func(id string) bool { return strings.Contains(strings.Join(joined, " "), id) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func at(after time.Duration) (*boots.Boots, *testclock.FakePassiveClock) {
	clk := testclock.NewFakePassiveClock(launched.Add(after))
	return boots.New(clk), clk
}

const quorum = "client rate limiter Wait returned an error: context deadline exceeded"

func TestInstanceThatHasComeLeastFarIsReported(t *testing.T) {
	b, _ := at(10 * time.Minute)
	a := &account{consoles: map[string]string{
		"i-0": line(time.Minute, "WARN", "kubeadm upload-config", quorum),
		"i-1": line(time.Minute, "WARN", "etcd volume", "there are 0 volumes tagged map[] in eu-central-1b []; there must be one"),
		"i-2": line(time.Minute, "WARN", "kubeadm upload-config", quorum),
	}}
	answer := ask(t, b, a)
	for _, words := range []string{
		`Instance i-1 of slot 1 has not passed boot stage "etcd volume" since 22:01:00 UTC: there are 0 volumes`,
		"does not exist in the zone of the instance",
	} {
		if !strings.Contains(answer.Stalled, words) {
			t.Errorf("it lacks %q: %s", words, answer.Stalled)
		}
	}
	if len(a.read) != 3 || answer.Joined {
		t.Errorf("it read %v; %+v", a.read, answer)
	}
	// An instance that is a node needs no console.
	b, _ = at(10 * time.Minute)
	a.read = nil
	if answer := ask(t, b, a, "i-1"); !strings.Contains(answer.Stalled, "needs a majority of the slots") || len(a.read) != 2 {
		t.Errorf("it read %v: %s", a.read, answer.Stalled)
	}
}

func TestConsolesAreReadAtDeadlinesAndAtMostOnceAMinute(t *testing.T) {
	b, clk := at(time.Minute)
	a := &account{consoles: map[string]string{"i-0": ""}}
	if answer := ask(t, b, a); answer != (boots.Answer{Again: 2 * time.Minute}) || len(a.read) > 0 {
		t.Errorf("before the first deadline: %+v, read %v", answer, a.read)
	}
	clk.SetTime(launched.Add(3 * time.Minute))
	a.consoles["i-0"] = line(150*time.Second, "WARN", "kernel", "modprobe overlay: exit status 1")
	if answer := ask(t, b, a); answer != (boots.Answer{Again: time.Minute}) || len(a.read) != 1 {
		t.Errorf("before the deadline of a stage: %+v, read %v", answer, a.read)
	}
	clk.SetTime(launched.Add(3*time.Minute + 50*time.Second))
	if answer := ask(t, b, a); answer.Again != 10*time.Second || len(a.read) != 1 {
		t.Errorf("within a minute: %+v, read %v", answer, a.read)
	}
	clk.SetTime(launched.Add(4 * time.Minute))
	if answer := ask(t, b, a); answer != (boots.Answer{Again: 30 * time.Second}) || len(a.read) != 2 {
		t.Errorf("just before the deadline of a stage: %+v, read %v", answer, a.read)
	}
	clk.SetTime(launched.Add(4*time.Minute + 30*time.Second))
	first := ask(t, b, a)
	if !strings.Contains(first.Stalled, "modprobe overlay") || first.Again != time.Minute {
		t.Errorf("at the deadline: %+v", first)
	}
	// The condition does not change with each attempt.
	clk.SetTime(launched.Add(6 * time.Minute))
	a.consoles["i-0"] = line(150*time.Second, "WARN", "kernel", "modprobe overlay: exit status 2")
	if again := ask(t, b, a); again != first || len(a.read) != 4 {
		t.Errorf("after another attempt: %+v, read %v", again, a.read)
	}
	b.Forget("one")
	if again := ask(t, b, a); !strings.Contains(again.Stalled, "exit status 2") {
		t.Errorf("a deleted object is remembered: %+v", again)
	}
}

func TestInstancesThatJoinedAreNotStalled(t *testing.T) {
	b, _ := at(10 * time.Minute)
	a := &account{consoles: map[string]string{"i-0": line(time.Minute, "INFO", "this machine is a node of its cluster", "")}}
	if answer := ask(t, b, a); answer != (boots.Answer{Joined: true, Again: time.Minute}) {
		t.Errorf("%+v", answer)
	}
	b, _ = at(10 * time.Minute)
	a.consoles["i-0"] = line(590*time.Second, "INFO", "this machine is a node of its cluster", "")
	if answer := ask(t, b, a); answer != (boots.Answer{Again: time.Minute}) {
		t.Errorf("just joined: %+v", answer)
	}
}

func TestFailureOfAWSIsRetriedAfterAMinute(t *testing.T) {
	b, clk := at(10 * time.Minute)
	a := &account{consoles: map[string]string{"i-0": ""}, failure: errors.New("throttled")}
	question := &boots.Question{
		UID: "one", EC2: a, Tags: map[string]string{"cluster": "demo"}, Since: launched, Most: 3, Joined: func(string) bool { return false },
	}
	if _, err := b.Ask(t.Context(), question); !errors.Is(err, a.failure) {
		t.Errorf("got %v", err)
	}
	a.failure = nil
	if answer, err := b.Ask(t.Context(), question); err != nil || answer != (boots.Answer{Again: time.Minute}) {
		t.Errorf("got %+v, %v", answer, err)
	}
	clk.SetTime(launched.Add(11 * time.Minute))
	if answer, err := b.Ask(t.Context(), question); err != nil || answer.Stalled == "" {
		t.Errorf("got %+v, %v", answer, err)
	}
}

func TestConsoleThatCannotBeRead(t *testing.T) {
	for reason, c := range map[string]struct {
		account account
		says    string
	}{
		"a missing permission": {account{consoles: map[string]string{"i-0": ""}, denied: true}, "ec2:GetConsoleOutput"},
		"an instance on Xen":   {account{consoles: map[string]string{"i-0": ""}, xen: true}, "The console is empty"},
		"no instance":          {account{}, "No instance of the control plane is running."},
	} {
		t.Run(reason, func(t *testing.T) {
			b, _ := at(10 * time.Minute)
			if answer := ask(t, b, &c.account); !strings.Contains(answer.Stalled, c.says) {
				t.Errorf("%+v", answer)
			}
		})
	}
}
