package etcdbackup

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// List returns the backups in a bucket, the newest first. Account is the ID of the account that the
// bucket has to belong to; S3 refuses to list another account's. If it is empty, any account's is
// listed. List returns S3's error.
func List(ctx context.Context, api s3.ListObjectsV2APIClient, bucket, account string, now time.Time) ([]Backup, error) {
	in := &s3.ListObjectsV2Input{Bucket: &bucket, Prefix: aws.String(Prefix)}
	if account != "" {
		in.ExpectedBucketOwner = &account
	}
	var backups []Backup
	pages := s3.NewListObjectsV2Paginator(api, in)
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err //nolint:wrapcheck // Callers say whose bucket it is.
		}
		for i := range page.Contents {
			if one, ok := Parse(aws.ToString(page.Contents[i].Key)); ok {
				one.Size = aws.ToInt64(page.Contents[i].Size)
				backups = append(backups, one)
			}
		}
	}
	return Sorted(backups, now), nil
}

// IsLate reports whether the newest backup is older than two intervals, or there is none. Backups
// are sorted.
func IsLate(backups []Backup, interval time.Duration, now time.Time) bool {
	return len(backups) == 0 || now.Sub(backups[0].Time) > 2*interval
}
