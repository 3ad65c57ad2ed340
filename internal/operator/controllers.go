package operator

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	servicev1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/service/controller"
)

func addServiceTypes(scheme *runtime.Scheme) error {
	if err := servicev1alpha1.AddToScheme(scheme); err != nil {
		return fmt.Errorf("register the kinds of AWS services: %w", err)
	}
	return nil
}

// setUpControllers makes the CRDs and adds the controllers of every kind.
func setUpControllers(ctx context.Context, mgr manager.Manager, p parts) error {
	err := controller.Setup(ctx, mgr, controller.Options{
		Engine: p.engine, Events: p.listener, Clock: p.opts.Clock,
		Region: p.clients.Region(awsapi.Target{}), AccountID: p.opts.Account, ClusterName: p.opts.ClusterName,
		WatchNamespaces: p.opts.WatchNamespaces, MaxConcurrentReconciles: p.opts.MaxConcurrentReconciles,
		Metrics: p.metrics,
	})
	if err != nil {
		return fmt.Errorf("set up the controllers of AWS services: %w", err)
	}
	return nil
}
