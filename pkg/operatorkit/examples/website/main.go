// Command website is an operator for the Website kind.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/aws-operator/aws-operator/pkg/operatorkit"
	v1 "github.com/aws-operator/aws-operator/pkg/operatorkit/examples/website/api/v1"
	"github.com/aws-operator/aws-operator/pkg/operatorkit/examples/website/controller"
)

func main() {
	ctrl.SetLogger(klog.Background())
	if err := run(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, "website:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	cfg, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find the cluster: %w", err)
	}
	crd, err := v1.CRD()
	if err != nil {
		return fmt.Errorf("read the CRD: %w", err)
	}
	ensuring, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := operatorkit.EnsureCRDs(ensuring, cfg, "website-operator", crd); err != nil {
		return fmt.Errorf("install the CRD: %w", err)
	}
	if err := v1.AddToScheme(scheme.Scheme); err != nil {
		return fmt.Errorf("register the Website kind: %w", err)
	}
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{Scheme: scheme.Scheme})
	if err != nil {
		return fmt.Errorf("create the manager: %w", err)
	}
	if err := controller.Setup(mgr); err != nil {
		return err
	}
	return mgr.Start(ctx)
}
