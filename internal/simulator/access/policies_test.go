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
			if got := policies.Denial(c.request); (got == "") != c.want {
				t.Errorf("the denial is %q", got)
			}
		})
	}
}

func TestPoliciesThatCannotBeEvaluatedAreRefused(t *testing.T) {
	for statement, want := range map[string]string{
		`{"Effect": "Allow", "Action": "*"}`:                                "policy 1 of " + role + ": statement 1: a Resource",
		`{"Effect": "Allow", "Principal": "*", "Action": "*"}`:              "Principal",
		`{"Effect": "Allow", "Action": "*", "Resource": "*", "Extra": "*"}`: "Extra",
		`{`: "not valid",
	} {
		_, err := access.Parse(map[string][]string{role: {`{"Version": "2012-10-17", "Statement": [` + statement + `]}`}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", statement, err, want)
		}
	}
}

func TestDenialHasAWSReason(t *testing.T) {
	policies, err := access.Parse(map[string][]string{role: {`{"Version": "2012-10-17", "Statement": [
		{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}, {"Effect": "Deny", "Action": "s3:Put*", "Resource": "*"}]}`}})
	if err != nil {
		t.Fatal(err)
	}
	for action, want := range map[string]string{
		"s3:GetObject":    "",
		"s3:PutObject":    "with an explicit deny in an identity-based policy",
		"sqs:SendMessage": "because no identity-based policy allows the sqs:SendMessage action",
	} {
		got := policies.Denial(access.Request{Principal: "arn:aws:sts::123456789012:assumed-role/reader/x", Action: action})
		if got != want {
			t.Errorf("%s: %q, want %q", action, got, want)
		}
	}
}
