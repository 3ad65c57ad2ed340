package ecr

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ecr/types"

	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// Registry is the ECR of every account and region. It is safe for concurrent use.
type Registry struct {
	env *resource.Env

	mu           sync.RWMutex
	repositories map[repositoryID]*repository
}

// repositoryID identifies a repository.
type repositoryID struct{ account, region, name string }

// repository is one repository with its images.
type repository struct {
	id         repositoryID
	created    time.Time
	mutability types.ImageTagMutability
	exclusions []types.ImageTagMutabilityExclusionFilter
	scanOnPush bool
	encryption types.EncryptionConfiguration
	tags       map[string]string
	lifecycle  string
	policy     string
	images     []*image
	layers     map[string]int64 // size by digest
	uploads    map[string]*upload
}

// image is one manifest and the tags that name it.
type image struct {
	digest, manifest, mediaType string
	tags                        []string
	size                        int64
	pushed                      time.Time
	pulled                      *time.Time
}

// upload is an incomplete upload of a layer.
type upload struct{ data []byte }

// New returns a Registry without repositories.
func New(env *resource.Env) *Registry {
	return &Registry{env: env, repositories: map[repositoryID]*repository{}}
}

// Service returns ECR's API for the wire layer.
func (r *Registry) Service() *wire.Service {
	return &wire.Service{
		Name: "ecr", Describe: r.access, Protocols: []wire.Protocol{wire.JSON11}, TargetPrefix: "AmazonEC2ContainerRegistry_V20150921",
		APIVersion: "2015-09-21", LowerCamel: true,
		// Tags are capitalized:
		// https://docs.aws.amazon.com/AmazonECR/latest/APIReference/API_Tag.html
		Names: map[string]wire.Name{"Tag.Key": {Wire: "Key"}, "Tag.Value": {Wire: "Value"}},
		Operations: map[string]wire.Operation{
			"CreateRepository":                        wire.Op(r.createRepository),
			"DescribeRepositories":                    wire.Op(r.describeRepositories),
			"DeleteRepository":                        wire.Op(r.deleteRepository),
			"DescribeRegistry":                        wire.Op(r.describeRegistry),
			"GetAuthorizationToken":                   wire.Op(r.getAuthorizationToken),
			"PutImageTagMutability":                   wire.Op(r.putImageTagMutability),
			"PutImageScanningConfiguration":           wire.Op(r.putImageScanningConfiguration),
			"BatchGetRepositoryScanningConfiguration": wire.Op(r.batchGetRepositoryScanningConfiguration),
			"TagResource":                             wire.Op(r.tagResource),
			"UntagResource":                           wire.Op(r.untagResource),
			"ListTagsForResource":                     wire.Op(r.listTagsForResource),

			"SetRepositoryPolicy":    wire.Op(r.setRepositoryPolicy),
			"GetRepositoryPolicy":    wire.Op(r.getRepositoryPolicy),
			"DeleteRepositoryPolicy": wire.Op(r.deleteRepositoryPolicy),
			"PutLifecyclePolicy":     wire.Op(r.putLifecyclePolicy),
			"GetLifecyclePolicy":     wire.Op(r.getLifecyclePolicy),
			"DeleteLifecyclePolicy":  wire.Op(r.deleteLifecyclePolicy),

			"PutImage":                    wire.Op(r.putImage),
			"BatchGetImage":               wire.Op(r.batchGetImage),
			"DescribeImages":              wire.Op(r.describeImages),
			"ListImages":                  wire.Op(r.listImages),
			"BatchDeleteImage":            wire.Op(r.batchDeleteImage),
			"BatchCheckLayerAvailability": wire.Op(r.batchCheckLayerAvailability),
			"InitiateLayerUpload":         wire.Op(r.initiateLayerUpload),
			"UploadLayerPart":             wire.Op(r.uploadLayerPart),
			"CompleteLayerUpload":         wire.Op(r.completeLayerUpload),
		},
	}
}

// Providers returns the providers of ECR's CloudFormation types.
func (r *Registry) Providers() map[string]resource.Provider {
	return map[string]resource.Provider{"AWS::ECR::Repository": &repositoryProvider{r}}
}

// refuse returns one of ECR's errors, which are all client errors.
func refuse(code, format string, args ...any) error {
	return &wire.Error{Code: code, Message: fmt.Sprintf(format, args...), Status: http.StatusBadRequest}
}

func invalid(parameter, constraint string) error {
	return refuse("InvalidParameterException", "Invalid parameter at '%s' failed to satisfy constraint: '%s'", parameter, constraint)
}

// idOf returns the ID of a repository in the caller's region, in the given registry or the caller's
// own.
func idOf(ctx context.Context, registry, name *string) repositoryID {
	call := wire.CallFrom(ctx)
	id := repositoryID{account: call.Account, region: call.Region, name: deref(name)}
	if given := deref(registry); given != "" {
		id.account = given
	}
	return id
}

// find returns a repository. The caller holds a lock.
func (r *Registry) find(ctx context.Context, registry, name *string) (*repository, error) {
	id := idOf(ctx, registry, name)
	if found := r.repositories[id]; found != nil {
		return found, nil
	}
	return nil, refuse(
		"RepositoryNotFoundException", "The repository with name '%s' does not exist in the registry with id '%s'", id.name, id.account,
	)
}

// byARN returns the repository of a resource ARN.
func (r *Registry) byARN(arn *string) (*repository, error) {
	parts := strings.SplitN(deref(arn), ":", 6)
	name, isRepository := strings.CutPrefix(parts[len(parts)-1], "repository/")
	if len(parts) != 6 || !isRepository {
		return nil, invalid("resourceArn", "Invalid ARN")
	}
	if found := r.repositories[repositoryID{parts[4], parts[3], name}]; found != nil {
		return found, nil
	}
	return nil, refuse(
		"RepositoryNotFoundException", "The repository with name '%s' does not exist in the registry with id '%s'", name, parts[4],
	)
}

func (r *Registry) arn(id repositoryID) string {
	partition := r.env.Partition
	if partition == "" {
		partition = "aws"
	}
	return fmt.Sprintf("arn:%s:ecr:%s:%s:repository/%s", partition, id.region, id.account, id.name)
}

// host returns the registry's host name in a repository's URI.
func (id repositoryID) host() string {
	suffix := "amazonaws.com"
	if strings.HasPrefix(id.region, "cn-") {
		suffix = "amazonaws.com.cn"
	}
	return fmt.Sprintf("%s.dkr.ecr.%s.%s", id.account, id.region, suffix)
}

func (id repositoryID) uri() string { return id.host() + "/" + id.name }

func (r *Registry) describe(p *repository) types.Repository {
	return types.Repository{
		CreatedAt: &p.created, EncryptionConfiguration: new(p.encryption),
		ImageScanningConfiguration: &types.ImageScanningConfiguration{ScanOnPush: p.scanOnPush},
		ImageTagMutability:         p.mutability, ImageTagMutabilityExclusionFilters: p.exclusions,
		RegistryId: &p.id.account, RepositoryArn: new(r.arn(p.id)), RepositoryName: &p.id.name, RepositoryUri: new(p.id.uri()),
	}
}

func sortedTags(tags map[string]string) []types.Tag {
	out := make([]types.Tag, 0, len(tags))
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		out = append(out, types.Tag{Key: &key, Value: new(tags[key])})
	}
	return out
}

func deref[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
