// Package retry implements the command retry, which makes the operator retry an object that is
// stalled.
package retry

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"

	clusterv1alpha1 "github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/cli/internal/objects"
	"github.com/aws-operator/aws-operator/internal/state"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// Command returns the command.
func Command() *cobra.Command {
	var namespace string
	cmd := &cobra.Command{
		Use:   "retry KIND/NAME",
		Short: "Retry an object that is stalled",
		Long: `Make the operator retry what failed for an object of the management cluster of the current
kubeconfig, after the cause outside the object was fixed. The operator does not retry a stalled
object otherwise until the object changes.

The command sets the annotation ` + stack.RetryAnnotation + ` to the current time.`,
		Example: `  aws-operator retry dynamodb/dynamo-table
  aws-operator retry instancegroup/demo-workers -n team-a`,
		Args: oneObject,
		RunE: func(cmd *cobra.Command, args []string) error {
			message, err := retry(cmd.Context(), namespace, args[0], clock.RealClock{}.Now())
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), message)
			return err
		},
	}
	cmd.Flags().StringVarP(&namespace, "namespace", "n", "", "namespace of the object (default: the namespace of the kubeconfig's context)")
	return cmd
}

func oneObject(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("name one object: %s KIND/NAME", cmd.CommandPath())
	}
	return nil
}

// retry asks the operator to retry an object, and returns what it said last.
func retry(ctx context.Context, namespace, reference string, now time.Time) (string, error) {
	kind, name, ok := strings.Cut(reference, "/")
	if !ok || kind == "" || name == "" {
		return "", fmt.Errorf("name the object as KIND/NAME, for example dynamodb/%s", reference)
	}
	config, current, err := state.Kubeconfig()
	if err != nil {
		return "", err
	}
	if namespace == "" {
		namespace = current
	}
	kinds, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return "", fmt.Errorf("use the kubeconfig: %w", err)
	}
	resource, namespaced, err := find(kinds, kind)
	if err != nil {
		return "", err
	}
	all, err := dynamic.NewForConfig(config)
	if err != nil {
		return "", fmt.Errorf("use the kubeconfig: %w", err)
	}
	api := dynamic.ResourceInterface(all.Resource(resource))
	if namespaced {
		api = all.Resource(resource).Namespace(namespace)
	}
	if resource.GroupResource() == clusters && strings.Contains(name, ".") {
		from, err := state.Open(ctx, state.Kubernetes, state.Options{Namespace: namespace})
		if err != nil {
			return "", err
		}
		if name, err = from.NameOf(ctx, name); err != nil {
			return "", err
		}
	}
	object, err := api.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("read %s: %w", reference, err)
	}
	stalled := operatorkit.FindCondition(object, operatorkit.ConditionStalled)
	if stalled == nil || stalled.Status != metav1.ConditionTrue {
		message := "it has not been reconciled yet"
		if ready := operatorkit.FindCondition(object, operatorkit.ConditionReady); ready != nil {
			message = ready.Message
		}
		return "", fmt.Errorf("%s is not stalled, so there is nothing to retry: %s", reference, message)
	}
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, stack.RetryAnnotation, now.UTC().Format(time.RFC3339))
	if _, err := api.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return "", fmt.Errorf("annotate %s: %w", reference, err)
	}
	return fmt.Sprintf("The operator retries %s. It had stalled because: %s", reference, stalled.Message), nil
}

// clusters are the objects that users may also call by their names in kops.
var clusters = clusterv1alpha1.GroupVersion.WithResource("clusters").GroupResource()

// find finds a kind of the operator by its kind, plural, singular or short name.
func find(kinds discovery.DiscoveryInterface, kind string) (resource schema.GroupVersionResource, namespaced bool, err error) {
	kind = strings.ToLower(kind)
	return objects.Find(kinds, kind, func(_ schema.GroupVersion, r *metav1.APIResource) bool {
		return kind == r.Name || kind == r.SingularName || kind == strings.ToLower(r.Kind) || slices.Contains(r.ShortNames, kind)
	})
}
