package demo

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"
)

// pollInterval is how often objects are polled while they change.
const pollInterval = 50 * time.Millisecond

// stage runs the demo and prints its progress.
type stage struct {
	out     io.Writer
	clock   clock.WithTicker
	cluster *cluster
	began   time.Time
}

func (s *stage) say(format string, args ...any) { _, _ = fmt.Fprintf(s.out, "  "+format+"\n", args...) }

func (s *stage) apply(ctx context.Context, objects []*object) error {
	s.began = s.clock.Now()
	for _, o := range objects {
		if err := s.cluster.apply(ctx, o); err != nil {
			return err
		}
		s.say("%s applied", o)
	}
	return nil
}

// awaitReady prints every change of the objects until all are Ready.
func (s *stage) awaitReady(ctx context.Context, objects []*object) error {
	s.say("%-7s %-34s %-7s %s", "TIME", "OBJECT", "READY", "STATUS")
	last := map[string]string{}
	return s.until(ctx, "all objects to be Ready", func() (bool, error) {
		all := true
		for _, o := range objects {
			found, err := s.cluster.get(ctx, o)
			if err != nil {
				return false, err
			}
			now := summarize(found)
			if now.line != last[o.String()] {
				last[o.String()] = now.line
				s.say("%5.1f s %-34s %s", s.clock.Since(s.began).Seconds(), o, now.line)
			}
			if now.stalled {
				return false, fmt.Errorf("%s has stalled", o)
			}
			all = all && now.ready
		}
		return all, nil
	})
}

// summary is the status of an object in short.
type summary struct {
	ready, stalled bool
	line           string
}

func summarize(o *object) summary {
	var now summary
	status, _, _ := unstructured.NestedString(o.Object, "status", "resourceStatus")
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	word, message := "-", ""
	for _, c := range conditions {
		condition, ok := c.(map[string]any)
		if !ok {
			continue
		}
		switch condition["type"] {
		case "Ready":
			word, _ = condition["status"].(string)
			message, _ = condition["message"].(string)
		case "Stalled":
			now.stalled = condition["status"] == "True"
		}
	}
	if nodes, _, _ := unstructured.NestedString(o.Object, "status", "nodes", "summary"); nodes != "" {
		status = nodes + " nodes"
	}
	if status == "" {
		status = "-"
	}
	if now.ready = word == "True"; now.ready {
		message = ""
	}
	now.ready = now.ready && allNodes(o)
	now.line = strings.TrimRight(fmt.Sprintf("%-7s %-20s %s", word, status, message), " ")
	return now
}

// allNodes reports whether all nodes of a Cluster are ready. It is true for other objects.
func allNodes(o *object) bool {
	desired, found, _ := unstructured.NestedInt64(o.Object, "status", "nodes", "desired")
	ready, _, _ := unstructured.NestedInt64(o.Object, "status", "nodes", "ready")
	return !found || ready >= desired
}

// showOutputs prints the outputs of the objects, and their ConfigMaps.
func (s *stage) showOutputs(ctx context.Context, objects []*object) error {
	for _, o := range objects {
		found, err := s.cluster.get(ctx, o)
		if err != nil {
			return err
		}
		output, _, _ := unstructured.NestedMap(found.Object, "status", "output")
		s.table(o.String()+" output:", output)
		names, _, _ := unstructured.NestedStringSlice(found.Object, "status", "additionalResources", "configMaps")
		for _, name := range names {
			if err := s.showConfigMap(ctx, name); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *stage) showConfigMap(ctx context.Context, name string) error {
	found, err := s.cluster.get(ctx, configMap(name))
	if err != nil {
		return err
	}
	data, _, _ := unstructured.NestedMap(found.Object, "data")
	s.table("ConfigMap/"+name+" data:", data)
	return nil
}

func configMap(name string) *object {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	u.SetName(name)
	return &object{u}
}

func (s *stage) table(title string, values map[string]any) {
	if len(values) == 0 {
		return
	}
	s.say("%s", title)
	for _, key := range slices.Sorted(maps.Keys(values)) {
		s.say("  %-22s %v", key, values[key])
	}
}

// remove deletes the objects and waits until they and the resources that they made no longer exist.
func (s *stage) remove(ctx context.Context, objects []*object) error {
	s.began = s.clock.Now()
	for _, o := range slices.Backward(objects) {
		if err := s.cluster.delete(ctx, o); err != nil {
			return err
		}
	}
	gone := map[string]bool{}
	return s.until(ctx, "all objects to be deleted", func() (bool, error) {
		for _, o := range objects {
			if gone[o.String()] {
				continue
			}
			_, err := s.cluster.get(ctx, o)
			if apierrors.IsNotFound(err) {
				gone[o.String()] = true
				s.say("%5.1f s %s is deleted", s.clock.Since(s.began).Seconds(), o)
				continue
			}
			if err != nil {
				return false, err
			}
		}
		return len(gone) == len(objects), nil
	})
}

func (s *stage) until(ctx context.Context, what string, done func() (bool, error)) error {
	ticker := s.clock.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		ok, err := done()
		if ctx.Err() != nil {
			return fmt.Errorf("wait for %s: %w", what, context.Cause(ctx))
		}
		if ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", what, context.Cause(ctx))
		case <-ticker.C():
		}
	}
}
