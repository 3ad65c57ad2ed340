package stack

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/cfn/diff"
)

// change returns a change of one resource as CloudFormation reports it.
func change(action types.ChangeAction, id, kind string, replacement types.Replacement, details ...types.ResourceChangeDetail) types.Change {
	return types.Change{ResourceChange: &types.ResourceChange{
		Action: action, LogicalResourceId: aws.String(id), ResourceType: aws.String(kind), PhysicalResourceId: aws.String("real-" + id),
		Replacement: replacement, Details: details,
	}}
}

func property(name string, recreation types.RequiresRecreation) types.ResourceChangeDetail {
	return types.ResourceChangeDetail{Target: &types.ResourceTargetDefinition{
		Attribute: types.ResourceAttributeProperties, Name: aws.String(name), Path: aws.String("/Properties/" + name + "/0"),
		RequiresRecreation: recreation,
		BeforeValue:        aws.String("old secret"), AfterValue: aws.String("new secret"),
	}}
}

func policyAction(c types.Change, action types.PolicyAction) types.Change {
	c.ResourceChange.PolicyAction = action
	return c
}

func TestSummaries(t *testing.T) {
	const (
		table, bucket, volume, role = "AWS::DynamoDB::Table", "AWS::S3::Bucket", "AWS::EC2::Volume", "AWS::IAM::Role"
		modify                      = types.ChangeActionModify
		always, never, perhaps      = types.RequiresRecreationAlways, types.RequiresRecreationNever, types.RequiresRecreationConditionally
	)
	cases := map[string]struct {
		changes []types.Change
		plan    diff.Plan
		want    string
	}{
		"a change in place": {
			changes: []types.Change{change(modify, "Role", role, types.ReplacementFalse, property("Path", never))},
			want:    "Changes Role in place.",
		},
		"stateless resources are replaced, added and removed without warning": {
			changes: []types.Change{
				change(modify, "A", role, types.ReplacementTrue, property("RoleName", always)),
				change(modify, "B", role, types.ReplacementConditional),
				change(types.ChangeActionAdd, "C", role, ""), change(types.ChangeActionRemove, "D", role, ""),
			},
			want: "Replaces A. May replace B. Adds C. Removes D.",
		},
		"many resources are counted": {
			changes: []types.Change{
				change(modify, "A", role, "False"), change(modify, "B", role, "False"), change(modify, "C", role, "False"),
				change(modify, "D", role, "False"),
				change(modify, "E", role, "False"), change(modify, "F", role, "False"), change(modify, "G", role, "False"),
			},
			want: "Changes A, B, C, D, E and 2 more in place.",
		},
		"losses come first": {
			changes: []types.Change{
				change(types.ChangeActionAdd, "Alarm", "AWS::CloudWatch::Alarm", ""),
				change(modify, "Table", table, types.ReplacementTrue, property("TableName", always), property("BillingMode", never)),
			},
			want: "REPLACES the table Table (real-Table): its items are lost, because TableName cannot be changed in place. Adds Alarm.",
		},
		"a new key replaces a table, although CloudFormation is not sure": {
			changes: []types.Change{change(modify, "Table", table, types.ReplacementConditional, property("KeySchema", perhaps))},
			want:    "REPLACES the table Table (real-Table): its items are lost, because KeySchema cannot be changed in place.",
		},
		"possible loss": {
			changes: []types.Change{change(modify, "Data", volume, types.ReplacementConditional, property("Size", perhaps))},
			want:    "MAY REPLACE the volume Data (real-Data) because of Size: then the data on it is lost.",
		},
		"removal": {
			changes: []types.Change{change(types.ChangeActionRemove, "Bucket", bucket, "")},
			want:    "REMOVES the bucket Bucket (real-Bucket): its objects are lost.",
		},
		"removal with retention": {
			changes: []types.Change{policyAction(change(types.ChangeActionRemove, "Bucket", bucket, ""), types.PolicyActionRetain)},
			want:    "RETAINS the bucket Bucket (real-Bucket): it stays in AWS, but is no longer part of the stack.",
		},
		"replacement with a snapshot": {
			changes: []types.Change{
				policyAction(
					change(modify, "Data", volume, "True", property("AvailabilityZone", always)), types.PolicyActionReplaceAndSnapshot,
				),
			},
			want: "REPLACES the volume Data (real-Data): the data on it is lost, because AvailabilityZone cannot be changed in place; a snapshot of the old one is kept.",
		},
		"replacement with retention": {
			changes: []types.Change{
				policyAction(
					change(modify, "Data", volume, "True", property("AvailabilityZone", always)), types.PolicyActionReplaceAndRetain,
				),
			},
			want: "REPLACES the volume Data (real-Data) with an empty one, because AvailabilityZone cannot be changed in place; the old one is retained.",
		},
		"a stateful resource that is changed in place loses nothing": {
			changes: []types.Change{change(modify, "Table", table, types.ReplacementFalse, property("BillingMode", never))},
			want:    "Changes Table in place.",
		},
		"tags and outputs": {
			plan: diff.Plan{TagsChanged: true, OutputsChanged: true, Outputs: []string{"arn", "url"}},
			want: "Changes the stack's tags. Changes the outputs arn and url.",
		},
		"nothing that a resource depends on": {want: "Changes only parts of the template that no resource depends on."},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p := (&Engine{}).propose(c.changes, &c.plan)
			if got := p.Summary(); got != c.want {
				t.Errorf("summary\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// A reference to a resource that is changed in place makes CloudFormation report a possible
// replacement; the plan knows better.
func TestReferencesStayInPlace(t *testing.T) {
	reference := property("GroupId", types.RequiresRecreationAlways)
	reference.Evaluation, reference.CausingEntity = types.EvaluationTypeDynamic, aws.String("Group.GroupId")
	rule := change("Modify", "Rule", "AWS::EC2::SecurityGroupIngress", types.ReplacementConditional, reference)
	volume := change("Modify", "Volume", "AWS::EC2::Volume", types.ReplacementConditional, reference)
	changed, replaced := change("Modify", "Group", "AWS::EC2::SecurityGroup", "False"), change(
		"Modify",
		"Group",
		"AWS::EC2::SecurityGroup",
		"True",
	)
	for want, c := range map[string]struct {
		group types.Change
		plan  diff.Plan
	}{
		"Changes Group, Rule and Volume in place.": {group: changed},
		"MAY REPLACE the volume Volume (real-Volume) because of GroupId: then the data on it is lost. Replaces Group. May replace Rule.": {group: replaced},
		"MAY REPLACE the volume Volume (real-Volume) because of GroupId: then the data on it is lost. Changes Group and Rule in place.": {
			group: changed, plan: diff.Plan{Changes: []diff.Change{{LogicalID: "Volume", Action: diff.MayReplace}}},
		},
	} {
		if got := (&Engine{}).propose([]types.Change{c.group, rule, volume}, &c.plan).Summary(); got != want {
			t.Errorf("summary\n%s\nwant\n%s", got, want)
		}
	}
}

func TestProposalShowsPathsAndNoValues(t *testing.T) {
	p := (&Engine{}).propose(
		[]types.Change{change("Modify", "Table", "AWS::DynamoDB::Table", "False", property("Tags", "Never"), property("Tags", "Never"))},
		&diff.Plan{},
	)
	if got := p.Changes[0].Properties; len(got) != 1 || got[0] != "Tags/0" {
		t.Errorf("properties %q, want the path once", got)
	}
	if text := p.Summary() + strings.Join(p.Changes[0].Properties, ""); strings.Contains(text, "secret") {
		t.Errorf("%s contains a value", text)
	}
}

func TestSummariesAreBounded(t *testing.T) {
	var changes []types.Change
	for range 30 {
		changes = append(changes, change(types.ChangeActionRemove, "Bucket", "AWS::S3::Bucket", ""))
	}
	p := (&Engine{}).propose(changes, &diff.Plan{})
	if got := p.Summary("And more."); len(got) > maxSummary+len(" …") || !strings.HasSuffix(got, " …") {
		t.Errorf("summary of %d bytes: %s", len(got), got)
	}
}

// The digest identifies what is deployed and desired, and everything that CloudFormation reported.
func TestDigests(t *testing.T) {
	of := func(from string, changes ...types.Change) string {
		return (&Engine{}).propose(changes, &diff.Plan{}).digest(from)
	}
	role := change("Modify", "Role", "AWS::IAM::Role", "False", property("Path", "Never"))
	replaced := change("Modify", "Role", "AWS::IAM::Role", "True", property("Path", "Never"))
	other := change("Modify", "Role", "AWS::IAM::Role", "False", property("Policies", "Never"))
	seen := map[string]string{}
	for name, digest := range map[string]string{
		"one": of("a", role), "of another state": of("b", role), "with a replacement": of("a", replaced),
		"of another property": of("a", other), "of two": of("a", role, other),
	} {
		if before, ok := seen[digest]; ok || len(digest) != digestLength {
			t.Errorf("the digest %s of the change %q is that of %q", digest, name, before)
		}
		seen[digest] = name
	}
	if first, again := of("a", role), of("a", role); first != again {
		t.Error("the digest is not stable")
	}
}
