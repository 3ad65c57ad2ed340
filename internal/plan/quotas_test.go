package plan_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/internal/manifest"
	"github.com/aws-operator/aws-operator/internal/plan"
	"github.com/aws-operator/aws-operator/internal/simulator/vpc"
)

// TestPlanSaysWhichQuotasAreTooLow plans a cluster of one slot and one worker in an account that has space for neither its
// instances nor its VPC.
func TestPlanSaysWhichQuotasAreTooLow(t *testing.T) {
	w := newSuite(t)
	text := fmt.Sprintf(sized, "demo", "instanceType: m6i.large", "m6i.large")
	set, err := manifest.Read([]manifest.Source{{Name: "x.yaml", Reader: strings.NewReader(text)}}, manifest.Options{})
	w.must(err)
	var objects []client.Object
	for _, m := range set.Manifests {
		objects = append(objects, m.Object)
	}
	w.put(objects...)
	printed := func() string {
		p := w.planWith("demo", plan.Options{Quotas: true})
		if len(p.Quotas.Unchecked) > 0 {
			t.Errorf("not everything was checked: %v", p.Quotas.Unchecked)
		}
		var out bytes.Buffer
		w.must(plan.Print(&out, p, false))
		return out.String()
	}
	if got := printed(); !strings.Contains(got, "Quotas of the account in eu-central-1:\n  They suffice: 12 quotas checked.\n") {
		t.Errorf("an account without limits:\n%s", got)
	}
	w.sim.Instances().SetQuota(account, region, false, 3)
	w.sim.Network().SetQuota(account, region, vpc.VPCs, 1) // the default VPC is one
	got := printed()
	for _, want := range []string{
		"! Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances: 0 of 3 vCPUs are in use, and the change needs 4 more, 1 too many.\n",
		"! VPCs per Region: 1 of 1 VPCs are in use, and the change needs 1 more, 1 too many.\n",
		"https://console.aws.amazon.com/servicequotas/home/services/vpc/quotas/L-F678F1CE?region=eu-central-1\n",
		"  Sufficient: 10 other quotas.\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	if p := w.plan("demo"); p.Quotas != nil {
		t.Errorf("quotas were checked without being asked for: %+v", p.Quotas)
	}
}
