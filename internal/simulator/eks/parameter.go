package eks

import (
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/aws-operator/aws-operator/internal/lazyregexp"
)

// releaseParameter matches the public parameters with the versions of images.
// https://docs.aws.amazon.com/eks/latest/userguide/eks-linux-ami-versions.html
var releaseParameter = lazyregexp.New(
	`^/aws/service/eks/optimized-ami/(1\.\d+)/amazon-linux-2023/(?:x86_64|arm64)/standard/recommended/release_version$`,
)

// PublicParameter returns the value of a public parameter with the version of the images of EKS. It
// reports false for all other parameters.
func (s *Service) PublicParameter(name string) (version string, ok bool) {
	match := releaseParameter.FindStringSubmatch(name)
	if match == nil {
		return "", false
	}
	if _, known := releaseOf(match[1]); !known {
		return "", false
	}
	return releaseVersion(types.AMITypesAl2023X8664Standard, match[1]), true
}
