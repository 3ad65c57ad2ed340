package controller

import (
	"context"
	"errors"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// snapshotSlot brings a snapshot of a slot's etcd volume one step nearer to being complete, for a change after which the
// volume could be needed as it was before. It is done when the snapshot is complete; call it again until then, and carry
// the change out at once when it is. Change names what is to be changed, for example a bundle's hash: a snapshot that was
// begun for the same change within the last hour is taken, over restarts of the operator, too. While it is not done, the
// outcome's message says how far it is, and it is troubled when EC2 refuses.
func (o *operator) snapshotSlot(ctx context.Context, cluster *v1alpha1.Cluster, slot int, change string) operatorkit.Outcome {
	return operatorkit.Fail(errors.ErrUnsupported)
}
