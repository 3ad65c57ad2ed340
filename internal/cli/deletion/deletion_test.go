package deletion_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/internal/cli/apply"
	"github.com/aws-operator/aws-operator/internal/cli/deletion"
	"github.com/aws-operator/aws-operator/internal/cli/plan"
	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/test/livetest"
)

func run(t *testing.T, cmd *cobra.Command, args ...string) (out string, err error) {
	t.Helper()
	ctx := patience.Context(t)
	var text bytes.Buffer
	cmd.SetOut(&text)
	cmd.SetErr(&text)
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	cmd.SetArgs(args)
	err = cmd.ExecuteContext(ctx)
	return text.String(), err
}

// What Terraform made Terraform removes: delete has the cluster take down what Terraform does not
// know, and forgets it. apply makes no second cluster beside it.
func TestClusterOfTerraformIsNotDeleted(t *testing.T) {
	w := livetest.New(t, livetest.Options{Slots: 1, Terraform: true})
	dir := w.State()
	session := w.Session()
	found, err := session.Find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	connection, why := session.Connect(t.Context(), found)
	if connection == nil {
		t.Fatal(why)
	}
	services := connection.Core().Services("default")
	if _, err := services.Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "shop"}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}

	if out, err := run(t, apply.Command(), "--state", dir, "--yes"); err == nil || !strings.Contains(err.Error(), "made by Terraform") {
		t.Errorf("apply ends with %v\n%s", err, out)
	}
	out, err := run(t, plan.Command(), "--state", dir)
	if err != nil || !strings.Contains(out, "Terraform made this cluster") || strings.Contains(out, "create") {
		t.Errorf("plan shows, with %v:\n%s", err, out)
	}
	out, err = run(t, deletion.Command(), "cluster", "demo", "--state", dir)
	if err != nil || !strings.Contains(out, "terraform destroy deletes it") || !strings.Contains(out, "Nothing has been removed") {
		t.Errorf("delete shows, with %v:\n%s", err, out)
	}
	if _, err := services.Get(t.Context(), "shop", metav1.GetOptions{}); err != nil {
		t.Errorf("the Service went without --yes: %v", err)
	}
	if out, err = run(t, deletion.Command(), "cluster", "demo", "--state", dir, "--yes"); err != nil {
		t.Fatalf("delete ends with %v\n%s", err, out)
	}
	if _, err := services.Get(t.Context(), "shop", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the Service of a load balancer is still there: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "demo")); !os.IsNotExist(err) {
		t.Errorf("the cluster is still in the state: %v", err)
	}
	groups, err := w.Scaling.DescribeAutoScalingGroups(t.Context(), &autoscaling.DescribeAutoScalingGroupsInput{})
	if err != nil || len(groups.AutoScalingGroups) != len(found.Groups) {
		t.Errorf("of %d Auto Scaling groups of Terraform's there are %d: %v", len(found.Groups), len(groups.AutoScalingGroups), err)
	}
}
