package rollingupdate

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cli/internal/flags"
	"github.com/aws-operator/aws-operator/internal/cluster/drain"
	"github.com/aws-operator/aws-operator/internal/cluster/live"
	"github.com/aws-operator/aws-operator/internal/cluster/rollout"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
)

// update is one run of the command.
type update struct {
	cluster *v1alpha1.Cluster
	groups  []*v1alpha1.InstanceGroup
	// managed says that an operator runs beside the cluster.
	managed bool
	// objects is the management cluster then, and follow follows the operator until the cluster is
	// ready.
	objects client.Client
	follow  func() error
	clients *awsapi.Clients
	session *live.Session
	clock   clock.Clock

	choice
	validateCount int
	patience      time.Duration
	// poll is the minimum polling interval; zero leaves it to the engine.
	poll time.Duration

	output *flags.Output
	out    io.Writer
}

// scene is what an update is made on.
type scene struct {
	found      *live.Cluster
	connection *workload.Cluster
	// silent is a short reason why there is no connection or the API does not answer; empty if it
	// answers, or was not asked.
	silent  string
	targets []*target
	rows    []rollout.Row
	drains  *drain.Drains
	roller  *rollout.Roller
	// before is the launch of the last machine that --force replaces; begun says that an earlier
	// run began that.
	before time.Time
	begun  bool
}

// look finds the cluster and what would be done. It changes nothing.
func (u *update) look(ctx context.Context, tell func(drain.Notice)) (*scene, error) {
	if u.clock == nil {
		u.clock = clock.RealClock{}
	}
	found, err := u.session.Find(ctx)
	if err != nil {
		return nil, err
	}
	if len(found.Groups) == 0 {
		return nil, fmt.Errorf("cluster %s has no resources in AWS (%s): apply its definition first", u.cluster.Name, found.Target)
	}
	s := &scene{found: found}
	groups, err := u.chosen(found)
	if err != nil {
		return nil, err
	}
	plain := make([]rollout.Group, 0, len(groups))
	for _, group := range groups {
		t, err := u.target(found, group)
		if err != nil {
			return nil, err
		}
		s.targets, plain = append(s.targets, t), append(plain, t.Group)
	}
	if !u.cloudOnly {
		if s.connection, s.silent = u.session.Connect(ctx, found); s.connection != nil {
			_, s.silent = s.connection.Reachable()
		}
	}
	u.arm(s, tell)
	if s.before, s.begun, err = s.roller.Forced(ctx, plain); err != nil {
		return nil, awsapi.Known(err)
	}
	if u.force {
		for n := range plain {
			plain[n].Before, s.targets[n].Before = s.before, s.before
		}
	}
	if s.rows, err = s.roller.Plan(ctx, plain); err != nil {
		return nil, awsapi.Known(err)
	}
	return s, nil
}

// arm makes what rolls.
func (u *update) arm(s *scene, tell func(drain.Notice)) {
	s.drains = drain.New(drain.Options{Clients: u.clients, Workload: u.session.Connections(), Clock: u.clock, Tell: tell})
	s.roller = rollout.New(rollout.Options{
		AutoScaling: u.clients.AutoScaling,
		EC2:         func(t awsapi.Target) rollout.EC2 { return u.clients.EC2(t) },
		Workload: func(types.NamespacedName) rollout.Workload {
			if s.connection == nil {
				return nil
			}
			return s.connection
		},
		Drains: s.drains, Clock: u.clock,
	})
}

// due reports whether there is anything to do to a group.
func due(row *rollout.Row) bool { return row.Status != "Ready" }

// mine returns the groups that this command rolls and that are due, those that the operator is
// asked for, and the names of those that others do, by who it is.
func (u *update) mine(s *scene) (groups, asked []*target, others map[owner][]string) {
	others = map[owner][]string{}
	for i, t := range s.targets {
		switch {
		case u.asks(t):
			asked = append(asked, t)
		case !due(&s.rows[i]):
		case t.owner == ownerCommand || u.force:
			groups = append(groups, t)
		default:
			others[t.owner] = append(others[t.owner], t.Name)
		}
	}
	return groups, asked, others
}

// elsewhere says what to do about groups that others roll.
func (u *update) elsewhere(others map[owner][]string) []string {
	var lines []string
	if names := others[ownerCloudFormation]; len(names) > 0 {
		do := "aws-operator update cluster " + u.cluster.Name + " --yes"
		if u.managed {
			do = "the operator updates it when the Cluster or InstanceGroup changes"
		}
		lines = append(lines, fmt.Sprintf(
			"CloudFormation replaces the instances of %s when it updates the stack: %s. Instances that are still out of date when no update is in progress can be replaced with --force.",
			strings.Join(names, ", "),
			do,
		))
	}
	if names := others[ownerOperator]; len(names) > 0 {
		lines = append(lines, fmt.Sprintf(
			"The operator replaces the instances of %s: kubectl get instancegroup shows the progress.", strings.Join(names, ", ")))
	}
	return lines
}

// checkStacks returns an error if CloudFormation is changing a stack whose machines are to be
// replaced: both would do it.
func (u *update) checkStacks(ctx context.Context, groups []*target) error {
	for _, t := range groups {
		if t.stack == "" {
			continue
		}
		out, err := u.clients.CloudFormation(t.Target).DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &t.stack})
		if err != nil {
			return fmt.Errorf("read stack %s: %w", t.stack, awsapi.Explain(err))
		}
		for i := range out.Stacks {
			if status := string(out.Stacks[i].StackStatus); strings.HasSuffix(status, "_IN_PROGRESS") {
				return fmt.Errorf(
					"stack %s, which owns group %s, is being updated (%s): run this command again when the update is complete",
					t.stack,
					t.Name,
					status,
				)
			}
		}
	}
	return nil
}
