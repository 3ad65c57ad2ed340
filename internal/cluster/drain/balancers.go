package drain

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
)

// Annotations of Services that configure load balancers, of AWS's cloud controller manager and of the
// AWS Load Balancer Controller:
// https://cloud-provider-aws.sigs.k8s.io/service_controller/
// https://kubernetes-sigs.github.io/aws-load-balancer-controller/latest/guide/service/annotations/
const (
	balancerPrefix  = "service.beta.kubernetes.io/aws-load-balancer-"
	balancerKind    = balancerPrefix + "type"
	groupAttributes = balancerPrefix + "target-group-attributes"
	classicDrains   = balancerPrefix + "connection-draining-enabled"
	classicTimeout  = balancerPrefix + "connection-draining-timeout"
	delayAttribute  = "deregistration_delay.timeout_seconds"
	networkClass    = "service.k8s.aws/nlb"
)

const (
	// controllerTime is how long a controller may take to deregister a node that is excluded from load
	// balancers.
	controllerTime = 30 * time.Second
	// defaultDelay is how long a deregistered target keeps its connections by default:
	// https://docs.aws.amazon.com/elasticloadbalancing/latest/network/edit-target-group-attributes.html
	// https://docs.aws.amazon.com/elasticloadbalancing/latest/classic/config-conn-drain.html
	defaultDelay = 5 * time.Minute
	// networkTime is how long a network load balancer may send new connections to a deregistered target,
	// whatever its delay. AWS's documentation does not say so; its support and users do:
	// https://github.com/aws/containers-roadmap/issues/470
	// https://github.com/kubernetes-sigs/aws-load-balancer-controller/issues/2366
	networkTime = 2 * time.Minute
)

// deregistration returns how long the load balancers of Services may use a node after it has been
// excluded from them.
func deregistration(services []corev1.Service) time.Duration {
	var longest time.Duration
	for i := range services {
		if service := &services[i]; service.Spec.Type == corev1.ServiceTypeLoadBalancer {
			longest = max(longest, controllerTime+delayOf(service))
		}
	}
	return longest
}

// delayOf returns how long a load balancer uses a deregistered node.
func delayOf(service *corev1.Service) time.Duration {
	class := service.Spec.LoadBalancerClass
	if kind := service.Annotations[balancerKind]; kind == "" && (class == nil || *class != networkClass) {
		if service.Annotations[classicDrains] != "true" {
			return 0 // connections end when the node is deregistered
		}
		return seconds(service.Annotations[classicTimeout])
	}
	for attribute := range strings.SplitSeq(service.Annotations[groupAttributes], ",") {
		if key, value, _ := strings.Cut(strings.TrimSpace(attribute), "="); key == delayAttribute {
			return max(seconds(value), networkTime)
		}
	}
	return defaultDelay
}

// seconds parses a delay; anything else is the default.
func seconds(text string) time.Duration {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return defaultDelay
	}
	return time.Duration(n) * time.Second
}

// observeBalancers determines, once, until when load balancers use the node. It returns an error if
// the Services cannot be listed.
func (r *run) observeBalancers(ctx context.Context) error {
	if r.settled || !r.excluded {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	clients, err := r.to.Kubernetes()
	if err != nil {
		return fmt.Errorf("create clients: %w", err)
	}
	services, err := clients.CoreV1().Services(metav1.NamespaceAll).List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("spec.type", string(corev1.ServiceTypeLoadBalancer)).String(),
	})
	if err != nil {
		return fmt.Errorf("list Services: %w", err)
	}
	if wait := deregistration(services.Items); wait > 0 {
		r.view.settles = r.view.began.Add(wait)
	}
	r.settled = true
	return nil
}
