package rewrite

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

const (
	// pageSize is how many objects a request lists.
	pageSize = 500
	// requestsPerWrite is how many objects a call patches for each that it may write: most patches of objects that are
	// encrypted already write nothing, and cost etcd no more than a read.
	requestsPerWrite = 4
	// shown is how many objects a message names that could not be written.
	shown = 3
)

// Cluster is the API of a cluster.
type Cluster struct {
	// REST sends requests to any path, and Metadata reads and patches objects of any kind.
	REST     rest.Interface
	Metadata metadata.Interface
}

// Pass is one walk over all objects of some resources. Its zero value has not begun. A process that ends loses it, and
// the next one begins another, which skips what this one has written.
type Pass struct {
	// Written is how many objects were written, Seen how many were read.
	Written, Seen int

	// writes and requests are how many are left in a call.
	writes, requests int

	resource int
	next     string
	page     []metav1.PartialObjectMetadata
	failed   []string
	failures int
}

// Revision returns the current resource version of a cluster. All later writes have a higher one: resource versions are
// integers that grow with each write in etcd,
// https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions.
func Revision(ctx context.Context, c Cluster) (uint64, error) {
	namespaces := schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	list, err := c.Metadata.Resource(namespaces).List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return 0, fmt.Errorf("list the namespaces: %s", reason(err))
	}
	revision, err := strconv.ParseUint(list.ResourceVersion, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("the API's resource version is no number: %w", err)
	}
	return revision, nil
}

// Advance writes at most a number of objects of the resources, as spec.api.encryption names them, that were last written
// at a resource version or before. It returns whether the pass is complete: then each object was written since. It returns
// an error if the API does not answer; call it again to continue. A complete pass also returns an error if some objects
// could not be written; then another pass must follow.
func (p *Pass) Advance(ctx context.Context, c Cluster, resources []string, since uint64, most int) (complete bool, err error) {
	p.writes, p.requests = most, most*requestsPerWrite
	for p.resource < len(resources) {
		kind, err := served(ctx, c.REST, resources[p.resource])
		if err != nil {
			return false, err
		}
		if kind != nil {
			done, err := p.advance(ctx, c.Metadata.Resource(*kind), resources[p.resource], since)
			if err != nil || !done {
				return false, err
			}
		}
		p.resource, p.next, p.page = p.resource+1, "", nil
	}
	if p.failures > 0 {
		return true, &FailedError{Objects: p.failed, Count: p.failures}
	}
	return true, nil
}

// FailedError reports objects that could not be written.
type FailedError struct {
	// Objects names some of them, with the reasons, and Count is how many there are.
	Objects []string
	Count   int
}

// Error names the objects.
func (e *FailedError) Error() string {
	return fmt.Sprintf("%d objects could not be written again, for example %s", e.Count, strings.Join(e.Objects, ", "))
}

// advance writes objects of one resource, and reports whether none is left.
func (p *Pass) advance(ctx context.Context, of metadata.Getter, resource string, since uint64) (bool, error) {
	for {
		if done, err := p.writePage(ctx, of, resource, since); err != nil || !done {
			return false, err
		}
		if p.next == ended {
			return true, nil
		}
		list, err := of.List(ctx, metav1.ListOptions{Limit: pageSize, Continue: p.next})
		switch {
		case apierrors.IsResourceExpired(err) || apierrors.IsGone(err): // Begin again; what is written is skipped.
			p.next = ""
			return false, nil
		case apierrors.IsNotFound(err): // The definition of the resource was deleted, and its objects with it.
			return true, nil
		case err != nil:
			return false, fmt.Errorf("list %s: %s", resource, reason(err))
		}
		p.page, p.next = list.Items, list.Continue
		if p.next == "" {
			p.next = ended
		}
	}
}

// writePage writes the objects of a page, and reports whether none is left.
func (p *Pass) writePage(ctx context.Context, of metadata.Getter, resource string, since uint64) (bool, error) {
	for len(p.page) > 0 {
		if p.writes <= 0 || p.requests <= 0 {
			return false, nil
		}
		object := &p.page[0]
		if version(object.ResourceVersion) <= since {
			p.requests--
			if err := p.write(ctx, of, resource, object, since); err != nil {
				return false, err
			}
		}
		p.page, p.Seen = p.page[1:], p.Seen+1
	}
	return true, nil
}

// ended is in place of the token of a page that does not exist. No token is like it.
const ended = "\x00"

// write makes the API server store an object again. Someone else who has changed, deleted or made the object meanwhile
// has done the same.
func (p *Pass) write(ctx context.Context, of metadata.Getter, resource string, object *metav1.PartialObjectMetadata, since uint64) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": object.UID, "resourceVersion": object.ResourceVersion,
	}})
	if err != nil {
		return fmt.Errorf("encode a patch: %w", err)
	}
	one := metadata.ResourceInterface(of)
	if object.Namespace != "" {
		one = of.Namespace(object.Namespace)
	}
	written, err := one.Patch(ctx, object.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "aws-operator"})
	if apierrors.IsConflict(err) {
		written, err = one.Get(ctx, object.Name, metav1.GetOptions{})
		if err == nil && version(written.ResourceVersion) <= since { // An admission webhook may have answered.
			p.fail(resource, object, "Conflict")
			return nil
		}
	}
	switch {
	case err == nil && written != nil && written.ResourceVersion == object.ResourceVersion: // It is encrypted already.
		return nil
	case err == nil:
		p.Written++
		p.writes--
		return nil
	case apierrors.IsNotFound(err):
		return nil
	case isRefusal(err):
		p.fail(resource, object, reason(err))
		return nil
	default:
		return fmt.Errorf("write %s: %s", name(resource, object), reason(err))
	}
}

func (p *Pass) fail(resource string, object *metav1.PartialObjectMetadata, why string) {
	p.failures++
	if len(p.failed) < shown {
		p.failed = append(p.failed, name(resource, object)+" ("+why+")")
	}
}

// isRefusal reports whether an API server has refused to write an object, for example for an admission webhook, and would
// not if it were asked at once again.
func isRefusal(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err) || apierrors.IsInternalError(err) ||
		apierrors.IsMethodNotSupported(err) || apierrors.IsRequestEntityTooLargeError(err)
}

// reason returns why a request failed, without the message: an API server quotes values of invalid objects.
func reason(err error) string {
	if reason := apierrors.ReasonForError(err); reason != metav1.StatusReasonUnknown {
		return string(reason)
	}
	return "the API does not answer"
}

// name names an object.
func name(resource string, object *metav1.PartialObjectMetadata) string {
	if object.Namespace == "" {
		return resource + " " + object.Name
	}
	return resource + " " + object.Namespace + "/" + object.Name
}

// version parses a resource version. One that is no number is treated as older than all others, so that it is written.
func version(text string) uint64 {
	parsed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0
	}
	return parsed
}

// served returns the version in which the API serves a resource that is written as spec.api.encryption has it, nil if the
// cluster has no such resource.
func served(ctx context.Context, from rest.Interface, resource string) (*schema.GroupVersionResource, error) {
	plural, group, _ := strings.Cut(resource, ".")
	if group == "" {
		return &schema.GroupVersionResource{Version: "v1", Resource: plural}, nil
	}
	var versions metav1.APIGroup
	if found, err := discover(ctx, from, "/apis/"+group, &versions); !found {
		return nil, err
	}
	for _, in := range versions.Versions {
		var list metav1.APIResourceList
		if _, err := discover(ctx, from, "/apis/"+in.GroupVersion, &list); err != nil {
			return nil, err
		}
		for i := range list.APIResources {
			if list.APIResources[i].Name == plural {
				return &schema.GroupVersionResource{Group: group, Version: in.Version, Resource: plural}, nil
			}
		}
	}
	return nil, nil
}

// discover reads what the API says about itself, and reports whether it has the path.
func discover(ctx context.Context, from rest.Interface, path string, into any) (found bool, err error) {
	text, err := from.Get().AbsPath(path).SetHeader("Accept", "application/json").DoRaw(ctx)
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("read %s: %s", path, reason(err))
	}
	if err := json.Unmarshal(text, into); err != nil {
		return false, fmt.Errorf("read %s: %w", path, err)
	}
	return true, nil
}
