package cloudformation

import (
	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/simulator/cloudformation/simulated"
)

// MinimalProperties returns the smallest set of properties with which a
// resource of the type can be created; see [simulated.MinimalProperties].
func MinimalProperties(t *schema.Type) (map[string]any, error) {
	return simulated.MinimalProperties(t)
}
