package operatorkit_test

import (
	"errors"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

func TestCodeOfTheReferenceWorks(t *testing.T) {
	step := certificateStep{&issued{}}
	g := &Greeting{}
	for i, want := range []operatorkit.Kind{operatorkit.KindWait, operatorkit.KindWait, operatorkit.KindDone} {
		if got := step.EnsureCreated(t.Context(), g); got.Kind() != want {
			t.Errorf("run %d: got %s, want %s", i+1, got, want)
		}
	}
	for i, want := range []operatorkit.Kind{operatorkit.KindWait, operatorkit.KindDone} {
		if got := step.EnsureDeleted(t.Context(), g); got.Kind() != want {
			t.Errorf("deletion %d: got %s, want %s", i+1, got, want)
		}
	}
	if got := len(outcomes(errors.New("busy"))); got != 8 {
		t.Errorf("%d outcomes, want 8", got)
	}
	setOwnCondition(g)
	if operatorkit.FindCondition(g, "Polite") == nil {
		t.Error("the condition is missing")
	}
	router, err := newCertificatePipelines(&issued{})
	if err != nil {
		t.Fatal(err)
	}
	g.Labels = map[string]string{"release": "2.1.0"}
	if _, err := router.PipelineFor(g); err != nil {
		t.Error(err)
	}
	scheme := newScheme()
	scheme.AddKnownTypes(widgetKind.GroupVersion(), &Greeting{})
	if _, err := newWithOptions(fake.NewClientBuilder().WithScheme(scheme).Build(), step, prometheus.NewRegistry()); err != nil {
		t.Error(err)
	}
}
