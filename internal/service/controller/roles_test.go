package controller

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"k8s.io/apimachinery/pkg/types"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/identity"
	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/service/render"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
)

// TestAnnotationToRetryCountsOnce tests two objects that grant access to one service account, of which
// one has an old annotation to retry.
func TestAnnotationToRetryCountsOnce(t *testing.T) {
	one := newRoles(&service{}).get("team", render.Grantee{Name: "web"})
	a, b := objectKey{Kind: "SQSQueue"}, objectKey{Kind: "SNSTopic"}
	first := one.retryOf(a, "2026-01-01")
	if first == "" {
		t.Error("the annotation is ignored")
	}
	for range 3 {
		if one.retryOf(b, "") != first || one.retryOf(a, "2026-01-01") != first {
			t.Error("the annotation counts again")
		}
	}
	second := one.retryOf(b, "2026-01-01")
	if second == first || one.retryOf(a, "2026-01-01") != second {
		t.Error("the annotation of the other object is ignored")
	}
	if one.retryOf(a, "2026-01-02") == second {
		t.Error("a new annotation is ignored")
	}
}

// TestRolesHaveTheBoundaryOfTheIdentity tests the role in IAM.
func TestRolesHaveTheBoundaryOfTheIdentity(t *testing.T) {
	const region, account, boundary = "eu-west-1", "123456789012", "arn:aws:iam::aws:policy/ReadOnlyAccess"
	_, endpoint := simulatortest.Start(t, simulator.Options{Region: region})
	provider := credentials.NewStaticCredentialsProvider(account, "secret", "")
	clients, err := awsapi.New(t.Context(), awsapi.Options{
		Region: region, EndpointURL: endpoint, Credentials: provider,
		Budgets: map[string]awsapi.Budget{awsapi.AnyService: awsapi.Unlimited},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := &service{directory: newDirectory(), options: Options{
		Engine: stack.New(stack.Options{Clients: clients, PollInterval: 10 * time.Millisecond}), ClusterName: "aws-operator", ServiceAccountIssuer: "https://issuer.example",
	}}
	s.roles = newRoles(s)
	use := identity.Use{Identity: "team", Place: awsapi.Place{Account: account, Region: region}, Boundary: boundary}
	web, by := render.Grantee{Name: "web"}, objectKey{Kind: "SQSQueue", NamespacedName: types.NamespacedName{Namespace: "team", Name: "jobs"}}
	patience.Until(t, "the role is made", func() error {
		if made := s.roles.ensure(t.Context(), use, web, by, ""); !made.IsDone() {
			return errors.New(made.Message())
		}
		return nil
	})
	made := s.roles.get("team", web)
	found, err := iam.NewFromConfig(aws.Config{Region: region, BaseEndpoint: &endpoint, Credentials: provider}).GetRole(
		t.Context(), &iam.GetRoleInput{RoleName: aws.String(made.of.RoleName())})
	if err != nil {
		t.Fatal(err)
	}
	if given := found.Role.PermissionsBoundary; given == nil || aws.ToString(given.PermissionsBoundaryArn) != boundary {
		t.Errorf("the boundary is %+v", given)
	}
	use.Types = []string{"AWS::SQS::*"}
	if refused := s.roles.ensure(t.Context(), use, web, by, ""); refused.Reason() != "NotAllowedByIdentity" {
		t.Errorf("an identity without roles: %s %s", refused.Reason(), refused.Message())
	}
}

// TestRolesAreForgotten tests that roles of service accounts to which no object grants access use no
// memory: an author could name new ones forever.
func TestRolesAreForgotten(t *testing.T) {
	r := newRoles(&service{options: Options{ClusterName: "aws-operator"}})
	account := func(i int) render.Grantee { return render.Grantee{Name: strconv.Itoa(i)} }
	for i := range 100 {
		one := r.get("team", account(i))
		other := r.get("team", account(i))
		if one != other {
			t.Fatal("two goroutines have different roles of one service account")
		}
		one.mu.Lock()
		one.absent = true
		r.put(one)
		if again := r.get("team", account(i)); again != one {
			t.Fatal("a role that is in use was forgotten")
		}
		one.mu.Unlock()
		r.put(one)
		r.put(one)
	}
	if len(r.known) > 0 || len(r.stacks) > 0 {
		t.Errorf("%d roles and %d stacks are known", len(r.known), len(r.stacks))
	}
	one := r.get("team", account(0))
	r.put(one)
	if again := r.get("team", account(0)); again != one {
		t.Error("a role that exists was forgotten")
	}
}
