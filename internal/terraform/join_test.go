package terraform_test

import (
	"strings"
	"testing"
)

// The ARN of the role of workers is known when Terraform has made it, and slots compare it with
// that of the instance that asks to join.
func TestSlotsKnowTheRoleOfWorkers(t *testing.T) {
	for name, f := range fixtures(t, "../../examples/clusters/minimal-public.yaml") {
		t.Run(name, func(t *testing.T) {
			f.cluster.Spec.Release = "set-1.2.0"
			files := f.configuration(t, nil).Files
			slot := ""
			for file, contents := range files {
				if strings.HasSuffix(file, "minimal-control-plane-0.bundle.json") {
					slot = string(contents)
				}
			}
			const mark = "tf-output-workerrole.invalid"
			if !strings.Contains(slot, `"workerRole": "`+mark+`"`) {
				t.Errorf("the slot's bundle does not leave the role open:\n%s", slot)
			}
			if text := string(files["kubernetes.tf"]); !strings.Contains(text, mark) ||
				!strings.Contains(text, "aws_iam_role.minimal_worker.arn") {
				t.Error("Terraform does not fill in the role")
			}
		})
	}
}
