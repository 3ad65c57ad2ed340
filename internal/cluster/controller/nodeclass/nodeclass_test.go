package nodeclass_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/nodeclass"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/nodeclass/nodeclasstest"
	"github.com/aws-operator/aws-operator/internal/local/controlplane/controlplanetest"
	"github.com/aws-operator/aws-operator/internal/patience"
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }

func TestApply(t *testing.T) {
	config := controlplanetest.Shared(t).RESTConfig()
	c, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	group := &v1alpha1.InstanceGroup{ObjectMeta: metav1.ObjectMeta{Name: "pool"}}
	spec := func(userData string) map[string]any {
		return map[string]any{"amiFamily": "Custom", "userData": userData}
	}
	apply := func(group *v1alpha1.InstanceGroup, userData, want string) {
		t.Helper()
		is := nodeclass.Apply(t.Context(), config, group, spec(userData))
		if got := string(is.Status) + " " + is.Reason + " " + is.Message; !strings.HasPrefix(got, want) {
			t.Errorf("the condition is %q, want %q", got, want)
		}
	}
	userData := func(name string) string {
		t.Helper()
		found := nodeclasstest.New(name)
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(found), found); err != nil {
			return err.Error()
		}
		is, _, _ := unstructured.NestedString(found.Object, "spec", "userData")
		return is
	}
	apply(group, "a", "False KarpenterNotInstalled The cluster has no kind EC2NodeClass")
	if err := c.Create(t.Context(), nodeclasstest.Definition()); err != nil {
		t.Fatal(err)
	}
	patience.Until(t, "the kind is served", func() error { return c.List(t.Context(), nodeclasstest.List()) })

	apply(group, "a", "True Applied The cluster has the EC2NodeClass pool.")
	apply(group, "b", "True Applied")
	if got := userData("pool"); got != "b" {
		t.Errorf("after the change: %s", got)
	}
	changed := nodeclasstest.New("pool")
	if err := c.Patch(t.Context(), changed, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"userData":"c"}}`))); err != nil {
		t.Fatal(err)
	}
	apply(group, "b", "True Applied")
	if got := userData("pool"); got != "b" {
		t.Errorf("after a change by hand: %s", got)
	}

	foreign := nodeclasstest.New("theirs")
	foreign.Object["spec"] = spec("x")
	if err := c.Create(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	other := &v1alpha1.InstanceGroup{ObjectMeta: metav1.ObjectMeta{Name: "theirs"}}
	apply(other, "b", "False NodeClassExists There is another EC2NodeClass theirs")
	for _, one := range []*v1alpha1.InstanceGroup{group, other, {ObjectMeta: metav1.ObjectMeta{Name: "absent"}}} {
		if err := nodeclass.Delete(t.Context(), config, one); err != nil {
			t.Error(err)
		}
	}
	if got := userData("theirs"); got != "x" {
		t.Errorf("another's NodeClass: %s", got)
	}
	if got := userData("pool"); !strings.Contains(got, "not found") {
		t.Errorf("after the deletion: %s", got)
	}
}
