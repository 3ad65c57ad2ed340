package containers

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"

	"github.com/aws-operator/aws-operator/examples"
	"github.com/aws-operator/aws-operator/internal/local/containerbuild"
	"github.com/aws-operator/aws-operator/internal/local/environment"
	"github.com/aws-operator/aws-operator/internal/patience"
)

const shop = `
apiVersion: cluster-operator.aws/v1alpha1
kind: Cluster
metadata: {name: shop, namespace: default}
spec:
  release: v1.36.3-containers
  region: eu-central-1
  network: {cidr: 10.40.0.0/16, zones: [eu-central-1a], topology: Public}
  controlPlane: {replicas: 1, instanceType: t3.medium}
  serviceAccountIssuer: {}
---
apiVersion: cluster-operator.aws/v1alpha1
kind: InstanceGroup
metadata: {name: shop-workers, namespace: default}
spec: {cluster: shop, minSize: 1, maxSize: 1, instanceTypes: [t3.medium]}
`

// applicationImage has the program of package test/containers/application.
const applicationImage = "registry.k8s.io/machine/application:1"

// served are the resources of the objects of the example and of config/pod-identity.yaml.
var served = map[string]schema.GroupVersionResource{
	"ServiceAccount":                 {Version: "v1", Resource: "serviceaccounts"},
	"Deployment":                     {Group: "apps", Version: "v1", Resource: "deployments"},
	"SQSQueue":                       {Group: "service-operator.aws", Version: "v1alpha1", Resource: "sqsqueues"},
	"DynamoDB":                       {Group: "service-operator.aws", Version: "v1alpha1", Resource: "dynamodbs"},
	"RDSInstance":                    {Group: "service-operator.aws", Version: "v1alpha1", Resource: "rdsinstances"},
	"MutatingAdmissionPolicy":        {Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingadmissionpolicies"},
	"MutatingAdmissionPolicyBinding": {Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingadmissionpolicybindings"},
}

// The example of an application runs on a cluster with an issuer of tokens, on which an operator serves the
// services: its pods use the queue and the table with their projected tokens. Images come from no registry
// of the internet, so that the container has a program of the test, which does the same. A Deployment
// without a token and a role does, too, when the cluster has the policy for pod identities.
func TestApplicationRuns(t *testing.T) {
	skip(t)
	env, client := startWith(t, environment.Options{Layouts: []string{applicationLayout(t)}})
	objects := apply(t, client, shop)
	for _, object := range objects {
		await(t, client, object)
	}
	w, c := connect(t, env, "shop"), clouds(t, env)
	w.serve(t, env, issuerOf(t, client, objects[0]))
	inside := dynamic.NewForConfigOrDie(w.config)

	application := documents(t, examples.Application)
	for _, object := range application {
		if object.GetKind() == "Deployment" {
			object = w.withProgram(t, object)
		}
		create(t, inside, object)
	}
	w.checkUses(t, c, "shop", false)

	for _, object := range documents(t, os.DirFS("../../config"), "pod-identity.yaml") {
		create(t, inside, object)
	}
	w.checkUses(t, c, w.runPlain(t), true)

	w.removeServices(t, inside, application)
	for _, object := range []*unstructured.Unstructured{objects[1], objects[0]} {
		remove(t, client, object)
	}
}

// applicationLayout builds the image of the application.
func applicationLayout(t *testing.T) string {
	t.Helper()
	program, layout := filepath.Join(t.TempDir(), "application"), filepath.Join(t.TempDir(), "images")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./application")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the application: %v: %s", err, out)
	}
	err := containerbuild.WriteLayout(layout, []containerbuild.Image{{
		Names: []string{applicationImage}, Files: map[string]string{"/application": program}, Entrypoint: []string{"/application"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return layout
}

// documents returns the objects of manifests.
func documents(t *testing.T, files fs.FS, only ...string) []*unstructured.Unstructured {
	t.Helper()
	var all []*unstructured.Unstructured
	err := fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || len(only) > 0 && path != only[0] {
			return err
		}
		text, err := fs.ReadFile(files, path)
		if err != nil {
			return err
		}
		for document := range strings.SplitSeq(string(text), "---\n") {
			object := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
				return err
			}
			all = append(all, object)
		}
		return nil
	})
	if err != nil || len(all) == 0 {
		t.Fatalf("%d objects, %v", len(all), err)
	}
	return all
}

// create creates an object as soon as its kind is served.
func create(t *testing.T, client dynamic.Interface, object *unstructured.Unstructured) {
	t.Helper()
	resource := served[object.GetKind()]
	var all dynamic.ResourceInterface = client.Resource(resource)
	if resource.Group != "admissionregistration.k8s.io" {
		all = client.Resource(resource).Namespace("default")
	}
	patience.Until(t, object.GetKind()+" "+object.GetName()+" is created", func() error {
		_, err := all.Create(t.Context(), object, metav1.CreateOptions{})
		return err
	})
}

// issuerOf returns the URL of the issuer of a Cluster's tokens, from the ARN of its provider.
func issuerOf(t *testing.T, client dynamic.Interface, cluster *unstructured.Unstructured) string {
	t.Helper()
	found, err := client.Resource(kinds["Cluster"]).Namespace("default").Get(t.Context(), cluster.GetName(), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	arn, _, _ := unstructured.NestedString(found.Object, "status", "outputs", "Issuer")
	_, host, ok := strings.Cut(arn, ":oidc-provider/")
	if !ok {
		t.Fatalf("the ARN of the issuer is %q", arn)
	}
	return "https://" + host
}

// serve runs an operator for the cluster, until the test ends.
func (w *workload) serve(t *testing.T, env *environment.Environment, issuer string) {
	t.Helper()
	dir := t.TempDir()
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(kubeconfig, w.kubeconfig, 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(dir, "operator.log"))
	if err != nil {
		t.Fatal(err)
	}
	operator := exec.CommandContext(t.Context(), "../../bin/aws-operator", "operator", "--kubeconfig="+kubeconfig,
		"--cluster-name=shop", "--service-account-issuer="+issuer, "--metrics-bind-address=0", "--health-probe-bind-address=0",
		"--aws-region=eu-central-1", "--aws-endpoint-url="+env.State().AWS)
	operator.Env = append(os.Environ(), "AWS_ACCESS_KEY_ID="+environment.Account, "AWS_SECRET_ACCESS_KEY="+environment.Secret,
		"AWS_EC2_METADATA_DISABLED=true")
	operator.Stdout, operator.Stderr = log, log
	if err := operator.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = operator.Wait() // the end of the test's context has killed it
		text, err := os.ReadFile(log.Name())
		if t.Failed() && err == nil {
			t.Logf("the log of the cluster's operator:\n%s", text[max(0, len(text)-5000):])
		}
		_ = log.Close()
	})
}

// withProgram puts the program of the test in place of the aws command, which no registry serves here.
func (w *workload) withProgram(t *testing.T, deployment *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	typed := &appsv1.Deployment{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(deployment.Object, typed); err != nil {
		t.Fatal(err)
	}
	container := &typed.Spec.Template.Spec.Containers[0]
	container.Image, container.Command, container.Args = applicationImage, nil, nil
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: fields}
}

// runPlain runs the application with nothing but its ServiceAccount: no role and no token.
func (w *workload) runPlain(t *testing.T) string {
	t.Helper()
	from := func(name, configMap, key string) corev1.EnvVar {
		return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: configMap}, Key: key,
		}}}
	}
	labels := map[string]string{"app": "plain"}
	_, err := w.client.AppsV1().Deployments("default").Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "plain"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				ServiceAccountName: "shop",
				Containers: []corev1.Container{{Name: "plain", Image: applicationImage, Env: []corev1.EnvVar{
					from("AWS_REGION", "shop-carts", "region"), from("QUEUE_URL", "shop-queue", "QUEUE_URL"),
					from("TABLE_NAME", "shop-table", "TABLE_NAME"),
				}}},
			}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return "plain"
}

// checkUses checks that a pod of a Deployment has used the queue and the table with the role of its
// ServiceAccount. A pod that started before the API server enforced the policy is replaced.
func (w *workload) checkUses(t *testing.T, c *cloud, app string, replace bool) {
	t.Helper()
	var pod string
	patience.Until(t, "the application "+app+" has used AWS", func() error {
		pods, err := w.client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{LabelSelector: "app=" + app})
		if err != nil || len(pods.Items) == 0 {
			return errors.Join(err, errors.New("there is no pod"))
		}
		pod = pods.Items[0].Name
		if replace && len(pods.Items[0].Spec.Volumes) < 2 {
			err := w.client.CoreV1().Pods("default").Delete(t.Context(), pod, metav1.DeleteOptions{})
			return errors.Join(err, errors.New("the policy has not changed the pod"))
		}
		logs, err := w.client.CoreV1().Pods("default").GetLogs(pod, &corev1.PodLogOptions{}).DoRaw(t.Context())
		if err != nil || !strings.Contains(string(logs), "done as arn:aws:sts::"+environment.Account+":assumed-role/shop-default-shop-") {
			return errors.Join(err, fmt.Errorf("the pod is %s, its logs are %q", pods.Items[0].Status.Phase, logs))
		}
		return nil
	})
	table := dynamodb.NewFromConfig(c.config)
	item, err := table.GetItem(t.Context(), &dynamodb.GetItemInput{
		TableName: aws.String("shop-carts"), Key: map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: pod}},
		ConsistentRead: aws.Bool(true),
	})
	if err != nil || len(item.Item) == 0 {
		t.Errorf("the table has no item of the pod %s: %v", pod, err)
	}
	queues := sqs.NewFromConfig(c.config)
	url, err := queues.GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: aws.String("shop-orders")})
	if err != nil {
		t.Fatal(err)
	}
	patience.Until(t, "the queue has the message of the pod "+pod, func() error {
		got, err := queues.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: url.QueueUrl, MaxNumberOfMessages: 10})
		if err != nil {
			return err
		}
		for _, message := range got.Messages {
			if *message.Body == pod {
				return nil
			}
		}
		return fmt.Errorf("it has %d others", len(got.Messages))
	})
}

// removeServices deletes the services, so that their operator leaves nothing in AWS.
func (w *workload) removeServices(t *testing.T, client dynamic.Interface, objects []*unstructured.Unstructured) {
	t.Helper()
	for _, object := range objects {
		all := client.Resource(served[object.GetKind()]).Namespace("default")
		if err := all.Delete(t.Context(), object.GetName(), metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
		patience.Until(t, object.GetKind()+" "+object.GetName()+" is deleted", func() error {
			_, err := all.Get(t.Context(), object.GetName(), metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return nil
			}
			return errors.Join(err, errors.New("it exists"))
		})
	}
}
