package controller

import (
	"context"
	"fmt"
	"html"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/aws-operator/aws-operator/pkg/operatorkit"
	v1 "github.com/aws-operator/aws-operator/pkg/operatorkit/examples/website/api/v1"
)

type steps struct{ client client.Client }

// validate stalls a Website that has no title. Only a user can fix that.
func validate(_ context.Context, site *v1.Website) operatorkit.Outcome {
	if site.Spec.Title == "" {
		return operatorkit.Stall("TitleMissing", "Set spec.title.")
	}
	return operatorkit.Done()
}

// page writes the page into a ConfigMap.
func (s steps) page(ctx context.Context, site *v1.Website) operatorkit.Outcome {
	config := &corev1.ConfigMap{ObjectMeta: meta(site)}
	return s.apply(ctx, site, config, func() {
		config.Data = map[string]string{"index.html": "<h1>" + html.EscapeString(site.Spec.Title) + "</h1>\n"}
	})
}

// service makes the pods reachable.
func (s steps) service(ctx context.Context, site *v1.Website) operatorkit.Outcome {
	service := &corev1.Service{ObjectMeta: meta(site)}
	return s.apply(ctx, site, service, func() {
		service.Spec.Selector = labels(site)
		service.Spec.Ports = []corev1.ServicePort{{Port: 80}}
	})
}

// deployment runs the pods, and waits until they are available.
func (s steps) deployment(ctx context.Context, site *v1.Website) operatorkit.Outcome {
	deployment := &appsv1.Deployment{ObjectMeta: meta(site)}
	outcome := s.apply(ctx, site, deployment, func() {
		deployment.Spec.Replicas = &site.Spec.Replicas
		deployment.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels(site)}
		deployment.Spec.Template.Labels = labels(site)
		deployment.Spec.Template.Spec.Containers = []corev1.Container{{
			Name: "nginx", Image: "nginx:1.29",
			VolumeMounts: []corev1.VolumeMount{{Name: "page", MountPath: "/usr/share/nginx/html"}},
		}}
		source := &corev1.ConfigMapVolumeSource{}
		source.Name = site.Name
		deployment.Spec.Template.Spec.Volumes = []corev1.Volume{{
			Name: "page", VolumeSource: corev1.VolumeSource{ConfigMap: source},
		}}
	})
	if !outcome.IsDone() {
		return outcome
	}
	site.Status.Available = deployment.Status.AvailableReplicas
	if site.Status.Available < site.Spec.Replicas {
		return operatorkit.Wait(0, "PodsMissing", fmt.Sprintf("%d of %d pods are available.", site.Status.Available, site.Spec.Replicas)).
			WithoutEvent()
	}
	return operatorkit.Done().Explain("Serving", "The page is served.")
}

// apply creates or updates an object that the Website owns.
func (s steps) apply(ctx context.Context, site *v1.Website, obj client.Object, change func()) operatorkit.Outcome {
	_, err := controllerutil.CreateOrUpdate(ctx, s.client, obj, func() error {
		change()
		return controllerutil.SetControllerReference(site, obj, s.client.Scheme())
	})
	if err != nil {
		return operatorkit.Fail(err)
	}
	return operatorkit.Done()
}

func meta(site *v1.Website) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: site.Name, Namespace: site.Namespace}
}

func labels(site *v1.Website) map[string]string { return map[string]string{"website": site.Name} }
