package backups

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/spf13/cobra"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cli/internal/flags"
	"github.com/aws-operator/aws-operator/internal/cli/version"
	"github.com/aws-operator/aws-operator/internal/cluster/live"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/etcdbackup"
)

// bucket is the bucket of a cluster.
type bucket struct {
	api awsapi.Objects
	// name and account are the bucket's and its owner's: the name alone could be another account's.
	name, account string
	cluster       *v1alpha1.Cluster
}

// open finds the bucket of the cluster of that name in the state.
func open(cmd *cobra.Command, from *flags.State, name string) (*bucket, error) {
	ctx := cmd.Context()
	in, name, err := from.OpenCluster(cmd, name)
	if err != nil {
		return nil, err
	}
	objects, err := in.Load(ctx, name)
	if err != nil {
		return nil, err
	}
	cluster := objects.Cluster
	clients, err := awsapi.New(ctx, awsapi.Options{Region: cluster.Spec.Region, UserAgent: "aws-operator/" + version.String()})
	if err != nil {
		return nil, err
	}
	return bucketOf(ctx, clients, cluster)
}

// bucketOf returns the bucket of a cluster.
func bucketOf(ctx context.Context, clients *awsapi.Clients, cluster *v1alpha1.Cluster) (*bucket, error) {
	target := live.TargetOf(clients, cluster)
	account := target.Place(awsapi.Place{}).Account // that of the cluster's role
	if account == "" {
		var err error
		if account, err = clients.Identity(ctx); err != nil {
			return nil, fmt.Errorf("find the account of cluster %s: %w", cluster.Name, err)
		}
	}
	return &bucket{
		api:  clients.Objects(target),
		name: model.BucketName(cluster.Name, account, cluster.Spec.Region), account: account, cluster: cluster,
	}, nil
}

// list returns the backups, the newest first.
func (b *bucket) list(ctx context.Context, now time.Time) ([]etcdbackup.Backup, error) {
	found, err := etcdbackup.List(ctx, b.api, b.name, b.account, now)
	if err != nil {
		return nil, fmt.Errorf("list the backups of cluster %s in the bucket %s: %w", b.cluster.Name, b.name, awsapi.Explain(err))
	}
	return found, nil
}

// download writes a backup.
func (b *bucket) download(ctx context.Context, key string, to io.Writer) error {
	found, err := b.api.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.name, Key: &key, ExpectedBucketOwner: &b.account})
	if err != nil {
		return fmt.Errorf("download %s from the bucket %s: %w", key, b.name, awsapi.Explain(err))
	}
	defer found.Body.Close() //nolint:errcheck // It was only read.
	if _, err := io.Copy(to, found.Body); err != nil {
		return fmt.Errorf("download %s from the bucket %s: %w", key, b.name, err)
	}
	return nil
}
