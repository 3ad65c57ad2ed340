package terraform_test

import (
	"testing"

	"github.com/aws-operator/aws-operator/internal/terraform"
)

// BenchmarkCluster maps a cluster of three slots, a bastion and several instance groups.
func BenchmarkCluster(b *testing.B) {
	in := fixtures(b, "../cluster/render/testdata/private.yaml")["private.big"].input(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := terraform.Cluster(in); err != nil {
			b.Fatal(err)
		}
	}
}
