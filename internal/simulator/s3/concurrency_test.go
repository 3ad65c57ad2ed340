package s3_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// Exactly one of many conditional writes of a key succeeds, while other clients list and configure
// the bucket.
func TestOneConditionalWriteWins(t *testing.T) {
	c := newSuite(t).bucket()
	var group sync.WaitGroup
	won := make(chan string, 32)
	for range 8 {
		group.Go(func() {
			_, err := c.PutObject(
				t.Context(),
				&s3.PutObjectInput{Bucket: things, Key: aws.String("leader"), Body: strings.NewReader("me"), IfNoneMatch: aws.String("*")},
			)
			if err == nil {
				won <- "me"
			}
			for range 10 {
				if _, err := c.ListObjectVersions(t.Context(), &s3.ListObjectVersionsInput{Bucket: things}); err != nil {
					t.Error(err)
				}
				if _, err := c.GetObject(t.Context(), &s3.GetObjectInput{Bucket: things, Key: aws.String("leader")}); err != nil {
					t.Error(err)
				}
				if _, err := c.PutBucketTagging(t.Context(), &s3.PutBucketTaggingInput{
					Bucket: things, Tagging: &types.Tagging{TagSet: []types.Tag{}},
				}); err != nil {
					t.Error(err)
				}
				put(t, c, "other", "x")
			}
		})
	}
	group.Wait()
	if len(won) != 1 {
		t.Fatalf("%d writers won", len(won))
	}
}
