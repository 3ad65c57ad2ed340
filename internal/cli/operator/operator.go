// Package operator is the verb that runs the operator.
package operator

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cli/logging"
	"github.com/aws-operator/aws-operator/internal/cli/version"
	"github.com/aws-operator/aws-operator/internal/grant"
	"github.com/aws-operator/aws-operator/internal/operator"
)

// flags are the verb's flags, named after the conventions of
// controller-runtime and of the AWS controllers for Kubernetes.
type flags struct {
	operator.Options
	kubeconfig string
	budgets    string
	foreign    []string
	roles      []string
	logging    logging.Flags
}

// Command returns the verb.
func Command() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "operator",
		Short: "Run the operator",
		Long: `Run the operator until it is interrupted.

The cluster is the one that the operator runs in, or that of --kubeconfig, KUBECONFIG
or ~/.kube/config. AWS credentials come from the AWS SDK's default chain: the
environment, the shared files, a web identity, the container or the instance.

At the start the operator makes its CRDs, and in AWS one stack of its own, named
aws-operator-events, through which CloudFormation tells it what happens.`,
		Example: `  # For the cluster of the current kubeconfig, in the region of the environment:
  aws-operator operator

  # In a cluster, three replicas of which one works:
  aws-operator operator --leader-elect --aws-region eu-west-1 --cluster-name payments

  # Slower on CloudFormation than the default, faster on everything else:
  aws-operator operator --aws-api-budget cloudformation=2/4,*=20/40`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			logger, err := f.logging.Install(cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			if err := f.complete(); err != nil {
				return err
			}
			f.Logger = logger
			logger.Info("starting", "version", version.String(), "clusterName", f.ClusterName, "apiServer", f.RESTConfig.Host)
			if err := operator.Run(cmd.Context(), f.Options); err != nil {
				return err
			}
			logger.Info("stopped")
			return nil
		},
	}
	f.add(cmd)
	return cmd
}

func (f *flags) add(cmd *cobra.Command) {
	set := cmd.Flags()
	set.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig of the cluster (default: in-cluster, KUBECONFIG or ~/.kube/config)")
	set.StringVar(&f.Region, "aws-region", "", "AWS region (default: the SDK's default chain, such as AWS_REGION)")
	set.StringVar(&f.EndpointURL, "aws-endpoint-url", "", "send all AWS calls here, for example to a simulator (default: AWS_ENDPOINT_URL, or AWS)")
	set.StringVar(&f.Account, "aws-account-id", "", "AWS account (default: asked of STS)")
	set.StringVar(&f.budgets, "aws-api-budget", "", "calls a second, and at once, by AWS service in each account and region, as in cloudformation=5/20,*=50/100; or unlimited")
	set.StringVar(&f.TemplateBucket, "template-bucket", "", "S3 bucket for templates over 51,200 bytes; without one they are refused")
	set.StringVar(&f.NodeupDir, "nodeup-dir", "", "folder of nodeup-linux-amd64 and nodeup-linux-arm64, which machines of clusters boot with (default: that of this program)")
	set.StringSliceVar(&f.Limits.TemplateTypes, "user-templates-allowed-types", nil,
		"resource types that CloudFormationTemplates may have, as in AWS::SQS::Queue,AWS::SNS::*; without any they are refused")
	set.StringSliceVar(&f.Limits.TemplateNamespaces, "user-templates-namespaces", nil, "namespaces whose CloudFormationTemplates objects of all namespaces may use (default: each its own only)")
	set.StringSliceVar(&f.foreign, "allow-foreign", nil, "AWS resources that objects of a namespace may name although no object of it made them, as in team=arn:aws:sqs:eu-west-1:123456789012:team-*")
	set.StringSliceVar(&f.roles, "allow-roles", nil, "roles that Clusters of a namespace may name in spec.role, as in platform=arn:aws:iam::123456789012:role/clusters; without any they use the operator's own credentials only")
	set.StringVar(&f.ClusterName, "cluster-name", operator.DefaultClusterName, "begins the names of stacks; tells operators apart that share an account and region")
	set.StringSliceVar(&f.WatchNamespaces, "watch-namespace", nil, "serve only objects in these namespaces (default: all)")
	set.IntVar(&f.MaxConcurrentReconciles, "max-concurrent-reconciles", 0, "objects of a kind worked on at once (default: 8)")
	set.DurationVar(&f.SweepInterval, "sweep-interval", 10*time.Minute, "how often to list all stacks, for what no event told")
	set.StringVar(&f.MetricsAddress, "metrics-bind-address", ":8080", "serve Prometheus metrics here; 0 does not")
	set.StringVar(&f.ProbeAddress, "health-probe-bind-address", ":8081", "serve /healthz and /readyz here; 0 does not")
	set.StringVar(&f.ProfilingAddress, "pprof-bind-address", "0", "serve Go's profiles here; 0 does not")
	set.BoolVar(&f.LeaderElect, "leader-elect", false, "of several operators, have one work and the others wait")
	set.StringVar(&f.LeaderElectionNamespace, "leader-election-namespace", "", "namespace of the lease (default: the operator's own, in a cluster)")
	f.logging.Add(set)
}

// complete turns what the flags say into what the operator takes.
func (f *flags) complete() error {
	config, err := restConfig(f.kubeconfig)
	if clientcmd.IsEmptyConfig(err) {
		return errors.New("no cluster to serve: give --kubeconfig, set KUBECONFIG, or run in a cluster")
	}
	if err != nil {
		return fmt.Errorf("find the cluster to serve: %w", err)
	}
	// The API server's priority and fairness is the only limit.
	config.QPS = -1
	config.UserAgent = "aws-operator/" + version.String()
	f.RESTConfig = config
	f.UserAgent = "aws-operator/" + version.String()
	if f.Limits.Foreign, err = grant.Parse(f.foreign); err != nil {
		return fmt.Errorf("--allow-foreign: %w", err)
	}
	if f.Roles, err = grant.Parse(f.roles); err != nil {
		return fmt.Errorf("--allow-roles: %w", err)
	}
	if f.budgets == "" {
		return nil
	}
	if f.Budgets, err = awsapi.ParseBudgets(f.budgets); err != nil {
		return fmt.Errorf("--aws-api-budget: %w", err)
	}
	return nil
}

func restConfig(kubeconfig string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
}
