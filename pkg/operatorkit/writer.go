package operatorkit

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Writer writes the changes of a run to the API server. It is called only if the
// object changed. It returns a conflict if another client changed what it writes
// since before was read, and stores the server's response in after.
type Writer[T client.Object] interface {
	Write(ctx context.Context, before, after T) error
}

// NewStatusWriter returns the default Writer. It updates the status subresource
// and nothing else. An update costs the API server a third less than a patch, but
// removes status fields that T does not have.
//
// An edit of the spec or the metadata during the run is no conflict: the status
// says what the run did, which must not be lost.
func NewStatusWriter[T client.Object](c client.Client) Writer[T] {
	return statusWriter[T]{client: c}
}

const (
	// maxEdits is how many edits by other clients one write may outlast.
	maxEdits = 3
	// editTimeout is how long the cache may take to contain an edit.
	editTimeout = time.Second
)

type statusWriter[T client.Object] struct{ client client.Client }

func (w statusWriter[T]) Write(ctx context.Context, before, after T) error {
	after.SetResourceVersion(before.GetResourceVersion())
	err := w.client.Status().Update(ctx, after)
	for edits := 0; apierrors.IsConflict(err) && edits < maxEdits; edits++ {
		latest := w.edited(ctx, before, after.GetResourceVersion())
		if latest == "" {
			break
		}
		after.SetResourceVersion(latest)
		err = w.client.Status().Update(ctx, after)
	}
	if err != nil {
		return fmt.Errorf("write status: %w", err)
	}
	return nil
}

// edited returns the resource version of an object of which another client
// changed anything but the status, "" if it changed the status. It waits until
// the client's cache contains a newer version than the rejected one.
func (w statusWriter[T]) edited(ctx context.Context, before T, rejected string) string {
	ctx, cancel := context.WithTimeout(ctx, editTimeout)
	defer cancel()
	latest := copyOf(before)
	for {
		if err := w.client.Get(ctx, client.ObjectKeyFromObject(before), latest); err != nil || latest.GetUID() != before.GetUID() {
			return ""
		}
		order, err := resourceversion.CompareResourceVersion(latest.GetResourceVersion(), rejected)
		if err != nil {
			return ""
		}
		if order > 0 {
			break
		}
		select {
		case <-ctx.Done():
			return ""
		case <-time.After(cacheRequeue):
		}
	}
	was, err := statusOf(before)
	if err != nil {
		return ""
	}
	is, err := statusOf(latest)
	if err != nil || !bytes.Equal(was, is) {
		return ""
	}
	return latest.GetResourceVersion()
}

// statusOf returns the status of an object as JSON.
func statusOf(obj client.Object) ([]byte, error) {
	data, err := json.Marshal(obj)
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", obj, err)
	}
	var fields struct {
		Status json.RawMessage `json:"status"`
	}
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, fmt.Errorf("encode %T: %w", obj, err)
	}
	return fields.Status, nil
}

func copyOf[T client.Object](obj T) T {
	return obj.DeepCopyObject().(T)
}
