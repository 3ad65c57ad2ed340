package plan_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	clusterv1alpha1 "github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	servicev1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/kubeapi"
	"github.com/aws-operator/aws-operator/internal/manifest"
	"github.com/aws-operator/aws-operator/internal/operator"
	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/plan"
	"github.com/aws-operator/aws-operator/internal/service/kinds"
	"github.com/aws-operator/aws-operator/internal/service/render"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

const (
	region  = "eu-central-1"
	account = "123456789012"

	queueManifest = `apiVersion: service-operator.aws/v1alpha1
kind: SQSQueue
metadata: {name: orders}
spec: {visibilityTimeout: 120}
`
	topicManifest = `apiVersion: service-operator.aws/v1alpha1
kind: SNSTopic
metadata: {name: news}
spec: {}
`
	subscriptionManifest = `apiVersion: service-operator.aws/v1alpha1
kind: SNSSubscription
metadata: {name: news-to-orders}
spec: {topicName: news, protocol: sqs, endpoint: orders}
`
	vaultDefinition = `apiVersion: service-operator.aws/v1alpha1
kind: ModelDefinition
metadata: {name: vaults}
spec:
  kind: Vault
  schema: {type: object, properties: {password: {type: string}, owner: {type: string}}}
  template: |
    Parameters:
      Pin: {Type: String, NoEcho: true, Default: {{ .spec.password }} }
    Resources:
      Secret:
        Type: AWS::SSM::Parameter
        Properties: {Type: String, Name: /vault, Value: {Ref: Pin}, Description: {{ .spec.owner }} }
`
	vaultManifest = `apiVersion: service-operator.aws/v1alpha1
kind: Vault
metadata: {name: mine}
spec: {password: hunter1, owner: me}
`
)

// services is AWS on loopback, and manifests.
type services struct {
	*folder

	api *cloudformation.Client
}

func newServices(t *testing.T) *services {
	t.Helper()
	s := &services{folder: newFolder(t)}
	_, endpoint := simulatortest.Start(t, simulator.Options{Account: account, Region: region})
	setenv(t, "AWS_ENDPOINT_URL", endpoint)
	setenv(t, "AWS_REGION", region)
	s.api = cloudformation.NewFromConfig(aws.Config{
		Region: region, BaseEndpoint: &endpoint, Credentials: credentials.NewStaticCredentialsProvider(account, "secret", ""),
	})
	return s
}

// management starts a management cluster, to which KUBECONFIG leads, and returns it with its URL.
func (s *services) management() (*kubeapi.Server, string) {
	s.t.Helper()
	api := kubeapi.New(kubeapi.Options{Kubernetes: "v1.36.3"})
	server := httptest.NewServer(api.Trusted())
	s.t.Cleanup(func() {
		api.Close()
		server.Close()
	})
	path := filepath.Join(s.t.TempDir(), "kubeconfig")
	s.must(os.WriteFile(path, []byte("apiVersion: v1\nkind: Config\ncurrent-context: x\nclusters: [{name: c, cluster: {server: "+server.URL+
		"}}]\ncontexts: [{name: x, context: {cluster: c}}]\n"), 0o600))
	setenv(s.t, "KUBECONFIG", path)
	return api, server.URL
}

// file writes manifests into a file.
func (s *services) file(manifests ...string) string {
	s.t.Helper()
	path := filepath.Join(s.t.TempDir(), "services.yaml")
	s.must(os.WriteFile(path, []byte(strings.Join(manifests, "---\n")), 0o600))
	return path
}

// deployed makes the stacks of services that name no others, as the operator does.
func (s *services) deployed(manifests ...string) {
	s.t.Helper()
	sources, err := manifest.Open([]string{s.file(manifests...)}, nil)
	s.must(err)
	set, err := manifest.Read(sources, manifest.Options{})
	s.must(err)
	known, err := kinds.BuiltIn()
	s.must(err)
	for _, m := range set.Manifests {
		s.must(known.Define(m.Object))
	}
	for _, object := range manifest.Objects[*servicev1alpha1.Object](set) {
		object.Namespace = "default"
		kind, err := known.Model(object.Kind)
		s.must(err)
		made, err := known.Stack(kind, object, render.Facts{Region: region, AccountID: account, ClusterName: operator.DefaultClusterName})
		s.must(err)
		in := &cloudformation.CreateStackInput{StackName: &made.Name, TemplateBody: aws.String(string(made.Template.CanonicalJSON()))}
		for name, value := range made.Tags {
			in.Tags = append(in.Tags, types.Tag{Key: &name, Value: &value})
		}
		_, err = s.api.CreateStack(s.t.Context(), in)
		s.must(err)
		s.must(cloudformation.NewStackCreateCompleteWaiter(s.api, func(o *cloudformation.StackCreateCompleteWaiterOptions) {
			o.MinDelay, o.MaxDelay = 10*time.Millisecond, 100*time.Millisecond
		}).Wait(s.t.Context(), &cloudformation.DescribeStacksInput{StackName: &made.Name}, patience.Left(s.t)))
	}
}

// read is what machines read of a plan.
type read struct {
	Stacks []struct {
		Name        string
		Action      plan.Action
		Asked       bool `json:"changeSet"`
		Differences []string
		Resources   []struct {
			Action     plan.Action
			Properties []struct {
				Path   string
				Forces bool `json:"forcesReplacement"`
			}
		}
	}
	Notes   []string
	Summary plan.Summary
}

// plan plans services, and asks CloudFormation as well.
func (s *services) plan(manifests ...string) read {
	s.t.Helper()
	code, out, errOut := s.run("-f", s.file(manifests...), "-o", "json", "--change-set")
	if code != 0 {
		s.t.Fatalf("it exits with %d and says %s", code, errOut)
	}
	var all struct{ Plans []read }
	s.must(json.Unmarshal([]byte(out), &all))
	return all.Plans[0]
}

// Services are compared with the stacks of their names: what is there and what changes, by
// property, as CloudFormation says it, too.
func TestServicesArePlannedFromTheirStacks(t *testing.T) {
	s := newServices(t)
	if p := s.plan(queueManifest); p.Stacks[0].Action != plan.Create || p.Summary.Create == 0 {
		t.Errorf("a queue that is not there: %+v", p)
	}
	s.deployed(queueManifest, topicManifest)
	tagged := strings.ReplaceAll(queueManifest, "{name: orders}", "{name: orders, annotations: {aws-operator/tags: '{team: shop}'}}")
	if code, out, errOut := s.run("-f", s.file(tagged)); code != 0 || !strings.Contains(out, "team") || !strings.Contains(out, "shop") {
		t.Errorf("with a tag, it exits with %d and says %s%s", code, out, errOut)
	}
	if p := s.plan(queueManifest, topicManifest); p.Summary != (plan.Summary{}) || len(p.Stacks) != 2 {
		t.Errorf("what was just made changes: %+v", p)
	}
	for name, c := range map[string]struct {
		manifest string
		action   plan.Action
		property string
	}{
		"in place":  {strings.ReplaceAll(queueManifest, "120", "60"), plan.Update, "VisibilityTimeout"},
		"replaced":  {strings.ReplaceAll(queueManifest, "visibilityTimeout: 120", "fifoQueue: true"), plan.Replace, "FifoQueue"},
		"policy":    {strings.ReplaceAll(queueManifest, "120", "60, updatePolicy: Manual"), plan.Update, "VisibilityTimeout"},
		"unchanged": {queueManifest + "---\n" + subscriptionManifest, plan.None, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := s.plan(c.manifest)
			stack := p.Stacks[len(p.Stacks)-1]
			if c.action == plan.None {
				if stack.Action != plan.None || p.Stacks[0].Action != plan.Create ||
					len(p.Notes) > 0 { // The subscription knows the ARNs from the stacks.
					t.Errorf("it says %+v", p)
				}
				return
			}
			found := false
			for _, r := range stack.Resources {
				for _, property := range r.Properties {
					found = found || r.Action == c.action && property.Path == c.property && (r.Action == plan.Replace) == property.Forces
				}
			}
			if !found || !stack.Asked || len(stack.Differences) > 0 || (name == "policy") != (len(p.Notes) > 0) {
				t.Errorf("%s does not stand in %+v", c.property, p)
			}
		})
	}
}

// TestPlanTakesValues tests that a plan has the values that ConfigMaps and Secrets of the files hold, shows no
// secret, and says what it does not know.
func TestPlanTakesValues(t *testing.T) {
	s := newServices(t)
	const (
		labels = "labels: {service-operator.aws/values: allowed}"
		queue  = "apiVersion: service-operator.aws/v1alpha1\nkind: SQSQueue\nmetadata: {name: orders}\n" +
			"spec: {valuesFrom: [{field: visibilityTimeout, configMapKeyRef: {name: settings, key: timeout}}]}\n"
		settings = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, " + labels + "}\ndata: {timeout: \"120\"}\n"
		vaults   = "apiVersion: service-operator.aws/v1alpha1\nkind: ModelDefinition\nmetadata: {name: vaults}\n" +
			"spec: {kind: Vault, resourceType: 'AWS::SSM::Parameter'}\n"
		vault = "apiVersion: service-operator.aws/v1alpha1\nkind: Vault\nmetadata: {name: mine}\n" +
			"spec: {name: /vault, type: String, valuesFrom: [{field: value, secretKeyRef: {name: database, key: password}}]}\n"
		secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: database, " + labels + "}\nstringData: {password: hunter1}\n"
	)
	s.deployed(queueManifest)
	if p := s.plan(queue, settings); p.Summary != (plan.Summary{}) || len(p.Notes) > 0 {
		t.Errorf("a value that is deployed changes: %+v", p)
	}
	if p := s.plan(queue, strings.ReplaceAll(settings, "120", "60")); p.Stacks[0].Action != plan.Update {
		t.Errorf("another value changes nothing: %+v", p)
	}
	p := s.plan(queue, strings.ReplaceAll(settings, labels, ""))
	if len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "ConfigMap settings in namespace default lacks the label service-operator.aws/values=allowed") {
		t.Errorf("the consent is missing, and the notes are %q", p.Notes)
	}
	p = s.plan(vaults, vault)
	if want := "There is no Secret database in namespace default that could be read; the plan does not know its value."; p.Notes[0] != want {
		t.Errorf("the notes are %q, want %q", p.Notes, want)
	}
	code, out, errOut := s.run("-f", s.file(vaults, vault, secret))
	if code != 0 || strings.Contains(out+errOut, "hunter1") || strings.Contains(out, "lacks") ||
		!strings.Contains(out, "(Vault default/mine): create") {
		t.Errorf("it exits with %d and says %s%s", code, out, errOut)
	}
}

// With a management cluster its objects are planned, by what their status knows: all of them, or
// those of the files in their place.
func TestServicesOfAManagementCluster(t *testing.T) {
	s := newServices(t)
	api, url := s.management()
	known, err := kinds.BuiltIn()
	s.must(err)
	kind, err := known.Model("SQSQueue")
	s.must(err)
	clusters, err := clusterv1alpha1.CustomResourceDefinitions()
	s.must(err)
	s.must(operatorkit.EnsureCRDs(t.Context(), &rest.Config{Host: url}, "test", append(clusters, kind.CRD())...))
	content := map[string]any{}
	s.must(yaml.Unmarshal([]byte(queueManifest), &content))
	queue := &unstructured.Unstructured{Object: content}
	queue.SetNamespace("default")
	s.must(api.Load(queue))
	s.deployed(queueManifest)

	if code, out, errOut := s.run("--state", "k8s"); code != 0 || out != "Services\n\nNo changes.\n" {
		t.Errorf("of all it exits with %d and says %s%s", code, out, errOut)
	}
	code, out, errOut := s.run("--state", "k8s", "-f", s.file(strings.ReplaceAll(queueManifest, "120", "60")))
	if code != 0 || !strings.Contains(out, "VisibilityTimeout: 120 → 60") {
		t.Errorf("of an edit it exits with %d and says %s%s", code, out, errOut)
	}
}

// load defines ModelDefinitions in a management cluster.
func (s *services) load(api *kubeapi.Server, host string, known *kinds.Set, manifests ...string) {
	s.t.Helper()
	definitions, err := servicev1alpha1.CustomResourceDefinitions()
	s.must(err)
	s.must(operatorkit.EnsureCRDs(s.t.Context(), &rest.Config{Host: host}, "test", definitions...))
	for _, text := range manifests {
		content := map[string]any{}
		s.must(yaml.Unmarshal([]byte(text), &content))
		s.must(api.Load(&unstructured.Unstructured{Object: content}))
		definition := &servicev1alpha1.ModelDefinition{}
		s.must(yaml.Unmarshal([]byte(text), definition))
		s.must(known.Define(definition))
	}
}

func TestSecretsOfServicesAreMasked(t *testing.T) {
	s := newServices(t)
	s.deployed(vaultDefinition, vaultManifest)
	edited := strings.NewReplacer("hunter1", "hunter2", "me}", "you}").Replace(vaultManifest)
	for _, format := range []string{"text", "json"} {
		code, out, errOut := s.run("-f", s.file(vaultDefinition, edited), "-o", format)
		if code != 0 || strings.Contains(out, "hunter") || !strings.Contains(out, "****") || !strings.Contains(out, "you") {
			t.Errorf("it exits with %d and says %s%s", code, out, errOut)
		}
	}
}

// A file with both shows both; one that names a cluster shows that alone.
func TestClustersAndServicesArePlannedTogether(t *testing.T) {
	s := newServices(t)
	cluster, err := os.ReadFile(examples + "minimal-public.yaml")
	s.must(err)
	file := s.file(string(cluster), queueManifest)
	code, out, errOut := s.run("-f", file)
	if code != 0 || !strings.Contains(out, "Cluster minimal\n") || !strings.Contains(out, "\nServices\n") ||
		!strings.Contains(out, "(SQSQueue default/orders): create") {
		t.Errorf("it exits with %d and says %s%s", code, out, errOut)
	}
	if _, out, _ = s.run("cluster", "minimal", "-f", file); strings.Contains(out, "Services") {
		t.Errorf("of the cluster alone it says %s", out)
	}
}

// TestAdoptionIsPlanned has a queue that was made by hand, and objects that say what it has and what it has
// not.
func TestAdoptionIsPlanned(t *testing.T) {
	s := newServices(t)
	out, err := sqs.NewFromConfig(aws.Config{
		Region: region, BaseEndpoint: aws.String(os.Getenv("AWS_ENDPOINT_URL")),
		Credentials: credentials.NewStaticCredentialsProvider(account, "secret", ""),
	}).CreateQueue(t.Context(), &sqs.CreateQueueInput{
		QueueName: aws.String("orders"), Attributes: map[string]string{"VisibilityTimeout": "120"},
	})
	s.must(err)
	adopting := func(url, spec, more string) string {
		return fmt.Sprintf("apiVersion: service-operator.aws/v1alpha1\nkind: SQSQueue\n"+
			"metadata: {name: orders, annotations: {service-operator.aws/adopt: %q%s}}\nspec: {%s}\n", url, more, spec)
	}
	for name, c := range map[string]struct {
		manifest  string
		want, not []string
	}{
		"nothing differs": {
			adopting(*out.QueueUrl, "visibilityTimeout: 120", ""),
			[]string{"(SQSQueue default/orders): import\n", "= Queue (AWS::SQS::Queue): import " + *out.QueueUrl + "\n", "Plan: 1 to import, in 1 stack. No resource changes.\n"},
			[]string{"VisibilityTimeout"},
		},
		"a property differs": {
			adopting(*out.QueueUrl, "visibilityTimeout: 60", ""),
			[]string{", then update in place, which waits for approval\n", "VisibilityTimeout: 120 → 60", "Plan: 1 to import, 1 to update in place, in 1 stack.\n"},
			[]string{"No resource changes"},
		},
		"a property that cannot change differs": {
			adopting(*out.QueueUrl, "fifoQueue: true", ""),
			[]string{"Refused: a change of FifoQueue, QueueName can replace the resource"},
			nil,
		},
		"another resource is created": {
			adopting("Queue="+*out.QueueUrl, "visibilityTimeout: 120, usedeadletterQueue: true", ""),
			[]string{"+ DeadLetterQueue (AWS::SQS::Queue): create", "RedrivePolicy", "Plan: 1 to import, 1 to create, 1 to update in place, in 1 stack.\n"},
			nil,
		},
		"there is none": {adopting(*out.QueueUrl+"s", "", ""), []string{"Refused: there is no AWS::SQS::Queue " + *out.QueueUrl + "s."}, nil},
		"there is none, and it is created": {
			adopting(*out.QueueUrl+"s", "", ", service-operator.aws/adoption-policy: AdoptOrCreate"),
			[]string{"(SQSQueue default/orders): create\n"},
			[]string{"import"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errOut := s.run("-f", s.file(c.manifest))
			for _, want := range c.want {
				if code != 0 || !strings.Contains(out, want) {
					t.Errorf("it exits with %d and does not say %q but\n%s%s", code, want, out, errOut)
				}
			}
			for _, not := range c.not {
				if strings.Contains(out, not) {
					t.Errorf("it says %q:\n%s", not, out)
				}
			}
		})
	}
}

// TestPlanShowsDrift has a queue that another client changed, one that only CloudFormation made, one that is not deployed,
// and a parameter with a secret value that another client changed.
func TestPlanShowsDrift(t *testing.T) {
	s := newServices(t)
	bills := strings.ReplaceAll(queueManifest, "orders", "bills")
	s.deployed(queueManifest, bills, vaultDefinition, vaultManifest)
	at := aws.Config{
		Region: region, BaseEndpoint: aws.String(os.Getenv("AWS_ENDPOINT_URL")),
		Credentials: credentials.NewStaticCredentialsProvider(account, "secret", ""),
	}
	queues := sqs.NewFromConfig(at)
	queue, err := queues.GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: aws.String("orders")})
	s.must(err)
	_, err = queues.SetQueueAttributes(t.Context(), &sqs.SetQueueAttributesInput{
		QueueUrl: queue.QueueUrl, Attributes: map[string]string{"VisibilityTimeout": "45"},
	})
	s.must(err)
	_, err = ssm.NewFromConfig(at).PutParameter(t.Context(), &ssm.PutParameterInput{
		Name: aws.String("/vault"), Value: aws.String("hunter3"), Overwrite: aws.Bool(true),
	})
	s.must(err)
	file := s.file(queueManifest, bills, strings.ReplaceAll(queueManifest, "orders", "news"), vaultDefinition, vaultManifest)
	code, out, errOut := s.run("-f", file, "--drift", "--detailed-exitcode")
	for _, want := range []string{
		"\nDrift:\n",
		"  stack aws-operator-sqsqueue-orders-default (SQSQueue default/orders) differs from its template\n",
		"    Queue (AWS::SQS::Queue, " + *queue.QueueUrl + ")\n      VisibilityTimeout is 45 and should be 120\n",
		"      Value is **** and should be ****\n",
		"  No drift: aws-operator-sqsqueue-bills-default.\n",
		"in 2 stacks. 2 of 3 deployed stacks drifted.\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q, but\n%s%s", want, out, errOut)
		}
	}
	if code != 2 || strings.Contains(out, "hunter") {
		t.Errorf("it exits with %d and says\n%s%s", code, out, errOut)
	}
	changed := strings.ReplaceAll(queueManifest, "visibilityTimeout: 120", "visibilityTimeout: 60")
	_, out, errOut = s.run("-f", s.file(changed), "--drift")
	if want := "    The update overwrites Queue/VisibilityTimeout (45 in AWS).\n"; !strings.Contains(out, want) {
		t.Errorf("it does not say %q, but\n%s%s", want, out, errOut)
	}
	_, err = queues.DeleteQueue(t.Context(), &sqs.DeleteQueueInput{QueueUrl: queue.QueueUrl})
	s.must(err)
	excepted := strings.ReplaceAll(bills, "{name: bills}", "{name: bills, annotations: {service-operator.aws/ignore-drift: Queue/VisibilityTimeout}}")
	other, err := queues.GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: aws.String("bills")})
	s.must(err)
	_, err = queues.SetQueueAttributes(t.Context(), &sqs.SetQueueAttributesInput{
		QueueUrl: other.QueueUrl, Attributes: map[string]string{"VisibilityTimeout": "45"},
	})
	s.must(err)
	code, out, errOut = s.run("-f", s.file(queueManifest, excepted), "--drift", "--detailed-exitcode", "-o", "json")
	var all struct{ Plans []*plan.Plan }
	s.must(json.Unmarshal([]byte(out), &all))
	stacks := all.Plans[0].Stacks
	if code != 2 || !all.Plans[0].Empty() || stacks[0].Drift.Status != stack.InSync || stacks[1].Drift.Status != stack.Drifted ||
		len(stacks[1].Drift.Resources) != 1 || !stacks[1].Drift.Resources[0].Deleted {
		t.Errorf("it exits with %d and says\n%s%s", code, out, errOut)
	}
}

// TestOtherKindsAreNotPlanned has a Deployment beside the queue that it uses, as in a file for
// kubectl.
func TestOtherKindsAreNotPlanned(t *testing.T) {
	s := newServices(t)
	const deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: shop}\n"
	code, out, errOut := s.run("-f", s.file(deployment, queueManifest))
	if code != 0 || !strings.Contains(out, "SQSQueue default/orders") || strings.Contains(out, "shop") ||
		errOut != "Not planned, since the operator does not manage this kind: Deployment shop (apps/v1).\n" {
		t.Errorf("it exits with %d and says\n%s%s", code, out, errOut)
	}
	if code, out, errOut := s.run("-f", s.file(deployment)); code != 1 || out != "" ||
		!strings.Contains(errOut, "no cluster to plan in the files") {
		t.Errorf("with nothing else it exits with %d and says\n%s%s", code, out, errOut)
	}
}

// TestAllMistakesInServicesAreReportedAtOnce has two objects that only their templates refuse, and
// then two that their schema refuses.
func TestAllMistakesInServicesAreReportedAtOnce(t *testing.T) {
	s := newServices(t)
	templates := strings.ReplaceAll(topicManifest, "spec: {}", "spec: {cloudFormationTemplateName: x}")
	fields := strings.ReplaceAll(queueManifest, "visibilityTimeout: 120", "visibilityTimeout: fast, fifoQueu: true")
	for name, c := range map[string]struct {
		manifests []string
		want      []string
	}{
		"templates": {
			[]string{templates, strings.ReplaceAll(templates, "news", "olds")},
			[]string{
				"document 1, line 4: SNSTopic news: spec.cloudFormationTemplateName: there is no CloudFormationTemplate default/x",
				"document 2, line 9: SNSTopic olds: spec.cloudFormationTemplateName: there is no CloudFormationTemplate default/x",
			},
		},
		"fields": {
			[]string{fields, strings.ReplaceAll(queueManifest, "120", "50000")},
			[]string{
				"document 1, line 4: SQSQueue orders: spec.fifoQueu: there is no such field; did you mean fifoQueue?",
				"document 1, line 4: SQSQueue orders: spec.visibilityTimeout: this is text, but must be a whole number",
				"document 2, line 9: SQSQueue bills: spec.visibilityTimeout: 50000 should be less than or equal to 43200",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.manifests[1] = strings.ReplaceAll(c.manifests[1], "orders", "bills")
			code, out, errOut := s.run("-f", s.file(c.manifests...))
			if code != 1 || out != "" || strings.Count(errOut, "\n") != len(c.want) {
				t.Errorf("it exits with %d and says %s%s", code, out, errOut)
			}
			for _, want := range c.want {
				if !strings.Contains(errOut, want) {
					t.Errorf("it does not say %q, but\n%s", want, errOut)
				}
			}
		})
	}
}

func TestMistakesInServicesAreReported(t *testing.T) {
	s := newServices(t)
	_, err := s.api.CreateStack(t.Context(), &cloudformation.CreateStackInput{
		StackName:    aws.String("aws-operator-sqsqueue-orders-default"),
		TemplateBody: aws.String("Resources: {Q: {Type: 'AWS::SQS::Queue'}}"),
	})
	s.must(err)
	for name, c := range map[string]struct{ manifest, want string }{
		"a kind that nothing defines": {vaultManifest, "Vault mine: kind: there is no kind Vault; give its ModelDefinition"},
		"a field that is not there": {
			strings.ReplaceAll(queueManifest, "visibilityTimeout", "visibilityTimout"),
			"SQSQueue orders: spec.visibilityTimout: there is no such field; did you mean visibilityTimeout?",
		},
		"a value that cannot be":   {strings.ReplaceAll(queueManifest, "120", "fast"), "SQSQueue orders: spec.visibilityTimeout: this is text, but must be a whole number"},
		"a stack of another owner": {queueManifest, "exists, but its tags are not this object's"},
		"a template that nothing gives": {
			strings.ReplaceAll(topicManifest, "spec: {}", "spec: {cloudFormationTemplateName: x}"),
			"there is no CloudFormationTemplate default/x",
		},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errOut := s.run("-f", s.file(c.manifest))
			if code != 1 || out != "" || !strings.Contains(errOut, c.want) || strings.Count(errOut, "\n") != 1 {
				t.Errorf("it exits with %d and says %s%s", code, out, errOut)
			}
		})
	}
}
