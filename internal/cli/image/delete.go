package image

import (
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/spf13/cobra"

	"github.com/aws-operator/aws-operator/internal/cli/internal/flags"
	"github.com/aws-operator/aws-operator/internal/cli/internal/usage"
)

type deleteOptions struct {
	region  string
	force   bool
	confirm flags.Confirm
}

func deleteCommand() *cobra.Command {
	var o deleteOptions
	cmd := &cobra.Command{
		Use:   "delete ID",
		Short: "Delete an image that image create created, with its snapshots",
		Long: `Delete an image that image create created, with its snapshots. Other images are refused. So is, unless
--force is given, one that an instance was launched from, or that the latest version of a launch template names.

Instances that run do not need their image. But nodes that boot later do: before you delete an
image, make sure that no Cluster, InstanceGroup or Release names it.`,
		Example: `  aws-operator image delete ami-0123456789abcdef0 --yes`,
		Args:    usage.Name("image"),
		RunE:    func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) },
	}
	addRegion(cmd, &o.region)
	cmd.Flags().BoolVar(&o.force, "force", false, "delete the image even if instances or launch templates use it")
	o.confirm.Add(cmd)
	return cmd
}

func (o *deleteOptions) run(cmd *cobra.Command, id string) error {
	ctx := cmd.Context()
	in, err := open(ctx, o.region)
	if err != nil {
		return err
	}
	found, err := in.images(ctx, types.Filter{Name: aws.String("image-id"), Values: []string{id}})
	if err != nil {
		return err
	}
	if len(found) != 1 {
		return fmt.Errorf(
			"account %s has no image %s in %s that image create created: delete other images with aws ec2 deregister-image",
			in.id, printable(id), in.region,
		)
	}
	users, err := in.usersOf(ctx, id)
	if err != nil {
		return err
	}
	if len(users) > 0 && !o.force {
		return fmt.Errorf(
			"image %s is that of %s: let them use another one first, or delete it with --force", id, strings.Join(users, ", "),
		)
	}
	var snapshots []string
	for _, m := range found[0].BlockDeviceMappings {
		if m.Ebs != nil {
			snapshots = append(snapshots, aws.ToString(m.Ebs.SnapshotId))
		}
	}
	what := fmt.Sprintf("image %s (%s) with %s", id, printable(aws.ToString(found[0].Name)), strings.Join(snapshots, ", "))
	if !o.confirm.Yes {
		cmd.PrintErrf("Nothing has been deleted. To delete %s, add --yes.\n", what)
		return nil
	}
	left, err := in.deregister(ctx, id)
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return fmt.Errorf("image %s is deleted, but EC2 has not deleted these snapshots: %s", id, strings.Join(left, ", "))
	}
	cmd.PrintErrf("Deleted %s.\n", what)
	return nil
}
