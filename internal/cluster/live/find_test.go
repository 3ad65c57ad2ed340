package live_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/live"
	"github.com/aws-operator/aws-operator/test/livetest"
)

func group(name string, least, most int32) *v1alpha1.InstanceGroup {
	return &v1alpha1.InstanceGroup{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       v1alpha1.InstanceGroupSpec{MinSize: least, MaxSize: most},
	}
}

func TestClusterIsFoundWhateverToolCreatedIt(t *testing.T) {
	t.Parallel() // It mostly waits.
	for name, terraform := range map[string]bool{"CloudFormation": false, "Terraform": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // As above.
			w := livetest.New(
				t, livetest.Options{Groups: []*v1alpha1.InstanceGroup{group("workers", 2, 3)}, Bastion: true, Terraform: terraform},
			)
			found, err := live.Find(t.Context(), w.Clients, w.Cluster)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for i := range found.Groups {
				g := &found.Groups[i]
				names = append(names, g.Name)
				if owned := g.Stack != ""; owned == terraform && !g.Bastion() {
					t.Errorf("%s is owned by stack %q", g.Name, g.Stack)
				}
				for _, one := range g.Instances {
					if one.State != "InService" || !one.Healthy || one.Outdated || one.Template != "1" {
						t.Errorf("%s: %+v", g.Name, one)
					}
				}
			}
			if got := strings.Join(names, " "); got != "control-plane-0 control-plane-1 control-plane-2 workers bastion" {
				t.Errorf("the groups are %s", got)
			}
			if g := found.Group("workers"); g.Min != 2 || g.Max != 3 || g.Desired != 2 || len(g.Instances) != 2 {
				t.Errorf("%+v", g)
			}
			if found.LoadBalancer == nil || len(found.LoadBalancer.Targets) != 3 ||
				!strings.Contains(found.Server(), strings.ToLower(found.LoadBalancer.DNSName)) {
				t.Errorf("the load balancer is %+v", found.LoadBalancer)
			}
			w.MoveOn("workers")
			for _, one := range w.Group("workers").Instances {
				if !one.Outdated {
					t.Errorf("%s is not out of date", one.ID)
				}
			}
		})
	}
}
