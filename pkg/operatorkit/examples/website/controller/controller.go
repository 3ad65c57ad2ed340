// Package controller reconciles Websites.
package controller

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/aws-operator/aws-operator/pkg/operatorkit"
	v1 "github.com/aws-operator/aws-operator/pkg/operatorkit/examples/website/api/v1"
)

// New returns the reconciler of Websites.
func New(c client.Client) (*operatorkit.Reconciler[*v1.Website], error) {
	s := steps{client: c}
	return operatorkit.NewReconciler(operatorkit.Options[*v1.Website]{
		Client:           c,
		Finalizer:        "example.com/website",
		PausedAnnotation: "example.com/paused",
		Pipelines: operatorkit.NewPipeline(
			operatorkit.NewStep("validate", validate, nil),
			operatorkit.All(
				operatorkit.NewStep("page", s.page, nil),
				operatorkit.NewStep("service", s.service, nil),
			),
			operatorkit.NewStep("deployment", s.deployment, nil),
		),
	})
}

// Setup adds the reconciler to a manager.
func Setup(mgr manager.Manager) error {
	r, err := New(mgr.GetClient())
	if err != nil {
		return fmt.Errorf("create the reconciler of Websites: %w", err)
	}
	owner := &v1.Website{}
	return r.SetupWithManager(mgr,
		operatorkit.Owned(mgr, &corev1.ConfigMap{}, owner),
		operatorkit.Owned(mgr, &corev1.Service{}, owner),
		operatorkit.Owned(mgr, &appsv1.Deployment{}, owner),
	)
}
