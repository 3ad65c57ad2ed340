package controller

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/outcomes"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/pki"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// kubeconfigValidity is the validity of a kubeconfig. It is renewed when a third is left.
const kubeconfigValidity = 365 * 24 * time.Hour

// kubeconfigStep manages the Secret with the cluster's kubeconfig for users and tools.
type kubeconfigStep struct{ *operator }

// Name returns the step's name.
func (s kubeconfigStep) Name() string { return "kubeconfig" }

// EnsureCreated creates the kubeconfig and renews it before it expires.
func (s kubeconfigStep) EnsureCreated(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	address := model.APIAddress(cluster.Status.Outputs)
	if address == "" {
		return operatorkit.Wait(outcomes.EventPoll, "NoAPIAddress", "The base stack has no load balancer address yet.")
	}
	if dns := cluster.Spec.DNS; dns != nil && dns.Name != "" {
		address = dns.Name
	}
	server := model.APIServer(address)
	cluster.Status.Endpoint = server
	now := s.options.Clock.Now()
	if last, ok := s.kubeconfigs.Get(cluster.UID); ok && last.server == server && now.Before(last.until) {
		return operatorkit.Done().RequeueAfter(last.until.Sub(now))
	}
	host, serverName, err := s.options.Clients.Resolver().Dial(ctx, address)
	if err != nil {
		return operatorkit.Fail(err)
	}
	cas, err := s.casOf(ctx, cluster)
	if err != nil {
		return brokenPKI(err)
	}
	in := pki.KubeconfigInput{
		Cluster: cluster.Name, Server: model.APIServer(host), ServerName: serverName, CommonName: cluster.Name + "-admin",
		Organisations: []string{pki.GroupAdmins}, Validity: kubeconfigValidity,
	}
	if err := s.write(ctx, cluster, cas, in); err != nil {
		return operatorkit.Fail(err)
	}
	// Check often enough to renew in time: a new kubeconfig is valid for at least two thirds of its
	// lifetime.
	until := now.Add(kubeconfigValidity / 12)
	s.kubeconfigs.Keep(cluster.UID, validity{server: server, until: until})
	return operatorkit.Done().RequeueAfter(until.Sub(now))
}

// write stores the kubeconfig in its Secret unless that has a valid one.
func (s kubeconfigStep) write(ctx context.Context, cluster *v1alpha1.Cluster, cas *pki.CAs, in pki.KubeconfigInput) error {
	if cluster.Status.Version == "" { // Most likely there is none.
		if err := s.make(ctx, cluster, cas, in); !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	secret := &corev1.Secret{}
	key := types.NamespacedName{Namespace: cluster.Namespace, Name: cluster.Name + pki.SuffixKubeconfig}
	err := s.direct.Get(ctx, key, secret)
	if apierrors.IsNotFound(err) {
		return s.make(ctx, cluster, cas, in)
	}
	if err != nil {
		return fmt.Errorf("read the Secret %s: %w", key, err)
	}
	if !metav1.IsControlledBy(secret, cluster) {
		return fmt.Errorf("the Secret %s exists but does not belong to this Cluster; delete or rename it", key)
	}
	if cas.KubeconfigDue(s.options.Clock, in, secret.Data[pki.KubeconfigKey]) == "" {
		return nil
	}
	kubeconfig, err := cas.Kubeconfig(s.options.Clock, in)
	if err != nil {
		return fmt.Errorf("create the kubeconfig of cluster %s: %w", cluster.Name, err)
	}
	secret.Data = map[string][]byte{pki.KubeconfigKey: kubeconfig}
	if err := s.direct.Update(ctx, secret); err != nil {
		return fmt.Errorf("write the Secret %s: %w", key, err)
	}
	return nil
}

// make creates the Secret.
func (s kubeconfigStep) make(ctx context.Context, cluster *v1alpha1.Cluster, cas *pki.CAs, in pki.KubeconfigInput) error {
	kubeconfig, err := cas.Kubeconfig(s.options.Clock, in)
	if err != nil {
		return fmt.Errorf("create the kubeconfig of cluster %s: %w", cluster.Name, err)
	}
	secret := &corev1.Secret{Type: corev1.SecretTypeOpaque, Data: map[string][]byte{pki.KubeconfigKey: kubeconfig}}
	secret.Namespace, secret.Name = cluster.Namespace, cluster.Name+pki.SuffixKubeconfig
	secret.Labels = map[string]string{model.TagCluster: cluster.Name}
	reference := metav1.NewControllerRef(cluster, v1alpha1.GroupVersion.WithKind("Cluster"))
	reference.BlockOwnerDeletion = nil
	secret.OwnerReferences = []metav1.OwnerReference{*reference}
	if err := s.direct.Create(ctx, secret); err != nil {
		return fmt.Errorf("create the Secret %s: %w", keyOf(secret), err)
	}
	return nil
}

// EnsureDeleted deletes the kubeconfig, which no longer has a server.
func (s kubeconfigStep) EnsureDeleted(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	s.kubeconfigs.Drop(cluster.UID)
	if err := s.deleteSecret(ctx, cluster, cluster.Name+pki.SuffixKubeconfig); err != nil {
		return operatorkit.Fail(err)
	}
	return operatorkit.Done()
}
