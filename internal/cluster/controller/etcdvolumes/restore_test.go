package etcdvolumes_test

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/smithy-go"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/backup"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/etcdvolumes"
)

// blind is an EC2 that does not find any snapshot.
type blind struct{ awsapi.EC2 }

func (blind) DescribeSnapshots(context.Context, *ec2.DescribeSnapshotsInput, ...func(*ec2.Options)) (*ec2.DescribeSnapshotsOutput, error) {
	return nil, &smithy.GenericAPIError{Code: backup.SnapshotGone, Message: "The snapshot does not exist."}
}

// EC2 may not find a snapshot for some seconds after its creation, so the check is repeated.
// https://docs.aws.amazon.com/ec2/latest/devguide/eventual-consistency.html
func TestMissingSnapshotIsCheckedAgain(t *testing.T) {
	volumes := etcdvolumes.New(etcdvolumes.Options{EC2: func(*v1alpha1.Cluster) awsapi.EC2 { return blind{} }})
	outcome := volumes.CheckSnapshot(t.Context(), &v1alpha1.Cluster{}, "snap-0123456789abcdef0", 1)
	if outcome.Reason() != "SnapshotNotFound" || outcome.After() <= 0 {
		t.Errorf("got %s, again after %s", outcome, outcome.After())
	}
}
