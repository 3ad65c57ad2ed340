package console

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

//go:embed assets
var assets embed.FS

const (
	// policy allows the page its own files and API, and nothing else: no script or style of an object's
	// text can take effect.
	policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	// beat is how often the stream of changes sends something, so that a page notices that it is cut off.
	beat = 10 * time.Second
	// writeTimeout is how long a page may take to read a part of an answer.
	writeTimeout = 30 * time.Second
	// maxBody limits the body of a request.
	maxBody = 64 << 10
)

// cluster is the part of [objects.Source] that the pages of single objects need.
type cluster interface {
	Of(apiVersion, kind, namespace string) (dynamic.ResourceInterface, error)
	Events(ctx context.Context, object *unstructured.Unstructured) ([]corev1.Event, error)
	String() string
}

// server serves the data of one user's pages.
type server struct {
	cluster cluster
	fleet   *fleet
	clock   clock.WithTicker
	hello   hello
	// aws reads AWS, nil without --aws; log is the operator's log, empty without --operator-log.
	aws *awsReader
	log string
	// ended is closed when the data is no longer up to date, after why was set.
	ended chan struct{}
	why   string
}

// hello is the first line of the stream of changes.
type hello struct {
	Where string `json:"where"`
	// User is the name of the user of a console that several users share, and Namespace the one that the user chose.
	User      string `json:"user,omitempty"`
	Namespace string `json:"namespace,omitempty"`
}

func newServer(from cluster, clk clock.WithTicker) *server {
	return &server{cluster: from, fleet: newFleet(), clock: clk, hello: hello{Where: from.String()}, ended: make(chan struct{})}
}

// data serves the data.
func (s *server) data() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/watch", s.watch)
	mux.HandleFunc("GET /api/object", s.page)
	mux.HandleFunc("GET /api/aws", s.fromAWS)
	mux.HandleFunc("POST /api/approve", s.approve)
	mux.HandleFunc("POST /api/retry", s.retry)
	return mux
}

// site serves the page, and its data, under its own names only: by another name, a page elsewhere reaches a server that
// its browser reaches (DNS rebinding). It refuses orders of other sites.
func site(isName func(host string) bool, name string, data http.Handler) http.Handler {
	files, err := fs.Sub(assets, "assets")
	if err != nil {
		panic(err) // the folder is embedded
	}
	mux := http.NewServeMux()
	mux.Handle("GET /", http.FileServerFS(files))
	mux.Handle("GET /api/", data)
	mux.Handle("POST /api/", data)
	checked := http.NewCrossOriginProtection().Handler(mux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if !isName(r.Host) {
			refuse(w, http.StatusForbidden, "This server is "+name+".")
			return
		}
		checked.ServeHTTP(w, r)
	})
}

// refuse answers with an error that the page shows.
func refuse(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": message}) // the page may be closed
}

// fail answers with the error of a request to the management cluster.
func fail(w http.ResponseWriter, err error) {
	status := http.StatusBadGateway
	switch {
	case apierrors.IsUnauthorized(err):
		status, err = http.StatusUnauthorized, fmt.Errorf("the API server does not accept your credentials: %w", err)
	case apierrors.IsTooManyRequests(err):
		status = http.StatusTooManyRequests
	case apierrors.IsForbidden(err):
		status = http.StatusForbidden
	case apierrors.IsNotFound(err):
		status = http.StatusNotFound
	}
	refuse(w, status, strings.ToUpper(err.Error()[:1])+err.Error()[1:]+".")
}

func answer(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value) // the page may be closed
}

// watch sends the whole fleet, and then every change, each as a line of JSON, until the page is closed or the data is no
// longer up to date.
func (s *server) watch(w http.ResponseWriter, r *http.Request) {
	reader, end := s.fleet.follow()
	defer end()
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set("X-Accel-Buffering", "no") // for nginx: https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_buffering
	control, encoder := http.NewResponseController(w), json.NewEncoder(w)
	send := func(line any) bool {
		err := control.SetWriteDeadline(s.clock.Now().Add(writeTimeout))
		return errors.Join(err, encoder.Encode(line), control.Flush()) == nil
	}
	ticker := s.clock.NewTicker(beat)
	defer ticker.Stop()
	for more := send(s.hello); more; {
		select {
		case <-r.Context().Done():
			return
		case <-s.ended:
			send(map[string]string{"ended": s.why})
			return
		case <-ticker.C():
			more = send(struct{}{})
		case <-reader.ready:
			more = send(reader.take())
		}
	}
}

// page answers with what there is to know about one object.
func (s *server) page(w http.ResponseWriter, r *http.Request) {
	if object := s.object(w, r.URL.Query().Get("id")); object != nil {
		answer(w, s.pageOf(r.Context(), object))
	}
}

// object returns an object of the fleet. If it returns none, it has answered.
func (s *server) object(w http.ResponseWriter, id string) *unstructured.Unstructured {
	object, complete := s.fleet.object(id)
	switch {
	case object != nil:
	case !complete:
		refuse(w, http.StatusServiceUnavailable, "The objects are being read.")
	default:
		refuse(w, http.StatusNotFound, "There is no such object any more.")
	}
	return object
}

// order is a request to change something about an object.
type order struct {
	ID string `json:"id"`
	// Digests are the changes to approve.
	Digests []string `json:"digests,omitempty"`
}

// ordered returns the order of a request and its object. If it returns no object, it has answered.
func (s *server) ordered(w http.ResponseWriter, r *http.Request) (order, *unstructured.Unstructured) {
	var o order
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&o); err != nil {
		refuse(w, http.StatusBadRequest, fmt.Sprintf("The request is no JSON: %v.", err))
		return o, nil
	}
	return o, s.object(w, o.ID)
}

// approve approves changes that the user has seen, by their digests.
func (s *server) approve(w http.ResponseWriter, r *http.Request) {
	o, object := s.ordered(w, r)
	if object == nil {
		return
	}
	pending := changesOf(object)
	isPending := func(digest string) bool {
		return slices.ContainsFunc(pending, func(c change) bool { return c.Digest == digest && digest != "" })
	}
	if len(o.Digests) == 0 || slices.ContainsFunc(o.Digests, func(d string) bool { return !isPending(d) }) {
		refuse(w, http.StatusConflict, "The change is no longer the one that waits for approval. Read it again.")
		return
	}
	approved := o.Digests
	for _, digest := range stack.ParseApproved(object.GetAnnotations()[stack.ApproveAnnotation]) {
		if isPending(digest) && !slices.Contains(approved, digest) {
			approved = append(approved, digest)
		}
	}
	s.annotate(w, r, object, stack.ApproveAnnotation, strings.Join(approved, ","))
}

// retry makes the operator retry an object that is stalled.
func (s *server) retry(w http.ResponseWriter, r *http.Request) {
	_, object := s.ordered(w, r)
	if object == nil {
		return
	}
	if !isStalled(object) {
		refuse(w, http.StatusConflict, "The object is not stalled, so there is nothing to retry.")
		return
	}
	s.annotate(w, r, object, stack.RetryAnnotation, s.clock.Now().UTC().Format(time.RFC3339))
}

// annotate sets an annotation with the user's permissions, and answers. The UID keeps it from another object of the
// same name.
func (s *server) annotate(w http.ResponseWriter, r *http.Request, object *unstructured.Unstructured, key, value string) {
	api, err := s.cluster.Of(object.GetAPIVersion(), object.GetKind(), object.GetNamespace())
	if err != nil {
		fail(w, err)
		return
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": object.GetUID(), "annotations": map[string]string{key: value}},
	})
	if err != nil {
		fail(w, err)
		return
	}
	if _, err := api.Patch(r.Context(), object.GetName(), types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		fail(w, err)
		return
	}
	answer(w, struct{}{})
}

func isStalled(object *unstructured.Unstructured) bool {
	stalled := operatorkit.FindCondition(object, operatorkit.ConditionStalled)
	return stalled != nil && stalled.Status == metav1.ConditionTrue
}
