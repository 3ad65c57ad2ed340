package e2e

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/local/controlplane/controlplanetest"
	"github.com/aws-operator/aws-operator/internal/patience"
)

const (
	roleOfWeb = "arn:aws:iam::123456789012:role/web"
	tokens    = "/var/run/secrets/eks.amazonaws.com/serviceaccount"
)

// The policy in config/pod-identity.yaml gives a pod the role of its ServiceAccount, and changes no other pod.
func TestPodIdentityPolicy(t *testing.T) {
	t.Parallel()
	plane := controlplanetest.SharedWithControllers(t)
	core, namespace := kubernetes.NewForConfigOrDie(plane.RESTConfig()), controlplanetest.Namespace(t, plane)
	applyPodIdentity(t, dynamic.NewForConfigOrDie(plane.RESTConfig()))
	for name, annotations := range map[string]map[string]string{
		"web": {v1alpha1.RoleAnnotation: roleOfWeb}, "plain": nil, "empty": {v1alpha1.RoleAnnotation: ""},
	} {
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations}}
		if _, err := core.CoreV1().ServiceAccounts(namespace).Create(t.Context(), account, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	admitted := func(serviceAccount string) (*corev1.PodSpec, error) {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "pod-"}, Spec: corev1.PodSpec{
			ServiceAccountName: serviceAccount, AutomountServiceAccountToken: new(false),
			InitContainers: []corev1.Container{{Name: "first", Image: "image"}},
			Containers: []corev1.Container{
				{
					Name: "main", Image: "image", Env: []corev1.EnvVar{{Name: "LEVEL", Value: "info"}},
					VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/data"}},
				},
				{Name: "own", Image: "image", Env: []corev1.EnvVar{{Name: "AWS_WEB_IDENTITY_TOKEN_FILE", Value: "/own"}}},
			},
			Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
		}}
		made, err := core.CoreV1().Pods(namespace).Create(t.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil {
			return nil, err
		}
		return &made.Spec, nil
	}
	var spec *corev1.PodSpec
	patience.Until(t, "the API server enforces the policy", func() (err error) {
		spec, err = admitted("web")
		if err == nil && len(spec.Volumes) != 2 {
			err = fmt.Errorf("the pod has the volumes %+v: %w", spec.Volumes, errNotYet)
		}
		return err
	})
	role := []corev1.EnvVar{{Name: "AWS_ROLE_ARN", Value: roleOfWeb}, {Name: "AWS_WEB_IDENTITY_TOKEN_FILE", Value: tokens + "/token"}}
	mount := corev1.VolumeMount{Name: "aws-iam-token", MountPath: tokens}
	type container struct {
		Env    []corev1.EnvVar
		Mounts []corev1.VolumeMount
	}
	of := func(spec *corev1.PodSpec) map[string]container {
		got := map[string]container{}
		for _, c := range append(spec.InitContainers, spec.Containers...) {
			got[c.Name] = container{c.Env, c.VolumeMounts}
		}
		return got
	}
	data := corev1.VolumeMount{Name: "data", MountPath: "/data"}
	level := corev1.EnvVar{Name: "LEVEL", Value: "info"}
	want := map[string]container{
		"first": {role, []corev1.VolumeMount{mount}},
		"main":  {append([]corev1.EnvVar{level}, role...), []corev1.VolumeMount{data, mount}},
		"own":   {[]corev1.EnvVar{{Name: "AWS_WEB_IDENTITY_TOKEN_FILE", Value: "/own"}}, nil},
	}
	if diff := cmp.Diff(want, of(spec)); diff != "" {
		t.Errorf("the containers of web differ (-want +got):\n%s", diff)
	}
	source := spec.Volumes[1].Projected.Sources[0].ServiceAccountToken
	if source.Audience != "sts.amazonaws.com" || *source.ExpirationSeconds != 86400 || source.Path != "token" {
		t.Errorf("the token is %+v", source)
	}
	for _, other := range []string{"plain", "empty", ""} {
		spec, err := admitted(other)
		if err != nil || len(spec.Volumes) != 1 || len(of(spec)["main"].Env) != 1 || len(of(spec)["first"].Mounts) != 0 {
			t.Errorf("a pod of the ServiceAccount %q is changed: %+v, %v", other, spec, err)
		}
	}
}

var errNotYet = errors.New("not yet")

// applyPodIdentity applies config/pod-identity.yaml.
func applyPodIdentity(t *testing.T, client dynamic.Interface) {
	t.Helper()
	text, err := os.ReadFile("../../config/pod-identity.yaml")
	if err != nil {
		t.Fatal(err)
	}
	group := schema.GroupVersion{Group: "admissionregistration.k8s.io", Version: "v1"}
	for _, object := range decode(t, string(text)) {
		resource := map[string]string{
			"MutatingAdmissionPolicy": "mutatingadmissionpolicies", "MutatingAdmissionPolicyBinding": "mutatingadmissionpolicybindings",
		}[object.GetKind()]
		_, err := client.Resource(group.WithResource(resource)).Apply(
			t.Context(), object.GetName(), object, metav1.ApplyOptions{FieldManager: "e2e"},
		)
		if err != nil {
			t.Fatal(err)
		}
	}
}
