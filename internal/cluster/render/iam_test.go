package render_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/render"
)

// statement is a statement of a role's policy.
type statement struct {
	sid, effect string
	actions     []string
	resources   string
	conditions  string
}

// statements lists those of a role.
func statements(t *testing.T, s *render.Stack, role string) []statement {
	t.Helper()
	documents := []*template.Node{}
	for _, policy := range s.Template.Resources[role].Properties.Get("Policies").Items {
		documents = append(documents, policy.Get("PolicyDocument"))
	}
	if role == "ControlPlaneRole" {
		for _, id := range ofType(s, "AWS::IAM::ManagedPolicy") {
			documents = append(documents, s.Template.Resources[id].Properties.Get("PolicyDocument"))
		}
	}
	var all []statement
	for _, document := range documents {
		for _, n := range document.Get("Statement").Items {
			one := statement{sid: n.Get("Sid").Text, effect: n.Get("Effect").Text, resources: string(n.Get("Resource").AppendJSON(nil))}
			if action := n.Get("Action"); action.Kind == template.List {
				for _, a := range action.Items {
					one.actions = append(one.actions, a.Text)
				}
			} else {
				one.actions = []string{action.Text}
			}
			if condition := n.Get("Condition"); condition != nil {
				one.conditions = string(condition.AppendJSON(nil))
			}
			all = append(all, one)
		}
	}
	return all
}

var roles = []string{"ControlPlaneRole", "WorkerRole"}

// The only statements on all resources are those for which AWS knows none:
// https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonec2.html,
// https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonelasticcontainerregistry.html
func TestNoPermissionOnEverything(t *testing.T) {
	s := mustBase(t, "testdata/private.yaml", func(*v1alpha1.ClusterSpec) {})
	for _, role := range roles {
		for _, one := range statements(t, s, role) {
			if one.resources == `"*"` && !slices.Contains([]string{"Describe", "LogInToRegistry"}, one.sid) {
				t.Errorf("%s may %v on everything", role, one.actions)
			}
			for _, action := range one.actions {
				if strings.HasSuffix(action, ":*") {
					t.Errorf("%s may do everything of %s", role, action)
				}
			}
		}
	}
}

// Workers do what they must to boot, and see no CA.
func TestWhatWorkersMay(t *testing.T) {
	s := mustBase(t, "testdata/private.yaml", func(*v1alpha1.ClusterSpec) {})
	got := map[string][]string{}
	for _, one := range statements(t, s, "WorkerRole") {
		got[one.sid] = one.actions
		if strings.Contains(one.resources+one.conditions, "pki") {
			t.Errorf("%s lets workers at the CAs: %s", one.sid, one.resources)
		}
	}
	want := map[string][]string{
		"ReadBootFiles": {"s3:GetObject"}, "DecryptBootFiles": {"kms:Decrypt"},
		"ReadToken": {"ssm:GetParameter"}, "DecryptToken": {"kms:Decrypt"},
		"LogInToRegistry": {"ecr:GetAuthorizationToken"},
		"PullImages":      {"ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("statements (-want +got):\n%s", diff)
	}
}

// Where slots keep the token they write it, workers read it, and those of groups that an upgrade
// has not reached yet the parameter as well.
func TestWhoMayTouchTheTokenThatSlotsKeep(t *testing.T) {
	f := read(t, "testdata/private.yaml")
	f.cluster.Spec.Release = "set-1.2.0"
	c, _ := fixture{cluster: f.cluster}.resolve(t, setRelease("1.2.0"))
	s, err := render.Base(c)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../../docs/reference/cluster-resources.md")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, role := range []string{"ControlPlaneRole", "WorkerRole"} {
		for _, one := range statements(t, s, role) {
			if strings.HasSuffix(one.sid, "Token") {
				got[role] = append(got[role], one.sid)
			}
			if !strings.Contains(string(text), "`"+one.sid+"`") {
				t.Errorf("the reference does not say why %s has %s", role, one.sid)
			}
		}
	}
	want := map[string][]string{
		"ControlPlaneRole": {"KeepToken", "EncryptToken"},
		"WorkerRole":       {"ReadToken", "DecryptToken", "ReadFormerToken", "DecryptFormerToken"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("statements (-want +got):\n%s", diff)
	}
}

// Slots touch the backups in the cluster's own bucket and nothing else for that, workers none, and
// without the field no role does.
func TestWhoMayTouchBackups(t *testing.T) {
	text, err := os.ReadFile("../../../docs/reference/cluster-resources.md")
	if err != nil {
		t.Fatal(err)
	}
	const prefix = "arn:aws:s3:::big-123456789012-eu-central-1/backups/etcd/*"
	want := map[string]statement{
		"StoreBackups": {actions: []string{"s3:DeleteObject", "s3:GetObject", "s3:PutObject"}, resources: `"` + prefix + `"`},
		"EncryptBackups": {
			actions: []string{"kms:Decrypt", "kms:GenerateDataKey"}, resources: `{"Fn::GetAtt":["Key","Arn"]}`,
			conditions: `{"StringEquals":{"kms:ViaService":"s3.eu-central-1.amazonaws.com"},` +
				`"StringLike":{"kms:EncryptionContext:aws:s3:arn":"` + prefix + `"}}`,
		},
		"FindBackups": {
			actions: []string{"s3:ListBucket"}, resources: `"arn:aws:s3:::big-123456789012-eu-central-1"`,
			conditions: `{"StringLike":{"s3:prefix":"backups/etcd/*"}}`,
		},
	}
	for _, enabled := range []bool{false, true} {
		s := mustBase(t, "testdata/private.yaml", func(spec *v1alpha1.ClusterSpec) {
			if enabled {
				spec.Backup.Bucket = &v1alpha1.BucketBackup{}
			}
		})
		found := 0
		for _, role := range roles {
			for _, one := range statements(t, s, role) {
				if !strings.Contains(one.resources+one.conditions, "backups") && !strings.Contains(one.sid, "Backups") {
					continue
				}
				found++
				is := want[one.sid]
				if role != "ControlPlaneRole" || one.effect != "Allow" || !slices.Equal(one.actions, is.actions) ||
					one.resources != is.resources || one.conditions != is.conditions {
					t.Errorf("%s has %+v", role, one)
				}
				if !strings.Contains(string(text), "`"+one.sid+"`") {
					t.Errorf("the reference does not say why %s has %s", role, one.sid)
				}
			}
		}
		denied := slices.ContainsFunc(
			s.Template.Resources["BucketPolicy"].Properties.Get("PolicyDocument").Get("Statement").Items,
			func(n *template.Node) bool {
				return n.Get("Effect").Text == "Deny" && n.Get("Resource").Text == prefix &&
					string(n.Get("Action").AppendJSON(nil)) == `["s3:GetObject","s3:GetObjectVersion","s3:PutObject"]` &&
					string(n.Get("Condition").AppendJSON(nil)) == `{"ArnEquals":{"aws:PrincipalArn":{"Fn::GetAtt":["WorkerRole","Arn"]}}}`
			})
		if denied != enabled || enabled && found != len(want) || !enabled && found != 0 {
			t.Errorf("with the field: %v, %d statements, workers are denied: %v", enabled, found, denied)
		}
	}
}

// Slots encrypt and decrypt by themselves with one key and the cluster's encryption context only,
// workers never, and without the field no role does.
func TestWhoMayEncryptResources(t *testing.T) {
	text, err := os.ReadFile("../../../docs/reference/cluster-resources.md")
	if err != nil {
		t.Fatal(err)
	}
	const key = "arn:aws:kms:eu-central-1:210987654321:key/1"
	for _, c := range []struct {
		name       string
		encryption *v1alpha1.Encryption
		want       string
	}{
		{"nothing", nil, ""},
		{"with the cluster's key", &v1alpha1.Encryption{}, `{"Fn::GetAtt":["Key","Arn"]}`},
		{"with a key of the user", &v1alpha1.Encryption{KMSKeyARN: key}, `"` + key + `"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := mustBase(t, "testdata/private.yaml", func(spec *v1alpha1.ClusterSpec) { spec.API.Encryption = c.encryption })
			found := 0
			for _, role := range roles {
				for _, one := range statements(t, s, role) {
					uses := slices.ContainsFunc(one.actions, func(action string) bool { return strings.HasPrefix(action, "kms:") })
					if !uses || strings.Contains(one.conditions, "kms:ViaService") {
						continue
					}
					found++
					const conditions = `{"StringEquals":{"kms:EncryptionContext:cluster-operator.aws/account":"123456789012",` +
						`"kms:EncryptionContext:cluster-operator.aws/cluster":"big"}}`
					if role != "ControlPlaneRole" || one.sid != "EncryptResources" || one.effect != "Allow" || one.conditions != conditions ||
						one.resources != c.want || !slices.Equal(one.actions, []string{"kms:Decrypt", "kms:Encrypt"}) {
						t.Errorf("%s has %+v", role, one)
					}
				}
			}
			if (found == 1) != (c.want != "") {
				t.Errorf("there are %d statements", found)
			}
		})
	}
	if !strings.Contains(string(text), "`EncryptResources`") {
		t.Error("the reference does not say why the role has EncryptResources")
	}
}

// Slots add parts of the audit log to one prefix of one bucket and do nothing else with it. In the
// cluster's bucket, no other policy can give the nodes more. Without the field no role has anything.
func TestWhoMayTouchTheAuditLog(t *testing.T) {
	text, err := os.ReadFile("../../../docs/reference/cluster-resources.md")
	if err != nil {
		t.Fatal(err)
	}
	const (
		own, theirs = "arn:aws:s3:::big-123456789012-eu-central-1", "arn:aws:s3:::logs"
		key         = "arn:aws:kms:eu-central-1:210987654321:key/1"
		viaS3       = `{"StringEquals":{"kms:ViaService":"s3.eu-central-1.amazonaws.com"},"StringLike":{"kms:EncryptionContext:aws:s3:arn":`
	)
	condition := func(account string) string {
		return `{"Null":{"s3:if-none-match":"false"},"StringEquals":{"aws:ResourceAccount":"` + account + `"}}`
	}
	for _, c := range []struct {
		name   string
		ship   *v1alpha1.AuditShipping
		want   map[string]statement
		denied int
	}{
		{"not shipped", nil, map[string]statement{}, 0},
		{"the cluster's bucket", &v1alpha1.AuditShipping{}, map[string]statement{
			"AddAuditLog": {actions: []string{"s3:PutObject"}, resources: `"` + own + `/audit/big/*"`, conditions: condition("123456789012")},
			"EncryptAuditLog": {
				actions: []string{"kms:GenerateDataKey"}, resources: `{"Fn::GetAtt":["Key","Arn"]}`, conditions: viaS3 + `"` + own + `/audit/big/*"}}`,
			},
		}, 3},
		{"a bucket of the user", &v1alpha1.AuditShipping{Bucket: "logs", Prefix: "k8s/"}, map[string]statement{
			"AddAuditLog": {actions: []string{"s3:PutObject"}, resources: `"` + theirs + `/k8s/big/*"`, conditions: condition("123456789012")},
		}, 0},
		{"a bucket and a key of another account", &v1alpha1.AuditShipping{Bucket: "logs", Account: "210987654321", KMSKeyARN: key}, map[string]statement{
			"AddAuditLog": {actions: []string{"s3:PutObject"}, resources: `"` + theirs + `/audit/big/*"`, conditions: condition("210987654321")},
			"EncryptAuditLog": {
				actions: []string{"kms:GenerateDataKey"}, resources: `"` + key + `"`,
				conditions: viaS3 + `["` + theirs + `/audit/big/*","` + theirs + `"]}}`,
			},
		}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := mustBase(t, "testdata/private.yaml", func(spec *v1alpha1.ClusterSpec) {
				if c.ship != nil {
					spec.API.Audit = &v1alpha1.Audit{Ship: c.ship}
				}
			})
			got := map[string]statement{}
			for _, role := range roles {
				for _, one := range statements(t, s, role) {
					if !strings.Contains(one.resources+one.conditions, "audit/") && !strings.Contains(one.sid, "Audit") {
						continue
					}
					if role != "ControlPlaneRole" || one.effect != "Allow" {
						t.Errorf("%s has %+v", role, one)
					}
					if !strings.Contains(string(text), "`"+one.sid+"`") {
						t.Errorf("the reference does not say why %s has %s", role, one.sid)
					}
					got[one.sid] = statement{actions: one.actions, resources: one.resources, conditions: one.conditions}
				}
			}
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(statement{})); diff != "" {
				t.Errorf("statements (-want +got):\n%s", diff)
			}
			denied := 0
			for _, n := range s.Template.Resources["BucketPolicy"].Properties.Get("PolicyDocument").Get("Statement").Items {
				if n.Get("Effect").Text == "Deny" && n.Get("Resource").Text == own+"/audit/big/*" {
					denied++
				}
			}
			if denied != c.denied {
				t.Errorf("the bucket's policy has %d statements for it, want %d", denied, c.denied)
			}
		})
	}
}

// What changes EC2's or load balancers' resources is held to the cluster's tag
// or to one resource.
func TestChangesAreHeldToTheCluster(t *testing.T) {
	s := mustBase(t, "testdata/private.yaml", func(*v1alpha1.ClusterSpec) {})
	free := []string{
		"Describe",              // changes nothing
		"NotTheAPI",             // denies
		"CreateSecurityGroupIn", // the VPC
		"OpenWorkers",           // one security group
		"TagAtCreation",         // only what the same call makes
	}
	for _, one := range statements(t, s, "ControlPlaneRole") {
		service, _, _ := strings.Cut(one.actions[0], ":")
		if service != "ec2" && service != "elasticloadbalancing" && service != "autoscaling" || slices.Contains(free, one.sid) {
			continue
		}
		if !strings.Contains(one.conditions, "Tag/kubernetes.io/cluster/big") &&
			!strings.Contains(one.conditions, "Tag/k8s.io/cluster-autoscaler/big") {
			t.Errorf("%s: %v on %s if %s", one.sid, one.actions, one.resources, one.conditions)
		}
	}
}

// The cloud controller manager gives load balancers, target groups and listeners their tags in the
// call that creates them:
// https://github.com/kubernetes/cloud-provider-aws/blob/v1.36.1/pkg/providers/v1/aws_loadbalancer.go
func TestCloudControllerMayTagWhatItCreates(t *testing.T) {
	s := mustBase(t, "testdata/private.yaml", func(*v1alpha1.ClusterSpec) {})
	for _, kind := range []string{"loadbalancer/*", "targetgroup/*", "listener/net/*"} {
		if !slices.ContainsFunc(statements(t, s, "ControlPlaneRole"), func(one statement) bool {
			return one.effect == "Allow" && slices.Contains(one.actions, "elasticloadbalancing:AddTags") &&
				strings.Contains(one.resources, ":"+kind) &&
				strings.Contains(one.conditions, "aws:RequestTag/kubernetes.io/cluster/big")
		}) {
			t.Errorf("the cloud controller manager cannot create a %s with tags", kind)
		}
	}
}

// A name is no boundary: the API listener of a cluster "api" begins like those of Services.
func TestSlotsCannotChangeListenersOfOtherClusters(t *testing.T) {
	s := mustBase(t, "testdata/private.yaml", func(*v1alpha1.ClusterSpec) {})
	for _, one := range statements(t, s, "ControlPlaneRole") {
		if one.effect != "Allow" || !strings.Contains(one.resources, ":listener/") {
			continue
		}
		held := "aws:ResourceTag/cluster-operator.aws/cluster"
		if one.sid == "TagAtCreation" {
			held = "elasticloadbalancing:CreateAction" // only what the same call creates
		}
		for _, want := range []string{"Tag/kubernetes.io/cluster/big", held} {
			if !strings.Contains(one.conditions, want) {
				t.Errorf("%s allows %v on %s without a condition on %s", one.sid, one.actions, one.resources, want)
			}
		}
	}
}

// Nodes pull from the repositories that the Cluster names, else from those tagged for it. A
// published resource set keeps what its clusters run with: all repositories of the account.
func TestImagesThatNodesMayPull(t *testing.T) {
	const all = "arn:aws:ecr:*:123456789012:repository/*"
	tagged := `{"StringEquals":{"aws:ResourceTag/kubernetes.io/cluster/big":["owned","shared"]}}`
	for _, c := range []struct {
		name, set       string
		repositories    []string
		want, condition string
	}{
		{"a set before 1.2.0", "1.1.0", nil, `"` + all + `"`, ""},
		{"a set before 1.2.0, with a list", "1.1.0", []string{"team/*"}, `["arn:aws:ecr:*:123456789012:repository/team/*"]`, ""},
		{"tagged repositories", "1.2.0", nil, `"` + all + `"`, tagged},
		{
			"a list", "1.2.0",
			[]string{"team/*", "arn:aws:ecr:eu-west-1:210987654321:repository/shared"},
			`["arn:aws:ecr:*:123456789012:repository/team/*","arn:aws:ecr:eu-west-1:210987654321:repository/shared"]`, "",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := read(t, "testdata/private.yaml")
			f.cluster.Spec.Release, f.cluster.Spec.IAM.ImageRepositories = "set-"+c.set, c.repositories
			resolved, _ := fixture{cluster: f.cluster}.resolve(t, setRelease(c.set))
			s, err := render.Base(resolved)
			if err != nil {
				t.Fatal(err)
			}
			for _, role := range roles {
				public := slices.ContainsFunc(statements(t, s, role), func(one statement) bool {
					return slices.Equal(one.actions, []string{"ecr-public:GetAuthorizationToken", "sts:GetServiceBearerToken"})
				})
				if public != (c.set == "1.2.0") {
					t.Errorf("that %s may log in to public.ecr.aws is %v", role, public)
				}
				for _, one := range statements(t, s, role) {
					if one.sid == "PullImages" && (one.resources != c.want || one.conditions != c.condition) {
						t.Errorf("%s pulls from %s if %s", role, one.resources, one.conditions)
					}
				}
			}
		})
	}
}

// IAM takes 10,240 characters of inline policies a role, and 6,144 of a policy of
// its own, white space not counted.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html
func TestPoliciesFit(t *testing.T) {
	const mostOfRole, mostOfPolicy, reserve = 10_240, 6_144, 1_000
	f := read(t, "testdata/private.yaml")
	f.cluster.Name = strings.Repeat("n", 40) // the longest
	f.cluster.Spec.Release = "set-1.2.0"     // the newest
	f.cluster.Spec.Backup.Bucket = &v1alpha1.BucketBackup{}
	f.cluster.Spec.API.Audit = &v1alpha1.Audit{Ship: &v1alpha1.AuditShipping{}}
	for range 16 { // the most
		f.cluster.Spec.IAM.ImageRepositories = append(f.cluster.Spec.IAM.ImageRepositories, strings.Repeat("r", 100))
	}
	c, _ := fixture{cluster: f.cluster}.resolve(t, setRelease("1.2.0"))
	s, err := render.Base(c)
	if err != nil {
		t.Fatal(err)
	}
	arns := strings.NewReplacer(
		`{"Fn::GetAtt":["Key","Arn"]}`, strings.Repeat("k", 80),
		`{"Ref":"APIListener"}`, strings.Repeat("l", 140),
	)
	size := func(document *template.Node) int { return len(arns.Replace(string(document.AppendJSON(nil)))) }
	for _, role := range ofType(s, "AWS::IAM::Role") {
		sum := 0
		for _, policy := range s.Template.Resources[role].Properties.Get("Policies").Items {
			sum += size(policy.Get("PolicyDocument"))
		}
		if sum > mostOfRole-reserve {
			t.Errorf("the policies of %s can be %d characters", role, sum)
		}
	}
	for _, id := range ofType(s, "AWS::IAM::ManagedPolicy") {
		if one := size(s.Template.Resources[id].Properties.Get("PolicyDocument")); one > mostOfPolicy-reserve {
			t.Errorf("%s can be %d characters", id, one)
		}
	}
}

// Every statement's reason is in the reference.
func TestStatementsAreExplained(t *testing.T) {
	text, err := os.ReadFile("../../../docs/reference/cluster-resources.md")
	if err != nil {
		t.Fatal(err)
	}
	s := mustBase(t, "testdata/private.yaml", func(*v1alpha1.ClusterSpec) {})
	for _, role := range roles {
		for _, one := range statements(t, s, role) {
			if !strings.Contains(string(text), "`"+one.sid+"`") {
				t.Errorf("the reference does not say why %s has %s", role, one.sid)
			}
		}
	}
	for _, role := range addonRoles {
		_, reasons, _ := strings.Cut(string(text), "\n`"+role+"`,")
		for _, one := range statements(t, withIssuer(t, "1.2.0"), role) {
			if !strings.Contains(reasons, "`"+one.sid+"`") {
				t.Errorf("the reference does not say why %s has %s", role, one.sid)
			}
		}
	}
	for _, n := range s.Template.Resources["BucketPolicy"].Properties.Get("PolicyDocument").Get("Statement").Items {
		if !strings.Contains(string(text), "`"+n.Get("Sid").Text+"`") {
			t.Errorf("the reference does not say why the bucket has %s", n.Get("Sid").Text)
		}
	}
}

// Only the control plane and the cluster's creator can read the CAs.
func TestReadersOfTheCAs(t *testing.T) {
	denied := func(s *render.Stack) string {
		for _, n := range s.Template.Resources["BucketPolicy"].Properties.Get("PolicyDocument").Get("Statement").Items {
			if n.Get("Sid").Text == "KeysForControlPlane" {
				return string(n.Get("Condition").AppendJSON(nil))
			}
		}
		return ""
	}
	for _, c := range []struct {
		name string
		role *v1alpha1.AssumedRole
		want string
	}{
		{
			"created by a known role: no other principal", &v1alpha1.AssumedRole{ARN: "arn:aws:iam::123456789012:role/cluster-operator"},
			`{"ArnNotEquals":{"aws:PrincipalArn":[{"Fn::GetAtt":["ControlPlaneRole","Arn"]},"arn:aws:iam::123456789012:role/cluster-operator","arn:aws:iam::123456789012:root"]}}`,
		},
		{"created by unknown credentials: not workers, whatever policies their role has", nil, `{"ArnEquals":{"aws:PrincipalArn":{"Fn::GetAtt":["WorkerRole","Arn"]}}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := mustBase(t, "testdata/private.yaml", func(spec *v1alpha1.ClusterSpec) { spec.Role = c.role })
			if got := denied(s); got != c.want {
				t.Errorf("got %s", got)
			}
		})
	}
}

// The bucket is public only where documents are published in it.
func TestBucketIsNotPublic(t *testing.T) {
	for _, c := range []struct {
		name   string
		issuer *v1alpha1.ServiceAccountIssuer
		closed string
	}{
		{"no issuer", nil, "true"},
		{"an issuer elsewhere", &v1alpha1.ServiceAccountIssuer{URL: "https://issuer.example.com"}, "true"},
		{"an issuer in the bucket", &v1alpha1.ServiceAccountIssuer{}, "false"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := mustBase(t, "testdata/private.yaml", func(spec *v1alpha1.ClusterSpec) { spec.ServiceAccountIssuer = c.issuer })
			for _, setting := range []string{"BlockPublicPolicy", "RestrictPublicBuckets"} {
				if got := property(s, "Bucket", "PublicAccessBlockConfiguration", setting); got != c.closed {
					t.Errorf("%s is %s", setting, got)
				}
			}
			if public := strings.Contains(property(s, "BucketPolicy", "PolicyDocument"), `"Effect":"Allow"`); public != (c.closed == "false") {
				t.Errorf("the bucket's policy lets someone in: %v", public)
			}
			if got := ofType(s, "AWS::IAM::OIDCProvider"); (len(got) == 1) != (c.issuer != nil) {
				t.Errorf("providers are %v", got)
			}
		})
	}
}

// The stack policy names existing types, and all of the base stack's types that hold data, except
// addresses: those of NAT gateways may be deleted with the gateways.
func TestStackPolicy(t *testing.T) {
	s := mustBase(t, "testdata/private.yaml", func(*v1alpha1.ClusterSpec) {})
	var policy struct {
		Statement []struct {
			Effect    string
			Condition struct {
				StringEquals struct{ ResourceType []string }
			}
		}
	}
	if err := json.Unmarshal([]byte(s.Policy), &policy); err != nil {
		t.Fatal(err)
	}
	guarded := policy.Statement[1].Condition.StringEquals.ResourceType
	for _, name := range guarded {
		if _, ok := schema.Default().Type(name); !ok {
			t.Errorf("there is no type %s", name)
		}
	}
	for id, r := range s.Template.Resources {
		if schema.IsStateful(r.Type) && !slices.Contains(guarded, r.Type) && r.Type != "AWS::EC2::EIP" {
			t.Errorf("%s, a %s, is not guarded", id, r.Type)
		}
	}
	if !s.TerminationProtection {
		t.Error("the base stack can be deleted by anyone")
	}
}

// In China, services and partitions have other names.
func TestOtherPartitions(t *testing.T) {
	f := read(t, "testdata/public.yaml")
	f.cluster.Spec.Region, f.cluster.Spec.Network.Zones = "cn-north-1", []string{"cn-north-1a"}
	f.cluster.Spec.Release = "set-1.2.0"
	c, err := model.Resolve(model.Input{
		Cluster: f.cluster, Release: setRelease("1.2.0"), Operator: "management",
		AccountID: "123456789012", Partition: "aws-cn", DNSSuffix: "amazonaws.com.cn",
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := render.Base(c)
	if err != nil {
		t.Fatal(err)
	}
	text := string(s.Template.CanonicalJSON())
	if strings.Contains(text, "arn:aws:") {
		t.Error("there is an ARN of another partition")
	}
	if strings.Contains(text, "ecr-public") {
		t.Error("there is a right of another partition")
	}
	for _, want := range []string{`"ec2.amazonaws.com.cn"`, `"s3.cn-north-1.amazonaws.com.cn"`, `"com.amazonaws.cn-north-1.s3"`} {
		if !strings.Contains(text, want) {
			t.Errorf("nothing says %s", want)
		}
	}
}
