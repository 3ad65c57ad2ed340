// Package image implements the command image, which creates machine images that hold what the nodes of
// a Release need, lists them and deletes them.
package image

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/spf13/cobra"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cli/version"
)

// Tags of what image create creates. The first holds the hash of what the image holds.
const (
	tagImage        = v1alpha1.Group + "/image"
	tagRelease      = v1alpha1.Group + "/image-release"
	tagArchitecture = v1alpha1.Group + "/image-architecture"
	tagContains     = v1alpha1.Group + "/image-contains"
)

// Command returns the command.
func Command() *cobra.Command { return command(clock.RealClock{}, pollInterval) }

func command(clk clock.WithTicker, interval time.Duration) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "image",
		Short: "Create, list and delete machine images with which nodes boot faster",
		Long: `Create, list and delete machine images (AMIs) that hold what the nodes of a Release need, so that
they boot without downloads. A node verifies all hashes of its Release, whatever its image holds, and
downloads what differs.

Until now, these commands have only run against this project's own simulator of AWS.`,
		Example: `  aws-operator image create --release v1.36.4 --subnet-id subnet-0123456789abcdef0
  aws-operator image list
  aws-operator image delete ami-0123456789abcdef0 --yes`,
	}
	cmd.AddCommand(createCommand(clk, interval), listCommand(), deleteCommand())
	return cmd
}

// account is EC2 in the region of a command, and the account that the credentials are of.
type account struct {
	api        awsapi.EC2
	id, region string
}

func open(ctx context.Context, region string) (*account, error) {
	clients, err := awsapi.New(ctx, awsapi.Options{Region: region, UserAgent: "aws-operator/" + version.String()})
	if err != nil {
		return nil, err
	}
	id, err := clients.Identity(ctx)
	if err != nil {
		return nil, awsapi.Known(err)
	}
	return &account{api: clients.EC2(awsapi.Target{}), id: id, region: clients.Region(awsapi.Target{})}, nil
}

// images returns the images of image create, the newest first. Filters select among them.
func (a *account) images(ctx context.Context, filters ...types.Filter) ([]types.Image, error) {
	in := &ec2.DescribeImagesInput{
		Owners: []string{"self"}, Filters: append(filters, types.Filter{Name: aws.String("tag-key"), Values: []string{tagImage}}),
	}
	var found []types.Image
	for {
		out, err := a.api.DescribeImages(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("find images: %w", awsapi.Known(err))
		}
		for i := range out.Images {
			if a.owns(&out.Images[i]) {
				found = append(found, out.Images[i])
			}
		}
		if in.NextToken = out.NextToken; aws.ToString(in.NextToken) == "" {
			break
		}
	}
	slices.SortFunc(found, func(a, b types.Image) int {
		return cmp.Or(cmp.Compare(aws.ToString(b.CreationDate), aws.ToString(a.CreationDate)), cmp.Compare(*a.ImageId, *b.ImageId))
	})
	return found, nil
}

// owns reports whether image create created an image. Its tag alone is no proof, since principals that
// may only tag resources can set it: it must be the account's, and have the description that only its
// creator sets.
func (a *account) owns(image *types.Image) bool {
	hash := tagOf(image.Tags, tagImage)
	return aws.ToString(image.OwnerId) == a.id && hash != "" && aws.ToString(image.Description) == description(hash)
}

// description is the description of an image.
func description(hash string) string { return "aws-operator image " + hash }

func tagOf(tags []types.Tag, key string) string {
	for _, t := range tags {
		if aws.ToString(t.Key) == key {
			return aws.ToString(t.Value)
		}
	}
	return ""
}

// printable replaces what could control a terminal: tags, names and consoles are others' text.
func printable(text string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, " ")))
}

// usersOf returns the instances of an image that are not terminated, and the launch templates whose latest version
// names it, such as those of groups whose next instance would not launch without it.
func (a *account) usersOf(ctx context.Context, image string) ([]string, error) {
	filter := types.Filter{Name: aws.String("image-id"), Values: []string{image}}
	all, err := a.instances(ctx, filter)
	if err != nil {
		return nil, err
	}
	var users []string
	for i := range all {
		users = append(users, *all[i].InstanceId)
	}
	in := &ec2.DescribeLaunchTemplateVersionsInput{Versions: []string{"$Latest"}, Filters: []types.Filter{filter}}
	for {
		out, err := a.api.DescribeLaunchTemplateVersions(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("find launch templates: %w", awsapi.Known(err))
		}
		for i := range out.LaunchTemplateVersions {
			users = append(users, "launch template "+printable(aws.ToString(out.LaunchTemplateVersions[i].LaunchTemplateName)))
		}
		if in.NextToken = out.NextToken; aws.ToString(in.NextToken) == "" {
			return users, nil
		}
	}
}

// instances returns the instances that pass the filters and are not terminated.
func (a *account) instances(ctx context.Context, filters ...types.Filter) ([]types.Instance, error) {
	in := &ec2.DescribeInstancesInput{Filters: append(filters, types.Filter{
		Name: aws.String("instance-state-name"), Values: []string{"pending", "running", "stopping", "stopped"},
	})}
	var found []types.Instance
	for {
		out, err := a.api.DescribeInstances(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("find instances: %w", awsapi.Known(err))
		}
		for i := range out.Reservations {
			found = append(found, out.Reservations[i].Instances...)
		}
		if in.NextToken = out.NextToken; aws.ToString(in.NextToken) == "" {
			return found, nil
		}
	}
}

// deregister deletes an image with its snapshots, and returns those that are left. EC2 keeps snapshots
// that another image uses.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DeregisterImage.html
func (a *account) deregister(ctx context.Context, image string) (left []string, err error) {
	out, err := a.api.DeregisterImage(ctx, &ec2.DeregisterImageInput{ImageId: &image, DeleteAssociatedSnapshots: aws.Bool(true)})
	if err != nil {
		return nil, fmt.Errorf("deregister image %s: %w", image, awsapi.Known(err))
	}
	for _, result := range out.DeleteSnapshotResults {
		if result.ReturnCode != types.SnapshotReturnCodesSuccess {
			left = append(left, fmt.Sprintf("%s (%s)", aws.ToString(result.SnapshotId), result.ReturnCode))
		}
	}
	return left, nil
}
