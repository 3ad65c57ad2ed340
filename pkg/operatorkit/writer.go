package operatorkit

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
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

// NewFieldsWriter returns a Writer for kinds whose results are also stored
// outside the status, in the given top-level fields. It first patches those
// fields, if they changed. Since that increments the generation, it then writes
// the status with the new generation as the observed generation. It returns an
// error for the fields apiVersion, kind, metadata, spec and status.
func NewFieldsWriter[T client.Object](c client.Client, fields ...string) (Writer[T], error) {
	for _, field := range fields {
		if slices.Contains([]string{"apiVersion", "kind", "metadata", "spec", "status"}, field) {
			return nil, fmt.Errorf("a fields writer does not write %q", field)
		}
	}
	return fieldsWriter[T]{statusWriter: statusWriter[T]{client: c}, fields: slices.Clone(fields)}, nil
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
	was, err := topLevel(before, []string{"status"})
	if err != nil {
		return ""
	}
	is, err := topLevel(latest, []string{"status"})
	if err != nil || !bytes.Equal(was, is) {
		return ""
	}
	return latest.GetResourceVersion()
}

type fieldsWriter[T client.Object] struct {
	statusWriter[T]
	fields []string
}

func (w fieldsWriter[T]) Write(ctx context.Context, before, after T) error {
	patch, err := fieldsPatch(before, after, before.GetResourceVersion(), w.fields...)
	if err != nil {
		return err
	}
	if patch == nil {
		return w.statusWriter.Write(ctx, before, after)
	}
	answer := copyOf(after)
	if err := w.client.Patch(ctx, answer, patch); err != nil {
		return fmt.Errorf("write %v: %w", w.fields, err)
	}
	restamp(after, before.GetGeneration(), answer.GetGeneration())
	before = copyOf(before)
	before.SetResourceVersion(answer.GetResourceVersion())
	after.SetResourceVersion(answer.GetResourceVersion())
	return w.statusWriter.Write(ctx, before, after)
}

// fieldsPatch returns a JSON merge patch of the named top-level fields, with the
// resource version as precondition, or nil if the fields are equal.
func fieldsPatch(before, after client.Object, resourceVersion string, fields ...string) (client.Patch, error) {
	old, err := topLevel(before, fields)
	if err != nil {
		return nil, err
	}
	desired, err := topLevel(after, fields)
	if err != nil {
		return nil, err
	}
	if bytes.Equal(old, desired) { // This is the usual case, and CreateMergePatch is slow.
		return nil, nil
	}
	data, err := jsonpatch.CreateMergePatch(old, desired)
	if err != nil {
		return nil, fmt.Errorf("make a patch: %w", err)
	}
	patch := map[string]any{}
	if err := json.Unmarshal(data, &patch); err != nil {
		return nil, fmt.Errorf("make a patch: %w", err)
	}
	if len(patch) == 0 {
		return nil, nil
	}
	patch["metadata"] = map[string]any{"resourceVersion": resourceVersion}
	if data, err = json.Marshal(patch); err != nil {
		return nil, fmt.Errorf("make a patch: %w", err)
	}
	return client.RawPatch(types.MergePatchType, data), nil
}

// topLevel returns a JSON object with only the named fields of obj.
func topLevel(obj client.Object, fields []string) ([]byte, error) {
	data, err := json.Marshal(obj)
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", obj, err)
	}
	all := map[string]json.RawMessage{}
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, fmt.Errorf("encode %T: %w", obj, err)
	}
	maps.DeleteFunc(all, func(field string, _ json.RawMessage) bool { return !slices.Contains(fields, field) })
	if data, err = json.Marshal(all); err != nil {
		return nil, fmt.Errorf("encode %T: %w", obj, err)
	}
	return data, nil
}

func copyOf[T client.Object](obj T) T {
	return obj.DeepCopyObject().(T)
}
