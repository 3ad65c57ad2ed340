package rollout

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/internal/cluster/workload"
)

// callTimeout bounds a call to the workload cluster.
const callTimeout = 20 * time.Second

// validate checks whether the cluster is as healthy as at the rollout's start, and counts
// consecutive successes.
func (r *Roller) validate(ctx context.Context, group *Group, w *seen) error {
	to := r.options.Workload(group.Cluster)
	if to == nil {
		return nil // Reported as unreachable.
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	pods, err := to.Core().Pods(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	var problem string
	if err != nil {
		problem = "The system pods cannot be checked because the cluster's API does not respond."
	} else {
		problem = unwell(to.Nodes(), pods.Items, w)
	}
	r.change(group, func(past *recent) {
		passed := past.validation.Passed + 1
		if problem != "" {
			passed = 0
		}
		past.validation = Validation{Passed: passed, Problem: problem, At: r.options.Clock.Now()}
	})
	return nil
}

// unwell describes nodes and pods that became unhealthy or appeared unhealthy since the rollout
// began. It ignores the group's own instances, which other checks cover, and what was already
// unhealthy before.
func unwell(nodes []workload.Node, pods []corev1.Pod, w *seen) string {
	own, since := map[string]bool{}, w.Memory.Started
	for i := range w.Instances {
		own[w.Instances[i].ID] = true
	}
	var problems []string
	sick := map[string]bool{}
	for i := range nodes {
		node := &nodes[i]
		if node.Ready {
			continue
		}
		sick[node.Name] = true
		if !own[node.InstanceID] && !node.ReadyChanged.Before(since) {
			problems = append(problems, "node "+node.Name)
		}
	}
	for i := range pods {
		if pod := &pods[i]; workload.IsSystemPod(pod) && !sick[pod.Spec.NodeName] && !workload.PodUnreadySince(pod).Before(since) {
			problems = append(problems, "pod "+pod.Namespace+"/"+pod.Name)
		}
	}
	if len(problems) == 0 {
		return ""
	}
	slices.Sort(problems)
	const most = 5
	if more := len(problems) - most; more > 0 {
		problems = append(problems[:most], fmt.Sprintf("%d more", more))
	}
	return fmt.Sprintf("Waiting for these to become Ready again: %s.", strings.Join(problems, ", "))
}
