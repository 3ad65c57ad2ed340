package kubeapi

import (
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	openapi "github.com/google/gnostic-models/openapiv2"
	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"
)

// Options configure a cluster's API and the simulation of its workloads.
type Options struct {
	// Authority is the cluster's CA. Its client certificates have all permissions.
	Authority *x509.CertPool
	// Kubernetes is the version that the API reports, for example v1.36.3.
	Kubernetes string
	// Clock is the clock. The default is the real one.
	Clock clock.Clock
	// PodStart is how long a pod takes on its node until it is Ready, PodStop how long one takes to
	// end, though no longer than its grace period: no time unless set. The annotations [ReadyAfter]
	// and [StopsAfter] say it for one pod.
	PodStart, PodStop time.Duration
	// Proxy finds what answers on a port of a pod, for requests that the API server passes on to
	// it; an error says why nothing does. Nothing does unless set.
	Proxy func(pod *corev1.Pod, port string) (http.Handler, error)
	// Observe receives every change, in order. It is optional. The API waits for its return, and it
	// must not call the API.
	Observe func(Event)
}

// Event is a change of an object.
type Event struct {
	// Type is Added, Modified or Deleted.
	Type watch.EventType
	// Kind is the object's, as "Pod".
	Kind string
	// Object is what it is now, or was when it was deleted: not to be changed.
	Object *unstructured.Unstructured
}

// Server is one cluster's API. It serves HTTP; TLS, with client certificates requested, is the
// caller's.
type Server struct {
	kinds      *kinds
	store      *store
	simulation *simulation
	options    Options
	authority  atomic.Pointer[x509.CertPool]
	kubernetes atomic.Pointer[string]
}

// New returns an API with only the default namespaces.
func New(o Options) *Server {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	s := &Server{kinds: &kinds{}, store: newStore(o.Clock), options: o}
	s.Trust(o.Authority)
	s.Upgrade(o.Kubernetes)
	s.simulation = newSimulation(s.store, o)
	s.store.note = func(c change) {
		s.define(c)
		s.simulation.note(c)
	}
	for _, name := range []string{"default", "kube-node-lease", "kube-public", "kube-system"} {
		namespace := &unstructured.Unstructured{}
		namespace.SetName(name)
		_ = unstructured.SetNestedField(namespace.Object, "Active", "status", "phase")
		if _, err := s.store.create(namespaceKind, "", namespace); err != nil {
			continue // Cannot be: the names differ.
		}
	}
	return s
}

// Trust replaces the CAs whose client certificates have all permissions.
func (s *Server) Trust(authority *x509.CertPool) { s.authority.Store(authority) }

// Upgrade replaces the version that the API reports.
func (s *Server) Upgrade(kubernetes string) { s.kubernetes.Store(&kubernetes) }

// Close ends all watches and the simulation.
func (s *Server) Close() {
	s.store.close()
	s.simulation.agenda.close()
}

// ServeHTTP serves one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	// kube-apiserver sets it on every response:
	// https://kubernetes.io/docs/reference/config-api/apiserver-audit.v1/
	w.Header().Set("Audit-Id", uuid.NewString())
	if answer := s.open(req); answer != nil {
		answer(w)
		return
	}
	rights, err := s.rights(req)
	if err != nil {
		refuse(w, err)
		return
	}
	s.answer(w, req, rights)
}

// Trusted serves callers in the server's own process, which have all permissions.
func (s *Server) Trusted() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if answer := s.open(req); answer != nil {
			answer(w)
			return
		}
		s.answer(w, req, everything)
	})
}

// answer serves a caller with permissions.
func (s *Server) answer(w http.ResponseWriter, req *http.Request, rights right) {
	if answer := s.discover(req.URL.Path); answer != nil {
		reply(w, http.StatusOK, answer)
		return
	}
	if req.URL.Path == "/openapi/v2" {
		schemas(w)
		return
	}
	target, err := s.parse(req.URL.Path)
	if err != nil {
		refuse(w, err)
		return
	}
	if rights == readOnly && req.Method != http.MethodGet {
		refuse(w, apierrors.NewForbidden(target.kind.groupResource(), target.name, errors.New("a bootstrap token can only read")))
		return
	}
	if err := s.serve(w, req, target); err != nil {
		refuse(w, err)
	}
}

// open serves anonymous callers: the health of the API.
func (s *Server) open(req *http.Request) func(http.ResponseWriter) {
	switch req.URL.Path {
	case "/livez", "/readyz", "/healthz":
		return func(w http.ResponseWriter) { _, _ = w.Write([]byte("ok")) }
	case "/version":
		return func(w http.ResponseWriter) { reply(w, http.StatusOK, versionInfo(*s.kubernetes.Load())) }
	}
	return nil
}

// versionInfo describes a version. The minor version of a build with a suffix, such as EKS's, has a plus.
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/hack/lib/version.sh
func versionInfo(kubernetes string) version.Info {
	major, rest, _ := strings.Cut(strings.TrimPrefix(kubernetes, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	if strings.Contains(rest, "-") {
		minor += "+"
	}
	return version.Info{Major: major, Minor: minor, GitVersion: kubernetes, Platform: "linux/amd64"}
}

// rights returns the caller's permissions.
func (s *Server) rights(req *http.Request) (right, error) {
	if req.TLS != nil && len(req.TLS.PeerCertificates) > 0 {
		_, err := req.TLS.PeerCertificates[0].Verify(x509.VerifyOptions{
			Roots: s.authority.Load(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, CurrentTime: s.store.clock.Now(),
		})
		if err == nil {
			return everything, nil
		}
	}
	token, _ := strings.CutPrefix(req.Header.Get("Authorization"), "Bearer ")
	if s.KnowsToken(token) {
		return readOnly, nil
	}
	return nothing, apierrors.NewUnauthorized("Unauthorized")
}

// right is a set of permissions.
type right int

const (
	nothing right = iota
	readOnly
	everything
)

// KnowsToken reports whether a bootstrap token (id.secret) has a Secret in kube-system.
// https://kubernetes.io/docs/reference/access-authn-authz/bootstrap-tokens/
func (s *Server) KnowsToken(token string) bool {
	id, secret, ok := strings.Cut(token, ".")
	if !ok {
		return false
	}
	object, err := s.store.get(
		findKind("", "v1", "secrets"), types.NamespacedName{Namespace: metav1.NamespaceSystem, Name: "bootstrap-token-" + id},
	)
	if err != nil {
		return false
	}
	return secretValue(object, "token-id") == id && secretValue(object, "token-secret") == secret
}

// discover serves API discovery.
func (s *Server) discover(path string) any {
	part := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case path == "/":
		return s.paths()
	case path == "/api":
		return versions()
	case path == "/apis":
		return groups(s.kinds.all())
	case len(part) == 2 && part[0] == "api":
		if list := resources(s.kinds.all(), "", part[1]); list != nil {
			return list
		}
	case len(part) == 3 && part[0] == "apis":
		if list := resources(s.kinds.all(), part[1], part[2]); list != nil {
			return list
		}
	case len(part) == 2 && part[0] == "apis":
		for _, group := range groups(s.kinds.all()).Groups {
			if group.Name == part[1] {
				group.TypeMeta = metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}
				return group
			}
		}
	}
	return nil
}

// paths lists what the server serves, as an API server does at its root. Clients such as Cluster API's controllers
// read it to see that the API responds.
// https://github.com/kubernetes/apiserver/blob/v0.36.3/pkg/server/routes/index.go
func (s *Server) paths() metav1.RootPaths {
	paths := []string{"/api", "/api/v1", "/apis"}
	for _, group := range groups(s.kinds.all()).Groups {
		paths = append(paths, "/apis/"+group.Name)
		for i := range group.Versions {
			paths = append(paths, "/apis/"+group.Versions[i].GroupVersion)
		}
	}
	paths = append(paths, "/healthz", "/livez", "/openapi/v2", "/readyz", "/version")
	slices.Sort(paths)
	return metav1.RootPaths{Paths: paths}
}

// schemas serves a document without the schema of any kind, in protobuf as Helm and client-go ask for
// it: they validate nothing then, and neither does the server.
// https://kubernetes.io/docs/concepts/overview/kubernetes-api/#openapi-v2
func schemas(w http.ResponseWriter) {
	document, err := proto.Marshal(&openapi.Document{
		Swagger: "2.0", Info: &openapi.Info{Title: "Kubernetes", Version: "unversioned"}, Paths: &openapi.Paths{},
	})
	if err != nil {
		refuse(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/com.github.proto-openapi.spec.v2.v1.0+protobuf")
	_, _ = w.Write(document)
}

// target is the object or kind of a path.
type target struct {
	kind            *kind
	namespace, name string
	subresource     string
}

func (t target) key() types.NamespacedName {
	return types.NamespacedName{Namespace: t.namespace, Name: t.name}
}

func (s *Server) parse(path string) (target, error) {
	part := strings.Split(strings.Trim(path, "/"), "/")
	var group string
	switch {
	case len(part) >= 3 && part[0] == "api":
		part = part[1:]
	case len(part) >= 4 && part[0] == "apis":
		group, part = part[1], part[2:]
	default:
		return target{}, notServed(path)
	}
	apiVersion, part := part[0], part[1:]
	var t target
	if len(part) >= 3 && part[0] == "namespaces" && s.kinds.find(group, apiVersion, part[2]) != nil {
		t.namespace, part = part[1], part[2:]
	}
	if t.kind = s.kinds.find(group, apiVersion, part[0]); t.kind == nil {
		return target{}, notServed(path)
	}
	if len(part) > 1 {
		t.name = part[1]
	}
	if len(part) > 2 {
		t.subresource = strings.Join(part[2:], "/")
	}
	return t, nil
}

func notServed(path string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound,
		Message: "the server could not find the requested resource: " + path,
	}}
}

func reply(w http.ResponseWriter, code int, body any) {
	data, err := json.Marshal(body)
	if err != nil {
		refuse(w, fmt.Errorf("encode the answer: %w", err))
		return
	}
	w.Header().Set("Content-Type", runtime.ContentTypeJSON)
	w.WriteHeader(code)
	_, _ = w.Write(data)
}

// Refuse answers with an error as kube-apiserver does, for handlers in front of a Server: with the error's
// Status, or an internal error.
func Refuse(w http.ResponseWriter, err error) { refuse(w, err) }

func refuse(w http.ResponseWriter, err error) {
	status := metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    http.StatusInternalServerError,
		Reason:  metav1.StatusReasonInternalError,
		Message: err.Error(),
	}
	if known, ok := errors.AsType[*apierrors.StatusError](err); ok {
		status = known.Status()
	}
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	reply(w, int(status.Code), status)
}
