package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// namespace is the namespace of manifests that name none.
const namespace = "default"

// object is one applied manifest.
type object struct {
	*unstructured.Unstructured
}

// String names the object as kubectl does.
func (o *object) String() string { return o.GetKind() + "/" + o.GetName() }

// readManifests returns all documents of all YAML files, in the order of the
// files' names.
func readManifests(files fs.FS) ([]*object, error) {
	var all []*object
	err := fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(files, path)
		if err != nil {
			return err
		}
		objects, err := decode(data)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, objects...)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the manifests: %w", err)
	}
	return all, nil
}

func decode(data []byte) ([]*object, error) {
	var all []*object
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096)
	for {
		u := &unstructured.Unstructured{}
		err := decoder.Decode(&u.Object)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		if len(u.Object) > 0 {
			all = append(all, &object{u})
		}
	}
}

// cluster reads and writes objects of any kind.
type cluster struct {
	dynamic dynamic.Interface
	mapper  meta.RESTMapper
}

func newCluster(config *rest.Config) (*cluster, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client for the cluster: %w", err)
	}
	kinds, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client for the cluster's kinds: %w", err)
	}
	return &cluster{dynamic: client, mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(kinds))}, nil
}

func (c *cluster) resource(o *object) (dynamic.ResourceInterface, error) {
	gvk := o.GroupVersionKind()
	mapping, err := c.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o, err)
	}
	return c.dynamic.Resource(mapping.Resource).Namespace(namespace), nil
}

func (c *cluster) apply(ctx context.Context, o *object) error {
	resource, err := c.resource(o)
	if err != nil {
		return err
	}
	if _, err := resource.Apply(ctx, o.GetName(), o.Unstructured, metav1.ApplyOptions{FieldManager: "demo"}); err != nil {
		return fmt.Errorf("apply %s: %w", o, err)
	}
	return nil
}

func (c *cluster) get(ctx context.Context, o *object) (*object, error) {
	resource, err := c.resource(o)
	if err != nil {
		return nil, err
	}
	found, err := resource.Get(ctx, o.GetName(), metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", o, err)
	}
	return &object{found}, nil
}

func (c *cluster) delete(ctx context.Context, o *object) error {
	resource, err := c.resource(o)
	if err != nil {
		return err
	}
	if err := resource.Delete(ctx, o.GetName(), metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("delete %s: %w", o, err)
	}
	return nil
}
