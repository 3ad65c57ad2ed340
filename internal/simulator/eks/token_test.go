package eks_test

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awseks "github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"
	awsiam "github.com/aws/aws-sdk-go-v2/service/iam"
	awssts "github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/aws-operator/aws-operator/internal/simulator/machine"
)

var one = machine.ControlPlaneKey{Account: account, Region: region, Cluster: "one"}

const policies = "arn:aws:eks::aws:cluster-access-policy/"

// grant creates an access entry with access policies for the whole cluster.
func (w *suite) grant(principal string, names ...string) {
	w.t.Helper()
	_, err := w.CreateAccessEntry(w.t.Context(), &awseks.CreateAccessEntryInput{ClusterName: &one.Cluster, PrincipalArn: &principal})
	must(w.t, principal, err)
	for _, name := range names {
		_, err := w.AssociateAccessPolicy(w.t.Context(), &awseks.AssociateAccessPolicyInput{
			ClusterName: &one.Cluster, PrincipalArn: &principal, PolicyArn: aws.String(policies + name),
			AccessScope: &types.AccessScope{Type: types.AccessScopeTypeCluster},
		})
		must(w.t, name, err)
	}
}

// change returns a token with a part of its URL replaced.
func change(t *testing.T, token, old, replacement string) string {
	t.Helper()
	text, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(token, "k8s-aws-v1."))
	if err != nil || !strings.Contains(string(text), old) {
		t.Fatalf("%q is not in %s (%v)", old, text, err)
	}
	return "k8s-aws-v1." + base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(string(text), old, replacement, 1)))
}

// https://github.com/kubernetes-sigs/aws-iam-authenticator#how-does-it-work
func TestTokens(t *testing.T) {
	w := start(t)
	w.cluster("one")
	ann, key := w.user("ann")
	_, stranger := w.user("bob")
	w.grant(ann)
	valid := w.token("one", key)
	for name, c := range map[string]struct {
		token string
		want  string // of the error, empty for none
	}{
		"a valid one":                {valid, ""},
		"of the creator":             {w.token("one", w.config.Credentials), ""},
		"for another cluster":        {w.token("two", key), "SignatureDoesNotMatch"},
		"of another host":            {change(t, valid, "sts."+region+".amazonaws.com", "sts.example.com"), "unexpected hostname"},
		"of a host that looks alike": {change(t, valid, "sts."+region+".amazonaws.com", "sts."+region+".amazonaws.com.example.com"), "unexpected hostname"},
		"without TLS":                {change(t, valid, "https://", "http://"), "unexpected scheme"},
		"of another path":            {change(t, valid, ".com/?", ".com/a?"), "unexpected path"},
		"of another action":          {change(t, valid, "GetCallerIdentity", "AssumeRole"), "unexpected action"},
		"with another parameter":     {change(t, valid, "?", "?RoleArn=a&"), "non-whitelisted query parameter"},
		"with a parameter twice":     {change(t, valid, "?", "?action=GetCallerIdentity&"), "multiple values"},
		"without the header":         {change(t, valid, "x-k8s-aws-id", "x-other"), "did not sign the x-k8s-aws-id header"},
		"that expires late":          {change(t, valid, "X-Amz-Expires=60", "X-Amz-Expires=86400"), "invalid X-Amz-Expires"},
		"with another signature":     {change(t, valid, "X-Amz-Signature=", "X-Amz-Signature=0"), "SignatureDoesNotMatch"},
		"of an unknown key":          {w.token("one", credentials.NewStaticCredentialsProvider("AKIAUNKNOWN", "secret", "")), "InvalidClientTokenId"},
		"of an unknown principal":    {w.token("one", stranger), "ARN is not mapped: arn:aws:iam::123456789012:user/bob"},
		"without the prefix":         {strings.TrimPrefix(valid, "k8s-aws-v1."), "missing expected"},
		"that is not base64":         {"k8s-aws-v1.***", "not properly formatted"},
		"that is too long":           {valid + strings.Repeat("a", 5000), "too large"},
	} {
		t.Run(name, func(t *testing.T) {
			user, err := w.service.Authenticate(one, c.token)
			switch {
			case c.want == "" && err != nil:
				t.Fatal(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("got %+v and %v, want %q", user, err, c.want)
			case c.want == "" && !slices.Contains(user.Groups, "system:authenticated"):
				t.Errorf("the groups are %v", user.Groups)
			}
		})
	}
	two := machine.ControlPlaneKey{Account: account, Region: region, Cluster: "two"}
	if _, err := w.service.Authenticate(two, w.token("two", key)); err == nil {
		t.Error("a token for a cluster that does not exist is accepted")
	}
	w.clock.Step(16 * time.Minute)
	if _, err := w.service.Authenticate(one, valid); err == nil || !strings.Contains(err.Error(), "expired") {
		t.Errorf("after 16 minutes: %v", err)
	}
}

// https://docs.aws.amazon.com/eks/latest/userguide/creating-access-entries.html
func TestSessionsAreTheirRoles(t *testing.T) {
	w := start(t)
	w.cluster("one")
	ann, key := w.user("ann")
	trust := `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":"` + ann + `"},"Action":"sts:AssumeRole"}]}`
	made, err := w.iam.CreateRole(t.Context(), &awsiam.CreateRoleInput{RoleName: aws.String("team"), Path: aws.String("/teams/"), AssumeRolePolicyDocument: &trust})
	role := *must(t, made, err).Role.Arn
	w.grant(role)
	sts := awssts.NewFromConfig(w.config, func(o *awssts.Options) { o.Credentials = key })
	session, err := sts.AssumeRole(t.Context(), &awssts.AssumeRoleInput{RoleArn: &role, RoleSessionName: aws.String("ann@example.com")})
	c := must(t, session, err).Credentials
	user, err := w.service.Authenticate(one, w.token("one", credentials.NewStaticCredentialsProvider(*c.AccessKeyId, *c.SecretAccessKey, *c.SessionToken)))
	if err != nil || user.Name != "arn:aws:sts::123456789012:assumed-role/team/ann-example.com" || user.PrincipalARN != role {
		t.Errorf("the user is %+v (%v)", user, err)
	}
	_, err = w.UpdateAccessEntry(t.Context(), &awseks.UpdateAccessEntryInput{
		ClusterName: &one.Cluster, PrincipalArn: &role, Username: aws.String("team:{{SessionNameRaw}}"), KubernetesGroups: []string{"builders"},
	})
	must(t, role, err)
	user, err = w.service.Authenticate(one, w.token("one", credentials.NewStaticCredentialsProvider(*c.AccessKeyId, *c.SecretAccessKey, *c.SessionToken)))
	if err != nil || user.Name != "team:ann@example.com" || !slices.Contains(user.Groups, "builders") {
		t.Errorf("the user with a name of its own is %+v (%v)", user, err)
	}
}

// https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateAccessEntry.html
func TestAccessEntries(t *testing.T) {
	w := start(t)
	w.cluster("one")
	ann, _ := w.user("ann")
	for name, c := range map[string]struct {
		in      awseks.CreateAccessEntryInput
		message string
	}{
		"a name":                {awseks.CreateAccessEntryInput{PrincipalArn: aws.String("ann")}, "The principalArn parameter format is not valid"},
		"a session":             {awseks.CreateAccessEntryInput{PrincipalArn: aws.String("arn:aws:sts::123456789012:assumed-role/a/b")}, "The principalArn parameter format is not valid"},
		"no such user":          {awseks.CreateAccessEntryInput{PrincipalArn: aws.String("arn:aws:iam::123456789012:user/none")}, "The specified principalArn is invalid: invalid principal"},
		"a user as a node":      {awseks.CreateAccessEntryInput{PrincipalArn: &ann, Type: aws.String("EC2_LINUX")}, "must be a role"},
		"groups of a node":      {awseks.CreateAccessEntryInput{PrincipalArn: &w.nodeRole, Type: aws.String("EC2_LINUX"), KubernetesGroups: []string{"a"}}, "can't be set"},
		"a group of Kubernetes": {awseks.CreateAccessEntryInput{PrincipalArn: &ann, KubernetesGroups: []string{"system:masters"}}, "cannot start with"},
		"a user of Kubernetes":  {awseks.CreateAccessEntryInput{PrincipalArn: &ann, Username: aws.String("system:admin")}, "cannot start with"},
		"no colon":              {awseks.CreateAccessEntryInput{PrincipalArn: &ann, Username: aws.String("a{{SessionName}}")}, "a colon is required"},
	} {
		t.Run(name, func(t *testing.T) {
			c.in.ClusterName = &one.Cluster
			_, err := w.CreateAccessEntry(t.Context(), &c.in)
			refused(t, err, "InvalidParameterException", c.message)
		})
	}
	w.grant(ann, "AmazonEKSViewPolicy")
	_, err := w.CreateAccessEntry(t.Context(), &awseks.CreateAccessEntryInput{ClusterName: &one.Cluster, PrincipalArn: &ann})
	refused(t, err, "ResourceInUseException", "The specified access entry resource is already in use on this cluster.")
	shown, err := w.DescribeAccessEntry(t.Context(), &awseks.DescribeAccessEntryInput{ClusterName: &one.Cluster, PrincipalArn: &ann})
	if e := must(t, shown, err).AccessEntry; *e.Type != "STANDARD" || *e.Username != ann || !strings.HasPrefix(*e.AccessEntryArn, "arn:aws:eks:eu-central-1:123456789012:access-entry/one/user/123456789012/ann/") {
		t.Errorf("the entry is %+v", e)
	}
	listed, err := w.ListAccessEntries(t.Context(), &awseks.ListAccessEntriesInput{
		ClusterName: &one.Cluster, AssociatedPolicyArn: aws.String(policies + "AmazonEKSViewPolicy"),
	})
	if got := must(t, listed, err).AccessEntries; !slices.Equal(got, []string{ann}) {
		t.Errorf("with the policy: %v", got)
	}
	associated, err := w.ListAssociatedAccessPolicies(t.Context(), &awseks.ListAssociatedAccessPoliciesInput{ClusterName: &one.Cluster, PrincipalArn: aws.String("arn:aws:iam::123456789012:root")})
	got := must(t, associated, err).AssociatedAccessPolicies
	if len(got) != 1 || *got[0].PolicyArn != policies+"AmazonEKSClusterAdminPolicy" {
		t.Errorf("the creator has %+v", got)
	}
	_, err = w.DisassociateAccessPolicy(t.Context(), &awseks.DisassociateAccessPolicyInput{
		ClusterName: &one.Cluster, PrincipalArn: &ann, PolicyArn: aws.String(policies + "AmazonEKSEditPolicy"),
	})
	refused(t, err, "ResourceNotFoundException", "not associated")
	_, err = w.DeleteAccessEntry(t.Context(), &awseks.DeleteAccessEntryInput{ClusterName: &one.Cluster, PrincipalArn: &ann})
	must(t, ann, err)
	_, err = w.DescribeAccessEntry(t.Context(), &awseks.DescribeAccessEntryInput{ClusterName: &one.Cluster, PrincipalArn: &ann})
	refused(t, err, "ResourceNotFoundException", "The specified principalArn could not be found.")
	if all, err := w.ListAccessPolicies(t.Context(), &awseks.ListAccessPoliciesInput{}); err != nil || len(all.AccessPolicies) < 5 {
		t.Errorf("the policies are %v %v", all, err)
	}
}

// https://docs.aws.amazon.com/eks/latest/userguide/access-policy-permissions.html
func TestAccessPolicies(t *testing.T) {
	w := start(t)
	w.cluster("one")
	users := map[string]machine.KubernetesUser{}
	for name, policy := range map[string]string{
		"root": "AmazonEKSClusterAdminPolicy", "admin": "AmazonEKSAdminPolicy", "edit": "AmazonEKSEditPolicy", "view": "AmazonEKSViewPolicy",
	} {
		arn, _ := w.user(name)
		w.grant(arn, policy)
		users[name] = machine.KubernetesUser{Name: arn, PrincipalARN: arn}
	}
	arn, _ := w.user("team")
	w.grant(arn)
	_, err := w.AssociateAccessPolicy(t.Context(), &awseks.AssociateAccessPolicyInput{
		ClusterName: &one.Cluster, PrincipalArn: &arn, PolicyArn: aws.String(policies + "AmazonEKSEditPolicy"),
		AccessScope: &types.AccessScope{Type: types.AccessScopeTypeNamespace, Namespaces: []string{"team-*"}},
	})
	must(t, arn, err)
	users["team"] = machine.KubernetesUser{Name: arn, PrincipalARN: arn}
	users["node"] = machine.KubernetesUser{Name: "system:node:a", Groups: []string{"system:nodes"}}
	users["stranger"] = machine.KubernetesUser{Name: "x", PrincipalARN: "arn:aws:iam::123456789012:user/x"}
	request := func(verb, namespace, group, resource string) machine.KubernetesRequest {
		return machine.KubernetesRequest{Verb: verb, Namespace: namespace, Group: group, Resource: resource}
	}
	for _, c := range []struct {
		what    string
		request machine.KubernetesRequest
		may     []string
	}{
		{"list pods", request("list", "a", "", "pods"), []string{"root", "admin", "edit", "view"}},
		{"list the pods of all", request("list", "", "", "pods"), []string{"root", "admin", "edit", "view"}},
		{"create a deployment", request("create", "a", "apps", "deployments"), []string{"root", "admin", "edit"}},
		{"create a deployment of the team", request("create", "team-a", "apps", "deployments"), []string{"root", "admin", "edit", "team"}},
		{"get a secret", request("get", "a", "", "secrets"), []string{"root", "admin", "edit"}},
		{"bind a role", request("create", "a", "rbac.authorization.k8s.io", "rolebindings"), []string{"root", "admin"}},
		{"delete a node", request("delete", "", "", "nodes"), []string{"root"}},
		{"create a namespace", request("create", "", "", "namespaces"), []string{"root"}},
		{"evict a pod", request("create", "a", "", "pods/eviction"), []string{"root", "admin", "edit"}},
		{"read the log of a pod", request("get", "a", "", "pods/log"), []string{"root", "admin", "edit", "view"}},
		{"reach into a pod", request("get", "a", "", "pods/proxy"), []string{"root", "admin", "edit"}},
		{"change the status of a node", request("patch", "", "", "nodes/status"), []string{"root"}},
	} {
		for name, user := range users {
			if got, want := w.service.Authorize(one, user, c.request), slices.Contains(c.may, name); got != want {
				t.Errorf("may %s %s: %t", name, c.what, got)
			}
		}
	}
}
