package kubeapi

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// proxy passes a request on to a port of a pod, named as POD, POD:PORT or SCHEME:POD:PORT.
// See ResourceLocation in
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/registry/core/pod/strategy.go.
func (s *Server) proxy(w http.ResponseWriter, req *http.Request, t target, path string) error {
	_, name, port, ok := utilnet.SplitSchemeNamePort(t.name)
	if !ok {
		return apierrors.NewBadRequest(fmt.Sprintf("invalid pod request %q", t.name))
	}
	object, err := s.store.get(podKind, types.NamespacedName{Namespace: t.namespace, Name: name})
	if err != nil {
		return err
	}
	pod := decode[corev1.Pod](object)
	if pod == nil || pod.Status.PodIP == "" {
		return apierrors.NewBadRequest("address not allowed")
	}
	handler, err := http.Handler(nil), errors.New("connection refused")
	if s.options.Proxy != nil {
		handler, err = s.options.Proxy(pod, port)
	}
	if err != nil {
		return apierrors.NewServiceUnavailable(
			fmt.Sprintf("error trying to reach service: dial tcp %s:%s: %v", pod.Status.PodIP, port, err),
		)
	}
	within := req.Clone(req.Context())
	within.URL = &url.URL{Path: "/" + path, RawQuery: req.URL.RawQuery}
	handler.ServeHTTP(w, within)
	return nil
}

// podsOn returns the pods of a node, in a namespace unless that is empty, and the version they are
// of.
func (p *simulation) podsOn(node, namespace string) ([]*unstructured.Unstructured, uint64) {
	p.store.mu.Lock()
	defer p.store.mu.Unlock()
	var found []*unstructured.Unstructured
	for name := range p.on[node] {
		if namespace == "" || name.Namespace == namespace {
			found = append(found, p.store.objects[podKind][name])
		}
	}
	return sorted(found), p.store.version
}
