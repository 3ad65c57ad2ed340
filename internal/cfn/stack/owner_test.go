package stack

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/awsapi"
)

// victim is a protected stack of another object, in a status.
func victim(s *script, name string, status types.StackStatus) *scripted {
	one := &scripted{shown: types.Stack{
		StackId:   aws.String("arn:aws:cloudformation:eu-central-1:123456789012:stack/" + name + "/victim"),
		StackName: aws.String(name), StackStatus: status, CreationTime: aws.Time(s.clock.Now().Add(-time.Hour)),
		Tags: []types.Tag{{Key: aws.String(owner), Value: aws.String("other/victim")}}, EnableTerminationProtection: aws.Bool(true),
	}, body: `{"Resources":{"Queue":{"Type":"AWS::SQS::Queue"}}}`}
	one.lagging = one.shown
	s.stacks = append(s.stacks, one)
	return one
}

// TestForgedRecordReachesNoOtherStack tries, in every status and for both goals, to make the engine
// act on another object's stack: by that stack's name, and by the object's own name, which the
// other object has taken.
func TestForgedRecordReachesNoOtherStack(t *testing.T) {
	const arn = "arn:aws:cloudformation:%s:%s:stack/%s/victim"
	attacks := map[string]struct{ name, id string }{
		"another name":                  {"victim", fmt.Sprintf(arn, "eu-central-1", "123456789012", "victim")},
		"its own name":                  {"jobs", fmt.Sprintf(arn, "eu-central-1", "123456789012", "jobs")},
		"its own name, elsewhere":       {"jobs", fmt.Sprintf(arn, "us-east-1", "123456789012", "jobs")},
		"its own name, another account": {"jobs", fmt.Sprintf(arn, "eu-central-1", "210987654321", "jobs")},
		"a name in place of an ARN":     {"victim", "victim"},
		"an ARN of something else":      {"victim", "arn:aws:s3:::victim"},
		"an ARN that ends in a name":    {"jobs", fmt.Sprintf(arn, "eu-central-1", "123456789012", "x/jobs")},
	}
	forgeries := map[string]func(*Record, string){
		"nothing deployed": func(*Record, string) {},
		"under way":        func(r *Record, digest string) { r.PendingDigest, r.Token = digest, "t" },
		"protected":        func(r *Record, _ string) { r.TerminationProtection, r.OutputsDigest = true, "o" },
		"refused before": func(r *Record, digest string) {
			r.FailedDigest, r.Attempts, r.RollbackAttempts = digest, 9, 1
			r.RollbackFor = digest
		},
		"being deleted": func(r *Record, _ string) { r.Deleting, r.DeleteAttempts = true, 3 },
		"approved": func(r *Record, digest string) {
			r.ChangeSet, r.Proposal = "arn:aws:cloudformation:eu-central-1:123456789012:changeSet/x/1", "approved"
			r.ProposedFrom = token("propose", r.StackID, r.Changed, digest, "")
		},
	}
	for _, status := range append(Statuses(), "A_STATUS_OF_TOMORROW") {
		for attack, names := range attacks {
			for forgery, forge := range forgeries {
				for _, goal := range []Goal{Present, Absent} {
					t.Run(fmt.Sprintf("%s/%s/%s/%s", status, attack, forgery, goal), func(t *testing.T) {
						s := newScript(t)
						one := victim(s, names.name, cmp.Or(status, types.StackStatusCreateComplete))
						before := *one
						e := New(Options{Clients: s, Clock: s.clock, AccountID: "123456789012"})
						desired := desire(t, 1)
						desired.TerminationProtection = true
						desired.Review = &Review{Approved: []string{"approved"}, Shown: "approved"}
						record := Record{StackID: names.id, Status: string(status), Revision: 1 << 40}
						forge(&record, desired.Digest())
						for range 3 { // the record of the first visit is passed back
							var result Result
							var err error
							if goal == Present {
								result, err = e.Ensure(t.Context(), awsapi.Target{}, desired, record)
							} else {
								result, err = e.Delete(t.Context(), awsapi.Target{}, "jobs", record, DeleteOptions{
									OwnerTags: desired.Tags, DisableTerminationProtection: true,
								})
							}
							if err != nil {
								t.Fatal(err)
							}
							refusedAsForeign(t, result, status, goal, forgery == "refused before")
							record = result.Record
						}
						if !reflect.DeepEqual(before, *one) {
							t.Errorf("the stack was changed:\n%+v\n%+v", before, *one)
						}
						if i := slices.IndexFunc(s.calls, func(c string) bool {
							return c != "DescribeStacks" &&
								c != "CreateStack"
						}); i >= 0 {
							t.Errorf("calls %q, want only calls that read", s.calls)
						}
					})
				}
			}
		}
	}
}

// refusedAsForeign checks that a visit ended with what the user must do. A deleted stack has no
// owner: its name is just taken, and a deletion has nothing to do. If the record says that the
// desired digest failed, the object stalls for that, without a call.
func refusedAsForeign(t *testing.T, result Result, status types.StackStatus, goal Goal, failed bool) {
	t.Helper()
	reasons := []string{reasonNotOwned}
	if failed {
		reasons = append(reasons, reasonCreateFailed, reasonUpdateFailed)
	}
	if deleted(status) {
		reasons = append(reasons, reasonNameTaken)
	}
	if deleted(status) && (result.State == Gone || result.State == InProgress) {
		return
	}
	if result.State != Stalled || !slices.Contains(reasons, result.Reason) || !failed && !strings.Contains(result.Message, "stack") {
		t.Errorf("%s: %s, %s: %s; want Stalled", goal, result.State, result.Reason, result.Message)
	}
}

// Signals, cancellations and the withdrawal of a change set also require that the stack is the
// object's.
func TestSignalsReachNoOtherStack(t *testing.T) {
	for _, name := range []string{"victim", "jobs"} {
		s := newScript(t)
		one := victim(s, name, types.StackStatusUpdateInProgress)
		e := s.engine()
		who := Owner{Name: "jobs", StackID: aws.ToString(one.shown.StackId), Tags: desire(t, 1).Tags}
		_, signal := e.Signal(t.Context(), awsapi.Target{}, who, "Group", "i-1")
		_, cancel := e.Cancel(t.Context(), awsapi.Target{}, who)
		withdraw := e.Withdraw(t.Context(), awsapi.Target{}, who, Record{StackID: who.StackID, ChangeSet: "arn:x"})
		_, outputs := e.Outputs(t.Context(), awsapi.Target{}, who)
		for what, err := range map[string]error{"signal": signal, "cancel": cancel, "withdraw": withdraw, "outputs": outputs} {
			if foreign, ok := err.(*ForeignError); !ok || foreign.Reason != reasonNotOwned { //nolint:errorlint // it is not wrapped
				t.Errorf("%s %s: %v, want the error of a foreign stack", what, name, err)
			}
		}
		if i := slices.IndexFunc(s.calls, func(c string) bool { return c != "DescribeStacks" }); i >= 0 {
			t.Errorf("calls %q", s.calls)
		}
	}
}

// The object's own stack costs no further calls while the process lives, and one after a restart.
func TestOwnStackIsVerifiedOnceInAProcess(t *testing.T) {
	s := newScript(t)
	e, record := made(t, s)
	ensured(t, s, e, desire(t, 2), record, InProgress, "UpdateStack")
	s2 := newScript(t)
	_, record = made(t, s2)
	deletedBy(t, s2, s2.engine(), record, DeleteOptions{}, InProgress, "DescribeStacks", "DeleteStack")
}

// A record cannot disable the protection that a user set on the object's own stack.
func TestRecordCannotDisableProtection(t *testing.T) {
	s := newScript(t)
	e, record := made(t, s)
	s.stacks[0].shown.EnableTerminationProtection = aws.Bool(true)
	record.TerminationProtection = true
	ensured(t, s, e, desire(t, 1), record, Ready)
	result := deletedBy(t, s, e, record, DeleteOptions{}, Stalled, "DeleteStack")
	if result.Reason != reasonProtected || !aws.ToBool(s.stacks[0].shown.EnableTerminationProtection) {
		t.Errorf("%s, protected %v", result.Reason, *s.stacks[0].shown.EnableTerminationProtection)
	}
}

// managed returns an engine of a management cluster.
func managed(s *script, uid string) *Engine {
	return New(Options{Clients: s, Clock: s.clock, ManagementCluster: uid})
}

func tagOf(s *script, key string) string {
	for _, tag := range s.stacks[len(s.stacks)-1].shown.Tags {
		if aws.ToString(tag.Key) == key {
			return aws.ToString(tag.Value)
		}
	}
	return ""
}

// A copy of the manifests in another management cluster does not get the stack, not even with a
// copied record, until the object names the first cluster. From then on the stack belongs to the
// second.
func TestStackBelongsToOneManagementCluster(t *testing.T) {
	s := newScript(t)
	first, second := managed(s, "one"), managed(s, "two")
	there := desire(t, 1)
	there.Salt = "the object's UID there"
	record := ensured(t, s, first, there, Record{}, InProgress, "CreateStack").Record
	first.Observe(s.end(types.StackStatusCreateComplete, ""))
	record = ensured(t, s, first, desire(t, 1), record, Ready, "DescribeStacks").Record
	s.step(time.Minute)
	if got := tagOf(s, ManagementTag); got != "one" {
		t.Fatalf("the stack is tagged %q", got)
	}
	refused := ensured(t, s, second, desire(t, 1), Record{}, Stalled, "CreateStack", "DescribeStacks")
	if refused.Reason != "ManagedElsewhere" || !strings.Contains(refused.Message, "aws-operator/adopt-from=one") {
		t.Errorf("%s: %s", refused.Reason, refused.Message)
	}
	deletedBy(t, s, second, refused.Record, DeleteOptions{}, Gone, "DescribeStacks")
	ensured(t, s, second, desire(t, 2), record, Stalled, "DescribeStacks") // with a copied status
	deletedBy(t, s, managed(s, "two"), record, DeleteOptions{}, Stalled, "DescribeStacks")
	ensured(t, s, s.engine(), desire(t, 1), Record{}, Stalled, "CreateStack", "DescribeStacks") // a local state is no exception

	moving := desire(t, 1)
	moving.AdoptFrom = ParseAdoptFrom("one")
	moved := ensured(t, s, second, moving, Record{}, InProgress, "CreateStack", "DescribeStacks", "GetTemplate", "UpdateStack").Record
	if got := tagOf(s, ManagementTag); got != "two" {
		t.Fatalf("the stack is tagged %q after the move", got)
	}
	second.Observe(s.end(types.StackStatusUpdateComplete, ""))
	moved = ensured(t, s, second, moving, moved, Ready, "DescribeStacks").Record
	ensured(t, s, second, desire(t, 1), moved, Ready)
	ensured(t, s, managed(s, "one"), desire(t, 2), record, Stalled, "DescribeStacks")
}

// A stack from before the management cluster's tag is kept and is tagged by its next update. If
// found only by its name, it is neither adopted nor ignored by a deletion.
func TestUntaggedStackIsKeptByItsRecord(t *testing.T) {
	s := newScript(t)
	_, record := made(t, s)
	ensured(t, s, managed(s, "one"), desire(t, 1), record, Ready)
	restored := desire(t, 1)
	restored.Salt = "another UID"
	refused := ensured(t, s, managed(s, "one"), restored, Record{}, Stalled, "CreateStack", "DescribeStacks")
	if refused.Reason != "ManagementClusterUnknown" || !strings.Contains(refused.Message, "aws-operator/adopt-from=jobs") {
		t.Errorf("%s: %s", refused.Reason, refused.Message)
	}
	deletedBy(t, s, managed(s, "one"), Record{}, DeleteOptions{}, Stalled, "DescribeStacks")
	s2 := newScript(t)
	made(t, s2)
	deletedBy(t, s2, managed(s2, "one"), Record{}, DeleteOptions{AdoptFrom: []string{"jobs"}}, InProgress, "DescribeStacks", "DeleteStack")
	ensured(t, s, managed(s, "one"), desire(t, 2), record, InProgress, "DescribeStacks", "GetTemplate", "UpdateStack")
	if got := tagOf(s, ManagementTag); got != "one" {
		t.Errorf("the stack is tagged %q after its update", got)
	}
}
