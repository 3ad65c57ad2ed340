package ecr

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/ecr"
	"github.com/aws/aws-sdk-go-v2/service/ecr/types"
	"github.com/google/uuid"
)

// partSize is the size of the parts that clients upload.
const partSize = 10 << 20

func (r *Registry) batchCheckLayerAvailability(
	ctx context.Context, in *ecr.BatchCheckLayerAvailabilityInput,
) (*ecr.BatchCheckLayerAvailabilityOutput, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	found, err := r.find(ctx, in.RegistryId, in.RepositoryName)
	if err != nil {
		return nil, err
	}
	out := &ecr.BatchCheckLayerAvailabilityOutput{Layers: []types.Layer{}, Failures: []types.LayerFailure{}}
	for _, digest := range in.LayerDigests {
		size, exists := found.layers[digest]
		if !exists {
			out.Layers = append(out.Layers, types.Layer{LayerDigest: &digest, LayerAvailability: types.LayerAvailabilityUnavailable})
			continue
		}
		out.Layers = append(
			out.Layers, types.Layer{LayerDigest: &digest, LayerAvailability: types.LayerAvailabilityAvailable, LayerSize: &size},
		)
	}
	return out, nil
}

func (r *Registry) initiateLayerUpload(ctx context.Context, in *ecr.InitiateLayerUploadInput) (*ecr.InitiateLayerUploadOutput, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	found, err := r.find(ctx, in.RegistryId, in.RepositoryName)
	if err != nil {
		return nil, err
	}
	id := uuid.NewString()
	found.uploads[id] = &upload{}
	return &ecr.InitiateLayerUploadOutput{UploadId: &id, PartSize: new(int64(partSize))}, nil
}

func (p *repository) upload(id *string) (*upload, error) {
	if found := p.uploads[deref(id)]; found != nil {
		return found, nil
	}
	return nil, refuse(
		"UploadNotFoundException",
		"The upload '%s' does not exist in the repository with name '%s' in the registry with id '%s'",
		deref(id),
		p.id.name,
		p.id.account,
	)
}

func (r *Registry) uploadLayerPart(ctx context.Context, in *ecr.UploadLayerPartInput) (*ecr.UploadLayerPartOutput, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	found, err := r.find(ctx, in.RegistryId, in.RepositoryName)
	if err != nil {
		return nil, err
	}
	u, err := found.upload(in.UploadId)
	if err != nil {
		return nil, err
	}
	first, last := deref(in.PartFirstByte), deref(in.PartLastByte)
	if first != int64(len(u.data)) || last != first+int64(len(in.LayerPartBlob))-1 {
		return nil, refuse(
			"InvalidLayerPartException", "Part first byte '%d' does not follow the last byte received, '%d'", first, len(u.data)-1,
		)
	}
	u.data = append(u.data, in.LayerPartBlob...)
	return &ecr.UploadLayerPartOutput{
		LastByteReceived: &last,
		RegistryId:       &found.id.account,
		RepositoryName:   &found.id.name,
		UploadId:         in.UploadId,
	}, nil
}

func (r *Registry) completeLayerUpload(ctx context.Context, in *ecr.CompleteLayerUploadInput) (*ecr.CompleteLayerUploadOutput, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	found, err := r.find(ctx, in.RegistryId, in.RepositoryName)
	if err != nil {
		return nil, err
	}
	u, err := found.upload(in.UploadId)
	if err != nil {
		return nil, err
	}
	if len(u.data) == 0 {
		return nil, refuse("EmptyUploadException", "The specified layer upload does not contain any layer parts.")
	}
	digest := digestOf(u.data)
	if len(in.LayerDigests) > 0 && in.LayerDigests[0] != digest {
		return nil, refuse(
			"InvalidLayerException", "The layer digest '%s' does not match the calculated digest '%s'", in.LayerDigests[0], digest,
		)
	}
	if _, exists := found.layers[digest]; exists {
		return nil, refuse(
			"LayerAlreadyExistsException",
			"Layer with digest '%s' already exists in the repository with name '%s' in the registry with id '%s'",
			digest,
			found.id.name,
			found.id.account,
		)
	}
	found.layers[digest] = int64(len(u.data))
	delete(found.uploads, *in.UploadId)
	return &ecr.CompleteLayerUploadOutput{
		LayerDigest:    &digest,
		RegistryId:     &found.id.account,
		RepositoryName: &found.id.name,
		UploadId:       in.UploadId,
	}, nil
}
