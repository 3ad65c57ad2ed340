// Package export implements the command export, which exports what is needed to reach a cluster.
package export

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cli/internal/flags"
	"github.com/aws-operator/aws-operator/internal/cli/internal/usage"
	"github.com/aws-operator/aws-operator/internal/cli/version"
	"github.com/aws-operator/aws-operator/internal/cluster/live"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/pki"
	"github.com/aws-operator/aws-operator/internal/state"
)

// defaultLifetime is the lifetime of certificates that this command signs: a working day and some
// hours.
const defaultLifetime = 18 * time.Hour

type options struct {
	state    flags.State
	lifetime time.Duration
	out      string
	server   string
	clock    clock.PassiveClock
}

// Command returns the command.
func Command() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "export kubeconfig NAME",
		Short:   "Export what is needed to reach a cluster",
		Long:    "Export what is needed to reach a cluster.",
		Example: "  aws-operator export kubeconfig demo --state ./state",
	}
	cmd.AddCommand(kubeconfigCommand())
	return cmd
}

func kubeconfigCommand() *cobra.Command {
	o := options{clock: clock.RealClock{}}
	cmd := &cobra.Command{
		Use:   "kubeconfig NAME",
		Short: "Merge a cluster's kubeconfig into yours, or write it to a file",
		Long: `Merge a cluster's kubeconfig into the one that kubectl uses (KUBECONFIG, or ~/.kube/config)
and make it the current context, or write it to a file.

The kubeconfig is the one that the operator or apply stored in the Secret NAME-kubeconfig.
If there is none, as for clusters created by Terraform, or if --admin-lifetime asks for a
shorter lifetime, the command signs a new one with the cluster's CA. It grants full
administration of the cluster.`,
		Example: `  aws-operator export kubeconfig demo --state ./state && kubectl get nodes

  # For an hour, in a file of its own:
  aws-operator export kubeconfig demo --admin-lifetime 1h --out demo.kubeconfig`,
		Args: usage.Name("cluster"),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) },
	}
	o.state.Add(cmd)
	set := cmd.Flags()
	set.DurationVar(
		&o.lifetime,
		"admin-lifetime",
		0,
		fmt.Sprintf("sign a new certificate with this lifetime (default: use the existing one, or else %s)", defaultLifetime),
	)
	set.StringVar(&o.out, "out", "", "file to write to instead of merging; - is standard output")
	set.StringVar(&o.server, "server", "", "address of the API, https://host:port (default: the address in the state, or else in AWS)")
	cmd.ValidArgsFunction = o.state.CompleteCluster
	return cmd
}

func (o *options) run(cmd *cobra.Command, name string) error {
	if o.lifetime < 0 {
		return fmt.Errorf("--admin-lifetime %s is invalid: use a duration of more than 0s", o.lifetime)
	}
	from, name, err := o.state.OpenCluster(cmd, name)
	if err != nil {
		return err
	}
	objects, err := from.Load(cmd.Context(), name)
	if err != nil {
		return err
	}
	kubeconfig, err := o.kubeconfig(cmd.Context(), objects)
	if err != nil {
		return err
	}
	switch o.out {
	case "":
		return merge(cmd, name, kubeconfig)
	case "-":
		_, err = cmd.OutOrStdout().Write(kubeconfig)
		return err
	}
	if err := writePrivate(o.out, kubeconfig); err != nil {
		return fmt.Errorf("write the kubeconfig: %w", err)
	}
	cmd.PrintErrf("The kubeconfig of cluster %s is in %s.\n", name, o.out)
	return nil
}

// writePrivate writes a file for its owner only, whatever it was before.
func writePrivate(path string, data []byte) error {
	file, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		_ = os.Remove(file.Name())
	}
	return err
}

// kubeconfig returns the existing kubeconfig, or signs a new one.
func (o *options) kubeconfig(ctx context.Context, objects *state.Objects) ([]byte, error) {
	name := objects.Cluster.Name
	if secret := objects.Secret(name + pki.SuffixKubeconfig); secret != nil && o.lifetime == 0 && o.server == "" &&
		len(secret.Data[pki.KubeconfigKey]) > 0 {
		return secret.Data[pki.KubeconfigKey], nil
	}
	if model.UsesEKS(objects.Cluster) {
		return nil, fmt.Errorf("EKS runs the control plane of cluster %s, and users sign in with their AWS credentials: "+
			"run aws eks update-kubeconfig --name %s --region %s", name, name, objects.Cluster.Spec.Region)
	}
	cas, err := objects.CAs(o.clock)
	if err != nil {
		return nil, fmt.Errorf("sign a kubeconfig for cluster %s: %w", name, err)
	}
	server, serverName, err := o.serverOf(ctx, objects)
	if err != nil {
		return nil, err
	}
	return cas.Kubeconfig(o.clock, pki.KubeconfigInput{
		Cluster: name, Server: server, ServerName: serverName, CommonName: name + "-admin", Organisations: []string{pki.GroupAdmins},
		Validity: cmp.Or(o.lifetime, defaultLifetime),
	})
}

// serverOf returns the address of the API, and the name that its certificate is verified for if
// that is another: from the flag, the state, or AWS.
func (o *options) serverOf(ctx context.Context, objects *state.Objects) (server, serverName string, err error) {
	if o.server != "" {
		return o.server, "", nil
	}
	name, err := addressOf(ctx, objects.Cluster)
	if err != nil {
		return "", "", err
	}
	host, serverName, err := awsapi.EnvironmentResolver().Dial(ctx, name)
	if err != nil {
		return "", "", err
	}
	return model.APIServer(host), serverName, nil
}

// addressOf returns the host name of the API.
func addressOf(ctx context.Context, c *v1alpha1.Cluster) (string, error) {
	if endpoint, err := url.Parse(c.Status.Endpoint); err == nil && endpoint.Hostname() != "" {
		return endpoint.Hostname(), nil
	}
	if c.Spec.DNS != nil {
		return c.Spec.DNS.Name, nil
	}
	clients, err := awsapi.New(ctx, awsapi.Options{Region: c.Spec.Region, UserAgent: "aws-operator/" + version.String()})
	if err != nil {
		return "", fmt.Errorf("load the AWS configuration: %w", err)
	}
	found, err := live.Find(ctx, clients, c)
	if err != nil {
		return "", fmt.Errorf("%w Or set the address of its API with --server", err)
	}
	if address := found.Address(); address != "" {
		return address, nil
	}
	return "", fmt.Errorf(
		"cluster %s has no load balancer in AWS yet: create the cluster first, or set the address of its API with --server", c.Name,
	)
}

// merge merges a kubeconfig into the one that kubectl uses.
func merge(cmd *cobra.Command, name string, kubeconfig []byte) error {
	given, err := clientcmd.Load(kubeconfig)
	if err != nil {
		return fmt.Errorf("the kubeconfig of cluster %s is invalid; sign a new one with --admin-lifetime 18h", name)
	}
	access := clientcmd.NewDefaultPathOptions()
	into, err := access.GetStartingConfig()
	if err != nil {
		return fmt.Errorf("read your kubeconfig %s: fix it, or write to another file with --out: %w", access.GetDefaultFilename(), err)
	}
	add(into, given)
	if err := clientcmd.ModifyConfig(access, *into, true); err != nil {
		return fmt.Errorf("write your kubeconfig %s: %w", access.GetDefaultFilename(), err)
	}
	cmd.PrintErrf("The current context of %s is now %s.\n", access.GetDefaultFilename(), given.CurrentContext)
	return nil
}

// add adds the entries of one kubeconfig to another and replaces entries of the same names.
func add(into, given *clientcmdapi.Config) {
	maps.Copy(into.Clusters, given.Clusters)
	maps.Copy(into.AuthInfos, given.AuthInfos)
	maps.Copy(into.Contexts, given.Contexts)
	into.CurrentContext = given.CurrentContext
}
