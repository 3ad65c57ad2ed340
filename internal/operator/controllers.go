package operator

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	clusterv1alpha1 "github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	identityv1alpha1 "github.com/aws-operator/aws-operator/api/identity/v1alpha1"
	servicev1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/addons"
	"github.com/aws-operator/aws-operator/internal/cluster/cleanup"
	clusters "github.com/aws-operator/aws-operator/internal/cluster/controller"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
	"github.com/aws-operator/aws-operator/internal/identity"
	"github.com/aws-operator/aws-operator/internal/objectmetrics"
	services "github.com/aws-operator/aws-operator/internal/service/controller"
)

// addTypes registers the operator's own kinds.
func addTypes(scheme *runtime.Scheme) error {
	if err := servicev1alpha1.AddToScheme(scheme); err != nil {
		return fmt.Errorf("register the kinds of AWS services: %w", err)
	}
	if err := clusterv1alpha1.AddToScheme(scheme); err != nil {
		return fmt.Errorf("register the kinds of clusters: %w", err)
	}
	return nil
}

// setUpControllers makes the CRDs and adds the controllers of every kind.
func setUpControllers(ctx context.Context, mgr manager.Manager, p parts) error {
	err := p.identities.Setup(ctx, mgr, identity.SetupOptions{
		STS: p.clients.STS, Clock: p.opts.Clock, Metrics: p.metrics, Shard: p.opts.shard,
		KindExists: p.opts.kindsExist(),
	})
	if err != nil {
		return fmt.Errorf("set up the controller of identities: %w", err)
	}
	err = services.Setup(ctx, mgr, services.Options{
		Engine: p.engine, Events: p.listener, Clock: p.opts.Clock, Identities: p.identities,
		Region: p.clients.Region(awsapi.Target{}), AccountID: p.opts.Account, ClusterName: p.opts.ClusterName,
		WatchNamespaces: p.opts.WatchNamespaces, Shard: p.opts.shard, KindsExist: p.opts.kindsExist(),
		MaxConcurrentReconciles: p.opts.MaxConcurrentReconciles,
		Metrics:                 p.metrics, ObjectMetrics: p.objects, BackgroundLimiter: p.limiter, Limits: p.opts.Limits,
		ServiceAccountIssuer: p.opts.ServiceAccountIssuer,
		EKSCluster:           p.opts.EKSCluster,
		DriftInterval:        p.opts.DriftInterval,
	})
	if err != nil {
		return fmt.Errorf("set up the controllers of AWS services: %w", err)
	}
	if err := setUpClusters(ctx, mgr, p); err != nil {
		return fmt.Errorf("set up the controllers of clusters: %w", err)
	}
	p.objects.Add(objectmetrics.Cached(mgr.GetCache(), mgr.GetScheme(),
		&clusterv1alpha1.ClusterList{}, &clusterv1alpha1.InstanceGroupList{}))
	p.objects.Add(objectmetrics.Cached(mgr.GetCache(), mgr.GetScheme(), &clusterv1alpha1.FleetList{}).Where(
		func(obj client.Object) bool { return p.opts.shard.Has(client.ObjectKeyFromObject(obj).String()) }))
	p.objects.Add(objectmetrics.Cached(mgr.GetCache(), mgr.GetScheme(),
		&servicev1alpha1.ModelDefinitionList{}, &identityv1alpha1.AWSIdentityList{},
	).Where(func(obj client.Object) bool { return p.opts.shard.Has(obj.GetName()) }))
	p.objects.Add(objectmetrics.Cached(mgr.GetCache(), mgr.GetScheme(), &servicev1alpha1.CloudFormationTemplateList{}).Where(
		func(obj client.Object) bool { return p.opts.shard.Has(obj.GetNamespace()) }))
	return nil
}

// ensureKinds makes the CRDs of every kind and the built-in Releases.
func ensureKinds(ctx context.Context, config *rest.Config) error {
	releases, err := release.Builtin()
	if err != nil {
		return fmt.Errorf("read the built-in releases: %w", err)
	}
	if err := identity.EnsureKind(ctx, config); err != nil {
		return err
	}
	if err := services.EnsureKinds(ctx, config); err != nil {
		return err
	}
	return clusters.EnsureKinds(ctx, config, releases)
}

// kindsExist reports whether the process of a shard has made the CRDs.
func (o *Options) kindsExist() bool { return o.shard.Count > 1 }

// setUpClusters makes the CRDs and the built-in Releases and adds the controllers of clusters.
func setUpClusters(ctx context.Context, mgr manager.Manager, p parts) error {
	releases, err := release.Builtin()
	if err != nil {
		return fmt.Errorf("read the built-in releases: %w", err)
	}
	charts, err := ChartsFolder()
	if err != nil {
		return err
	}
	return clusters.Setup(ctx, mgr, clusters.Options{
		Engine: p.engine, Events: p.listener, Clock: p.opts.Clock, Clients: p.clients,
		Workload:  workload.New(workload.Options{Logger: p.opts.Logger.WithName("workload"), UserAgent: p.opts.UserAgent}),
		AccountID: p.opts.Account, ClusterName: p.opts.ClusterName, NodeupDir: p.opts.NodeupDir,
		WatchNamespaces: p.opts.WatchNamespaces, Shard: p.opts.shard, KindsExist: p.opts.kindsExist(),
		MaxConcurrentReconciles: p.opts.MaxConcurrentReconciles,
		DriftInterval:           p.opts.DriftInterval,
		ClusterAPI:              p.opts.ClusterAPI, Logger: p.opts.Logger.WithName("cluster-api"),
		Metrics: p.metrics, BackgroundLimiter: p.limiter, Releases: releases, Roles: p.opts.Roles, Identities: p.identities,
		Addons:  addons.New(addons.Options{Folder: charts, Clock: p.opts.Clock, Logger: p.opts.Logger.WithName("addons")}),
		Cleanup: cleanup.New(p.clients, p.opts.ClusterName, p.opts.Clock, p.opts.Logger.WithName("cleanup")),
	})
}

// ChartsFolder is where fetched charts are kept between starts, if there is such a place; a new one
// else. It returns an error when none can be made.
func ChartsFolder() (string, error) {
	if cached, err := os.UserCacheDir(); err == nil {
		folder := filepath.Join(cached, "aws-operator", "charts")
		if err := os.MkdirAll(folder, 0o700); err == nil {
			return folder, nil
		}
	}
	folder, err := os.MkdirTemp("", "aws-operator-charts-")
	if err != nil {
		return "", fmt.Errorf("make a folder for charts: %w", err)
	}
	return folder, nil
}
