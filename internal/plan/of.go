package plan

import (
	"context"
	"errors"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
)

// Input is a cluster as it is written now, with the status that is known of it.
type Input struct {
	// Cluster and Groups are what is wanted; their status says what is deployed. One with a deletion timestamp is deleted.
	Cluster *v1alpha1.Cluster
	Groups  []*v1alpha1.InstanceGroup
	// Gone are instance groups that are deployed and no longer wanted.
	Gone []*v1alpha1.InstanceGroup
	// Releases are those that there are, besides the built-in ones.
	Releases []*v1alpha1.Release
	// CACertificate is that of the cluster's CA, PEM; nil if there is none yet.
	CACertificate []byte
}

// Options are what a plan is made with.
type Options struct {
	// Clients ask AWS; nil asks nothing: a plan that needs an answer errs, or rests on placeholders.
	Clients *awsapi.Clients
	// Operator is the operator's --cluster-name, by which stacks are tagged.
	Operator string
	// AccountID is the account of a cluster that is new and has no role; empty asks AWS.
	AccountID string
	// NodeupDir is the folder of nodeup, with which machines boot; empty is that of this program.
	NodeupDir string
	// ChangeSets asks CloudFormation as well, by change sets that are removed again.
	ChangeSets bool
}

// Of plans one cluster. It errs when the specs are wrong (model.Problems), and when AWS had to be asked and did not answer.
func Of(_ context.Context, _ Input, _ Options) (*Plan, error) {
	return nil, errors.ErrUnsupported
}
