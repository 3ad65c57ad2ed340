package simulated

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws-operator/aws-operator/internal/simulator/resource"
)

const (
	podIdentityType = "AWS::EKS::PodIdentityAssociation"
	eksClusterType  = "AWS::EKS::Cluster"
)

// podIdentity refuses associations of EKS Pod Identity as EKS does: the cluster must exist in the account and
// the region, and a service account has at most one.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_CreatePodIdentityAssociation.html
type podIdentity struct{ *provider }

// Create makes an association.
func (p *podIdentity) Create(ctx context.Context, r resource.Request) (resource.Result, error) {
	cluster := fmt.Sprint(r.Properties["ClusterName"])
	if !p.exists(r, cluster) {
		return resource.Result{}, resource.Errorf(resource.NotFound,
			"No cluster found for name: %s. (Service: Eks, Status Code: 404, Error Code: ResourceNotFoundException)", cluster)
	}
	if id := p.associated(r); id != "" { // https://github.com/eksctl-io/eksctl/issues/7753
		return resource.Result{}, resource.Errorf(resource.AlreadyExists,
			"Association already exists: %s (Service: Eks, Status Code: 409, Error Code: ResourceInUseException)", id)
	}
	return p.provider.Create(ctx, r)
}

func (p *podIdentity) exists(r resource.Request, cluster string) bool {
	sh := p.store.shard(r, eksClusterType)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	_, ok := sh.items[cluster]
	return ok
}

// associated returns the ID of the association of a service account, "" if it has none.
func (p *podIdentity) associated(r resource.Request) string {
	sh := p.store.shard(r, podIdentityType)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	for arn, it := range sh.items {
		same := true
		for _, name := range []string{"ClusterName", "Namespace", "ServiceAccount"} {
			same = same && it.properties[name] == r.Properties[name]
		}
		if same {
			return arn[strings.LastIndexByte(arn, '/')+1:]
		}
	}
	return ""
}
