package image

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/spf13/cobra"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cli/exit"
	"github.com/aws-operator/aws-operator/internal/cli/internal/flags"
	"github.com/aws-operator/aws-operator/internal/cli/internal/usage"
	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/internal/state"
)

// pollInterval is the interval at which the command observes the instance and the image.
const pollInterval = 5 * time.Second

type createOptions struct {
	state    flags.State
	clock    clock.WithTicker
	interval time.Duration

	release, architecture, region  string
	subnet, cluster, securityGroup string
	base, name, instanceType       string
	nodeImages, dryRun             bool
	containerImages                []string
	timeout                        time.Duration
}

// builders are the default instance types, by architecture.
var builders = map[v1alpha1.Architecture]string{v1alpha1.AMD64: "t3.medium", v1alpha1.ARM64: "t4g.medium"}

func createCommand(clk clock.WithTicker, interval time.Duration) *cobra.Command {
	o := createOptions{clock: clk, interval: interval}
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Create an image that holds what the nodes of a Release need",
		Long: `Create an image (AMI) that holds what the nodes of a Release need. The command launches an instance from
the Release's image, which downloads and verifies the Release's artifacts, removes what identifies
it, and powers off. Then it creates an image of the instance, terminates the instance, and prints the
ID of the image with the YAML that uses it.

The instance has no instance profile and no SSH key. Its subnet must reach the addresses of the
artifacts, with a NAT gateway or public addresses.

An image that holds the same already is not created again. If the command is interrupted, it
terminates the instance; run it again to continue. The name of a parameter counts for the image
that it names: give --base-image if the Release's parameter changes its value.

Container images are pulled only with --node-images or --container-image, and only from registries
that need no credentials.

EBS charges for the instance's hour, its volume and the image's snapshot, until image delete deletes
it.`,
		Example: `  aws-operator image create --release v1.36.4 --subnet-id subnet-0123456789abcdef0

  aws-operator image create --release v1.36.4 --arch arm64 --cluster demo --node-images --dry-run`,
		Args: usage.None,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	set := cmd.Flags()
	set.StringVar(&o.release, "release", "", "Release whose artifacts the image holds")
	set.StringVar(&o.architecture, "arch", string(v1alpha1.AMD64), "architecture: amd64 or arm64")
	set.StringVar(&o.subnet, "subnet-id", "", "subnet of the instance")
	set.StringVar(&o.cluster, "cluster", "", "launch the instance in a subnet of this cluster, and in its region")
	set.StringVar(&o.securityGroup, "security-group-id", "", "security group of the instance (default: that of its VPC)")
	set.StringVar(&o.base, "base-image", "", "ID of the image to begin with (default: the Release's)")
	set.StringVar(&o.name, "name", "", "name of the image (default: made of the Release, the architecture and a hash)")
	set.StringVar(&o.instanceType, "instance-type", "", "type of the instance (default: t3.medium or t4g.medium)")
	set.BoolVar(&o.nodeImages, "node-images", false, "also pull the container images that every node runs: pause and kube-proxy")
	set.StringArrayVar(&o.containerImages, "container-image", nil, "also pull this container image; may be repeated")
	set.DurationVar(&o.timeout, "timeout", 30*time.Minute, "how long the instance and the image may each take")
	set.BoolVar(&o.dryRun, "dry-run", false, "only print what the command would do")
	addRegion(cmd, &o.region)
	o.state.Add(cmd)
	_ = cmd.MarkFlagRequired("release")
	_ = cmd.RegisterFlagCompletionFunc("release", o.state.CompleteRelease)
	_ = cmd.RegisterFlagCompletionFunc("arch", cobra.FixedCompletions([]string{"amd64", "arm64"}, cobra.ShellCompDirectiveNoFileComp))
	cmd.MarkFlagsOneRequired("subnet-id", "cluster")
	cmd.MarkFlagsMutuallyExclusive("subnet-id", "cluster")
	return cmd
}

// wanted is the image to create.
type wanted struct {
	bootstrap.Image

	name, base, user, contains string
	release                    *v1alpha1.Release
	architecture               v1alpha1.Architecture
}

func (o *createOptions) run(cmd *cobra.Command) error {
	ctx := cmd.Context()
	architecture := v1alpha1.Architecture(o.architecture)
	if _, ok := builders[architecture]; !ok {
		return fmt.Errorf("--arch %s is unknown; use amd64 or arm64", o.architecture)
	}
	in, err := o.state.Open(cmd)
	if err != nil {
		return err
	}
	if err := o.useCluster(cmd, in); err != nil {
		return err
	}
	given, err := in.Releases(ctx)
	if err != nil {
		return err
	}
	found, err := release.Find(o.release, given...)
	if err != nil {
		return err
	}
	at, err := open(ctx, o.region)
	if err != nil {
		return err
	}
	want, err := o.wanted(found, architecture, at.region)
	if err != nil {
		return err
	}
	b := &builder{account: at, createOptions: o, want: want, say: cmd.PrintErrf}
	existing, err := b.existing(ctx)
	if err != nil {
		return err
	}
	if err := b.findSubnet(ctx); err != nil {
		return err
	}
	if o.dryRun {
		return b.print(cmd, existing)
	}
	id, err := b.build(ctx, existing)
	if err != nil {
		return err
	}
	b.printResult(cmd, id)
	return nil
}

// useCluster checks that the cluster exists, and makes its region the command's.
func (o *createOptions) useCluster(cmd *cobra.Command, in *state.State) error {
	if o.cluster == "" {
		return nil
	}
	name, err := in.NameOf(cmd.Context(), o.cluster)
	if err != nil {
		return err
	}
	objects, err := in.Definition(cmd.Context(), name)
	if err != nil {
		return err
	}
	o.cluster = name
	o.region = cmp.Or(o.region, objects.Cluster.Spec.Region)
	if o.region != objects.Cluster.Spec.Region {
		return fmt.Errorf("cluster %s is in %s: leave --aws-region out", name, objects.Cluster.Spec.Region)
	}
	return nil
}

// wanted returns the image to create.
func (o *createOptions) wanted(of *v1alpha1.Release, architecture v1alpha1.Architecture, region string) (*wanted, error) {
	w := &wanted{base: o.base, release: of, architecture: architecture, contains: "artifacts"}
	published := of.Spec.Images[architecture]
	w.user = cmp.Or(published.User, "ubuntu")
	switch {
	case w.base != "":
	case published.ByRegion[region] != "":
		w.base = published.ByRegion[region]
	case published.Parameter != "":
		// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/using-systems-manager-parameter-to-find-AMI.html
		w.base = "resolve:ssm:" + published.Parameter
	default:
		return nil, fmt.Errorf("release %s has no %s image for %s: name one with --base-image", of.Name, architecture, region)
	}
	containers := slices.Clone(o.containerImages)
	if o.nodeImages {
		containers = append(bootstrap.NodeImages(of), containers...)
	}
	if len(containers) > 0 {
		w.contains += " " + strings.Join(containers, " ")
	}
	image, err := bootstrap.NewImage(
		bootstrap.ImageInput{Release: of, Architecture: architecture, Base: w.base, ContainerImages: containers},
	)
	if err != nil {
		return nil, err
	}
	w.Image = image
	const unique = 12
	w.name = cmp.Or(o.name, fmt.Sprintf("aws-operator-%s-%s-%s", of.Name, architecture, image.Hash[:unique]))
	return w, nil
}

// print prints what the command would do.
func (b *builder) print(cmd *cobra.Command, existing *types.Image) error {
	if existing != nil {
		cmd.Printf("Image %s exists already (%s). The command would wait until it is available, and print it.\n", *existing.ImageId, existing.State)
		return nil
	}
	cmd.Printf(`The command would
  launch one %s in subnet %s of %s, from %s, without an instance profile,
  wait until it has prepared itself and is stopped,
  create image %s of it, which holds: %s,
  and terminate it.
EBS charges for the snapshot of the image by GB-month of what was written to the volume.
`, b.typeOfBuilder(), b.subnet, b.account.region, b.want.base, b.want.name, printable(b.want.contains))
	return nil
}

// printResult prints an image and how to use it.
func (b *builder) printResult(cmd *cobra.Command, id string) {
	cmd.Printf(`%s
# In an InstanceGroup, or below spec.controlPlane of a Cluster, of release %s and instance types of %s:
image: %s
# Or in a Release of your own:
images:
  %s: {byRegion: {%s: %s}, user: %s}
`, id, b.want.release.Name, b.want.architecture, id, b.want.architecture, b.account.region, id, b.want.user)
}

// findSubnet finds a subnet of the cluster: a private one, if it has any.
func (b *builder) findSubnet(ctx context.Context) error {
	if b.subnet != "" {
		return nil
	}
	out, err := b.api.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{Filters: []types.Filter{
		{Name: aws.String("tag:" + model.TagOwnedPrefix + b.cluster), Values: []string{model.TagOwned, model.TagShared}},
	}})
	if err != nil {
		return fmt.Errorf("find the subnets of cluster %s: %w", b.cluster, awsapi.Known(err))
	}
	const private = "kubernetes.io/role/internal-elb"
	slices.SortFunc(out.Subnets, func(x, y types.Subnet) int {
		return cmp.Or(cmp.Compare(tagOf(y.Tags, private), tagOf(x.Tags, private)), cmp.Compare(*x.SubnetId, *y.SubnetId))
	})
	if len(out.Subnets) == 0 {
		return fmt.Errorf("cluster %s has no subnet in %s yet: name one with --subnet-id", b.cluster, b.account.region)
	}
	b.subnet = *out.Subnets[0].SubnetId
	return nil
}

func (b *builder) typeOfBuilder() string {
	return cmp.Or(b.instanceType, builders[b.want.architecture])
}

// interrupted returns the error of a command that was interrupted.
func interrupted(err error, text string) error {
	if errors.Is(err, context.Canceled) {
		return exit.Interruption(text)
	}
	return err
}
