package plan_test

import (
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/operator"
	"github.com/aws-operator/aws-operator/internal/plan"
	"github.com/aws-operator/aws-operator/internal/price"
)

func builtinPrices(t *testing.T) *price.List {
	t.Helper()
	list, err := price.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// All of a small cluster has a price or is charged by usage: no type of its resources is forgotten.
func TestAllOfANewClusterIsPriced(t *testing.T) {
	in := plan.Input{}
	for _, o := range example(t, "minimal-public.yaml") {
		switch o := o.(type) {
		case *v1alpha1.Cluster:
			in.Cluster = o
		case *v1alpha1.InstanceGroup:
			in.Groups = append(in.Groups, o)
		}
	}
	made, err := plan.Of(t.Context(), in, plan.Options{
		Operator: operator.DefaultClusterName, AccountID: account, NodeupDir: nodeupFolder(t), Prices: builtinPrices(t),
	})
	if err != nil {
		t.Fatal(err)
	}
	if made.Price == nil || made.Price.After.Unknown > 0 || made.Price.Before.High > 0 || made.Price.After.Low == 0 {
		t.Fatalf("%+v", made.Price)
	}
	goldenText(t, "price-minimal.txt", strings.Join(made.Price.Text(), "\n")+"\n")
}

// What stays the same is in both totals, although its stacks are not read.
func TestPriceOfAChange(t *testing.T) {
	w := newSuite(t)
	w.put(example(t, "minimal-public.yaml")...)
	w.apply("minimal")
	if made := w.planWith("minimal", plan.Options{Prices: builtinPrices(t)}); !made.Empty() || made.Price != nil {
		t.Errorf("without changes: %+v", made.Price)
	}
	w.edit("minimal", func(_ *v1alpha1.Cluster, groups []*v1alpha1.InstanceGroup) {
		groups[0].Spec.MinSize, groups[0].Spec.InstanceTypes = 3, []string{"m6i.large"}
	})
	made := w.planWith("minimal", plan.Options{Prices: builtinPrices(t)})
	if made.Price == nil {
		t.Fatal(text(t, made))
	}
	for _, line := range made.Price.Lines {
		if line.Stack != "minimal-workers" {
			t.Errorf("a line of a stack that stays: %+v", line)
		}
	}
	goldenText(t, "price-change.txt", strings.Join(made.Price.Text(), "\n")+"\n")
}
