package s3_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

func shown(contents []types.Object, prefixes []types.CommonPrefix) string {
	var out []string
	for _, o := range contents {
		out = append(out, *o.Key)
	}
	for _, p := range prefixes {
		out = append(out, "["+*p.Prefix+"]")
	}
	return strings.Join(out, " ")
}

// https://docs.aws.amazon.com/AmazonS3/latest/userguide/using-prefixes.html
func TestListings(t *testing.T) {
	c := newSuite(t).bucket()
	for _, key := range []string{"a", "b/1", "b/2", "b/c/3", "d", "e/4"} {
		put(t, c, key, "x")
	}
	tests := map[string]struct {
		in   s3.ListObjectsV2Input
		want string
	}{
		"everything":                     {s3.ListObjectsV2Input{}, "a b/1 b/2 b/c/3 d e/4"},
		"a prefix":                       {s3.ListObjectsV2Input{Prefix: aws.String("b/")}, "b/1 b/2 b/c/3"},
		"a delimiter rolls up":           {s3.ListObjectsV2Input{Delimiter: aws.String("/")}, "a d [b/] [e/]"},
		"a delimiter below a prefix":     {s3.ListObjectsV2Input{Prefix: aws.String("b/"), Delimiter: aws.String("/")}, "b/1 b/2 [b/c/]"},
		"start after":                    {s3.ListObjectsV2Input{StartAfter: aws.String("b/2")}, "b/c/3 d e/4"},
		"start after a key there is not": {s3.ListObjectsV2Input{StartAfter: aws.String("c")}, "d e/4"},
		"a prefix nothing has":           {s3.ListObjectsV2Input{Prefix: aws.String("z")}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tt.in.Bucket = things
			got := must[*s3.ListObjectsV2Output](t)(c.ListObjectsV2(t.Context(), &tt.in))
			if s := shown(got.Contents, got.CommonPrefixes); s != tt.want || int(*got.KeyCount) != len(strings.Fields(s)) {
				t.Errorf("got %s (%d)", s, *got.KeyCount)
			}
			old := must[*s3.ListObjectsOutput](t)(c.ListObjects(t.Context(), &s3.ListObjectsInput{
				Bucket: things, Prefix: tt.in.Prefix, Delimiter: tt.in.Delimiter, Marker: tt.in.StartAfter,
			}))
			if s := shown(old.Contents, old.CommonPrefixes); s != tt.want {
				t.Errorf("version 1 got %s", s)
			}
		})
	}
}

func TestPagesShowEachKeyOnce(t *testing.T) {
	c := newSuite(t).bucket()
	var want []string
	for i := range 23 {
		key := fmt.Sprintf("%c/%02d", 'a'+i%3, i)
		want = append(want, key)
		put(t, c, key, "x")
	}
	slices.Sort(want)
	for size := range int32(8) {
		var got, rolled []string
		pages := s3.NewListObjectsV2Paginator(c, &s3.ListObjectsV2Input{Bucket: things, MaxKeys: aws.Int32(size + 1)})
		for pages.HasMorePages() {
			page := must[*s3.ListObjectsV2Output](t)(pages.NextPage(t.Context()))
			got = append(got, strings.Fields(shown(page.Contents, nil))...)
		}
		pages = s3.NewListObjectsV2Paginator(
			c, &s3.ListObjectsV2Input{Bucket: things, MaxKeys: aws.Int32(size + 1), Delimiter: aws.String("/")},
		)
		for pages.HasMorePages() {
			page := must[*s3.ListObjectsV2Output](t)(pages.NextPage(t.Context()))
			rolled = append(rolled, strings.Fields(shown(page.Contents, page.CommonPrefixes))...)
		}
		if !slices.Equal(got, want) || strings.Join(rolled, "") != "[a/][b/][c/]" {
			t.Fatalf("pages of %d: %v %v", size+1, got, rolled)
		}
	}
}
