package iam_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsiam "github.com/aws/aws-sdk-go-v2/service/iam"
)

// https://docs.aws.amazon.com/IAM/latest/APIReference/API_ListInstanceProfiles.html
func TestInstanceProfilesAreListedBelowAPath(t *testing.T) {
	c, _ := start(t)
	for name, path := range map[string]string{"a": "/", "b": "/karpenter/x/", "c": "/karpenter/y/"} {
		in := &awsiam.CreateInstanceProfileInput{InstanceProfileName: &name, Path: &path}
		if _, err := c.CreateInstanceProfile(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	for prefix, want := range map[string]int{"": 3, "/": 3, "/karpenter/": 2, "/karpenter/y": 1, "/other/": 0} {
		in := &awsiam.ListInstanceProfilesInput{}
		if prefix != "" {
			in.PathPrefix = aws.String(prefix)
		}
		out, err := c.ListInstanceProfiles(t.Context(), in)
		if err != nil || len(out.InstanceProfiles) != want {
			t.Errorf("below %q: %+v, %v; want %d", prefix, out, err, want)
		}
	}
}
