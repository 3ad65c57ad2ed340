package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cli/addons"
	"github.com/aws-operator/aws-operator/internal/cli/apply"
	"github.com/aws-operator/aws-operator/internal/cli/backups"
	"github.com/aws-operator/aws-operator/internal/cli/console"
	"github.com/aws-operator/aws-operator/internal/cli/create"
	"github.com/aws-operator/aws-operator/internal/cli/deletion"
	"github.com/aws-operator/aws-operator/internal/cli/demo"
	"github.com/aws-operator/aws-operator/internal/cli/diagnose"
	"github.com/aws-operator/aws-operator/internal/cli/exit"
	"github.com/aws-operator/aws-operator/internal/cli/export"
	"github.com/aws-operator/aws-operator/internal/cli/get"
	"github.com/aws-operator/aws-operator/internal/cli/graph"
	"github.com/aws-operator/aws-operator/internal/cli/iam"
	"github.com/aws-operator/aws-operator/internal/cli/image"
	"github.com/aws-operator/aws-operator/internal/cli/importing"
	"github.com/aws-operator/aws-operator/internal/cli/internal/usage"
	"github.com/aws-operator/aws-operator/internal/cli/local"
	"github.com/aws-operator/aws-operator/internal/cli/modeltest"
	"github.com/aws-operator/aws-operator/internal/cli/operator"
	"github.com/aws-operator/aws-operator/internal/cli/plan"
	"github.com/aws-operator/aws-operator/internal/cli/prices"
	"github.com/aws-operator/aws-operator/internal/cli/render"
	"github.com/aws-operator/aws-operator/internal/cli/replace"
	"github.com/aws-operator/aws-operator/internal/cli/retry"
	"github.com/aws-operator/aws-operator/internal/cli/rollingupdate"
	"github.com/aws-operator/aws-operator/internal/cli/simulator"
	"github.com/aws-operator/aws-operator/internal/cli/status"
	"github.com/aws-operator/aws-operator/internal/cli/template"
	"github.com/aws-operator/aws-operator/internal/cli/trial"
	"github.com/aws-operator/aws-operator/internal/cli/update"
	"github.com/aws-operator/aws-operator/internal/cli/upgrade"
	"github.com/aws-operator/aws-operator/internal/cli/validate"
	"github.com/aws-operator/aws-operator/internal/cli/version"
)

// Main runs the command that args name and returns its exit code. The first
// interrupt ends the command in order; a second one ends it at once.
func Main(args []string, out, errOut io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)

	root := command(out, errOut)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	switch {
	case err == nil:
		return exit.Done
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		text := "Interrupted."
		if exit.Code(err) == exit.Interrupted {
			text = err.Error()
		}
		_, _ = fmt.Fprintln(errOut, text)
		return exit.Interrupted
	case err.Error() != "":
		_, _ = fmt.Fprintf(errOut, "Error: %v\n", err)
		if failure, ok := errors.AsType[*awsapi.Failure](err); ok && failure.Transient() {
			_, _ = fmt.Fprintln(errOut, "It failed after several attempts. Run the same command again later.")
		}
	}
	return exit.Code(err)
}

func command(out, errOut io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:   "aws-operator",
		Short: "Kubernetes clusters and AWS services as Kubernetes resources, through CloudFormation",
		Long: `Kubernetes clusters and AWS services as Kubernetes resources, through CloudFormation.

A manifest of kind Cluster with its InstanceGroups becomes a running Kubernetes
cluster, and its kubeconfig a Secret. A manifest of kind DynamoDB, SQSQueue,
S3Bucket … becomes a CloudFormation stack; the operator writes the outputs of the stack
to the object and to a ConfigMap.`,
		Example: `  # See it work on this machine, without an AWS account:
  aws-operator demo

  # The same, but leave it running to work with it:
  aws-operator local up

  # Run the operator for the cluster of the current kubeconfig:
  aws-operator operator --aws-region eu-central-1`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetOut(out)
	root.SetErr(errOut)
	group(root, "Clusters:",
		create.Command(), replace.Command(), get.Command(), plan.Command(), apply.Command(), update.Command(), rollingupdate.Command(),
		upgrade.Command(), addons.Command(), validate.Command(), diagnose.Command(), backups.Command(), export.Command(), graph.Command(),
		deletion.Command(), image.Command())
	group(root, "Services:", importing.Command(), modeltest.Command(), render.Command())
	group(root, "Operator:", operator.Command(), status.Command(), console.Command(), retry.Command(), iam.Command())
	group(root, "Local:", demo.Command(), local.Command(), simulator.Command())
	group(root, "Other:", prices.Command(), template.Command(), trial.Command(), version.Command())
	root.SetHelpCommandGroupID("Other:")
	root.SetCompletionCommandGroupID("Other:")
	usage.Check(root)
	return root
}

// group adds commands that help lists under a title.
func group(root *cobra.Command, title string, commands ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: title, Title: title})
	for _, cmd := range commands {
		cmd.GroupID = title
		root.AddCommand(cmd)
	}
}
