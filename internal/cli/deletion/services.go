package deletion

import (
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/cleanup"
	"github.com/aws-operator/aws-operator/internal/cluster/live"
	"github.com/aws-operator/aws-operator/internal/operator"
	"github.com/aws-operator/aws-operator/internal/state"
)

// takeDown makes the controllers of a cluster of Terraform delete the load balancers of its
// Services, if its API responds, and waits at most three minutes for them.
func takeDown(cmd *cobra.Command, clients *awsapi.Clients, objects *state.Objects) error {
	ctx, clk := cmd.Context(), clock.RealClock{}
	session := live.Open(
		live.Options{Clients: clients, Cluster: objects.Cluster, Groups: objects.Groups, Secrets: objects.Secrets, Clock: clk},
	)
	defer session.Close()
	found, err := session.Find(ctx)
	if err != nil {
		return fmt.Errorf("find cluster %s: %w", objects.Cluster.Name, err)
	}
	connection, why := session.Connect(ctx, found)
	if connection == nil {
		cmd.PrintErrf(
			"The load balancers of the cluster's Services cannot be deleted: %s. Check for leftover load balancers before terraform destroy.\n",
			why,
		)
		return nil
	}
	cluster := objects.Cluster.DeepCopy()
	if cluster.DeletionTimestamp == nil {
		now := metav1.NewTime(clk.Now())
		cluster.DeletionTimestamp = &now
	}
	cleaner := cleanup.New(clients, operator.DefaultClusterName, clk, logr.Discard())
	said := ""
	for {
		outcome := cleaner.BeforeNodes(ctx, cluster, found.Target, connection)
		if outcome.IsDone() {
			return nil
		}
		if outcome.Err() != nil {
			return errors.New(outcome.Message())
		}
		if outcome.Message() != said {
			said = outcome.Message()
			cmd.PrintErrln(said)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the deletion of the load balancers of cluster %s: %w", cluster.Name, ctx.Err())
		case <-clk.After(max(outcome.After(), time.Second)):
		}
	}
}
