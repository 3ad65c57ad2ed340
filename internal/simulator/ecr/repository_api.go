package ecr

import (
	"context"
	"encoding/base64"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ecr"
	"github.com/aws/aws-sdk-go-v2/service/ecr/types"

	"github.com/aws-operator/aws-operator/internal/simulator/tagging"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

const namePattern = `(?:[a-z0-9]+(?:[._-][a-z0-9]+)*/)*[a-z0-9]+(?:[._-][a-z0-9]+)*`

// nameRule also accepts the doubled separators that the schema of AWS::ECR::Repository allows.
var nameRule = regexp.MustCompile(`^[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*$`)

// checkName applies the naming rule:
// https://docs.aws.amazon.com/AmazonECR/latest/APIReference/API_CreateRepository.html
func checkName(name string) error {
	if len(name) < 2 || len(name) > 256 {
		return invalid("repositoryName", "must have length between 2 and 256")
	}
	if !nameRule.MatchString(name) {
		return invalid("repositoryName", "must satisfy regular expression '"+namePattern+"'")
	}
	return nil
}

func checkMutability(m types.ImageTagMutability, exclusions []types.ImageTagMutabilityExclusionFilter) error {
	if m != "" && !slices.Contains(m.Values(), m) {
		return invalid(
			"imageTagMutability",
			"Member must satisfy enum value set: [MUTABLE, IMMUTABLE, MUTABLE_WITH_EXCLUSION, IMMUTABLE_WITH_EXCLUSION]",
		)
	}
	if strings.HasSuffix(string(m), "_WITH_EXCLUSION") != (len(exclusions) > 0) {
		return invalid(
			"imageTagMutabilityExclusionFilters", "exclusion filters are required with, and only allowed with, a mutability with exclusion",
		)
	}
	return nil
}

func (r *Registry) createRepository(ctx context.Context, in *ecr.CreateRepositoryInput) (*ecr.CreateRepositoryOutput, error) {
	if err := tagRules.Check(nil, tagMap(in.Tags)); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	made, err := r.create(idOf(ctx, in.RegistryId, in.RepositoryName), in)
	if err != nil {
		return nil, err
	}
	return &ecr.CreateRepositoryOutput{Repository: new(r.describe(made))}, nil
}

// create creates a repository. The caller holds the lock.
func (r *Registry) create(id repositoryID, in *ecr.CreateRepositoryInput) (*repository, error) {
	if err := checkName(id.name); err != nil {
		return nil, err
	}
	if err := checkMutability(in.ImageTagMutability, in.ImageTagMutabilityExclusionFilters); err != nil {
		return nil, err
	}
	if r.repositories[id] != nil {
		return nil, refuse(
			"RepositoryAlreadyExistsException",
			"The repository with name '%s' already exists in the registry with id '%s'",
			id.name,
			id.account,
		)
	}
	made := &repository{
		id: id, created: r.env.Clock.Now().UTC(), mutability: in.ImageTagMutability, exclusions: in.ImageTagMutabilityExclusionFilters,
		encryption: types.EncryptionConfiguration{EncryptionType: types.EncryptionTypeAes256},
		tags:       map[string]string{}, layers: map[string]int64{}, uploads: map[string]*upload{},
	}
	if made.mutability == "" {
		made.mutability = types.ImageTagMutabilityMutable
	}
	if in.ImageScanningConfiguration != nil {
		made.scanOnPush = in.ImageScanningConfiguration.ScanOnPush
	}
	if in.EncryptionConfiguration != nil {
		made.encryption = *in.EncryptionConfiguration
		if made.encryption.EncryptionType != types.EncryptionTypeAes256 && made.encryption.KmsKey == nil {
			made.encryption.KmsKey = new("arn:aws:kms:" + id.region + ":" + id.account + ":alias/aws/ecr")
		}
	}
	maps.Copy(made.tags, tagMap(in.Tags))
	r.repositories[id] = made
	return made, nil
}

func (r *Registry) describeRepositories(ctx context.Context, in *ecr.DescribeRepositoriesInput) (*ecr.DescribeRepositoriesOutput, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	out := &ecr.DescribeRepositoriesOutput{Repositories: []types.Repository{}}
	for _, name := range in.RepositoryNames {
		found, err := r.find(ctx, in.RegistryId, &name)
		if err != nil {
			return nil, err
		}
		out.Repositories = append(out.Repositories, r.describe(found))
	}
	if len(in.RepositoryNames) > 0 {
		return out, nil
	}
	here := idOf(ctx, in.RegistryId, nil)
	for id, p := range r.repositories {
		if id.account == here.account && id.region == here.region {
			out.Repositories = append(out.Repositories, r.describe(p))
		}
	}
	slices.SortFunc(out.Repositories, func(a, b types.Repository) int { return strings.Compare(*a.RepositoryName, *b.RepositoryName) })
	var err error
	out.Repositories, out.NextToken, err = page(out.Repositories, in.MaxResults, in.NextToken, 100)
	return out, err
}

// page returns one page of a list; the token is the position of the next page.
func page[T any](all []T, size *int32, token *string, usual int) (items []T, next *string, err error) {
	start := 0
	if deref(token) != "" {
		if start, err = strconv.Atoi(*token); err != nil || start < 0 || start > len(all) {
			return nil, nil, invalid("nextToken", "Invalid pagination token")
		}
	}
	n := int(deref(size))
	if n == 0 {
		n = usual
	}
	end := min(start+n, len(all))
	if end < len(all) {
		next = new(strconv.Itoa(end))
	}
	return all[start:end], next, nil
}

func (r *Registry) deleteRepository(ctx context.Context, in *ecr.DeleteRepositoryInput) (*ecr.DeleteRepositoryOutput, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	found, err := r.find(ctx, in.RegistryId, in.RepositoryName)
	if err != nil {
		return nil, err
	}
	if err := r.delete(found, in.Force); err != nil {
		return nil, err
	}
	return &ecr.DeleteRepositoryOutput{Repository: new(r.describe(found))}, nil
}

// delete deletes a repository. The caller holds the lock.
func (r *Registry) delete(p *repository, force bool) error {
	if len(p.images) > 0 && !force {
		return refuse(
			"RepositoryNotEmptyException",
			"The repository with name '%s' in registry with id '%s' cannot be deleted because it still contains images",
			p.id.name,
			p.id.account,
		)
	}
	delete(r.repositories, p.id)
	return nil
}

func (r *Registry) describeRegistry(ctx context.Context, _ *ecr.DescribeRegistryInput) (*ecr.DescribeRegistryOutput, error) {
	return &ecr.DescribeRegistryOutput{
		RegistryId:               new(wire.CallFrom(ctx).Account),
		ReplicationConfiguration: &types.ReplicationConfiguration{Rules: []types.ReplicationRule{}},
	}, nil
}

// getAuthorizationToken returns a token in the form for docker login, which is valid for twelve
// hours:
// https://docs.aws.amazon.com/AmazonECR/latest/APIReference/API_GetAuthorizationToken.html
func (r *Registry) getAuthorizationToken(
	ctx context.Context, in *ecr.GetAuthorizationTokenInput,
) (*ecr.GetAuthorizationTokenOutput, error) {
	registries := in.RegistryIds // older clients send it
	if len(registries) == 0 {
		registries = []string{wire.CallFrom(ctx).Account}
	}
	out := &ecr.GetAuthorizationTokenOutput{}
	for _, registry := range registries {
		token := base64.StdEncoding.EncodeToString([]byte("AWS:" + wire.RandomID(64)))
		out.AuthorizationData = append(out.AuthorizationData, types.AuthorizationData{
			AuthorizationToken: &token, ExpiresAt: new(r.env.Clock.Now().UTC().Add(12 * time.Hour)),
			ProxyEndpoint: new("https://" + idOf(ctx, &registry, nil).host()),
		})
	}
	return out, nil
}

func (r *Registry) putImageTagMutability(
	ctx context.Context, in *ecr.PutImageTagMutabilityInput,
) (*ecr.PutImageTagMutabilityOutput, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	found, err := r.find(ctx, in.RegistryId, in.RepositoryName)
	if err != nil {
		return nil, err
	}
	if err := checkMutability(in.ImageTagMutability, in.ImageTagMutabilityExclusionFilters); err != nil {
		return nil, err
	}
	found.mutability, found.exclusions = in.ImageTagMutability, in.ImageTagMutabilityExclusionFilters
	return &ecr.PutImageTagMutabilityOutput{
		ImageTagMutability: found.mutability, ImageTagMutabilityExclusionFilters: found.exclusions,
		RegistryId: &found.id.account, RepositoryName: &found.id.name,
	}, nil
}

func (r *Registry) putImageScanningConfiguration(
	ctx context.Context, in *ecr.PutImageScanningConfigurationInput,
) (*ecr.PutImageScanningConfigurationOutput, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	found, err := r.find(ctx, in.RegistryId, in.RepositoryName)
	if err != nil {
		return nil, err
	}
	found.scanOnPush = in.ImageScanningConfiguration != nil && in.ImageScanningConfiguration.ScanOnPush
	return &ecr.PutImageScanningConfigurationOutput{
		ImageScanningConfiguration: in.ImageScanningConfiguration, RegistryId: &found.id.account, RepositoryName: &found.id.name,
	}, nil
}

func (r *Registry) batchGetRepositoryScanningConfiguration(
	ctx context.Context, in *ecr.BatchGetRepositoryScanningConfigurationInput,
) (*ecr.BatchGetRepositoryScanningConfigurationOutput, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	out := &ecr.BatchGetRepositoryScanningConfigurationOutput{}
	for _, name := range in.RepositoryNames {
		found, err := r.find(ctx, nil, &name)
		if err != nil {
			out.Failures = append(out.Failures, types.RepositoryScanningConfigurationFailure{
				FailureCode: types.ScanningConfigurationFailureCodeRepositoryNotFound, RepositoryName: &name,
				FailureReason: new("Repository not found"),
			})
			continue
		}
		frequency := types.ScanFrequencyManual
		if found.scanOnPush {
			frequency = types.ScanFrequencyScanOnPush
		}
		out.ScanningConfigurations = append(out.ScanningConfigurations, types.RepositoryScanningConfiguration{
			RepositoryArn: new(r.arn(found.id)), RepositoryName: &name, ScanOnPush: found.scanOnPush, ScanFrequency: frequency,
		})
	}
	return out, nil
}

// tagRules are the errors for tags. The codes are documented; no words of AWS are on record.
// https://docs.aws.amazon.com/AmazonECR/latest/APIReference/API_TagResource.html
// https://docs.aws.amazon.com/AmazonECR/latest/userguide/ecr-using-tags.html#tag-restrictions
var tagRules = tagging.Rules{
	Reserved: tagging.Refusal{
		Code:    "InvalidTagParameterException",
		Message: "Invalid parameter at 'tags' failed to satisfy constraint: 'Tag keys must not begin with aws:'",
	},
	Key: tagging.Refusal{
		Code:    "InvalidParameterException",
		Message: "Invalid parameter at 'tags' failed to satisfy constraint: 'Member must have length less than or equal to 128'",
	},
	Value: tagging.Refusal{
		Code:    "InvalidParameterException",
		Message: "Invalid parameter at 'tags' failed to satisfy constraint: 'Member must have length less than or equal to 256'",
	},
	TooMany: tagging.Refusal{
		Code: "TooManyTagsException",
		Message: "The list of tags on the repository is over the limit. " +
			"The maximum number of tags that can be applied to a repository is 50.",
	},
}

func tagMap(list []types.Tag) map[string]string {
	tags := make(map[string]string, len(list))
	for _, tag := range list {
		tags[deref(tag.Key)] = deref(tag.Value)
	}
	return tags
}

func (r *Registry) tagResource(_ context.Context, in *ecr.TagResourceInput) (*ecr.TagResourceOutput, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	found, err := r.byARN(in.ResourceArn)
	if err != nil {
		return nil, err
	}
	added := tagMap(in.Tags)
	if err := tagRules.Check(found.tags, added); err != nil {
		return nil, err
	}
	maps.Copy(found.tags, added)
	return &ecr.TagResourceOutput{}, nil
}

func (r *Registry) untagResource(_ context.Context, in *ecr.UntagResourceInput) (*ecr.UntagResourceOutput, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	found, err := r.byARN(in.ResourceArn)
	if err != nil {
		return nil, err
	}
	for _, key := range in.TagKeys {
		delete(found.tags, key)
	}
	return &ecr.UntagResourceOutput{}, nil
}

func (r *Registry) listTagsForResource(_ context.Context, in *ecr.ListTagsForResourceInput) (*ecr.ListTagsForResourceOutput, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	found, err := r.byARN(in.ResourceArn)
	if err != nil {
		return nil, err
	}
	return &ecr.ListTagsForResourceOutput{Tags: sortedTags(found.tags)}, nil
}
