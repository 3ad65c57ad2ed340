package ecr

import (
	"sync"

	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// Registry is the ECR of every account and region. It is safe for concurrent
// use.
type Registry struct {
	env *resource.Env

	mu sync.RWMutex
}

// New returns an ECR without repositories.
func New(env *resource.Env) *Registry {
	return &Registry{env: env}
}

// Service returns ECR's API for the wire layer.
func (r *Registry) Service() *wire.Service {
	return &wire.Service{Name: "ecr", Protocols: []wire.Protocol{wire.JSON11}, TargetPrefix: "AmazonEC2ContainerRegistry_V20150921", LowerCamel: true}
}

// Providers returns what CloudFormation needs to make repositories.
func (r *Registry) Providers() map[string]resource.Provider {
	return map[string]resource.Provider{}
}
