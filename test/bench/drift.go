package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// drift measures the checks of many objects for drift, which a user requests all at once.
func (b *bench) drift(ctx context.Context, w *suite) error {
	before, err := w.operator.calls(ctx)
	if err != nil {
		return err
	}
	start := now()
	asked := fmt.Appendf(nil, `{"metadata":{"annotations":{"service-operator.aws/check-drift":%q}}}`, start.String())
	if err := parallel(b.objects, func(i int) error {
		_, err := w.client.Patch(ctx, fmt.Sprintf("queue-%d", i), types.MergePatchType, asked, metav1.PatchOptions{FieldManager: "bench"})
		return err
	}); err != nil {
		return err
	}
	if err := waitFor(ctx, time.Hour, "the checks for drift", func() (bool, error) {
		if err := pause(ctx, 2*time.Second); err != nil { // a list of all objects costs the API server something
			return false, err
		}
		checked, err := w.inSync(ctx, "queue-")
		return checked >= b.objects, err
	}); err != nil {
		return err
	}
	b.report.duration(fmt.Sprintf("%d SQSQueues checked for drift, all at once", b.objects), time.Since(start), time.Hour, "")
	after, err := w.operator.calls(ctx)
	if err != nil {
		return err
	}
	b.report.note("AWS calls per check", after.since(before, b.objects))
	return nil
}

// inSync counts the objects whose condition Drifted is False.
func (w *suite) inSync(ctx context.Context, prefix string) (int, error) {
	list, err := w.client.List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, fmt.Errorf("list objects: %w", err)
	}
	count := 0
	for i := range list.Items {
		conditions, _, _ := unstructured.NestedSlice(list.Items[i].Object, "status", "conditions")
		for _, condition := range conditions {
			fields, ok := condition.(map[string]any)
			if ok && fields["type"] == "Drifted" && fields["status"] == "False" && strings.HasPrefix(list.Items[i].GetName(), prefix) {
				count++
			}
		}
	}
	return count, nil
}
