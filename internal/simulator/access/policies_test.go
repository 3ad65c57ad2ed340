package access_test

import (
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/internal/simulator/access"
)

const role = "arn:aws:iam::123456789012:role/reader"

func TestAllows(t *testing.T) {
	policies, err := access.Parse(map[string][]string{
		role: {
			`{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:Get*", "Resource": "arn:aws:s3:::one/*"}]}`,
			`{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": ["ec2:CreateVpc"], "Resource": "*",
				"Condition": {"ForAnyValue:StringEquals": {"aws:CalledVia": ["cloudformation.amazonaws.com"]}}}]}`,
		},
		"AKIALIMITED": nil,
	})
	if err != nil {
		t.Fatal(err)
	}
	via := map[string][]string{access.CalledVia: {"cloudformation.amazonaws.com"}}
	session := "arn:aws:sts::123456789012:assumed-role/reader/session"
	for name, c := range map[string]struct {
		request access.Request
		want    bool
	}{
		"a principal without policies":      {access.Request{Principal: "arn:aws:iam::123456789012:user/demo", Action: "s3:PutObject"}, true},
		"a key without statements":          {access.Request{AccessKey: "AKIALIMITED", Action: "s3:GetObject"}, false},
		"a session, an object below a path": {access.Request{Principal: session, Action: "s3:GetObject", Resource: "arn:aws:s3:::one/a/b"}, true},
		"an object of another bucket":       {access.Request{Principal: session, Action: "s3:GetObject", Resource: "arn:aws:s3:::other/a"}, false},
		"an unknown resource":               {access.Request{Principal: session, Action: "s3:GetObject"}, true},
		"another action":                    {access.Request{Principal: session, Action: "s3:PutObject", Resource: "arn:aws:s3:::one/a"}, false},
		"in other case":                     {access.Request{Principal: session, Action: "ec2:CreateVPC", Context: via}, true},
		"a condition that does not hold":    {access.Request{Principal: session, Action: "ec2:CreateVpc"}, false},
		"another role":                      {access.Request{Principal: "arn:aws:sts::123456789012:assumed-role/writer/x", Action: "s3:PutObject"}, true},
		"the same role of another account":  {access.Request{Principal: "arn:aws:sts::210987654321:assumed-role/reader/x", Action: "s3:PutObject"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := policies.Allows(c.request); got != c.want {
				t.Errorf("it is %v", got)
			}
		})
	}
}

// Evaluating only part of a policy would allow too much, or hide missing permissions.
func TestUnsupportedPolicyElementsAreRefused(t *testing.T) {
	for name, c := range map[string]struct{ statement, want string }{
		"a denial":       {`{"Effect": "Deny", "Action": "*", "Resource": "*"}`, "Effect Allow"},
		"not an action":  {`{"Effect": "Allow", "NotAction": "*", "Resource": "*"}`, "NotAction"},
		"an operator":    {`{"Effect": "Allow", "Action": "*", "Resource": "*", "Condition": {"Bool": {"a": "b"}}}`, "Bool"},
		"no resource":    {`{"Effect": "Allow", "Action": "*"}`, "Resource"},
		"no JSON at all": {`{`, "cannot evaluate"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := access.Parse(map[string][]string{role: {`{"Version": "2012-10-17", "Statement": [` + c.statement + `]}`}})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}
