package image

import (
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/spf13/cobra"

	"github.com/aws-operator/aws-operator/internal/cli/internal/flags"
	"github.com/aws-operator/aws-operator/internal/cli/internal/usage"
)

// listed is an image in the output.
type listed struct {
	ID           string `json:"id"`
	Name         string `json:"name"`
	Release      string `json:"release"`
	Architecture string `json:"architecture"`
	Contains     string `json:"contains"`
	State        string `json:"state"`
	Created      string `json:"created"`
	GiB          int32  `json:"gib"`
}

func listCommand() *cobra.Command {
	var region string
	var output flags.Output
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the images that image create created, the newest first",
		Long: `List the images of this account and region that image create created, the newest first. GIB is the size
of their volumes; snapshots have only the blocks that were written.`,
		Example: `  aws-operator image list --aws-region eu-central-1
  aws-operator image list -o json | jq -r '.[0].id'`,
		Args: usage.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := output.Check(); err != nil {
				return err
			}
			return list(cmd, region, &output)
		},
	}
	addRegion(cmd, &region)
	output.Add(cmd)
	return cmd
}

func addRegion(cmd *cobra.Command, region *string) {
	cmd.Flags().StringVar(region, "aws-region", "", "AWS region (default: that of the AWS configuration)")
}

func list(cmd *cobra.Command, region string, output *flags.Output) error {
	in, err := open(cmd.Context(), region)
	if err != nil {
		return err
	}
	images, err := in.images(cmd.Context())
	if err != nil {
		return err
	}
	all := make([]listed, len(images))
	table := flags.Table{Columns: []string{"IMAGE", "RELEASE", "ARCHITECTURE", "STATE", "CREATED", "GIB", "NAME", "CONTAINS"}, Wide: 2}
	for n := range images {
		i := &images[n]
		one := listed{
			ID: *i.ImageId, Name: printable(aws.ToString(i.Name)), Release: printable(tagOf(i.Tags, tagRelease)),
			Architecture: printable(tagOf(i.Tags, tagArchitecture)), Contains: printable(tagOf(i.Tags, tagContains)),
			State: string(i.State), Created: aws.ToString(i.CreationDate),
		}
		for _, m := range i.BlockDeviceMappings {
			if m.Ebs != nil {
				one.GiB += aws.ToInt32(m.Ebs.VolumeSize)
			}
		}
		all[n] = one
		table.Rows = append(table.Rows, []string{
			one.ID, one.Release, one.Architecture, one.State, one.Created, strconv.Itoa(int(one.GiB)), one.Name, one.Contains,
		})
		table.Names = append(table.Names, one.ID)
	}
	return output.Print(cmd.OutOrStdout(), all, table)
}
