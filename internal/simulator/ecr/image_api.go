package ecr

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/ecr"
	"github.com/aws/aws-sdk-go-v2/service/ecr/types"
)

// manifest holds the fields of an image manifest or index that ECR reads.
type manifest struct {
	MediaType string
	Config    *descriptor
	Layers    []descriptor
	Manifests []descriptor
}

type descriptor struct {
	MediaType, Digest string
	Size              int64
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func (r *Registry) putImage(ctx context.Context, in *ecr.PutImageInput) (*ecr.PutImageOutput, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	found, err := r.find(ctx, in.RegistryId, in.RepositoryName)
	if err != nil {
		return nil, err
	}
	made, err := found.newImage(in)
	if err != nil {
		return nil, err
	}
	tag := deref(in.ImageTag)
	if err := found.tagImage(made, tag); err != nil {
		return nil, err
	}
	if found.byDigest(made.digest) == nil {
		made.pushed = r.env.Clock.Now().UTC()
		found.images = append(found.images, made)
	}
	return &ecr.PutImageOutput{Image: new(found.image(made, in.ImageTag))}, nil
}

// newImage parses a manifest and returns its image, which may exist already.
func (p *repository) newImage(in *ecr.PutImageInput) (*image, error) {
	text := deref(in.ImageManifest)
	var m manifest
	if json.Unmarshal([]byte(text), &m) != nil {
		return nil, invalid("ImageManifest", "Invalid JSON syntax")
	}
	digest := digestOf([]byte(text))
	if want := deref(in.ImageDigest); want != "" && want != digest {
		return nil, refuse(
			"ImageDigestDoesNotMatchException", "The provided digest '%s' does not match the calculated digest '%s'", want, digest,
		)
	}
	if have := p.byDigest(digest); have != nil {
		return have, nil
	}
	size := int64(len(text))
	parts := m.Layers
	if m.Config != nil {
		parts = append([]descriptor{*m.Config}, parts...)
	}
	var missing []string
	for _, part := range parts {
		if _, found := p.layers[part.Digest]; !found {
			missing = append(missing, part.Digest)
		}
		size += part.Size
	}
	if len(missing) > 0 {
		return nil, refuse(
			"LayersNotFoundException",
			"Layers with digests '[%s]' required for pushing image into repository with name '%s' in the registry with id '%s' do not exist",
			strings.Join(missing, ", "),
			p.id.name,
			p.id.account,
		)
	}
	for _, child := range m.Manifests {
		if p.byDigest(child.Digest) == nil {
			return nil, refuse(
				"ReferencedImagesNotFoundException",
				"Images with digests '[%s]' required for pushing image into repository with name '%s' in the registry with id '%s' do not exist",
				child.Digest,
				p.id.name,
				p.id.account,
			)
		}
	}
	made := &image{digest: digest, manifest: text, mediaType: deref(in.ImageManifestMediaType), size: size}
	if made.mediaType == "" {
		made.mediaType = m.MediaType
	}
	if made.mediaType == "" {
		made.mediaType = "application/vnd.docker.distribution.manifest.v2+json"
	}
	return made, nil
}

// tagImage tags an image and, if tags are mutable, removes the tag from another image.
func (p *repository) tagImage(made *image, tag string) error {
	exists := p.byDigest(made.digest) != nil
	if exists && (tag == "" || slices.Contains(made.tags, tag)) {
		return refuse(
			"ImageAlreadyExistsException",
			"Image with digest '%s' and tag '%s' already exists in the repository with name '%s' in registry with id '%s'",
			made.digest,
			tag,
			p.id.name,
			p.id.account,
		)
	}
	if tag == "" {
		return nil
	}
	if other := p.byTag(tag); other != nil {
		if p.immutable(tag) {
			return refuse(
				"ImageTagAlreadyExistsException",
				"The image tag '%s' already exists in the '%s' repository and cannot be overwritten because the tag is immutable.",
				tag,
				p.id.name,
			)
		}
		other.tags = slices.DeleteFunc(slices.Clone(other.tags), func(t string) bool { return t == tag })
	}
	made.tags = append(slices.Clone(made.tags), tag)
	return nil
}

// immutable reports whether a tag cannot move to another image:
// https://docs.aws.amazon.com/AmazonECR/latest/userguide/image-tag-mutability.html
func (p *repository) immutable(tag string) bool {
	excluded := slices.ContainsFunc(p.exclusions, func(f types.ImageTagMutabilityExclusionFilter) bool {
		matched, err := path.Match(deref(f.Filter), tag)
		return err == nil && matched
	})
	return strings.HasPrefix(string(p.mutability), "IMMUTABLE") != excluded
}

func (p *repository) byDigest(digest string) *image {
	i := slices.IndexFunc(p.images, func(m *image) bool { return m.digest == digest })
	if i < 0 {
		return nil
	}
	return p.images[i]
}

func (p *repository) byTag(tag string) *image {
	i := slices.IndexFunc(p.images, func(m *image) bool { return slices.Contains(m.tags, tag) })
	if i < 0 {
		return nil
	}
	return p.images[i]
}

// lookUp returns the image with an identifier, or the reason why there is none.
func (p *repository) lookUp(id types.ImageIdentifier) (*image, *types.ImageFailure) {
	fail := func(code types.ImageFailureCode, reason string) (*image, *types.ImageFailure) {
		return nil, &types.ImageFailure{FailureCode: code, FailureReason: &reason, ImageId: &id}
	}
	var found *image
	switch {
	case id.ImageTag == nil && id.ImageDigest == nil:
		return fail(types.ImageFailureCodeMissingDigestAndTag, "Invalid request parameters: both tag and digest cannot be null")
	case id.ImageTag != nil:
		found = p.byTag(*id.ImageTag)
	default:
		found = p.byDigest(*id.ImageDigest)
	}
	if found == nil {
		return fail(types.ImageFailureCodeImageNotFound, "Requested image not found")
	}
	if id.ImageDigest != nil && found.digest != *id.ImageDigest {
		return fail(types.ImageFailureCodeImageTagDoesNotMatchDigest, "Image tag does not match digest")
	}
	return found, nil
}

func (p *repository) image(m *image, tag *string) types.Image {
	return types.Image{
		ImageId: &types.ImageIdentifier{ImageDigest: &m.digest, ImageTag: tag}, ImageManifest: &m.manifest,
		ImageManifestMediaType: &m.mediaType, RegistryId: &p.id.account, RepositoryName: &p.id.name,
	}
}

func (r *Registry) batchGetImage(ctx context.Context, in *ecr.BatchGetImageInput) (*ecr.BatchGetImageOutput, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	found, err := r.find(ctx, in.RegistryId, in.RepositoryName)
	if err != nil {
		return nil, err
	}
	out := &ecr.BatchGetImageOutput{Images: []types.Image{}, Failures: []types.ImageFailure{}}
	for _, id := range in.ImageIds {
		m, failure := found.lookUp(id)
		if failure != nil {
			out.Failures = append(out.Failures, *failure)
			continue
		}
		m.pulled = new(r.env.Clock.Now().UTC())
		out.Images = append(out.Images, found.image(m, id.ImageTag))
	}
	return out, nil
}

func (r *Registry) describeImages(ctx context.Context, in *ecr.DescribeImagesInput) (*ecr.DescribeImagesOutput, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	found, err := r.find(ctx, in.RegistryId, in.RepositoryName)
	if err != nil {
		return nil, err
	}
	out := &ecr.DescribeImagesOutput{ImageDetails: []types.ImageDetail{}}
	for _, id := range in.ImageIds {
		m, failure := found.lookUp(id)
		if failure != nil {
			return nil, refuse(
				"ImageNotFoundException",
				"The image with imageId {imageDigest:'%s', imageTag:'%s'} does not exist within the repository with name '%s' in the registry with id '%s'",
				orNull(id.ImageDigest),
				orNull(id.ImageTag),
				found.id.name,
				found.id.account,
			)
		}
		out.ImageDetails = append(out.ImageDetails, found.detail(m))
	}
	if len(in.ImageIds) > 0 {
		return out, nil
	}
	for _, m := range found.images {
		if in.Filter == nil || hasTagStatus(m, in.Filter.TagStatus) {
			out.ImageDetails = append(out.ImageDetails, found.detail(m))
		}
	}
	out.ImageDetails, out.NextToken, err = page(out.ImageDetails, in.MaxResults, in.NextToken, 100)
	return out, err
}

func orNull(s *string) string {
	if s == nil {
		return "null"
	}
	return *s
}

func hasTagStatus(m *image, want types.TagStatus) bool {
	switch want {
	case types.TagStatusTagged:
		return len(m.tags) > 0
	case types.TagStatusUntagged:
		return len(m.tags) == 0
	default:
		return true
	}
}

func (p *repository) detail(m *image) types.ImageDetail {
	return types.ImageDetail{
		ImageDigest: &m.digest, ImageManifestMediaType: &m.mediaType, ImagePushedAt: &m.pushed, ImageSizeInBytes: &m.size,
		ImageTags: slices.Clone(m.tags), LastRecordedPullTime: m.pulled, RegistryId: &p.id.account, RepositoryName: &p.id.name,
	}
}

func (r *Registry) listImages(ctx context.Context, in *ecr.ListImagesInput) (*ecr.ListImagesOutput, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	found, err := r.find(ctx, in.RegistryId, in.RepositoryName)
	if err != nil {
		return nil, err
	}
	ids := []types.ImageIdentifier{}
	for _, m := range found.images {
		if in.Filter != nil && !hasTagStatus(m, in.Filter.TagStatus) {
			continue
		}
		for _, tag := range m.tags {
			ids = append(ids, types.ImageIdentifier{ImageDigest: &m.digest, ImageTag: &tag})
		}
		if len(m.tags) == 0 {
			ids = append(ids, types.ImageIdentifier{ImageDigest: &m.digest})
		}
	}
	out := &ecr.ListImagesOutput{}
	out.ImageIds, out.NextToken, err = page(ids, in.MaxResults, in.NextToken, 100)
	return out, err
}

func (r *Registry) batchDeleteImage(ctx context.Context, in *ecr.BatchDeleteImageInput) (*ecr.BatchDeleteImageOutput, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	found, err := r.find(ctx, in.RegistryId, in.RepositoryName)
	if err != nil {
		return nil, err
	}
	out := &ecr.BatchDeleteImageOutput{ImageIds: []types.ImageIdentifier{}, Failures: []types.ImageFailure{}}
	for _, id := range in.ImageIds {
		m, failure := found.lookUp(id)
		if failure != nil {
			out.Failures = append(out.Failures, *failure)
			continue
		}
		out.ImageIds = append(out.ImageIds, found.deleteImage(m, id)...)
	}
	return out, nil
}

// deleteImage removes a tag. It deletes the image with its last tag, or if the digest identifies
// the image:
// https://docs.aws.amazon.com/AmazonECR/latest/APIReference/API_BatchDeleteImage.html
func (p *repository) deleteImage(m *image, id types.ImageIdentifier) []types.ImageIdentifier {
	gone := m.tags
	if id.ImageTag != nil {
		gone = []string{*id.ImageTag}
	}
	out := []types.ImageIdentifier{}
	for _, tag := range gone {
		out = append(out, types.ImageIdentifier{ImageDigest: &m.digest, ImageTag: &tag})
	}
	if len(out) == 0 {
		out = append(out, types.ImageIdentifier{ImageDigest: &m.digest})
	}
	m.tags = slices.DeleteFunc(slices.Clone(m.tags), func(t string) bool { return slices.Contains(gone, t) })
	if len(m.tags) == 0 {
		p.images = slices.DeleteFunc(p.images, func(o *image) bool { return o == m })
	}
	return out
}
