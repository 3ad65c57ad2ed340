// Package operator implements the command operator, which runs the operator.
package operator

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cli/internal/logging"
	"github.com/aws-operator/aws-operator/internal/cli/internal/usage"
	"github.com/aws-operator/aws-operator/internal/cli/version"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
	"github.com/aws-operator/aws-operator/internal/grant"
	"github.com/aws-operator/aws-operator/internal/operator"
	"github.com/aws-operator/aws-operator/internal/service/render"
	"github.com/aws-operator/aws-operator/internal/tracing"
)

// flags are the flags of the command, named after the conventions of controller-runtime and of the
// AWS controllers for Kubernetes.
type flags struct {
	operator.Options
	kubeconfig string
	budgets    string
	foreign    []string
	adoption   []string
	roles      []string
	logging    logging.Flags
}

// Command returns the command.
func Command() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "operator",
		Short: "Run the operator",
		Long: `Run the operator until it is interrupted.

It serves the cluster that it runs in, or the cluster of --kubeconfig, KUBECONFIG or
~/.kube/config. AWS credentials come from the AWS SDK's default chain: the environment,
the shared files, a web identity, the container or the instance.

When it starts, the operator creates its CRDs and one stack in AWS, named
aws-operator-events, through which it receives the events of CloudFormation.`,
		Example: `  # Serve the cluster of the current kubeconfig, in the region of the environment:
  aws-operator operator

  # In a cluster, with three replicas of which one is the leader:
  aws-operator operator --leader-elect --aws-region eu-west-1 --cluster-name payments

  # In a cluster, with replicas that share the objects:
  aws-operator operator --shards 3 --aws-region eu-west-1 --cluster-name payments

  # Fewer calls to CloudFormation than the default, more to everything else:
  aws-operator operator --aws-api-budget cloudformation=2/4,*=20/40`,
		Args: usage.None,
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
			if err := workload.CountTogether(f.RESTConfig); err != nil {
				return err
			}
			stop, err := tracing.Start(cmd.Context(), version.String(), logger)
			if err != nil {
				return err
			}
			defer stop()
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

// aliases are flags of the AWS Service Operator with other names, and their names here.
// https://github.com/awslabs/aws-service-operator/blob/master/cmd/aws-service-operator/main.go
var aliases = map[string]string{
	"region": "aws-region", "account-id": "aws-account-id", "bucket": "template-bucket", "k8s-namespace": "watch-namespace",
	"loglevel": "log-level",
}

func (f *flags) add(cmd *cobra.Command) {
	set := cmd.Flags()
	set.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		return pflag.NormalizedName(cmp.Or(aliases[name], name))
	})
	set.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig of the cluster (default: in-cluster, KUBECONFIG or ~/.kube/config)")
	set.StringVar(&f.Region, "aws-region", "", "AWS region (default: the SDK's default chain, such as AWS_REGION)")
	set.StringVar(
		&f.EndpointURL, "aws-endpoint-url", "", "endpoint of all AWS calls, for example of a simulator (default: AWS_ENDPOINT_URL, or AWS)",
	)
	set.StringVar(&f.Account, "aws-account-id", "", "AWS account (default: the account that STS reports)")
	set.StringVar(
		&f.budgets,
		"aws-api-budget",
		"",
		"rate and burst of calls per second, by AWS service in each account and region, for example cloudformation=5/20,*=50/100; or unlimited",
	)
	set.StringVar(&f.TemplateBucket, "template-bucket", "", "S3 bucket for templates over 51,200 bytes (default: refuse such templates)")
	set.StringVar(
		&f.NodeupDir,
		"nodeup-dir",
		"",
		"folder of nodeup-linux-amd64 and nodeup-linux-arm64, with which instances boot (default: the folder of this program)",
	)
	set.StringSliceVar(&f.Limits.TemplateTypes, "user-templates-allowed-types", nil,
		"resource types that CloudFormationTemplates may contain, for example AWS::SQS::Queue,AWS::SNS::* (default: none, all are refused)")
	set.StringSliceVar(
		&f.Limits.TemplateNamespaces,
		"user-templates-namespaces",
		nil,
		"namespaces whose CloudFormationTemplates objects of all namespaces may use (default: only those of their own namespace)",
	)
	set.StringSliceVar(
		&f.foreign,
		"allow-foreign",
		nil,
		"AWS resources that objects of a namespace may reference although no object of the namespace created them, for example team=arn:aws:sqs:eu-west-1:123456789012:team-*",
	)
	set.StringSliceVar(
		&f.adoption,
		"allow-adoption",
		nil,
		"existing AWS resources that objects of a namespace may adopt, by type and primary identifier, for example team=AWS::DynamoDB::Table/team-* (default: none)",
	)
	set.StringSliceVar(
		&f.roles,
		"allow-roles",
		nil,
		"roles that Clusters of a namespace may name in spec.role, for example platform=arn:aws:iam::123456789012:role/clusters (default: none, only the operator's own credentials)",
	)
	set.BoolVar(&f.ClusterAPI, "cluster-api", false, "follow Cluster API's objects that own Clusters and InstanceGroups, once it is installed")
	set.StringVar(&f.ServiceAccountIssuer, "service-account-issuer", "",
		"issuer (iss) of this cluster's service account tokens, registered in IAM as a provider; roles of spec.grants trust it (default: spec.grants is refused)")
	set.StringVar(&f.EKSCluster, "eks-cluster", "",
		"ARN of this cluster if it is an EKS cluster with the Pod Identity Agent; pods get the roles of spec.grants from EKS Pod Identity then (not with --service-account-issuer)")
	set.BoolVar(&f.RequireIdentity, "require-identity", false,
		"refuse objects for which neither they nor their namespace name an AWSIdentity (default: they use the operator's own credentials)")
	set.StringVar(
		&f.ClusterName,
		"cluster-name",
		operator.DefaultClusterName,
		"prefix of stack names, unique among the operators that share an account and region",
	)
	set.StringSliceVar(&f.WatchNamespaces, "watch-namespace", nil, "serve only objects in these namespaces (default: all)")
	set.IntVar(&f.MaxConcurrentReconciles, "max-concurrent-reconciles", 0, "concurrent reconciles per kind (default: 8)")
	set.DurationVar(&f.SweepInterval, "sweep-interval", 10*time.Minute, "how often to list all stacks, in case an event was lost")
	set.DurationVar(&f.DriftInterval, "drift-interval", defaultDriftInterval,
		"how often to check each stack of services and clusters for changes outside of CloudFormation; 0 checks only on request, else at least 10m")
	set.StringVar(&f.MetricsAddress, "metrics-bind-address", ":8080", "address of Prometheus metrics; 0 disables them")
	set.StringVar(&f.ProbeAddress, "health-probe-bind-address", ":8081", "address of /healthz and /readyz; 0 disables them")
	set.StringVar(&f.ProfilingAddress, "pprof-bind-address", "0", "address of Go's profiles; 0 disables them")
	set.BoolVar(&f.LeaderElect, "leader-elect", false, "elect a leader among several replicas; only the leader reconciles")
	set.StringVar(
		&f.LeaderElectionNamespace,
		"leader-election-namespace",
		"",
		"namespace of the Leases of leader election and shards (default: the operator's own namespace, in a cluster)",
	)
	set.IntVar(&f.Shards, "shards", 0,
		"divide the objects into this number of shards, which all replicas share, instead of one leader; as many as replicas, or more")
	f.logging.Add(set)
}

// The default of --drift-interval costs two or three calls a day for each object: less than one call
// in 30 seconds for 1,000 objects, of the five a second that the operator allows itself. A shorter
// interval than the minimum would have a detection running most of the time.
const (
	defaultDriftInterval = 24 * time.Hour
	minDriftInterval     = 10 * time.Minute
)

// maxShards bounds the number of shards: each watches all objects, and has a queue of events in each account and region.
const maxShards = 32

// complete converts the flags to the operator's options.
func (f *flags) complete() error {
	config, err := restConfig(f.kubeconfig)
	if clientcmd.IsEmptyConfig(err) {
		return errors.New("no cluster to serve: set --kubeconfig or KUBECONFIG, or run in a cluster")
	}
	if err != nil {
		return fmt.Errorf("load the kubeconfig of the cluster to serve: %w", err)
	}
	// The API server's priority and fairness is the only limit.
	config.QPS = -1
	config.UserAgent = "aws-operator/" + version.String()
	f.RESTConfig = config
	f.UserAgent = "aws-operator/" + version.String()
	if f.DriftInterval != 0 && f.DriftInterval < minDriftInterval {
		return fmt.Errorf("--drift-interval: %s is too short; set at least %s, or 0 to check only on request", f.DriftInterval, minDriftInterval)
	}
	if f.Limits.Foreign, err = grant.Parse(f.foreign); err != nil {
		return fmt.Errorf("--allow-foreign: %w", err)
	}
	if f.Limits.Adoption, err = grant.ParseAdoptions(f.adoption); err != nil {
		return fmt.Errorf("--allow-adoption: %w", err)
	}
	if f.Roles, err = grant.Parse(f.roles); err != nil {
		return fmt.Errorf("--allow-roles: %w", err)
	}
	if err := f.checkShards(); err != nil {
		return err
	}
	if f.ServiceAccountIssuer != "" {
		if err := render.CheckIssuer(f.ServiceAccountIssuer); err != nil {
			return fmt.Errorf("--service-account-issuer: %w", err)
		}
	}
	if f.EKSCluster != "" {
		if err := render.CheckEKSCluster(f.EKSCluster); err != nil {
			return fmt.Errorf("--eks-cluster: %w", err)
		}
		if f.ServiceAccountIssuer != "" {
			return errors.New("--eks-cluster and --service-account-issuer are two ways to give pods their roles; set one of them")
		}
	}
	if f.budgets == "" {
		return nil
	}
	if f.Budgets, err = awsapi.ParseBudgets(f.budgets); err != nil {
		return fmt.Errorf("--aws-api-budget: %w", err)
	}
	return nil
}

func (f *flags) checkShards() error {
	if f.Shards < 0 || f.Shards > maxShards {
		return fmt.Errorf("--shards: %d is not possible; set 2 to %d, or 0 for one process or leader", f.Shards, maxShards)
	}
	if f.Shards > 1 && f.LeaderElect {
		return errors.New("--shards and --leader-elect are two ways to run several replicas; set one of them")
	}
	return nil
}

func restConfig(kubeconfig string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
}
