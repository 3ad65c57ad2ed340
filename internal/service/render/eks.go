package render

import (
	"fmt"

	"github.com/aws-operator/aws-operator/internal/lazyregexp"
)

// eksClusterPattern has groups for the region, the account and the name of an EKS cluster.
// https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonelastickubernetesservice.html
// https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateCluster.html
var eksClusterPattern = lazyregexp.New(`^arn:aws[a-z-]*:eks:([a-z0-9-]+):([0-9]{12}):cluster/([0-9A-Za-z][0-9A-Za-z_-]{0,99})$`)

// CheckEKSCluster returns an error with the remedy if text is not the ARN of an EKS cluster.
func CheckEKSCluster(text string) error {
	if !eksClusterPattern.MatchString(text) {
		return fmt.Errorf("%q is not the ARN of an EKS cluster; write it as in arn:aws:eks:eu-central-1:123456789012:cluster/management", text)
	}
	return nil
}

// EKSCluster returns the account, the region and the name in the ARN of an EKS cluster, empty if it is not
// one. An association of EKS Pod Identity is in that account and region, and so is its role in the account.
// https://docs.aws.amazon.com/eks/latest/userguide/pod-id-association.html
func EKSCluster(arn string) (account, region, name string) {
	parts := eksClusterPattern.FindStringSubmatch(arn)
	if parts == nil {
		return "", "", ""
	}
	return parts[2], parts[1], parts[3]
}
