package kubeapi

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/yaml"
)

// bodyLimit is the API server's own limit of a request.
const bodyLimit = 3 << 20

// serve does what a request to an object, or to a kind, asks.
func (s *Server) serve(w http.ResponseWriter, req *http.Request, t target) error {
	if t.subresource != "" && t.subresource != "status" {
		return s.subresource(w, req, t)
	}
	switch {
	case req.Method == http.MethodGet && t.name != "":
		object, err := s.store.get(t.kind, t.key())
		if err != nil {
			return err
		}
		answer(w, req, http.StatusOK, t.kind, object)
		return nil
	case req.Method == http.MethodGet:
		return s.list(w, req, t)
	case req.Method == http.MethodPost && t.name == "":
		return s.create(w, req, t)
	case req.Method == http.MethodPut && t.name != "":
		return s.replace(w, req, t)
	case req.Method == http.MethodPatch && t.name != "":
		return s.patch(w, req, t)
	case req.Method == http.MethodDelete:
		return s.remove(w, req, t)
	}
	return apierrors.NewMethodNotSupported(t.kind.groupResource(), req.Method)
}

// selection is which objects a request is about.
type selection struct {
	labels labels.Selector
	fields fields.Selector
}

func selected(req *http.Request) (selection, error) {
	query := req.URL.Query()
	byLabel, err := labels.Parse(query.Get("labelSelector"))
	if err != nil {
		return selection{}, apierrors.NewBadRequest("labelSelector: " + err.Error())
	}
	byField, err := fields.ParseSelector(query.Get("fieldSelector"))
	if err != nil {
		return selection{}, apierrors.NewBadRequest("fieldSelector: " + err.Error())
	}
	for _, requirement := range byField.Requirements() {
		switch requirement.Field {
		case "metadata.name", "metadata.namespace", "spec.nodeName", "spec.type", "status.phase", "type", "involvedObject.name",
			"regarding.name":
		default:
			return selection{}, apierrors.NewBadRequest("field label not supported: " + requirement.Field)
		}
	}
	return selection{byLabel, byField}, nil
}

func (s selection) holds(object *unstructured.Unstructured) bool {
	if !s.labels.Matches(labels.Set(object.GetLabels())) {
		return false
	}
	for _, requirement := range s.fields.Requirements() {
		value, _, _ := unstructured.NestedString(object.Object, strings.Split(requirement.Field, ".")...)
		if (value == requirement.Value) == (requirement.Operator == "!=") {
			return false
		}
	}
	return true
}

func (s *Server) list(w http.ResponseWriter, req *http.Request, t target) error {
	wanted, err := selected(req)
	if err != nil {
		return err
	}
	if req.URL.Query().Get("watch") == "true" || req.URL.Query().Get("watch") == "1" {
		return s.watch(w, req, t, wanted)
	}
	objects, version := s.choose(t, wanted)
	list := &unstructured.UnstructuredList{Items: []unstructured.Unstructured{}}
	for _, object := range objects {
		if wanted.holds(object) {
			list.Items = append(list.Items, *object)
		}
	}
	list.SetGroupVersionKind(t.kind.groupVersion().WithKind(t.kind.Kind + "List"))
	list.SetResourceVersion(strconv.FormatUint(version, 10))
	if wantsTable(req) {
		reply(w, http.StatusOK, table(t.kind, list.Items, list.GetResourceVersion()))
		return nil
	}
	if wantsMetadata(req) {
		for i := range list.Items {
			list.Items[i].Object = metadataOf(&list.Items[i])
		}
		list.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("PartialObjectMetadataList"))
	}
	reply(w, http.StatusOK, list.UnstructuredContent())
	return nil
}

// choose lists candidate objects; for the pods of one node it lists only these.
func (s *Server) choose(t target, wanted selection) ([]*unstructured.Unstructured, uint64) {
	if node, ok := wanted.fields.RequiresExactMatch("spec.nodeName"); ok && t.kind == podKind && node != "" {
		return s.simulation.podsOn(node, t.namespace)
	}
	return s.store.list(t.kind, t.namespace)
}

// watch streams changes until the caller has enough.
func (s *Server) watch(w http.ResponseWriter, req *http.Request, t target, wanted selection) error {
	if req.URL.Query().Get("sendInitialEvents") == "true" {
		// Clients take this answer of an older server and list before they watch.
		// https://kubernetes.io/docs/reference/using-api/api-concepts/#streaming-lists
		return apierrors.NewBadRequest("sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled")
	}
	since, err := strconv.ParseUint(req.URL.Query().Get("resourceVersion"), 10, 64)
	if err != nil && req.URL.Query().Get("resourceVersion") != "" {
		return apierrors.NewBadRequest("resourceVersion: " + err.Error())
	}
	watcher, err := s.store.watch(t.kind, since)
	if err != nil {
		return err
	}
	defer s.store.unwatch(watcher)
	w.Header().Set("Content-Type", runtime.ContentTypeJSON)
	w.WriteHeader(http.StatusOK)
	stream := http.NewResponseController(w)
	if err := stream.Flush(); err != nil {
		return nil // The caller no longer exists.
	}
	encoder := json.NewEncoder(w)
	shown, view := map[types.UID]bool{}, whole
	if wantsMetadata(req) {
		view = metadataOf
	}
	for {
		changes, open := s.store.take(watcher)
		for _, c := range changes {
			event, ok := wanted.event(c, t.namespace, shown)
			if ok && encoder.Encode(map[string]any{"type": event, "object": view(c.object)}) != nil {
				return nil
			}
		}
		if stream.Flush() != nil || !open {
			return nil
		}
		select {
		case <-req.Context().Done():
			return nil
		case <-watcher.changed:
		}
	}
}

// event is how a change looks to a watcher who sees only some objects: one that stops to match is
// deleted to it.
func (s selection) event(c change, namespace string, shown map[types.UID]bool) (watch.EventType, bool) {
	if namespace != "" && c.object.GetNamespace() != namespace {
		return "", false
	}
	narrow := !s.labels.Empty() || !s.fields.Empty()
	event, uid := c.event, c.object.GetUID()
	if narrow {
		holds := s.holds(c.object)
		switch {
		case !holds && !shown[uid]:
			return "", false
		case !holds:
			event = watch.Deleted
		case !shown[uid] && event == watch.Modified:
			event = watch.Added
		}
		if event == watch.Deleted {
			delete(shown, uid)
		} else {
			shown[uid] = true
		}
	}
	return event, true
}

func (s *Server) create(w http.ResponseWriter, req *http.Request, t target) error {
	object, err := body(req, t)
	if err != nil {
		return err
	}
	if t.kind.Namespaced && t.namespace == "" {
		return apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
	}
	if t.namespace != "" {
		if _, err := s.store.get(namespaceKind, types.NamespacedName{Name: t.namespace}); err != nil {
			return err
		}
	}
	return s.keep(w, req, t, object)
}

// keep adds an object that a client has sent.
func (s *Server) keep(w http.ResponseWriter, req *http.Request, t target, object *unstructured.Unstructured) error {
	if t.kind == podKind {
		delete(object.Object, "status")
		admitPod(object)
	}
	if t.kind == definitionKind {
		establish(object, s.store.clock.Now())
	}
	created, err := s.store.create(t.kind, t.namespace, object)
	if err != nil {
		return err
	}
	answer(w, req, http.StatusCreated, t.kind, created)
	return nil
}

// admitPod sets what every pod has that a client may leave out.
func admitPod(pod *unstructured.Unstructured) {
	for _, field := range []struct {
		value any
		path  []string
	}{
		{int64(30), []string{"spec", "terminationGracePeriodSeconds"}},
		{"Always", []string{"spec", "restartPolicy"}},
		{"Pending", []string{"status", "phase"}},
	} {
		if _, there, _ := unstructured.NestedFieldNoCopy(pod.Object, field.path...); !there {
			_ = unstructured.SetNestedField(pod.Object, field.value, field.path...) // Invalid objects are refused when they are read.
		}
	}
}

func (s *Server) replace(w http.ResponseWriter, req *http.Request, t target) error {
	object, err := body(req, t)
	if err != nil {
		return err
	}
	return s.write(w, req, t, func(old *unstructured.Unstructured) error {
		settle(object, old, t.subresource == "status")
		old.Object = object.Object
		return nil
	})
}

// settle keeps what a write may not change: the status by an ordinary write, all but the status by
// one of the status.
func settle(written, old *unstructured.Unstructured, status bool) {
	if status {
		version := written.GetResourceVersion()
		kept := old.DeepCopy()
		kept.Object["status"] = written.Object["status"]
		written.Object = kept.Object
		written.SetResourceVersion(version)
		return
	}
	if kept, ok := old.Object["status"]; ok {
		written.Object["status"] = kept
	} else {
		delete(written.Object, "status")
	}
}

func (s *Server) write(w http.ResponseWriter, req *http.Request, t target, edit func(*unstructured.Unstructured) error) error {
	object, err := s.store.update(t.kind, t.key(), edit)
	if err != nil {
		return err
	}
	answer(w, req, http.StatusOK, t.kind, object)
	return nil
}

func (s *Server) patch(w http.ResponseWriter, req *http.Request, t target) error {
	patch, err := io.ReadAll(http.MaxBytesReader(w, req.Body, bodyLimit))
	if err != nil {
		return apierrors.NewRequestEntityTooLargeError(err.Error())
	}
	form, _, _ := mime.ParseMediaType(req.Header.Get("Content-Type"))
	if types.PatchType(form) == types.ApplyYAMLPatchType {
		if patch, err = yaml.YAMLToJSON(patch); err != nil {
			return apierrors.NewBadRequest(err.Error())
		}
		if _, err := s.store.get(t.kind, t.key()); apierrors.IsNotFound(err) {
			return s.applyNew(w, req, t, patch)
		}
	}
	return s.write(w, req, t, func(object *unstructured.Unstructured) error {
		old := object.DeepCopy()
		if err := merge(t.kind, object, types.PatchType(form), patch); err != nil {
			return err
		}
		settle(object, old, t.subresource == "status")
		return nil
	})
}

func (s *Server) applyNew(w http.ResponseWriter, req *http.Request, t target, data []byte) error {
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(data); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	object.SetName(t.name)
	return s.keep(w, req, t, object)
}

// merge applies a patch to an object. Server-side apply merges like a strategic patch: it removes
// no fields.
func merge(k *kind, object *unstructured.Unstructured, form types.PatchType, patch []byte) error {
	before, err := object.MarshalJSON()
	if err != nil {
		return fmt.Errorf("encode %s: %w", object.GetName(), err)
	}
	var after []byte
	switch form {
	case types.JSONPatchType:
		var operations jsonpatch.Patch
		if operations, err = jsonpatch.DecodePatch(patch); err == nil {
			after, err = operations.Apply(before)
		}
	case types.MergePatchType:
		after, err = jsonpatch.MergePatch(before, patch)
	case types.StrategicMergePatchType, types.ApplyYAMLPatchType:
		schema, unknown := typed(k)
		switch {
		case unknown == nil:
			after, err = strategicpatch.StrategicMergePatch(before, patch, schema)
		case form == types.ApplyYAMLPatchType:
			after, err = jsonpatch.MergePatch(before, patch)
		default: // https://kubernetes.io/docs/reference/using-api/api-concepts/#patch-and-apply
			return notPatchable(form)
		}
	default:
		return notPatchable(form)
	}
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if err := object.UnmarshalJSON(after); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	return nil
}

func notPatchable(form types.PatchType) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusUnsupportedMediaType, Reason: metav1.StatusReasonUnsupportedMediaType,
		Message: "the patch's content type is not supported: " + string(form),
	}}
}

// subresource does what is asked of a pod: it binds it to a node, evicts it, or passes a request
// on.
func (s *Server) subresource(w http.ResponseWriter, req *http.Request, t target) error {
	part, path, _ := strings.Cut(t.subresource, "/")
	switch {
	case t.kind != podKind:
	case part == "proxy" && req.Method == http.MethodGet:
		return s.proxy(w, req, t, path)
	case path != "" || req.Method != http.MethodPost:
	case part == "binding":
		return s.bind(w, req, t)
	case part == "eviction":
		return s.evict(w, req, t)
	}
	return notServed(req.URL.Path)
}

func (s *Server) bind(w http.ResponseWriter, req *http.Request, t target) error {
	binding, err := body(req, t)
	if err != nil {
		return err
	}
	node, _, _ := unstructured.NestedString(binding.Object, "target", "name")
	_, err = s.store.update(t.kind, t.key(), func(pod *unstructured.Unstructured) error {
		return unstructured.SetNestedField(pod.Object, node, "spec", "nodeName") //nolint:wrapcheck // says which field
	})
	if err != nil {
		return err
	}
	reply(w, http.StatusCreated, succeeded(http.StatusCreated))
	return nil
}

// body reads an object in any of the forms that clients send.
func body(req *http.Request, t target) (*unstructured.Unstructured, error) {
	data, err := io.ReadAll(io.LimitReader(req.Body, bodyLimit))
	if err != nil {
		return nil, fmt.Errorf("read the request: %w", err)
	}
	form, _, _ := mime.ParseMediaType(req.Header.Get("Content-Type"))
	if form == runtime.ContentTypeProtobuf {
		decoded, _, err := codecs.UniversalDeserializer().Decode(data, nil, nil)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(decoded)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		return settled(&unstructured.Unstructured{Object: content}, t), nil
	}
	if form != runtime.ContentTypeJSON {
		if data, err = yaml.YAMLToJSON(data); err != nil {
			return nil, apierrors.NewBadRequest("the object cannot be read: " + err.Error())
		}
	}
	object := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(data, &object.Object); err != nil || object.Object == nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the object cannot be read: %v", err))
	}
	return settled(object, t), nil
}

// settled moves what clients may write in a handier form to where it is kept.
func settled(object *unstructured.Unstructured, t target) *unstructured.Unstructured {
	if given, ok := object.Object["stringData"].(map[string]any); ok && t.kind.Kind == "Secret" {
		encode(object, given)
	}
	return object
}

// encode moves a Secret's texts to its data.
func encode(secret *unstructured.Unstructured, texts map[string]any) {
	for name, value := range texts {
		text, _ := value.(string)
		_ = unstructured.SetNestedField(secret.Object, base64.StdEncoding.EncodeToString([]byte(text)), "data", name)
	}
	delete(secret.Object, "stringData")
}

// secretValue is one value of a Secret.
func secretValue(secret *unstructured.Unstructured, name string) string {
	encoded, _, _ := unstructured.NestedString(secret.Object, "data", name)
	value, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return ""
	}
	return string(value)
}

func answer(w http.ResponseWriter, req *http.Request, code int, k *kind, object *unstructured.Unstructured) {
	if wantsTable(req) {
		reply(w, code, table(k, []unstructured.Unstructured{*object}, object.GetResourceVersion()))
		return
	}
	if wantsMetadata(req) {
		reply(w, code, metadataOf(object))
		return
	}
	reply(w, code, object.Object)
}
