package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/fault"
)

var (
	boxes  = schema.GroupVersionResource{Group: queues.Group, Version: queues.Version, Resource: "boxes"}
	models = schema.GroupVersionResource{Group: queues.Group, Version: queues.Version, Resource: "modeldefinitions"}
)

// box is a ModelDefinition of queues with a delay.
const box = `apiVersion: service-operator.aws/v1alpha1
kind: ModelDefinition
metadata: {name: boxes}
spec:
  kind: Box
  plural: boxes
  schema: {type: object, properties: {seconds: {type: integer}}}
  template: |
    Resources:
      Queue: {Type: "AWS::SQS::Queue", Properties: {QueueName: {{ .name }}, DelaySeconds: %d}}
    Outputs:
      Address: {Value: {Ref: Queue}}
`

// rollout measures a change of a ModelDefinition with many objects: its plan, its way to all of them, and that
// it stops and goes back.
func (b *bench) rollout(ctx context.Context) error {
	progress("rollout: starting a control plane, a simulator without latency and the operator")
	w, err := newSuite(ctx, b.binary, simulator.Options{}, queues)
	if err != nil {
		return err
	}
	defer w.close()
	if err := w.define(ctx, 1); err != nil {
		return err
	}
	if err := w.awaitModel(ctx, "Ready", "Served"); err != nil {
		return err
	}
	client := w.dynamic.Resource(boxes).Namespace("default")
	start := now()
	if err := parallel(b.objects, func(i int) error {
		_, err := client.Create(ctx, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": boxes.GroupVersion().String(), "kind": "Box",
			"metadata": map[string]any{"name": fmt.Sprintf("box-%d", i)}, "spec": map[string]any{},
		}}, metav1.CreateOptions{FieldManager: "bench"})
		return err
	}); err != nil {
		return err
	}
	if err := waitFor(ctx, 10*time.Minute, "the objects to be ready", func() (bool, error) {
		if err := pause(ctx, time.Second); err != nil {
			return false, err
		}
		list, err := client.List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, fmt.Errorf("list objects: %w", err)
		}
		ready := 0
		for i := range list.Items {
			if isReady(&list.Items[i]) {
				ready++
			}
		}
		return ready >= b.objects, nil
	}); err != nil {
		return err
	}
	b.report.note(fmt.Sprintf("%d objects of a ModelDefinition, apply to all Ready", b.objects), round(time.Since(start)).String())
	if err := b.planRollout(ctx, w); err != nil {
		return err
	}
	return b.rollOut(ctx, w)
}

// planRollout measures the plan of a changed definition.
func (b *bench) planRollout(ctx context.Context, w *suite) error {
	file := filepath.Join(w.dir, "definition.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, box, 2), 0o600); err != nil {
		return fmt.Errorf("write the definition: %w", err)
	}
	//nolint:gosec // the user names the project's own binary on the command line
	command := exec.CommandContext(ctx, b.binary, "plan", "--state=k8s", "--aws-account-id="+account, "-f", file)
	command.Env = append(
		os.Environ(), awsapi.ResolverVariable+"="+w.operator.names, "KUBECONFIG="+w.operator.kubeconfig,
		"AWS_ENDPOINT_URL="+w.operator.endpoint, "AWS_REGION="+region, "AWS_ACCESS_KEY_ID="+account, "AWS_SECRET_ACCESS_KEY=secret", "AWS_EC2_METADATA_DISABLED=true",
	)
	start := now()
	out, err := command.CombinedOutput()
	took := time.Since(start)
	if want := fmt.Sprintf("Plan: %d to update in place", b.objects); err != nil || !strings.Contains(string(out), want) {
		return fmt.Errorf("the plan does not say %q (%w): %s", want, err, out[max(0, len(out)-1000):])
	}
	b.report.duration(fmt.Sprintf("plan of a changed ModelDefinition with %d objects", b.objects), took, 10*time.Second, "")
	return nil
}

// rollOut measures the rollout of a change, one that fails in the middle, and the way back.
func (b *bench) rollOut(ctx context.Context, w *suite) error {
	before, _ := w.calls()
	start := now()
	if err := w.change(ctx, 2, "RolledOut", "RolledOut"); err != nil {
		return err
	}
	after, _ := w.calls()
	b.report.note(fmt.Sprintf("rollout to %d objects, 10%% at the same time", b.objects), round(time.Since(start)).String())
	b.report.note("AWS calls per object updated", fmt.Sprintf("%.2f", float64(after-before)/float64(b.objects)))

	var updates atomic.Int64
	remove := w.onUpdate(func() { updates.Add(1) })
	defer remove()
	w.simulator.Faults().Add(fault.Rule{
		ResourceType: "AWS::SQS::Queue", Operation: "Update", Skip: b.objects / 2, Times: 1, Code: "InvalidParameterValue", Message: "a planted failure",
	})
	if err := w.change(ctx, 3, "RolledOut", "RolloutStopped"); err != nil {
		return err
	}
	if err := pause(ctx, 5*time.Second); err != nil { // updates that had begun end
		return err
	}
	b.report.note(fmt.Sprintf("stacks updated when number %d fails", b.objects/2+1), fmt.Sprint(updates.Load()))
	start = now()
	if err := w.change(ctx, 2, "RolledOut", "RolledOut"); err != nil {
		return err
	}
	b.report.note("way back to the previous definition", round(time.Since(start)).String())
	return nil
}

// define applies the definition with a delay.
func (w *suite) define(ctx context.Context, delay int) error {
	force := true
	_, err := w.dynamic.Resource(models).Patch(
		ctx, "boxes", types.ApplyPatchType, fmt.Appendf(nil, box, delay), metav1.PatchOptions{FieldManager: "bench", Force: &force},
	)
	if err != nil {
		return fmt.Errorf("apply the ModelDefinition: %w", err)
	}
	return nil
}

// change applies the definition with a delay, and waits for a condition.
func (w *suite) change(ctx context.Context, delay int, condition, reason string) error {
	if err := w.define(ctx, delay); err != nil {
		return err
	}
	return w.awaitModel(ctx, condition, reason)
}

// awaitModel waits until a condition of the definition has a reason for the current generation.
func (w *suite) awaitModel(ctx context.Context, condition, reason string) error {
	return waitFor(ctx, 20*time.Minute, "the condition "+condition+" with the reason "+reason, func() (bool, error) {
		object, err := w.dynamic.Resource(models).Get(ctx, "boxes", metav1.GetOptions{})
		if err != nil {
			return false, fmt.Errorf("read the ModelDefinition: %w", err)
		}
		all, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
		for _, one := range all {
			fields, ok := one.(map[string]any)
			if ok && fields["type"] == condition && fields["reason"] == reason && fields["observedGeneration"] == object.GetGeneration() {
				return true, nil
			}
		}
		return false, nil
	})
}
