package operator

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
)

const (
	// namespacesAfter is how long an API server that has just started may take to create its
	// namespaces, and namespacesAgain is the polling interval.
	namespacesAfter = time.Minute
	namespacesAgain = 250 * time.Millisecond
)

// managementCluster identifies the cluster in which the objects are: by the UID of its namespace
// kube-system, which every cluster has, which users cannot choose, and which copies of manifests do
// not contain. https://github.com/kubernetes/kubernetes/issues/77487
func managementCluster(ctx context.Context, config *rest.Config) (string, error) {
	client, err := corev1client.NewForConfig(config)
	if err != nil {
		return "", fmt.Errorf("make a client: %w", err)
	}
	var uid string
	err = wait.PollUntilContextTimeout(ctx, namespacesAgain, namespacesAfter, true, func(ctx context.Context) (bool, error) {
		found, err := client.Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		if err != nil {
			return false, err //nolint:wrapcheck // it is explained below
		}
		uid = string(found.UID)
		return true, nil
	})
	if apierrors.IsForbidden(err) {
		return "", fmt.Errorf(
			"identify this management cluster: %w; let the operator get the namespace %s, as config/operator.yaml does",
			err,
			metav1.NamespaceSystem,
		)
	}
	if err != nil {
		return "", fmt.Errorf("identify this management cluster by its namespace %s: %w", metav1.NamespaceSystem, err)
	}
	return uid, nil
}
