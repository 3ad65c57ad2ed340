package kubeapi

import (
	"io"
	"mime"
	"net/http"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// graceOf is how many seconds an object that is being deleted had to end, from the beginning.
func graceOf(object *unstructured.Unstructured) int64 {
	if seconds := object.GetDeletionGracePeriodSeconds(); seconds != nil {
		return *seconds
	}
	return 0
}

// shorten gives a pod its time to end, or less than it has; false says that it has less already.
// See BeforeDelete in
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/staging/src/k8s.io/apiserver/pkg/registry/rest/delete.go.
func shorten(pod *unstructured.Unstructured, options metav1.DeleteOptions, now time.Time) bool {
	period := periodOf(pod, options)
	ends := metav1.NewTime(now.Add(time.Duration(period) * time.Second))
	if began := pod.GetDeletionTimestamp(); began != nil && graceOf(pod) > 0 {
		if options.GracePeriodSeconds == nil || period >= graceOf(pod) {
			return false
		}
		ends = metav1.NewTime(began.Add(time.Duration(period-graceOf(pod)) * time.Second))
		if ends.Time.Before(now) {
			ends = metav1.NewTime(now)
			period = min(period, 1)
		}
	}
	pod.SetDeletionTimestamp(&ends)
	pod.SetDeletionGracePeriodSeconds(&period)
	return true
}

// periodOf is how many seconds a pod has to end.
// See CheckGracefulDelete in
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/registry/core/pod/strategy.go.
func periodOf(pod *unstructured.Unstructured, options metav1.DeleteOptions) int64 {
	node, _, _ := unstructured.NestedString(pod.Object, "spec", "nodeName")
	phase, _, _ := unstructured.NestedString(pod.Object, "status", "phase")
	if node == "" || phase == string(corev1.PodFailed) || phase == string(corev1.PodSucceeded) {
		return 0
	}
	period, _, _ := unstructured.NestedInt64(pod.Object, "spec", "terminationGracePeriodSeconds")
	if options.GracePeriodSeconds != nil {
		period = *options.GracePeriodSeconds
	}
	if period < 0 {
		return 1
	}
	return period
}

// deleteOptions are those of a request: in its body, or in its query.
func deleteOptions(req *http.Request) (metav1.DeleteOptions, error) {
	var options metav1.DeleteOptions
	data, err := io.ReadAll(io.LimitReader(req.Body, bodyLimit))
	if err != nil {
		return options, apierrors.NewBadRequest(err.Error())
	}
	form, _, _ := mime.ParseMediaType(req.Header.Get("Content-Type"))
	switch {
	case len(data) == 0:
	case form == runtime.ContentTypeProtobuf:
		if _, _, err := codecs.UniversalDeserializer().Decode(data, nil, &options); err != nil {
			return options, apierrors.NewBadRequest(err.Error())
		}
	default:
		if err := yaml.Unmarshal(data, &options); err != nil {
			return options, apierrors.NewBadRequest(err.Error())
		}
	}
	query := req.URL.Query()
	if text := query.Get("gracePeriodSeconds"); text != "" && options.GracePeriodSeconds == nil {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return options, apierrors.NewBadRequest("gracePeriodSeconds: " + err.Error())
		}
		options.GracePeriodSeconds = &seconds
	}
	if len(options.DryRun) == 0 {
		options.DryRun = query["dryRun"]
	}
	return options, nil
}

func (s *Server) remove(w http.ResponseWriter, req *http.Request, t target) error {
	options, err := deleteOptions(req)
	if err != nil {
		return err
	}
	if t.name != "" {
		object, err := s.store.delete(t.kind, t.key(), options)
		if err != nil {
			return err
		}
		answer(w, req, http.StatusOK, t.kind, object)
		return nil
	}
	wanted, err := selected(req)
	if err != nil {
		return err
	}
	objects, _ := s.store.list(t.kind, t.namespace)
	for _, object := range objects {
		if !wanted.holds(object) {
			continue
		}
		if _, err := s.store.delete(t.kind, nameOf(object), options); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	reply(w, http.StatusOK, succeeded(http.StatusOK))
	return nil
}

// succeeded is the answer of those that return no object.
func succeeded(code int32) metav1.Status {
	return metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess, Code: code}
}
