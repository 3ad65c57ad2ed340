package controller_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/grant"
	"github.com/aws-operator/aws-operator/internal/service/render"
	"github.com/aws-operator/aws-operator/internal/simulator"
)

// TestGrantLetsExactlyThisServiceAccountUseExactlyThisQueue follows a grant from its creation to its
// removal, with IAM enforced.
func TestGrantLetsExactlyThisServiceAccountUseExactlyThisQueue(t *testing.T) {
	w := newGrantsSuite(t)
	w.createAccount("web", nil)
	w.apply(`
{kind: SQSQueue, metadata: {name: jobs}, spec: {grants: [{serviceAccount: web, access: Send}]}}
---
{kind: SQSQueue, metadata: {name: other}}
`)
	jobs, other := w.queueURL("jobs"), w.queueURL("other")
	role := w.roleOf("web")
	if !strings.HasPrefix(role, "arn:aws:iam::"+account+":role/aws-operator/"+clusterName+"/") {
		t.Errorf("the role is %s, which policies of the operator cannot name by its path", role)
	}
	obj := w.ready("SQSQueue", "jobs")
	if got := nested(obj, "status", "grants"); show(got) != fmt.Sprintf("[map[roleARN:%s serviceAccount:web]]", role) {
		t.Errorf("status.grants is %v", got)
	}

	pod := w.pod(role, "web")
	w.may("sending to jobs", send(pod, jobs))
	w.mayNot("sending to other", send(pod, other))
	w.mayNot("receiving from jobs", receive(pod, jobs))

	for what, try := range map[string]func() (aws.Config, error){
		"another service account": func() (aws.Config, error) { return w.session(role, w.namespace, "worker", "sts.amazonaws.com") },
		"another namespace":       func() (aws.Config, error) { return w.session(role, "default", "web", "sts.amazonaws.com") },
		"another audience":        func() (aws.Config, error) { return w.session(role, w.namespace, "web", "vault") },
	} {
		if _, err := try(); err == nil {
			t.Errorf("%s can assume the role", what)
		}
	}

	w.change("SQSQueue", "jobs", `{"spec":{"grants":[{"serviceAccount":"web","access":"ReadWrite"}]}}`)
	w.may("receiving from jobs", receive(pod, jobs))

	w.change("SQSQueue", "jobs", `{"spec":{"grants":null}}`)
	w.mayNot("sending to jobs", send(pod, jobs))
	w.eventually("the role and the annotation are deleted", func() error {
		account, err := w.account("web")
		if err == nil && (len(account.Annotations) > 0 || len(w.rolesLeft()) > 0) {
			err = fmt.Errorf("annotations %v, roles %v", account.Annotations, w.rolesLeft())
		}
		return err
	})
	if got := nested(w.ready("SQSQueue", "jobs"), "status", "grants"); got != nil {
		t.Errorf("status.grants is %v", got)
	}
	if got := slices.Sorted(maps.Keys(w.stacks())); len(got) != 2 {
		t.Errorf("the stacks are %v, want those of two queues", got)
	}
}

// TestServiceAccountIsAnnotatedWhenItAppears creates the ServiceAccount after the grant, and restores
// an annotation that another client removes.
func TestServiceAccountIsAnnotatedWhenItAppears(t *testing.T) {
	w := newGrantsSuite(t)
	w.apply(`{kind: SQSQueue, metadata: {name: jobs}, spec: {grants: [{serviceAccount: late, access: Send}]}}`)
	obj := w.ready("SQSQueue", "jobs")
	grants, _ := nested(obj, "status", "grants").([]any)
	if len(grants) != 1 || !strings.Contains(show(grants), "There is no ServiceAccount late") {
		t.Errorf("status.grants is %v, which does not say that the ServiceAccount is missing", grants)
	}
	w.createAccount("late", map[string]string{"note": "mine"})
	role := w.roleOf("late")
	found, err := w.account("late")
	if err != nil || found.Annotations["note"] != "mine" {
		t.Errorf("the annotations are %v, %v", found.Annotations, err)
	}
	delete(found.Annotations, v1alpha1.RoleAnnotation)
	if err := w.client.Update(t.Context(), found); err != nil {
		t.Fatal(err)
	}
	if again := w.roleOf("late"); again != role {
		t.Errorf("the annotation is restored as %s, want %s", again, role)
	}
	w.eventually("the message in the status is removed", func() error {
		obj, err := w.get("SQSQueue", "jobs")
		if err == nil && strings.Contains(show(nested(obj, "status", "grants")), "message") {
			err = fmt.Errorf("status.grants is %v", nested(obj, "status", "grants"))
		}
		return err
	})
	if err := w.client.Delete(t.Context(), found); err != nil {
		t.Fatal(err)
	}
	w.eventually("the status says that the ServiceAccount is missing again", func() error {
		obj, err := w.get("SQSQueue", "jobs")
		if err == nil && !strings.Contains(show(nested(obj, "status", "grants")), "There is no ServiceAccount late") {
			err = fmt.Errorf("status.grants is %v", nested(obj, "status", "grants"))
		}
		return err
	})
	w.createAccount("late", nil)
	if again := w.roleOf("late"); again != role {
		t.Errorf("the new ServiceAccount has %s, want %s", again, role)
	}
}

// TestConfigMapHasTheRoleOfAServiceAccount tests that a pod that takes the role from a ConfigMap can use
// the queue as soon as the ConfigMap exists, also without a webhook and an annotation.
func TestConfigMapHasTheRoleOfAServiceAccount(t *testing.T) {
	w := newGrantsSuite(t)
	w.apply(`
kind: SQSQueue
metadata: {name: jobs}
spec:
  grants: [{serviceAccount: web, access: Send}]
  writeTo: [{kind: ConfigMap, name: settings, data: {AWS_ROLE_ARN: "{{ .roleARNs.web }}", QUEUE_URL: "{{ .output.queueURL }}"}}]
`)
	var settings map[string]string
	w.eventually("the ConfigMap exists", func() (err error) {
		settings, err = w.configMap("settings")
		return err
	})
	role, url := settings["AWS_ROLE_ARN"], settings["QUEUE_URL"]
	w.may("sending", send(w.pod(role, "web"), &url))
	w.createAccount("web", nil)
	if annotated := w.roleOf("web"); annotated != role {
		t.Errorf("the ConfigMap has the role %s, and the ServiceAccount %s", role, annotated)
	}

	w.change("SQSQueue", "jobs", `{"spec":{"grants":null}}`)
	c := w.condition("SQSQueue", "jobs", "Stalled", "True", "InvalidWriteTo")
	if want := "spec.writeTo[0].data.AWS_ROLE_ARN: line 1, column 13: there is no .roleARNs.web"; !strings.Contains(c.Message, want) {
		t.Errorf("the message is %q, want %q", c.Message, want)
	}
	w.change("SQSQueue", "jobs", `{"spec":{"writeTo":null}}`)
	w.ready("SQSQueue", "jobs")
	w.delete("SQSQueue", "jobs")
}

// TestAnnotationOfAnotherRoleStays tests that the operator neither replaces nor removes the
// annotation of a role that is not its own.
func TestAnnotationOfAnotherRoleStays(t *testing.T) {
	w := newGrantsSuite(t)
	const mine = "arn:aws:iam::123456789012:role/mine"
	w.createAccount("web", map[string]string{v1alpha1.RoleAnnotation: mine})
	w.apply(`{kind: SQSQueue, metadata: {name: jobs}, spec: {grants: [{serviceAccount: web, access: Send}]}}`)
	found := w.condition("SQSQueue", "jobs", "Synced", "False", "RoleAnnotationTaken")
	for _, want := range []string{"web", mine, "spec.grants", "Remove"} {
		if !strings.Contains(found.Message, want) {
			t.Errorf("the message does not have %q: %s", want, found.Message)
		}
	}
	w.delete("SQSQueue", "jobs")
	if account, err := w.account("web"); err != nil || account.Annotations[v1alpha1.RoleAnnotation] != mine {
		t.Errorf("the annotation is %v, %v", account.Annotations, err)
	}
	if roles := w.rolesLeft(); len(roles) > 0 {
		t.Errorf("the roles %v are left", roles)
	}
}

// TestForgedGrantsInTheStatusDoNoHarm names service accounts in the status to which the object grants
// nothing: one of another object, one with a role of its own, and what is not the name of one.
func TestForgedGrantsInTheStatusDoNoHarm(t *testing.T) {
	w := newGrantsSuite(t)
	const mine = "arn:aws:iam::123456789012:role/mine"
	w.createAccount("web", nil)
	w.createAccount("own", map[string]string{v1alpha1.RoleAnnotation: mine})
	w.apply(`
{kind: SQSQueue, metadata: {name: jobs}, spec: {grants: [{serviceAccount: web, access: Send}]}}
---
{kind: SQSQueue, metadata: {name: forger}}
`)
	jobs := w.queueURL("jobs")
	pod := w.pod(w.roleOf("web"), "web")
	w.may("sending", send(pod, jobs))
	forger := w.ready("SQSQueue", "forger")
	forged := client.RawPatch("application/merge-patch+json", []byte(`{"status":{"grants":[{"serviceAccount":"web"},{"serviceAccount":"own","roleARN":"`+mine+`"},{"serviceAccount":"../web"}]}}`))
	if err := w.client.Status().Patch(t.Context(), forger, forged); err != nil {
		t.Fatal(err)
	}
	w.change("SQSQueue", "forger", `{"spec":{"delaySeconds":1}}`)
	w.eventually("the forged grants are removed", func() error {
		obj, err := w.get("SQSQueue", "forger")
		if err == nil && nested(obj, "status", "grants") != nil {
			err = fmt.Errorf("status.grants is %v", nested(obj, "status", "grants"))
		}
		return err
	})
	w.delete("SQSQueue", "forger")
	if err := send(pod, jobs)(t.Context()); err != nil {
		t.Errorf("the other object's grant has no effect: %v", err)
	}
	if account, err := w.account("own"); err != nil || account.Annotations[v1alpha1.RoleAnnotation] != mine {
		t.Errorf("the annotation is %v, %v", account.Annotations, err)
	}
}

// TestGrantIncludesTheKeyOfTheStack tests a kind of users whose stack has a key only if the spec asks
// for one.
func TestGrantIncludesTheKeyOfTheStack(t *testing.T) {
	w := newGrantsSuite(t)
	w.createAccount("web", nil)
	w.createAccount("plain", nil)
	kind := "Vault" + strings.ToUpper(w.namespace[:1]) + strings.Map(alphanumeric, w.namespace[1:])
	w.apply(`
kind: ModelDefinition
metadata: {name: ` + strings.ToLower(kind) + `}
spec:
  kind: ` + kind + `
  schema:
    type: object
    properties: {encrypted: {type: boolean}}
  template: |
    Resources:
      Queue:
        Type: AWS::SQS::Queue
        Properties:
          QueueName: {{ .name }}
          {{- if .spec.encrypted }}
          KmsMasterKeyId: {Ref: Key}
          {{- end }}
      {{- if .spec.encrypted }}
      Key:
        Type: AWS::KMS::Key
        Properties:
          PendingWindowInDays: 7
          KeyPolicy:
            Version: "2012-10-17"
            Statement:
              - {Effect: Allow, Principal: {AWS: {Fn::Sub: "arn:aws:iam::${AWS::AccountId}:root"}}, Action: "kms:*", Resource: "*"}
      {{- end }}
    Outputs:
      QueueURL: {Value: {Ref: Queue}}
  accessLevels:
    - name: Send
      statements:
        - {actions: [sqs:SendMessage], resources: ["{Fn::GetAtt: [Queue, Arn]}"]}
        - {actions: [kms:Decrypt, kms:GenerateDataKey], resources: ["{{ if .spec.encrypted }}{Fn::GetAtt: [Key, Arn]}{{ end }}"]}
`)
	w.condition("ModelDefinition", strings.ToLower(kind), "Ready", "True", "")
	w.apply(`
{kind: ` + kind + `, metadata: {name: safe}, spec: {encrypted: true, grants: [{serviceAccount: web, access: Send}]}}
---
{kind: ` + kind + `, metadata: {name: open}, spec: {grants: [{serviceAccount: plain, access: Send}]}}
`)
	w.ready(kind, "open")
	obj := w.ready(kind, "safe")
	queue, _ := nested(obj, "status", "output", "queueURL").(string)
	w.may("sending", send(w.pod(w.roleOf("web"), "web"), &queue))
	for name, keys := range map[string]bool{"web": true, "plain": false} {
		if got := w.inlinePolicies(w.roleOf(name)); strings.Contains(got, "kms:Decrypt") != keys || strings.Contains(got, "*") {
			t.Errorf("the policies of %s are %s", name, got)
		}
	}
	w.delete(kind, "safe")
	w.delete(kind, "open")
	w.delete("ModelDefinition", strings.ToLower(kind))
}

func alphanumeric(r rune) rune {
	if r == '-' {
		return -1
	}
	return r
}

// TestGrantsWithoutAnIssuerAreRefused tests that nothing is made for an object whose grants have no
// effect, and that it becomes ready without them.
func TestGrantsWithoutAnIssuerAreRefused(t *testing.T) {
	w := newSuite(t, nil)
	w.apply(`{kind: SQSQueue, metadata: {name: jobs}, spec: {grants: [{serviceAccount: web, access: Send}]}}`)
	found := w.condition("SQSQueue", "jobs", "Stalled", "True", "IssuerNotConfigured")
	for _, want := range []string{"spec.grants", "--service-account-issuer"} {
		if !strings.Contains(found.Message, want) {
			t.Errorf("the message does not have %q: %s", want, found.Message)
		}
	}
	if stacks := w.stacks(); len(stacks) > 0 {
		t.Errorf("the stacks are %v", stacks)
	}
	w.change("SQSQueue", "jobs", `{"spec":{"grants":null}}`)
	w.ready("SQSQueue", "jobs")
	w.delete("SQSQueue", "jobs")
}

// TestBadGrantsAreRefused tests that the API server or a condition names the field and what to do.
func TestBadGrantsAreRefused(t *testing.T) {
	w := newGrantsSuite(t)
	w.apply(`{kind: SQSQueue, metadata: {name: probe}}`)
	w.ready("SQSQueue", "probe") // the kind is served
	for name, c := range map[string]struct{ grants, field string }{
		"an unknown level":             {`[{serviceAccount: web, access: Admin}]`, "spec.grants[0].access"},
		"no level":                     {`[{serviceAccount: web}]`, "spec.grants[0].access"},
		"no service account":           {`[{access: Send}]`, "spec.grants: element 0"},
		"an empty service account":     {`[{serviceAccount: "", access: Send}]`, "spec.grants[0].serviceAccount"},
		"another namespace":            {`[{serviceAccount: other/web, access: Send}]`, "spec.grants[0].serviceAccount"},
		"a wildcard":                   {`[{serviceAccount: "*", access: Send}]`, "spec.grants[0].serviceAccount"},
		"a function":                   {`[{serviceAccount: "{{resolve:ssm:a}}", access: Send}]`, "spec.grants[0].serviceAccount"},
		"one service account twice":    {`[{serviceAccount: web, access: Send}, {serviceAccount: web, access: Receive}]`, "spec.grants: duplicate entries"},
		"what is not a list of grants": {`{web: Send}`, "spec.grants"},
	} {
		err := w.tryApply(`{kind: SQSQueue, metadata: {name: bad}, spec: {grants: ` + c.grants + `}}`)
		if err == nil || !strings.Contains(err.Error(), c.field) {
			t.Errorf("%s: the error is %v, want one with %s", name, err, c.field)
		}
	}
	if err := w.tryApply(`{kind: ECRRepository, metadata: {name: bad}, spec: {grants: [{serviceAccount: web, access: Read}]}}`); err == nil ||
		!strings.Contains(err.Error(), ".spec.grants") {
		t.Errorf("a kind without access levels: the error is %v", err)
	}
	if roles := w.rolesLeft(); len(roles) > 0 {
		t.Errorf("the roles %v exist", roles)
	}
}

// TestAdoptedResourceIsGranted adopts a queue with a grant: an import cannot create the policy, so it
// follows with the first change, after the approval.
func TestAdoptedResourceIsGranted(t *testing.T) {
	w := prepareSuite(t, simulator.Options{}, render.Limits{Adoption: []grant.Grant{{Namespace: "*", Pattern: "AWS::SQS::Queue/*"}}})
	w.serveGrants()
	w.createAccount("web", nil)
	url := w.byHand("orders")
	w.apply(adopting("orders", url, "", "grants: [{serviceAccount: web, access: Send}]"))
	w.condition("SQSQueue", "orders", "Synced", "False", "ApprovalNeeded")
	if account, err := w.account("web"); err != nil || len(account.Annotations) > 0 {
		t.Errorf("before the approval, the ServiceAccount has %v, %v", account.Annotations, err)
	}
	w.approve("SQSQueue", "orders")
	w.ready("SQSQueue", "orders")
	w.may("sending", send(w.pod(w.roleOf("web"), "web"), &url))
	w.delete("SQSQueue", "orders")
}
