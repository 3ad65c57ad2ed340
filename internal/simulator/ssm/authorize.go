package ssm

import (
	"context"
	"maps"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"github.com/aws-operator/aws-operator/internal/simulator/access"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// Ciphers decides about the use of KMS keys.
type Ciphers interface {
	// Use returns an error if the caller may not take an action with a key through a service.
	Use(ctx context.Context, action, keyID, via string, encryption map[string]string, more map[string][]string) error
}

// WithCiphers sets what decides about the keys of secure strings. By default every caller may use
// them.
func WithCiphers(ciphers Ciphers) Option { return func(s *Service) { s.ciphers = ciphers } }

// useKey returns an error if the caller may not use the key of a secure string.
// https://docs.aws.amazon.com/systems-manager/latest/userguide/secure-string-parameter-kms-encryption.html
func (s *Service) useKey(ctx context.Context, action, arn string, v *version) error {
	managed := v.keyID == "" || strings.HasPrefix(v.keyID, "alias/aws/")
	if s.ciphers == nil || !s.env.Control.Checks() || v.kind != types.ParameterTypeSecureString || managed {
		return nil
	}
	return s.ciphers.Use(ctx, action, v.keyID, "ssm", map[string]string{"PARAMETER_ARN": arn}, nil)
}

// show returns a parameter as the caller may see it.
func (s *Service) show(ctx context.Context, p *parameter, v *version, selector string, decrypt *bool) (types.Parameter, error) {
	if aws.ToBool(decrypt) {
		if err := s.useKey(ctx, "kms:Decrypt", p.arn, v); err != nil {
			return types.Parameter{}, err
		}
	}
	return p.show(v, selector, decrypt), nil
}

// access returns the tags of a parameter by its ARN.
func (s *Service) access(arn string) access.Resource {
	at, name := wire.TargetOf(arn)
	r := s.regions.At(at)
	r.mu.Lock()
	defer r.mu.Unlock()
	name = strings.TrimPrefix(name, "parameter/")
	for _, key := range []string{name, "/" + name} {
		if p, ok := r.parameters[key]; ok {
			return access.Resource{ARN: p.arn, Tags: maps.Clone(p.tags)}
		}
	}
	return access.Resource{}
}
