package inprocess

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/awsevents"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/cluster/addons"
	"github.com/aws-operator/aws-operator/internal/cluster/cleanup"
	"github.com/aws-operator/aws-operator/internal/cluster/controller"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
	"github.com/aws-operator/aws-operator/internal/grant"
	"github.com/aws-operator/aws-operator/internal/operator"
)

// manager creates the operator's controllers of clusters, without leader election, ports and
// webhooks, and without a queue in AWS.
func (r *run) manager(ctx context.Context) (ctrl.Manager, error) {
	ctrl.SetLogger(r.Logger)
	aws := r.AWS
	aws.Region, aws.Logger = r.region, r.Logger
	clients, err := awsapi.New(ctx, aws)
	if err != nil {
		return nil, fmt.Errorf("create AWS clients: %w", err)
	}
	account, err := clients.Identity(ctx)
	if err != nil {
		return nil, fmt.Errorf("get the identity of the AWS credentials: %w", err)
	}
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("register Kubernetes' types: %w", err)
	}
	skip := true // Several runs may be in one process.
	mgr, err := ctrl.NewManager(r.config, ctrl.Options{
		Scheme: scheme, Logger: r.Logger, Metrics: metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: &skip},
		Cache:      cache.Options{DefaultTransform: cache.TransformStripManagedFields()},
	})
	if err != nil {
		return nil, fmt.Errorf("create the controller manager: %w", err)
	}
	engine := stack.New(stack.Options{Clients: clients, Clock: r.Clock, PollInterval: r.Poll})
	events := &polled{
		listener: awsevents.New(awsevents.Options{
			Clients: clients, Engine: engine, Clock: r.Clock, Logger: r.Logger.WithName("events"), AccountID: account,
		}),
		clock: r.Clock, every: r.Poll, targets: map[string]awsapi.Target{"": r.target},
	}
	r.clients, r.events = clients, events
	if err := mgr.Add(events); err != nil {
		return nil, fmt.Errorf("add the instance events poller: %w", err)
	}
	releases, err := release.Builtin()
	if err != nil {
		return nil, fmt.Errorf("read the built-in releases: %w", err)
	}
	charts, err := operator.ChartsFolder()
	if err != nil {
		return nil, err
	}
	err = controller.Setup(ctx, mgr, controller.Options{
		Engine: engine, Events: events, Clock: r.Clock, Clients: clients,
		Workload: workload.New(
			workload.Options{Logger: r.Logger.WithName("workload"), Clock: r.Clock, UserAgent: r.AWS.UserAgent, Config: r.Workload},
		),
		AccountID: account, ClusterName: operator.DefaultClusterName, NodeupDir: r.NodeupDir, Releases: releases, Brief: true,
		Roles:   []grant.Grant{{Namespace: "*", Pattern: "*"}}, // The user's own credentials decide.
		Addons:  addons.New(addons.Options{Folder: charts, Clock: r.Clock, Logger: r.Logger.WithName("addons")}),
		Cleanup: cleanup.New(clients, operator.DefaultClusterName, r.Clock, r.Logger.WithName("cleanup")),
	})
	if err != nil {
		return nil, fmt.Errorf("set up the controllers of clusters: %w", err)
	}
	return mgr, nil
}
