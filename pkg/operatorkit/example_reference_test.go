package operatorkit_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// Outcomes of several things that do not depend on each other become one.
func ExampleAggregate() {
	stack := func(name string) operatorkit.Subject { return operatorkit.Subject{Kind: "Stack", Name: name} }
	whole := operatorkit.Aggregate(
		operatorkit.Wait(time.Minute, "CreateInProgress", "The stack is being created.").About(stack("a")),
		operatorkit.Wait(time.Second, "CreateInProgress", "The stack is being created.").About(stack("b")),
		operatorkit.Stall("QuotaExceeded", "Request a higher quota.").About(stack("c")),
	)
	fmt.Println(whole.Kind(), whole.After(), whole.Message())
	// Output:
	// wait 1s Stacks a, b: The stack is being created. Stack c: Request a higher quota.
}

// The certificate and the record do not depend on each other. The check needs both.
func ExampleAll() {
	step := func(name string, outcome operatorkit.Outcome) operatorkit.Step[*Greeting] {
		return operatorkit.NewStep(name, func(context.Context, *Greeting) operatorkit.Outcome {
			fmt.Println("run", name)
			return outcome
		}, nil)
	}
	validate := step("validate", operatorkit.Done())
	certificate := step("certificate", operatorkit.Wait(time.Minute, "Issuing", "The certificate is being issued."))
	record := step("record", operatorkit.Fail(errors.New("throttled")))
	check := step("check", operatorkit.Done())

	steps := operatorkit.Sequence(validate, operatorkit.All(certificate, record), check)
	fmt.Println(steps.EnsureCreated(context.Background(), &Greeting{}).Message())
	// Output:
	// run validate
	// run certificate
	// run record
	// Step "record" failed and will be retried: throttled. The certificate is being issued.
}

// outcomes shows every kind of outcome.
func outcomes(err error) []operatorkit.Outcome {
	return []operatorkit.Outcome{
		operatorkit.Done(),
		operatorkit.Done().Explain("Serving", "The page is served.").RequeueAfter(time.Hour),
		operatorkit.Wait(10*time.Second, "CreateInProgress", "The stack is being created."),
		operatorkit.Wait(time.Minute, "CreateFailed", "The stack was rolled back and will be created again.").Degraded(),
		operatorkit.Wait(0, "PodsMissing", "1 of 3 pods are available.").WithoutEvent(),
		operatorkit.Stall("TitleMissing", "Set spec.title."),
		operatorkit.Fail(err),
		operatorkit.Fail(err).Explain("Throttled", "AWS throttles requests. They will be retried."),
	}
}

// newWithOptions sets the options that most operators need.
func newWithOptions(
	c client.Client, steps operatorkit.Step[*Greeting], registry prometheus.Registerer,
) (*operatorkit.Reconciler[*Greeting], error) {
	metrics, err := operatorkit.NewMetrics("greeter", registry)
	if err != nil {
		return nil, fmt.Errorf("create the metrics: %w", err)
	}
	return operatorkit.NewReconciler(operatorkit.Options[*Greeting]{
		Client:            c,
		Pipelines:         operatorkit.NewPipeline(steps),
		Finalizer:         "example.com/greeter",
		PausedAnnotation:  "example.com/paused",
		Metrics:           metrics,
		BackgroundLimiter: operatorkit.NewBackgroundLimiter(clock.RealClock{}, 0),
		DeferStatusWrite:  func(before, after *Greeting) bool { return before.Status.Text == after.Status.Text },
	})
}

// setOwnCondition sets a condition that belongs to the step.
func setOwnCondition(g *Greeting) {
	operatorkit.SetCondition(g, metav1.Condition{
		Type: "Polite", Status: metav1.ConditionTrue, Reason: "Checked", Message: "The greeting is polite.",
	})
}

// certificates is the client of an imaginary certificate service.
type certificates interface {
	Find(ctx context.Context, name string) (ready, found bool, err error)
	Request(ctx context.Context, name string) error
	Delete(ctx context.Context, name string) error
}

// certificateStep is a step with an external effect.
type certificateStep struct{ certificates certificates }

// Name identifies the step.
func (certificateStep) Name() string { return "certificate" }

// EnsureCreated requests the certificate and waits for it.
func (s certificateStep) EnsureCreated(ctx context.Context, g *Greeting) operatorkit.Outcome {
	ready, found, err := s.certificates.Find(ctx, g.Name)
	if err != nil {
		return operatorkit.Fail(err)
	}
	if !found {
		if err := s.certificates.Request(ctx, g.Name); err != nil {
			return operatorkit.Fail(err)
		}
	}
	if !ready {
		return operatorkit.Wait(10*time.Second, "CertificatePending", "The certificate is being issued.")
	}
	return operatorkit.Done()
}

// EnsureDeleted deletes the certificate and waits until it no longer exists.
func (s certificateStep) EnsureDeleted(ctx context.Context, g *Greeting) operatorkit.Outcome {
	_, found, err := s.certificates.Find(ctx, g.Name)
	if err != nil {
		return operatorkit.Fail(err)
	}
	if !found {
		return operatorkit.Done()
	}
	if err := s.certificates.Delete(ctx, g.Name); err != nil {
		return operatorkit.Fail(err)
	}
	return operatorkit.Wait(10*time.Second, "CertificateDeleting", "The certificate is being deleted.")
}

// newCertificatePipelines routes old and new releases to different steps.
func newCertificatePipelines(c certificates) (*operatorkit.Router[*Greeting], error) {
	return operatorkit.NewRouter(func(g *Greeting) string { return g.Labels["release"] },
		operatorkit.Route[*Greeting]{Releases: ">=1.0.0 <2.0.0-0", Pipeline: operatorkit.NewPipeline[*Greeting]()},
		operatorkit.Route[*Greeting]{Releases: ">=2.0.0", Pipeline: operatorkit.NewPipeline[*Greeting](certificateStep{c})})
}

// issued is a certificate service that issues certificates at the second request.
type issued struct{ found, ready bool }

func (i *issued) Find(context.Context, string) (ready, found bool, err error) {
	ready, i.ready = i.ready, i.found
	return ready, i.found, nil
}

func (i *issued) Request(context.Context, string) error { i.found = true; return nil }
func (i *issued) Delete(context.Context, string) error  { i.found = false; return nil }
