package vpc

import "github.com/aws-operator/aws-operator/internal/simulator/resource"

// Providers returns the CloudFormation types that the network backs.
func (s *Service) Providers() map[string]resource.Provider {
	return map[string]resource.Provider{}
}
