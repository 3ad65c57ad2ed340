package drain

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestDeregistrationFollowsTheAnnotationsOfServices(t *testing.T) {
	service := func(kind corev1.ServiceType, class string, annotations ...string) corev1.Service {
		s := corev1.Service{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{}}, Spec: corev1.ServiceSpec{Type: kind}}
		if class != "" {
			s.Spec.LoadBalancerClass = &class
		}
		for i := 0; i < len(annotations); i += 2 {
			s.Annotations["service.beta.kubernetes.io/aws-load-balancer-"+annotations[i]] = annotations[i+1]
		}
		return s
	}
	const balanced, attributes = corev1.ServiceTypeLoadBalancer, "target-group-attributes"
	cases := map[string]struct {
		services []corev1.Service
		want     time.Duration
	}{
		"no load balancers":   {[]corev1.Service{service(corev1.ServiceTypeNodePort, "", "type", "nlb")}, 0},
		"classic by default":  {[]corev1.Service{service(balanced, "")}, 30 * time.Second},
		"classic that drains": {[]corev1.Service{service(balanced, "", "connection-draining-enabled", "true")}, 330 * time.Second},
		"classic with a timeout": {
			[]corev1.Service{service(balanced, "", "connection-draining-enabled", "true", "connection-draining-timeout", "60")},
			90 * time.Second,
		},
		"network by default":   {[]corev1.Service{service(balanced, "", "type", "nlb")}, 330 * time.Second},
		"network by its class": {[]corev1.Service{service(balanced, "service.k8s.aws/nlb")}, 330 * time.Second},
		"network with a delay": {
			[]corev1.Service{service(balanced, "", "type", "external", attributes, "a=b, deregistration_delay.timeout_seconds=600")}, 630 * time.Second,
		},
		"network with a delay that AWS exceeds": {
			[]corev1.Service{service(balanced, "", "type", "nlb", attributes, "deregistration_delay.timeout_seconds=0")}, 150 * time.Second,
		},
		"an invalid delay": {
			[]corev1.Service{service(balanced, "", "type", "nlb", attributes, "deregistration_delay.timeout_seconds=x")}, 330 * time.Second,
		},
		"the longest counts": {[]corev1.Service{service(balanced, "", "type", "nlb"), service(balanced, "")}, 330 * time.Second},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := deregistration(c.services); got != c.want {
				t.Errorf("the node is used for %s, want %s", got, c.want)
			}
		})
	}
}
