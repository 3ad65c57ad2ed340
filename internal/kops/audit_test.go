package kops_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/kops"
)

func TestTheAuditLogIsTranslatedWithItsPolicy(t *testing.T) {
	const file = `{path: /srv/kubernetes/kube-apiserver/audit.yaml, content: "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Request}]\n"}`
	const encoded = `{path: /srv/kubernetes/kube-apiserver/audit.yaml, isBase64: true, content: a2luZDogUG9saWN5CnJ1bGVzOiBbe2xldmVsOiBSZXF1ZXN0fV0K}`
	for name, test := range map[string]struct{ assets, policy, note string }{
		"in the manifest":         {file, `{"rules":[{"level":"Request"}]}`, ""},
		"in the manifest, base64": {encoded, `{"rules":[{"level":"Request"}]}`, ""},
		"elsewhere":               {"{path: /other, content: a}", "", "put it into spec.api.audit.policy"},
	} {
		t.Run(name, func(t *testing.T) {
			made, notes, err := translate(t, kops.Options{}, with(t, minimal, "spec: {fileAssets: ["+test.assets+"], kubeAPIServer: "+
				"{auditPolicyFile: /srv/kubernetes/kube-apiserver/audit.yaml, auditLogPath: /var/log/audit.log, auditLogMaxAge: 90}}"), master, nodes)
			if err != nil {
				t.Fatal(err)
			}
			audit := made[0].Object.(*v1alpha1.Cluster).Spec.API.Audit
			if audit == nil || audit.MaxAge != 90 {
				t.Fatalf("spec.api.audit is %+v", audit)
			}
			var policy string
			if audit.Policy != nil {
				policy = string(audit.Policy.Raw)
			}
			if diff := cmp.Diff(test.policy, policy); diff != "" {
				t.Errorf("the policy (-want +got):\n%s", diff)
			}
			var noted string
			for _, note := range notes {
				if note.Path == "spec.kubeAPIServer.auditPolicyFile" {
					noted = note.Why
				}
			}
			if (noted == "") != (test.note == "") || !strings.Contains(noted, test.note) {
				t.Errorf("the note is %q, want %q", noted, test.note)
			}
		})
	}
}
