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
	// managed reports that an operator manages the cluster.
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

// observation is the observed state of the cluster, with the engine that works on it.
type observation struct {
	found      *live.Cluster
	connection *workload.Cluster
	// apiProblem is a short reason why there is no connection or the API does not respond; empty if
	// it responds, or was not called.
	apiProblem string
	targets    []*target
	rows       []rollout.Row
	drains     *drain.Drains
	roller     *rollout.Roller
	// before is the launch time of the newest instance that --force replaces; begun reports that an
	// earlier run has begun the replacement.
	before time.Time
	begun  bool
}

// observe reads the cluster and plans the rollout. It changes nothing.
func (u *update) observe(ctx context.Context, notify func(drain.Notice)) (*observation, error) {
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
	s := &observation{found: found}
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
		if s.connection, s.apiProblem = u.session.Connect(ctx, found); s.connection != nil {
			_, s.apiProblem = s.connection.Reachable()
		}
	}
	u.arm(s, notify)
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

// arm creates the engine and the drains.
func (u *update) arm(s *observation, notify func(drain.Notice)) {
	s.drains = drain.New(drain.Options{Clients: u.clients, Workload: u.session.Connections(), Clock: u.clock, Tell: notify})
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

// due reports whether a group needs a rollout.
func due(row *rollout.Row) bool { return row.Status != "Ready" }

// selectGroups returns the outdated groups that this command replaces, those for which it sends a
// request to the operator, and the names of those that another party replaces, by owner.
func (u *update) selectGroups(s *observation) (groups, asked []*target, others map[owner][]string) {
	others = map[owner][]string{}
	for i, t := range s.targets {
		switch {
		case u.usesOperator(t):
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

// othersNotes describes what to do for groups whose instances another party replaces.
func (u *update) othersNotes(others map[owner][]string) []string {
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

// checkStacks returns an error if an update of a stack with selected instances is in progress: both
// would replace them.
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
