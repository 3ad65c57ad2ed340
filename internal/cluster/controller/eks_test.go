package controller_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsevents"
	"github.com/aws-operator/aws-operator/internal/cluster/pki"
	"github.com/aws-operator/aws-operator/internal/machines/fake"
	"github.com/aws-operator/aws-operator/internal/permissions"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
)

// eksSuite is a suite with a cluster whose control plane EKS runs, with one group of two nodes.
type eksSuite struct {
	*suite

	host    *fake.Host
	managed *v1alpha1.Cluster
	group   *v1alpha1.InstanceGroup
}

// nodesAreUpdated waits until the cluster's status says that both nodes are up to date.
func (w *eksSuite) nodesAreUpdated() {
	w.t.Helper()
	w.eventually("all nodes are up to date", func() error {
		err := w.client.Get(w.t.Context(), client.ObjectKeyFromObject(w.managed), w.managed)
		if summary := w.managed.Status.Nodes.UpdatedSummary; err == nil && summary != "2/2" {
			return fmt.Errorf("%s are", summary)
		}
		return err
	})
}

func newEKSSuite(t *testing.T, latency func(resourceType, operation string) time.Duration, changes ...func(*eksSuite)) *eksSuite {
	t.Helper()
	host := fake.New(fake.Options{})
	w := &eksSuite{suite: newSuite(t, host, latency), host: host}
	w.key = w.least()
	w.start() // makes the kinds
	for _, version := range []string{"v1.34.5", "v1.35.1"} {
		release := aRelease(version)
		release.Spec.Kubernetes = version
		if err := client.IgnoreAlreadyExists(w.client.Create(t.Context(), release)); err != nil {
			t.Fatal(err)
		}
	}
	w.managed, w.group = w.aCluster("managed"), w.aGroup("managed-workers", "managed")
	w.managed.Spec.Release = "v1.35.1"
	w.managed.Spec.ControlPlane = v1alpha1.ControlPlane{EKS: &v1alpha1.EKS{}}
	for _, change := range changes {
		change(w)
	}
	w.create(w.managed)
	if w.group != nil {
		w.create(w.group)
	}
	return w
}

// least returns the key of an operator with the policies that `aws-operator iam policy --kind Cluster --eks` prints.
func (w *eksSuite) least() aws.Credentials {
	w.t.Helper()
	choice := permissions.Choice{
		Clusters: true, EKS: true, Partition: "aws", Suffix: "amazonaws.com", Account: account, Operator: clusterName,
		Events: awsevents.StackName(clusterName),
	}
	documents, err := choice.Documents()
	if err != nil {
		w.t.Fatal(err)
	}
	root := w.awsConfig(account, region)
	var arns []string
	for _, d := range documents {
		arns = append(arns, simulatortest.Policy(w.t, root, d.Name, string(d.JSON())))
	}
	return simulatortest.User(w.t, root, "least", arns...)
}

func (w *eksSuite) eks() *eks.Client { return eks.NewFromConfig(w.awsConfig(account, region)) }

// nodes returns the versions of the cluster's nodes, by the ID of their instance.
func (w *eksSuite) nodes() (map[string]string, error) {
	out, err := ec2.NewFromConfig(w.awsConfig(account, region)).DescribeInstances(w.t.Context(), &ec2.DescribeInstancesInput{
		Filters: []ec2types.Filter{{Name: aws.String("instance-state-name"), Values: []string{"pending", "running"}}},
	})
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for i := range out.Reservations {
		for j := range out.Reservations[i].Instances {
			found[aws.ToString(out.Reservations[i].Instances[j].InstanceId)] = ""
		}
	}
	return found, nil
}

// A Cluster whose control plane EKS runs is created, upgraded, rolled and deleted, without slots, CAs or a bucket.
func TestClusterOfEKS(t *testing.T) {
	w := newEKSSuite(t, nil)
	w.condition(w.managed, "Ready", metav1.ConditionTrue, "")
	w.condition(w.group, "Ready", metav1.ConditionTrue, "")
	w.complete(account, region, "managed", "managed-workers")
	status := &w.managed.Status
	w.condition(w.managed, "NodesReady", metav1.ConditionTrue, "AllReady")
	if !strings.HasPrefix(status.Version, "v1.35.") || status.Release != "v1.35.1" || !strings.HasPrefix(status.Endpoint, "https://") ||
		status.Nodes.Summary != "2/2" {
		t.Errorf("the status is %+v", status)
	}
	w.nodesAreUpdated()
	w.hasNoCredentials()
	before, err := w.nodes()
	if err != nil || len(before) != 2 {
		t.Fatalf("instances %v: %v", before, err)
	}

	w.patch(w.managed, `{"spec":{"release":"v1.36.3"}}`)
	w.eventually("the group runs the new release", func() error {
		if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(w.group), w.group); err != nil {
			return err
		}
		if w.group.Status.Release != "v1.36.3" {
			return errors.Join(
				w.client.Get(t.Context(), client.ObjectKeyFromObject(w.managed), w.managed),
				fmt.Errorf("it runs %s: %s", w.group.Status.Release, describeConditions(w.managed.Status.Conditions)),
			)
		}
		return nil
	})
	w.condition(w.managed, "Ready", metav1.ConditionTrue, "")
	w.condition(w.group, "NodesUpdated", metav1.ConditionTrue, "AllUpdated")
	if !strings.HasPrefix(w.managed.Status.Version, "v1.36.") {
		t.Errorf("the API servers run %s", w.managed.Status.Version)
	}
	if !strings.HasPrefix(w.group.Status.Version, "v1.36.") || !strings.Contains(w.group.Status.Version, "-eks-") {
		t.Errorf("the nodes run %s", w.group.Status.Version)
	}
	upgraded := w.replaced(before)

	w.patch(w.group, `{"spec":{"roll":"now"}}`)
	w.replaced(upgraded)
	w.condition(w.group, "Ready", metav1.ConditionTrue, "")

	if err := w.client.Delete(t.Context(), w.managed); err != nil {
		t.Fatal(err)
	}
	w.waitDeleted(w.group)
	w.waitDeleted(w.managed)
	w.nothingIsLeft()
}

// replaced waits until two instances run, neither of them one of those before.
func (w *eksSuite) replaced(before map[string]string) map[string]string {
	w.t.Helper()
	var after map[string]string
	w.eventually("the instances are replaced", func() error {
		var err error
		if after, err = w.nodes(); err != nil {
			return err
		}
		for id := range after {
			if _, old := before[id]; old {
				return fmt.Errorf("%s still runs", id)
			}
		}
		if len(after) != 2 {
			return fmt.Errorf("%d instances run", len(after))
		}
		return nil
	})
	return after
}

// hasNoCredentials tests that the only Secret of the cluster is a kubeconfig that asks the aws command for a token.
func (w *eksSuite) hasNoCredentials() {
	w.t.Helper()
	secrets := &corev1.SecretList{}
	if err := w.client.List(w.t.Context(), secrets, client.InNamespace(w.namespace)); err != nil {
		w.t.Fatal(err)
	}
	var names []string
	for i := range secrets.Items {
		names = append(names, secrets.Items[i].Name)
	}
	if !slices.Equal(names, []string{"managed-kubeconfig"}) {
		w.t.Fatalf("the Secrets are %v", names)
	}
	text := string(secrets.Items[0].Data[pki.KubeconfigKey])
	if !strings.Contains(text, "get-token") || strings.Contains(text, "client-key") || strings.Contains(text, "k8s-aws-v1") {
		w.t.Errorf("the kubeconfig is %s", text)
	}
}

// nothingIsLeft tests that the account has neither stacks nor clusters, instances or roles of the cluster.
func (w *eksSuite) nothingIsLeft() {
	w.t.Helper()
	clusters, err := w.eks().ListClusters(w.t.Context(), &eks.ListClustersInput{})
	roles, rolesErr := iam.NewFromConfig(w.awsConfig(account, region)).ListRoles(w.t.Context(), &iam.ListRolesInput{})
	instances, instancesErr := w.nodes()
	if err := errors.Join(err, rolesErr, instancesErr); err != nil {
		w.t.Fatal(err)
	}
	left := clusters.Clusters
	for i := range roles.Roles {
		if name := aws.ToString(roles.Roles[i].RoleName); strings.HasPrefix(name, "managed-") {
			left = append(left, name)
		}
	}
	for id := range instances {
		left = append(left, id)
	}
	for name := range w.stacks(account, region) {
		left = append(left, name)
	}
	if len(left) > 0 {
		w.t.Errorf("left are %v", left)
	}
}

// EKS neither skips a minor version nor goes back: the cluster stays as it is, and says why.
func TestRefusedUpgradesOfEKS(t *testing.T) {
	w := newEKSSuite(t, nil)
	w.condition(w.managed, "Ready", metav1.ConditionTrue, "")
	w.patch(w.managed, `{"spec":{"release":"v1.34.5"}}`)
	w.condition(w.managed, "Stalled", metav1.ConditionTrue, "UpgradeRefused")
	out, err := w.eks().DescribeCluster(t.Context(), &eks.DescribeClusterInput{Name: aws.String("managed")})
	if err != nil || aws.ToString(out.Cluster.Version) != "1.35" {
		t.Errorf("EKS runs %v: %v", out, err)
	}
	w.patch(w.managed, `{"spec":{"release":"v1.35.1"}}`)
	w.condition(w.managed, "Ready", metav1.ConditionTrue, "")
}
