package iampolicy_test

import (
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/internal/simulator/iampolicy"
)

const (
	user    = "arn:aws:iam::111122223333:user/jane"
	session = "arn:aws:sts::111122223333:assumed-role/app/i-0"
	role    = "arn:aws:iam::111122223333:role/app"
	foreign = "arn:aws:iam::444455556666:user/eve"
)

func parse(t *testing.T, name, statements string) *iampolicy.Policy {
	t.Helper()
	p, err := iampolicy.Parse(name, `{"Version": "2012-10-17", "Statement": [`+statements+`]}`)
	if err != nil {
		t.Fatalf("%s: %v", statements, err)
	}
	return p
}

// allows decides a request by a single identity-based policy.
func allows(t *testing.T, statements string, r iampolicy.Request) bool {
	t.Helper()
	if r.Principal == "" {
		r.Principal = user
	}
	d := iampolicy.Decide(&r, &iampolicy.Policies{Identity: []*iampolicy.Policy{parse(t, "policy", statements)}})
	return d.Allowed
}

// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_resource.html
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_action.html
func TestActionsAndResourcesMatch(t *testing.T) {
	const queue = "arn:aws:sqs:us-east-2:111122223333:queue1"
	for name, c := range map[string]struct {
		elements, action, resource string
		want                       bool
	}{
		"the same":                        {`"Action": "sqs:SendMessage", "Resource": "` + queue + `"`, "sqs:SendMessage", queue, true},
		"an action in another case":       {`"Action": "SQS:sendmessage", "Resource": "*"`, "sqs:SendMessage", queue, true},
		"a resource in another case":      {`"Action": "sqs:*", "Resource": "` + strings.ToUpper(queue) + `"`, "sqs:SendMessage", queue, false},
		"one of several actions":          {`"Action": ["sqs:A*", "sqs:Send*"], "Resource": "*"`, "sqs:SendMessage", queue, true},
		"a single character":              {`"Action": "sqs:SendMessag?", "Resource": "*"`, "sqs:SendMessage", queue, true},
		"all actions":                     {`"Action": "*", "Resource": "*"`, "sqs:SendMessage", queue, true},
		"another service":                 {`"Action": "s3:*", "Resource": "*"`, "sqs:SendMessage", queue, false},
		"not an action":                   {`"NotAction": "iam:*", "Resource": "*"`, "sqs:SendMessage", queue, true},
		"not this action":                 {`"NotAction": "sqs:Send*", "Resource": "*"`, "sqs:SendMessage", queue, false},
		"not a resource":                  {`"Action": "sqs:*", "NotResource": "arn:aws:sqs:*:*:secret-*"`, "sqs:SendMessage", queue, true},
		"not this resource":               {`"Action": "sqs:*", "NotResource": "arn:aws:sqs:*:*:queue*"`, "sqs:SendMessage", queue, false},
		"a wildcard in a segment":         {`"Action": "sqs:*", "Resource": "arn:aws:sqs:us-*-2:*:queue1"`, "sqs:SendMessage", queue, true},
		"a wildcard that ends a segment":  {`"Action": "sqs:*", "Resource": "arn:aws:sqs:*:queue1"`, "sqs:SendMessage", queue, true},
		"a wildcard in two segments":      {`"Action": "sqs:*", "Resource": "arn:aws:sqs:us*3:queue1"`, "sqs:SendMessage", queue, false},
		"slashes below a wildcard":        {`"Action": "s3:*", "Resource": "arn:aws:s3:::b/*/test/*"`, "s3:GetObject", "arn:aws:s3:::b/1///test///o.jpg", true},
		"a colon in the last segment":     {`"Action": "logs:*", "Resource": "arn:aws:logs:*:*:log-group:a*stream"`, "logs:A", "arn:aws:logs:r:1:log-group:a:log-stream:my-stream", true},
		"brackets are no pattern":         {`"Action": "s3:*", "Resource": "arn:aws:s3:::b/[a]"`, "s3:GetObject", "arn:aws:s3:::b/a", false},
		"an action that has no resources": {`"Action": "ec2:Describe*", "Resource": "arn:aws:ec2:*:*:instance/*"`, "ec2:DescribeInstances", "*", false},
		"a resource that is unknown":      {`"Action": "ec2:*", "Resource": "arn:aws:ec2:*:*:instance/*"`, "ec2:RunInstances", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			got := allows(t, `{"Effect": "Allow", `+c.elements+`}`, iampolicy.Request{Action: c.action, Resource: c.resource})
			if got != c.want {
				t.Errorf("it is %v", got)
			}
		})
	}
}

// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_condition_operators.html
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_condition-single-vs-multi-valued-context-keys.html
func TestConditionsHold(t *testing.T) {
	context := map[string][]string{
		"aws:principaltag/team": {"blue"}, "aws:sourceip": {"203.0.113.7"}, "aws:securetransport": {"false"}, "s3:max-keys": {"10"},
		"aws:currenttime": {"2026-05-01T12:00:00Z"}, "aws:epochtime": {"1777636800"}, "aws:tagkeys": {"team", "env"},
		"aws:sourcearn": {"arn:aws:sns:us-east-1:111122223333:orders"}, "star": {"a*c"},
	}
	for condition, want := range map[string]bool{
		`"StringEquals": {"aws:PrincipalTag/team": "blue"}`:                             true,
		`"StringEquals": {"AWS:principaltag/TEAM": ["red", "blue"]}`:                    true,
		`"StringEquals": {"aws:PrincipalTag/team": "Blue"}`:                             false,
		`"StringEqualsIgnoreCase": {"aws:PrincipalTag/team": "Blue"}`:                   true,
		`"StringNotEqualsIgnoreCase": {"aws:PrincipalTag/team": "Blue"}`:                false,
		`"StringNotEquals": {"aws:PrincipalTag/team": ["red", "blue"]}`:                 false,
		`"StringNotEquals": {"aws:PrincipalTag/team": ["red", "green"]}`:                true,
		`"StringLike": {"aws:PrincipalTag/team": "bl?e*"}`:                              true,
		`"StringEquals": {"aws:PrincipalTag/team": "bl*"}`:                              false,
		`"StringNotLike": {"aws:PrincipalTag/team": "bl*"}`:                             false,
		`"StringEquals": {"aws:PrincipalTag/other": "blue"}`:                            false,
		`"StringNotEquals": {"aws:PrincipalTag/other": "blue"}`:                         true,
		`"StringEqualsIfExists": {"aws:PrincipalTag/other": "blue"}`:                    true,
		`"StringEqualsIfExists": {"aws:PrincipalTag/team": "red"}`:                      false,
		`"Null": {"aws:PrincipalTag/other": "true"}`:                                    true,
		`"Null": {"aws:PrincipalTag/team": "true"}`:                                     false,
		`"Null": {"aws:PrincipalTag/team": false}`:                                      true,
		`"Bool": {"aws:SecureTransport": "false"}`:                                      true,
		`"Bool": {"aws:SecureTransport": true}`:                                         false,
		`"Bool": {"aws:MultiFactorAuthPresent": "false"}`:                               false,
		`"BoolIfExists": {"aws:MultiFactorAuthPresent": "false"}`:                       true,
		`"NumericLessThanEquals": {"s3:max-keys": 10}`:                                  true,
		`"NumericLessThan": {"s3:max-keys": "10"}`:                                      false,
		`"NumericEquals": {"s3:max-keys": "10.0"}`:                                      true,
		`"NumericNotEquals": {"s3:max-keys": ["9", "10"]}`:                              false,
		`"NumericGreaterThan": {"s3:max-keys": "9"}`:                                    true,
		`"NumericGreaterThanEquals": {"aws:PrincipalTag/team": "1"}`:                    false,
		`"DateGreaterThan": {"aws:CurrentTime": "2026-04-30T23:59:59Z"}`:                true,
		`"DateLessThan": {"aws:CurrentTime": "2026-05-01"}`:                             false,
		`"DateLessThanEquals": {"aws:EpochTime": "2026-05-01T12:00:00Z"}`:               true,
		`"DateNotEquals": {"aws:EpochTime": "1777636800"}`:                              false,
		`"IpAddress": {"aws:SourceIp": ["10.0.0.0/8", "203.0.113.0/24"]}`:               true,
		`"IpAddress": {"aws:SourceIp": "203.0.113.7"}`:                                  true,
		`"NotIpAddress": {"aws:SourceIp": "203.0.113.0/24"}`:                            false,
		`"IpAddress": {"aws:SourceIp": "2001:db8::/32"}`:                                false,
		`"ArnLike": {"aws:SourceArn": "arn:aws:sns:*:111122223333:ord*"}`:               true,
		`"ArnEquals": {"aws:SourceArn": "arn:aws:sns:*:*:*"}`:                           true,
		`"ArnLike": {"aws:SourceArn": "arn:aws:sns:*:orders"}`:                          false,
		`"ArnNotLike": {"aws:SourceArn": "arn:aws:sns:*:*:orders"}`:                     false,
		`"ArnLike": {"aws:PrincipalTag/team": "arn:*:*:*:*:*"}`:                         false,
		`"ForAllValues:StringEquals": {"aws:TagKeys": ["team", "env", "more"]}`:         true,
		`"ForAllValues:StringEquals": {"aws:TagKeys": "team"}`:                          false,
		`"ForAllValues:StringEquals": {"aws:CalledVia": "athena.amazonaws.com"}`:        true,
		`"ForAnyValue:StringEquals": {"aws:TagKeys": ["env"]}`:                          true,
		`"ForAnyValue:StringEquals": {"aws:CalledVia": "athena.amazonaws.com"}`:         false,
		`"ForAnyValue:StringNotEquals": {"aws:CalledVia": "athena.amazonaws.com"}`:      false,
		`"ForAnyValue:StringNotEquals": {"aws:TagKeys": "team"}`:                        true,
		`"ForAllValues:StringNotEquals": {"aws:TagKeys": "team"}`:                       false,
		`"ForAllValues:StringLikeIfExists": {"aws:TagKeys": ["t*", "e*"]}`:              true,
		`"StringEquals": {"aws:PrincipalTag/team": "blue", "s3:max-keys": "11"}`:        false,
		`"StringEquals": {"s3:max-keys": "10"}, "Bool": {"aws:SecureTransport": true}`:  false,
		`"StringEquals": {"s3:max-keys": "10"}, "Bool": {"aws:SecureTransport": false}`: true,
		`"StringLike": {"star": "a${*}c"}`:                                              true,
		`"StringLike": {"aws:PrincipalTag/team": "bl${*}"}`:                             false,
		`"StringEquals": {"star": "a${*}c"}`:                                            true,
	} {
		t.Run(condition, func(t *testing.T) {
			got := allows(t, `{"Effect": "Allow", "Action": "*", "Resource": "*", "Condition": {`+condition+`}}`,
				iampolicy.Request{Action: "s3:ListBucket", Resource: "arn:aws:s3:::b", Context: context})
			if got != want {
				t.Errorf("it is %v", got)
			}
		})
	}
}

// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_variables.html
func TestVariablesAreSubstituted(t *testing.T) {
	context := map[string][]string{"aws:username": {"jane"}, "aws:principaltag/path": {"a*"}, "aws:tagkeys": {"a", "b"}}
	for name, c := range map[string]struct {
		pattern, resource string
		want              bool
	}{
		"a value":                         {"arn:aws:s3:::b/${aws:username}/*", "arn:aws:s3:::b/jane/o", true},
		"another value":                   {"arn:aws:s3:::b/${aws:username}/*", "arn:aws:s3:::b/joe/o", false},
		"no value":                        {"arn:aws:s3:::b/${aws:userid}*", "arn:aws:s3:::b/o", false},
		"a default":                       {"arn:aws:s3:::b/${aws:PrincipalTag/team, 'all'}/*", "arn:aws:s3:::b/all/o", true},
		"a value instead of the default":  {"arn:aws:s3:::b/${aws:username, 'all'}/*", "arn:aws:s3:::b/all/o", false},
		"several values":                  {"arn:aws:s3:::b/${aws:TagKeys}*", "arn:aws:s3:::b/a", false},
		"a value with a wildcard":         {"arn:aws:s3:::b/${aws:PrincipalTag/path}", "arn:aws:s3:::b/abc", false},
		"a wildcard as a plain character": {"arn:aws:s3:::b/${*}", "arn:aws:s3:::b/*", true},
		"a dollar":                        {"arn:aws:s3:::b/${$}x", "arn:aws:s3:::b/$x", true},
	} {
		t.Run(name, func(t *testing.T) {
			got := allows(t, `{"Effect": "Allow", "Action": "s3:*", "Resource": "`+c.pattern+`"}`,
				iampolicy.Request{Action: "s3:GetObject", Resource: c.resource, Context: context})
			if got != c.want {
				t.Errorf("it is %v", got)
			}
		})
	}
	// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_version.html
	old, err := iampolicy.Parse("old", `{"Statement": {"Effect": "Allow", "Action": "s3:*", "Resource": "arn:aws:s3:::b/${aws:username}"}}`)
	if err != nil {
		t.Fatal(err)
	}
	for resource, want := range map[string]bool{"arn:aws:s3:::b/jane": false, "arn:aws:s3:::b/${aws:username}": true} {
		r := iampolicy.Request{Principal: user, Action: "s3:GetObject", Resource: resource, Context: context}
		if d := iampolicy.Decide(&r, &iampolicy.Policies{Identity: []*iampolicy.Policy{old}}); d.Allowed != want {
			t.Errorf("%s without the version of the language: %v", resource, d.Allowed)
		}
	}
}

// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic_policy-eval-denyallow.html
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic-cross-account.html
// https://docs.aws.amazon.com/IAM/latest/UserGuide/access_policies_boundaries.html
// https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot_access-denied.html
func TestPoliciesCombine(t *testing.T) {
	const (
		allow     = `{"Effect": "Allow", "Action": "sqs:*", "Resource": "*"}`
		deny      = `{"Effect": "Deny", "Action": "sqs:*", "Resource": "*"}`
		other     = `{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}`
		allowed   = ""
		noPolicy  = "because no identity-based policy allows the sqs:SendMessage action"
		noBound   = "because no permissions boundary allows the sqs:SendMessage action"
		noSession = "because no session policy allows the sqs:SendMessage action"
		noRes     = "because no resource-based policy allows the sqs:SendMessage action"
		denied    = "with an explicit deny in an identity-based policy"
	)
	of := func(effect, principal string) string {
		return `{"Effect": "` + effect + `", "Principal": ` + principal + `, "Action": "sqs:SendMessage", "Resource": "*"}`
	}
	root := `{"AWS": "111122223333"}`
	for name, c := range map[string]struct {
		caller                                string
		identity, boundary, session, resource string
		account                               string
		required                              bool
		want                                  string
	}{
		"nothing":                                {want: noPolicy},
		"identity":                               {identity: allow, want: allowed},
		"another action":                         {identity: other, want: noPolicy},
		"a denial beside":                        {identity: allow + "," + deny, want: denied},
		"a boundary that allows":                 {identity: allow, boundary: allow, want: allowed},
		"a boundary that does not":               {identity: allow, boundary: other, want: noBound},
		"a boundary alone":                       {boundary: allow, want: noPolicy},
		"a boundary that denies":                 {identity: allow, boundary: deny, want: "with an explicit deny in a permissions boundary"},
		"a session policy that allows":           {caller: session, identity: allow, session: allow, want: allowed},
		"a session policy that does not":         {caller: session, identity: allow, session: other, want: noSession},
		"a session policy that denies":           {caller: session, identity: allow, session: deny, want: "with an explicit deny in a session policy"},
		"the resource's policy":                  {resource: of("Allow", `{"AWS": "`+user+`"}`), want: allowed},
		"the resource's policy, of another":      {resource: of("Allow", `{"AWS": "`+foreign+`"}`), want: noPolicy},
		"the resource's policy denies":           {identity: allow, resource: of("Deny", `"*"`), want: "with an explicit deny in a resource-based policy"},
		"the account delegates":                  {resource: of("Allow", root), want: noPolicy},
		"the account delegates, and identity":    {identity: allow, resource: of("Allow", root), want: allowed},
		"everyone":                               {resource: of("Allow", `"*"`), want: allowed},
		"a user by name is not limited":          {boundary: other, resource: of("Allow", `{"AWS": "`+user+`"}`), want: allowed},
		"a session by name is not limited":       {caller: session, session: other, resource: of("Allow", `{"AWS": "`+session+`"}`), want: allowed},
		"a session by its role is limited":       {caller: session, session: other, resource: of("Allow", `{"AWS": "`+role+`"}`), want: noSession},
		"a session by its role, with a boundary": {caller: session, boundary: other, resource: of("Allow", `{"AWS": "`+role+`"}`), want: noBound},
		"everyone but others is denied":          {identity: allow, resource: `{"Effect": "Deny", "NotPrincipal": {"AWS": "` + foreign + `"}, "Action": "*", "Resource": "*"}`, want: "with an explicit deny in a resource-based policy"},
		"everyone but the user is denied":        {identity: allow, resource: `{"Effect": "Deny", "NotPrincipal": {"AWS": ["` + user + `", "111122223333"]}, "Action": "*", "Resource": "*"}`, want: allowed},
		"another account, identity alone":        {identity: allow, account: "444455556666", want: noRes},
		"another account, resource alone":        {account: "444455556666", resource: of("Allow", `{"AWS": "`+user+`"}`), want: noPolicy},
		"another account, both":                  {identity: allow, account: "444455556666", resource: of("Allow", root), want: allowed},
		"another account, a boundary":            {identity: allow, boundary: other, account: "444455556666", resource: of("Allow", `{"AWS": "`+user+`"}`), want: noBound},
		"a required policy is missing":           {identity: allow, required: true, want: noRes},
		"a required policy delegates":            {identity: allow, required: true, resource: of("Allow", root), want: allowed},
		"a required policy delegates in vain":    {required: true, resource: of("Allow", root), want: noPolicy},
		"a service":                              {caller: "-", identity: allow, resource: of("Allow", `{"Service": "sns.amazonaws.com"}`), want: allowed},
		"another service":                        {caller: "-", identity: allow, resource: of("Allow", `{"Service": "s3.amazonaws.com"}`), want: noRes},
	} {
		t.Run(name, func(t *testing.T) {
			r := iampolicy.Request{Principal: user, Action: "sqs:SendMessage", Resource: "arn:aws:sqs:us-east-1:111122223333:q"}
			switch c.caller {
			case "":
			case "-":
				r.Principal, r.Service = "", "sns.amazonaws.com"
			default:
				r.Principal = c.caller
			}
			p := iampolicy.Policies{ResourceAccount: c.account, ResourceRequired: c.required}
			for statements, to := range map[*string]*[]*iampolicy.Policy{&c.identity: &p.Identity, &c.boundary: &p.Boundary, &c.session: &p.Session} {
				if *statements != "" {
					*to = []*iampolicy.Policy{parse(t, "policy", *statements)}
				}
			}
			if c.resource != "" {
				p.Resource = parse(t, "resource", c.resource)
			}
			d := iampolicy.Decide(&r, &p)
			if got := d.Reason(r.Action); got != c.want {
				t.Errorf("%v %q, want %q", d, got, c.want)
			}
			if d.Allowed != (c.want == allowed) {
				t.Errorf("allowed: %v", d.Allowed)
			}
		})
	}
}

// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_grammar.html
func TestPoliciesThatAreNotInTheLanguageAreRefused(t *testing.T) {
	for document, want := range map[string]string{
		`{`:                            "not valid",
		`{"Statement": []}`:            "no statement",
		`{"Version": "2012-10-17"} {}`: "text follows",
		`{"Version": "2020-01-01", "Statement": {"Effect": "Allow", "Action": "*", "Resource": "*"}}`:                                       "2020-01-01",
		`{"Statement": {"Effect": "allow", "Action": "*", "Resource": "*"}}`:                                                                "statement 1: the Effect",
		`{"Statement": {"Effect": "Allow", "Resource": "*"}}`:                                                                               "Action or NotAction is missing",
		`{"Statement": {"Effect": "Allow", "Action": "*", "NotAction": "*", "Resource": "*"}}`:                                              "Action and NotAction",
		`{"Statement": {"Effect": "Allow", "Action": "GetObject", "Resource": "*"}}`:                                                        `colon: "GetObject"`,
		`{"Statement": {"Effect": "Allow", "Action": "*", "Resource": "*", "NotResource": "*"}}`:                                            "Resource and NotResource",
		`{"Statement": {"Effect": "Allow", "Action": "*", "Resource": "*", "Resources": "*"}}`:                                              "Resources",
		`{"Statement": {"Effect": "Allow", "Action": {"a": "b"}, "Resource": "*"}}`:                                                         "not a string",
		`{"Statement": {"Effect": "Allow", "Principal": "everyone", "Action": "*"}}`:                                                        "Principal",
		`{"Statement": {"Effect": "Allow", "Principal": {"Role": "a"}, "Action": "*"}}`:                                                     "unknown type Role",
		`{"Statement": {"Effect": "Allow", "Principal": "*", "NotPrincipal": "*", "Action": "*"}}`:                                          "NotPrincipal",
		`{"Statement": {"Effect": "Allow", "Action": "*", "Resource": "*", "Condition": {"StringMatches": {"a": "b"}}}}`:                    "StringMatches does not exist",
		`{"Statement": {"Effect": "Allow", "Action": "*", "Resource": "*", "Condition": {"ForSomeValues:StringEquals": {"a": "b"}}}}`:       "ForSomeValues",
		`{"Statement": {"Effect": "Allow", "Action": "*", "Resource": "*", "Condition": {"NullIfExists": {"a": "true"}}}}`:                  "NullIfExists",
		`{"Statement": {"Effect": "Allow", "Action": "*", "Resource": "*", "Condition": {"NumericEquals": {"s3:max-keys": "ten"}}}}`:        "s3:max-keys",
		`{"Statement": {"Effect": "Allow", "Action": "*", "Resource": "*", "Condition": {"IpAddress": {"aws:SourceIp": "10.0.0.0/33"}}}}`:   "aws:SourceIp",
		`{"Statement": {"Effect": "Allow", "Action": "*", "Resource": "*", "Condition": {"DateEquals": {"aws:CurrentTime": "yesterday"}}}}`: "yesterday",
		`{"Statement": {"Effect": "Allow", "Action": "*", "Resource": "*", "Condition": {"Bool": {"aws:SecureTransport": "yes"}}}}`:         "yes",
		`{"Statement": {"Effect": "Allow", "Action": "*", "Resource": "*", "Condition": {"StringEquals": {"aws:PrincipalTag/team": []}}}}`:  "no value",
		`{"Statement": {"Effect": "Allow", "Action": "*", "Resource": "*", "Condition": {"BinaryEquals": {"key": "not base 64"}}}}`:         "BinaryEquals",
	} {
		if _, err := iampolicy.Parse("policy", document); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", document, err, want)
		}
	}
}

// FuzzParse checks that no document makes the parser or a decision panic.
func FuzzParse(f *testing.F) {
	f.Add(`{"Statement": {"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "s3:*", "NotResource": "arn:aws:s3:::${aws:username}"}}`)
	f.Add(`{"Statement": [{"Effect": "Deny", "NotPrincipal": null, "Action": "*", "Condition": {"ForAllValues:StringLike": {"k": ["${*", 1]}}}]}`)
	f.Fuzz(func(_ *testing.T, document string) {
		p, err := iampolicy.Parse("policy", document)
		if err != nil {
			return
		}
		r := iampolicy.Request{Principal: session, Action: "s3:GetObject", Resource: "arn:aws:s3:::b/o", Context: map[string][]string{"k": {"v"}}}
		iampolicy.Decide(&r, &iampolicy.Policies{Identity: []*iampolicy.Policy{p}, Resource: p})
	})
}
