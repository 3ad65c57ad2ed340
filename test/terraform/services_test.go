package terraform

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aws-operator/aws-operator/test/inventory"
)

// TestServices creates with Terraform one resource of each simulated service, besides those of
// clusters.
func TestServices(t *testing.T) {
	c := newCloud(t)
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/services")); err != nil {
		t.Fatal(err)
	}
	services := c.in(dir)
	before := inventory.Of(t, c.config())
	services.apply()
	services.unchanged()
	if got, want := services.run("output", "-raw", "queue"), "arn:aws:sqs:"+region+":"+account+":terraform"; got != want {
		t.Errorf("the queue is %s, want %s", got, want)
	}
	services.destroy()
	if diff := cmp.Diff(before, inventory.Of(t, c.config())); diff != "" {
		t.Errorf("something is left (-before +after):\n%s", diff)
	}
}
