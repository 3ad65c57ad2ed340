package controller

import (
	"context"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
)

// target is where the Cluster's stacks are. The operator's own account and region are the zero value,
// as everywhere else in the operator, so that their events are listened to once.
func (o *operator) target(cluster *v1alpha1.Cluster) awsapi.Target {
	target := awsapi.Target{Region: cluster.Spec.Region}
	if role := cluster.Spec.Role; role != nil && role.ARN != "" {
		target.RoleARN, target.ExternalID = role.ARN, role.ExternalID
		return target
	}
	if target.Region == o.options.Clients.Region(awsapi.Target{}) {
		target.Region = ""
	}
	return target
}

// accounts remembers whose accounts the roles are in.
type accounts struct {
	mu    sync.Mutex
	known map[awsapi.Target]string
}

func newAccounts() *accounts { return &accounts{known: map[awsapi.Target]string{}} }

// account returns the account that the target is in. It asks AWS once for each role, and not at all
// when the Cluster's status tells.
func (o *operator) account(ctx context.Context, cluster *v1alpha1.Cluster, target awsapi.Target) (string, error) {
	if target.RoleARN == "" {
		return o.options.AccountID, nil
	}
	if known := cluster.Status.Account; known != "" && strings.Contains(target.RoleARN, ":"+known+":") {
		return known, nil
	}
	key := awsapi.Target{RoleARN: target.RoleARN, ExternalID: target.ExternalID}
	o.accounts.mu.Lock()
	known := o.accounts.known[key]
	o.accounts.mu.Unlock()
	if known != "" {
		return known, nil
	}
	out, err := o.options.Clients.STS(target).GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return "", awsapi.Explain(err)
	}
	o.accounts.mu.Lock()
	defer o.accounts.mu.Unlock()
	o.accounts.known[key] = aws.ToString(out.Account)
	return aws.ToString(out.Account), nil
}
