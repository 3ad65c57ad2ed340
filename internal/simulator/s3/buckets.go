package s3

import (
	"sync"

	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// Buckets are the S3 buckets of every account. They are safe for concurrent use.
type Buckets struct {
	env *resource.Env

	mu sync.RWMutex
}

// New returns an S3 without buckets.
func New(env *resource.Env) *Buckets {
	return &Buckets{env: env}
}

// Service returns S3's API for the wire layer.
func (b *Buckets) Service() *wire.Service {
	return &wire.Service{Name: "s3", Protocols: []wire.Protocol{wire.RESTXML}, APIVersion: "2006-03-01", XMLNamespace: "http://s3.amazonaws.com/doc/2006-03-01/"}
}

// Providers returns what CloudFormation needs to make buckets.
func (b *Buckets) Providers() map[string]resource.Provider {
	return map[string]resource.Provider{}
}
