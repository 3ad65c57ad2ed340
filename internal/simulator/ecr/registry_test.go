package ecr_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ecr"
	"github.com/aws/aws-sdk-go-v2/service/ecr/types"
	"github.com/aws/smithy-go"
	clocktesting "k8s.io/utils/clock/testing"

	simulated "github.com/aws-operator/aws-operator/internal/simulator/ecr"
	"github.com/aws-operator/aws-operator/internal/simulator/fault"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

func newSuite(t *testing.T) (*simulated.Registry, func(account, region string) *ecr.Client) {
	t.Helper()
	clock := clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	registry := simulated.New(&resource.Env{Clock: clock, Partition: "aws"})
	server := httptest.NewServer(wire.NewRouter([]*wire.Service{registry.Service()}, fault.New(), clock))
	t.Cleanup(server.Close)
	return registry, func(account, region string) *ecr.Client {
		return ecr.New(ecr.Options{
			BaseEndpoint: &server.URL, Region: region, Credentials: credentials.NewStaticCredentialsProvider(account, "secret", ""),
		})
	}
}

func wantError(t *testing.T, err error, code, message string) {
	t.Helper()
	var api smithy.APIError
	if !errors.As(err, &api) || api.ErrorCode() != code || message != "" && api.ErrorMessage() != message {
		t.Fatalf("got %v, want %s: %s", err, code, message)
	}
}

func must[T any](t *testing.T) func(T, error) T {
	t.Helper()
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// https://docs.aws.amazon.com/AmazonECR/latest/APIReference/API_CreateRepository.html
func TestRepositoryLifecycle(t *testing.T) {
	_, client := newSuite(t)
	c := client("111111111111", "eu-west-1")
	made := must[*ecr.CreateRepositoryOutput](t)(c.CreateRepository(t.Context(), &ecr.CreateRepositoryInput{
		RepositoryName: aws.String("team/app"), Tags: []types.Tag{{Key: aws.String("a"), Value: aws.String("b")}},
	}))
	if p := made.Repository; *p.RepositoryUri != "111111111111.dkr.ecr.eu-west-1.amazonaws.com/team/app" ||
		*p.RepositoryArn != "arn:aws:ecr:eu-west-1:111111111111:repository/team/app" ||
		p.ImageTagMutability != types.ImageTagMutabilityMutable {
		t.Fatalf("got %+v", p)
	}
	_, err := c.CreateRepository(t.Context(), &ecr.CreateRepositoryInput{RepositoryName: aws.String("team/app")})
	wantError(
		t,
		err,
		"RepositoryAlreadyExistsException",
		"The repository with name 'team/app' already exists in the registry with id '111111111111'",
	)
	_, err = c.CreateRepository(t.Context(), &ecr.CreateRepositoryInput{RepositoryName: aws.String("Team")})
	wantError(t, err, "InvalidParameterException", "")
	_, err = client(
		"222222222222", "eu-west-1",
	).DescribeRepositories(t.Context(), &ecr.DescribeRepositoriesInput{RepositoryNames: []string{"team/app"}})
	wantError(
		t, err, "RepositoryNotFoundException", "The repository with name 'team/app' does not exist in the registry with id '222222222222'",
	)
	tags := must[*ecr.ListTagsForResourceOutput](t)(
		c.ListTagsForResource(t.Context(), &ecr.ListTagsForResourceInput{ResourceArn: made.Repository.RepositoryArn}),
	)
	if len(tags.Tags) != 1 || *tags.Tags[0].Key != "a" {
		t.Fatalf("got %+v", tags.Tags)
	}
	_, err = c.GetLifecyclePolicy(t.Context(), &ecr.GetLifecyclePolicyInput{RepositoryName: aws.String("team/app")})
	wantError(
		t,
		err,
		"LifecyclePolicyNotFoundException",
		"Lifecycle policy does not exist for the repository with name 'team/app' in the registry with id '111111111111'",
	)
	_, err = c.GetRepositoryPolicy(t.Context(), &ecr.GetRepositoryPolicyInput{RepositoryName: aws.String("team/app")})
	wantError(
		t,
		err,
		"RepositoryPolicyNotFoundException",
		"Repository policy does not exist for the repository with name 'team/app' in the registry with id '111111111111'",
	)
	must[*ecr.DeleteRepositoryOutput](t)(
		c.DeleteRepository(t.Context(), &ecr.DeleteRepositoryInput{RepositoryName: aws.String("team/app")}),
	)
	if left := must[*ecr.DescribeRepositoriesOutput](t)(c.DescribeRepositories(t.Context(), &ecr.DescribeRepositoriesInput{})); len(
		left.Repositories,
	) != 0 {
		t.Fatalf("left over: %+v", left.Repositories)
	}
}

func TestAuthorizationToken(t *testing.T) {
	_, client := newSuite(t)
	got := must[*ecr.GetAuthorizationTokenOutput](t)(
		client("111111111111", "eu-west-1").GetAuthorizationToken(t.Context(), &ecr.GetAuthorizationTokenInput{}),
	)
	data := got.AuthorizationData[0]
	token, err := base64.StdEncoding.DecodeString(*data.AuthorizationToken)
	if err != nil || !strings.HasPrefix(string(token), "AWS:") ||
		*data.ProxyEndpoint != "https://111111111111.dkr.ecr.eu-west-1.amazonaws.com" {
		t.Fatalf("got %s %v", token, *data.ProxyEndpoint)
	}
}

// pushLayer uploads data like docker and returns its digest.
func pushLayer(t *testing.T, c *ecr.Client, repository, data string) string {
	t.Helper()
	up := must[*ecr.InitiateLayerUploadOutput](t)(
		c.InitiateLayerUpload(t.Context(), &ecr.InitiateLayerUploadInput{RepositoryName: &repository}),
	)
	must[*ecr.UploadLayerPartOutput](t)(c.UploadLayerPart(t.Context(), &ecr.UploadLayerPartInput{
		RepositoryName: &repository, UploadId: up.UploadId, PartFirstByte: aws.Int64(0), PartLastByte: aws.Int64(int64(len(data)) - 1),
		LayerPartBlob: []byte(data),
	}))
	done := must[*ecr.CompleteLayerUploadOutput](t)(c.CompleteLayerUpload(t.Context(), &ecr.CompleteLayerUploadInput{
		RepositoryName: &repository, UploadId: up.UploadId, LayerDigests: []string{"sha256:" + sum(data)},
	}))
	return *done.LayerDigest
}

func TestImages(t *testing.T) {
	_, client := newSuite(t)
	c, name := client("111111111111", "eu-west-1"), aws.String("app")
	must[*ecr.CreateRepositoryOutput](t)(
		c.CreateRepository(
			t.Context(), &ecr.CreateRepositoryInput{RepositoryName: name, ImageTagMutability: types.ImageTagMutabilityImmutable},
		),
	)
	manifest := func(layer string) *string {
		return aws.String(
			fmt.Sprintf(
				`{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{"digest":%q,"size":2},"layers":[]}`,
				layer,
			),
		)
	}
	_, err := c.PutImage(
		t.Context(), &ecr.PutImageInput{RepositoryName: name, ImageTag: aws.String("v1"), ImageManifest: manifest("sha256:none")},
	)
	wantError(t, err, "LayersNotFoundException", "")
	one := manifest(pushLayer(t, c, *name, "{}"))
	put := must[*ecr.PutImageOutput](t)(
		c.PutImage(t.Context(), &ecr.PutImageInput{RepositoryName: name, ImageTag: aws.String("v1"), ImageManifest: one}),
	)
	if *put.Image.ImageId.ImageDigest != "sha256:"+sum(*one) {
		t.Fatalf("got %+v", put.Image)
	}
	_, err = c.PutImage(t.Context(), &ecr.PutImageInput{RepositoryName: name, ImageTag: aws.String("v1"), ImageManifest: one})
	wantError(t, err, "ImageAlreadyExistsException", "")
	_, err = c.PutImage(
		t.Context(),
		&ecr.PutImageInput{RepositoryName: name, ImageTag: aws.String("v1"), ImageManifest: manifest(pushLayer(t, c, *name, "{ }"))},
	)
	wantError(
		t,
		err,
		"ImageTagAlreadyExistsException",
		"The image tag 'v1' already exists in the 'app' repository and cannot be overwritten because the tag is immutable.",
	)
	must[*ecr.PutImageOutput](t)(
		c.PutImage(t.Context(), &ecr.PutImageInput{RepositoryName: name, ImageTag: aws.String("v1.0"), ImageManifest: one}),
	)
	got := must[*ecr.BatchGetImageOutput](t)(
		c.BatchGetImage(t.Context(), &ecr.BatchGetImageInput{RepositoryName: name, ImageIds: []types.ImageIdentifier{
			{ImageTag: aws.String("v1")}, {ImageTag: aws.String("v2")},
		}}),
	)
	if len(got.Images) != 1 || *got.Images[0].ImageManifest != *one || got.Failures[0].FailureCode != types.ImageFailureCodeImageNotFound {
		t.Fatalf("got %+v", got)
	}
	detail := must[*ecr.DescribeImagesOutput](t)(c.DescribeImages(t.Context(), &ecr.DescribeImagesInput{RepositoryName: name}))
	if len(detail.ImageDetails) != 1 || len(detail.ImageDetails[0].ImageTags) != 2 {
		t.Fatalf("got %+v", detail)
	}
	_, err = c.DescribeImages(
		t.Context(), &ecr.DescribeImagesInput{RepositoryName: name, ImageIds: []types.ImageIdentifier{{ImageTag: aws.String("v9")}}},
	)
	wantError(
		t,
		err,
		"ImageNotFoundException",
		"The image with imageId {imageDigest:'null', imageTag:'v9'} does not exist within the repository with name 'app' in the registry with id '111111111111'",
	)
	_, err = c.DeleteRepository(t.Context(), &ecr.DeleteRepositoryInput{RepositoryName: name})
	wantError(
		t,
		err,
		"RepositoryNotEmptyException",
		"The repository with name 'app' in registry with id '111111111111' cannot be deleted because it still contains images",
	)
	must[*ecr.BatchDeleteImageOutput](t)(
		c.BatchDeleteImage(
			t.Context(), &ecr.BatchDeleteImageInput{RepositoryName: name, ImageIds: []types.ImageIdentifier{{ImageTag: aws.String("v1")}}},
		),
	)
	if list := must[*ecr.ListImagesOutput](t)(c.ListImages(t.Context(), &ecr.ListImagesInput{RepositoryName: name})); len(
		list.ImageIds,
	) != 1 ||
		*list.ImageIds[0].ImageTag != "v1.0" {
		t.Fatalf("the other tag keeps the image: %+v", list.ImageIds)
	}
	must[*ecr.DeleteRepositoryOutput](t)(c.DeleteRepository(t.Context(), &ecr.DeleteRepositoryInput{RepositoryName: name, Force: true}))
}
