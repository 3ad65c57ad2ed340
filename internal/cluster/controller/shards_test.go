package controller_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// TestOperatorsShareClusters tests that each Cluster and its group are created, changed and deleted by one of several
// operators, which has no others in its cache.
func TestOperatorsShareClusters(t *testing.T) {
	w := newSuite(t, simulatedHost(), nil)
	w.shards = 3
	w.start()
	var all []conditioned
	const clusters = 4
	for i, number := 0, 0; i < clusters; number++ {
		cluster := w.aCluster(fmt.Sprintf("shared-%d", number))
		// The namespace has a random name, so the names decide that each shard has a cluster.
		if !(operatorkit.Shard{Index: i % w.shards, Count: w.shards}).Has(client.ObjectKeyFromObject(cluster).String()) {
			continue
		}
		cluster.Spec.ControlPlane.Replicas = 1
		cluster.Spec.Network.CIDR = fmt.Sprintf("10.%d.0.0/16", i)
		group := w.aGroup(cluster.Name+"-workers", cluster.Name)
		w.create(cluster, group)
		all = append(all, cluster, group)
		i++
	}
	for _, one := range all {
		w.condition(one, "Ready", metav1.ConditionTrue, "")
	}
	var total, most int
	for _, cache := range w.caches {
		var list v1alpha1.ClusterList
		if err := cache.List(t.Context(), &list); err != nil {
			t.Fatal(err)
		}
		total, most = total+len(list.Items), max(most, len(list.Items))
	}
	if total != clusters || most != 2 {
		t.Errorf("the caches have %d Clusters together, and one has %d, want %d and 2", total, most, clusters)
	}
	for _, one := range all {
		if cluster, ok := one.(*v1alpha1.Cluster); ok {
			if err := w.client.Delete(t.Context(), cluster); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, one := range all {
		w.waitDeleted(one)
	}
	out, err := cloudformation.NewFromConfig(w.awsConfig(account, region)).ListStacks(t.Context(), &cloudformation.ListStacksInput{})
	if err != nil {
		t.Fatal(err)
	}
	created := map[string]int{}
	for _, stack := range out.StackSummaries {
		if name := aws.ToString(stack.StackName); strings.HasPrefix(name, "shared-") {
			created[name]++
		}
	}
	for name, n := range created {
		if n != 1 {
			t.Errorf("the stack %s was created %d times", name, n)
		}
	}
	if len(created) != 3*clusters { // a base, a slot and a group each
		t.Errorf("the stacks were %v", created)
	}
}
