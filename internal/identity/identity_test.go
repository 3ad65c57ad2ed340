package identity

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/identity/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/cfn/template"
)

const (
	roleARN = "arn:aws:iam::111122223333:role/tenant"
	account = "111122223333"
)

// cluster is a cache with Namespaces and AWSIdentities.
type cluster struct {
	client.Reader

	namespaces map[string]*corev1.Namespace
	identities map[string]*v1alpha1.AWSIdentity
}

func (c *cluster) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	switch o := into.(type) {
	case *corev1.Namespace:
		if found, ok := c.namespaces[key.Name]; ok {
			found.DeepCopyInto(o)
			return nil
		}
	case *v1alpha1.AWSIdentity:
		if found, ok := c.identities[key.Name]; ok {
			found.DeepCopyInto(o)
			return nil
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
}

func namespace(name string, labels, annotations map[string]string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, Annotations: annotations}}
}

func identity(name string, spec v1alpha1.AWSIdentitySpec) *v1alpha1.AWSIdentity {
	return &v1alpha1.AWSIdentity{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}
}

func TestWhoMayUseAnIdentity(t *testing.T) {
	secret := v1alpha1.SecretKey{Namespace: "ops", Name: "external", Key: "externalID"}
	cache := &cluster{
		namespaces: map[string]*corev1.Namespace{
			"plain":     namespace("plain", nil, nil),
			"annotated": namespace("annotated", nil, map[string]string{v1alpha1.IdentityAnnotation: "tenant", v1alpha1.RegionAnnotation: "us-east-1"}),
			"labelled":  namespace("labelled", map[string]string{v1alpha1.IdentityAnnotation: "tenant", "team": "a"}, nil),
			"other":     namespace("other", nil, map[string]string{v1alpha1.IdentityAnnotation: "tenant"}),
		},
		identities: map[string]*v1alpha1.AWSIdentity{
			"tenant": identity("tenant", v1alpha1.AWSIdentitySpec{
				RoleARN: roleARN, Regions: []string{"eu-west-1", "us-east-1"}, SessionTags: map[string]string{"b": "2", "a": "1"},
				AllowedNamespaces: v1alpha1.AllowedNamespaces{
					Names: []string{"annotated", "plain"}, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}},
				},
			}),
			"here":   identity("here", v1alpha1.AWSIdentitySpec{RoleARN: roleARN, AllowedNamespaces: v1alpha1.AllowedNamespaces{Selector: &metav1.LabelSelector{}}}),
			"secret": identity("secret", v1alpha1.AWSIdentitySpec{RoleARN: roleARN, ExternalIDSecret: &secret, AllowedNamespaces: v1alpha1.AllowedNamespaces{Names: []string{"plain"}}}),
			"closed": identity("closed", v1alpha1.AWSIdentitySpec{RoleARN: roleARN}),
		},
	}
	inRegion := func(region string) awsapi.Target {
		return awsapi.Target{Region: region, RoleARN: roleARN, SessionTags: "a=1&b=2"}
	}
	cases := map[string]struct {
		wish     Wish
		required bool
		known    string // the external ID that the operator has read
		want     awsapi.Target
		place    string
		refused  string
	}{
		"the operator's own credentials without an identity": {wish: Wish{Namespace: "plain"}, place: "123456789012/eu-central-1"},
		"an identity is required":                            {wish: Wish{Namespace: "plain"}, required: true, refused: "IdentityRequired"},
		"another region needs an identity":                   {wish: Wish{Namespace: "plain", Region: "us-east-1"}, refused: "RegionNotAllowed"},
		"a Cluster may be in any region": {
			wish: Wish{Namespace: "plain", Region: "us-east-1", OwnRegions: true}, want: awsapi.Target{Region: "us-east-1"}, place: "123456789012/us-east-1",
		},
		"the namespace's annotation": {wish: Wish{Namespace: "annotated"}, want: inRegion("us-east-1"), place: account + "/us-east-1"},
		"the namespace's label":      {wish: Wish{Namespace: "labelled"}, want: inRegion("eu-west-1"), place: account + "/eu-west-1"},
		"the object names a region":  {wish: Wish{Namespace: "annotated", Region: "eu-west-1"}, want: inRegion("eu-west-1"), place: account + "/eu-west-1"},
		"the object names an identity": {
			wish: Wish{Namespace: "annotated", Name: "here", Region: "eu-central-1"}, want: awsapi.Target{Region: "eu-central-1", RoleARN: roleARN}, place: account + "/eu-central-1",
		},
		"a region that the identity lacks":                       {wish: Wish{Namespace: "annotated", Region: "eu-central-1"}, refused: "RegionNotAllowed"},
		"the operator's own region by default":                   {wish: Wish{Namespace: "plain", Name: "here", Region: "us-east-1"}, refused: "RegionNotAllowed"},
		"the namespace names an identity that does not allow it": {wish: Wish{Namespace: "other"}, refused: "IdentityNotAllowed"},
		"the object names an identity that does not allow it":    {wish: Wish{Namespace: "plain", Name: "closed"}, refused: "IdentityNotAllowed"},
		"there is no such identity":                              {wish: Wish{Namespace: "annotated", Name: "missing"}, refused: "IdentityNotFound"},
		"a namespace that the cache does not have yet":           {wish: Wish{Namespace: "new"}, refused: "NamespaceUnknown"},
		"the external ID is not read yet":                        {wish: Wish{Namespace: "plain", Name: "secret"}, refused: "IdentityNotReady"},
		"the external ID": {
			wish: Wish{Namespace: "plain", Name: "secret"}, known: "x", want: awsapi.Target{Region: "eu-central-1", RoleARN: roleARN, ExternalID: "x"}, place: account + "/eu-central-1",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			i := New(Options{Client: cache, Own: awsapi.Place{Account: "123456789012", Region: "eu-central-1"}, Required: c.required})
			if c.known != "" {
				i.learn("secret", secret, c.known)
			}
			use, err := i.Of(t.Context(), c.wish)
			reason := ""
			if refused, ok := errors.AsType[*RefusedError](err); ok {
				reason = refused.Reason
			}
			if reason != c.refused || (err == nil) != (c.refused == "") {
				t.Fatalf("refused with %q (%v), want %q", reason, err, c.refused)
			}
			if c.refused != "" {
				if use.Target != (awsapi.Target{}) || use.Place != (awsapi.Place{}) {
					t.Errorf("a refused object has %+v", use)
				}
				return
			}
			if use.Target != c.want || use.Place.String() != c.place {
				t.Errorf("%+v in %s, want %+v in %s", use.Target, use.Place, c.want, c.place)
			}
		})
	}
}

func TestTemplatesObeyTheIdentity(t *testing.T) {
	const boundary = "arn:aws:iam::111122223333:policy/boundary"
	resource := func(of, properties string) string {
		return "Resources:\n  One:\n    Type: " + of + "\n" + properties
	}
	cases := map[string]struct {
		types    []string
		boundary string
		template string
		refused  string // a part of the message
	}{
		"no limits":                       {template: resource("AWS::IAM::Role", "")},
		"an allowed type":                 {types: []string{"AWS::SQS::Queue"}, template: resource("AWS::SQS::Queue", "")},
		"an allowed beginning":            {types: []string{"AWS::SQS::*"}, template: resource("AWS::SQS::Queue", "")},
		"another type":                    {types: []string{"AWS::SQS::*"}, template: resource("AWS::SNS::Topic", ""), refused: "AWS::SNS::Topic"},
		"a pattern includes no stacks":    {types: []string{"AWS::*"}, template: resource("AWS::CloudFormation::Stack", ""), refused: "AWS::CloudFormation::Stack"},
		"a stack that is named":           {types: []string{"AWS::CloudFormation::Stack"}, template: resource("AWS::CloudFormation::Stack", "")},
		"a pattern includes no modules":   {types: []string{"My::*"}, template: resource("My::Own::Thing::MODULE", ""), refused: "MODULE"},
		"a macro":                         {types: []string{"AWS::SQS::*"}, template: "Transform: Mine\n" + resource("AWS::SQS::Queue", ""), refused: "Mine"},
		"language extensions":             {types: []string{"AWS::SQS::*"}, template: "Transform: AWS::LanguageExtensions\n" + resource("AWS::SQS::Queue", "")},
		"a macro in a resource":           {boundary: boundary, template: resource("AWS::SQS::Queue", "    Properties:\n      Fn::Transform: {Name: Mine}\n"), refused: "Fn::Transform"},
		"a role":                          {boundary: boundary, template: resource("AWS::IAM::Role", "")},
		"a role with another boundary":    {boundary: boundary, template: resource("AWS::IAM::Role", "    Properties: {PermissionsBoundary: other, Path: /}\n")},
		"a user":                          {boundary: boundary, template: resource("AWS::IAM::User", "    Properties: {Path: /}\n")},
		"a queue needs no boundary":       {boundary: boundary, template: resource("AWS::SQS::Queue", "")},
		"a nested stack without boundary": {boundary: boundary, template: resource("AWS::CloudFormation::Stack", ""), refused: "AWS::CloudFormation::Stack"},
		"a custom resource":               {boundary: boundary, template: resource("Custom::Role", ""), refused: "Custom::Role"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			parsed, err := template.Parse("test.yaml", []byte(c.template))
			if err != nil {
				t.Fatal(err)
			}
			before := string(parsed.JSON())
			desired := stack.Desired{Template: parsed}
			use := Use{Identity: "tenant", ServiceRole: roleARN, Types: c.types, Boundary: c.boundary}
			err = use.Limit(&desired)
			if c.refused != "" {
				if err == nil || !strings.Contains(err.Error(), c.refused) || !strings.Contains(err.Error(), "tenant") {
					t.Fatalf("error %v, want one with %q and the identity", err, c.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if string(parsed.JSON()) != before {
				t.Error("the caller's template was modified")
			}
			if desired.RoleARN != roleARN {
				t.Errorf("the service role is %q", desired.RoleARN)
			}
			for _, id := range slices.Sorted(maps.Keys(desired.Template.Resources)) {
				r := desired.Template.Resources[id]
				got := ""
				if r.Properties != nil && r.Properties.Get("PermissionsBoundary") != nil {
					got, _ = r.Properties.Get("PermissionsBoundary").Scalar()
				}
				want := ""
				if r.Type == "AWS::IAM::Role" || r.Type == "AWS::IAM::User" {
					want = c.boundary
				}
				if got != want {
					t.Errorf("%s has the boundary %q, want %q", r.Type, got, want)
				}
				if path := parsed.Resources[id].Properties.Get("Path"); path != nil && r.Properties.Get("Path") == nil {
					t.Error("the other properties are lost")
				}
			}
		})
	}
}
