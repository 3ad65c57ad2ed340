package apply

import (
	"fmt"

	servicev1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/manifest"
	"github.com/aws-operator/aws-operator/internal/plan"
)

// approved returns an error if a digest was given that is not the digest of all plans together.
func (o *options) approved(plans []*plan.Plan) error {
	if digest := plan.DigestOf(plans...); o.approve != "" && o.approve != digest {
		return fmt.Errorf(
			"the approved plan is out of date: the digest is now %s, not %s, since the manifests, the state or the deployed stacks "+
				"changed; nothing has been changed: review the new plan and approve it",
			digest,
			o.approve,
		)
	}
	return nil
}

// refuseServices returns an error if the manifests contain services, before anything is applied.
func refuseServices(set *manifest.Set) error {
	for _, m := range set.Manifests {
		if m.Object.GetObjectKind().GroupVersionKind().Group == servicev1alpha1.Group {
			return fmt.Errorf(
				"%s, document %d, line %d: %s %s is not part of a cluster: an operator in a management cluster makes services, after "+
					"kubectl apply -f %s; pass only the manifests of clusters to apply; nothing has been changed",
				m.File,
				m.Document,
				m.Line,
				manifest.Kind(m.Object),
				m.Object.GetName(),
				m.File,
			)
		}
	}
	return nil
}
