package permissions

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// MaxPolicy is the maximum number of characters of a managed policy, without white space.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html
const MaxPolicy = 6144

// Document is an IAM policy.
type Document struct {
	// Name is the file name without its extension. Title is a sentence about the document's
	// purpose.
	Name, Title string `json:"-"`
	// Statements are the policy's statements.
	Statements []Statement `json:"Statement"` //nolint:tagliatelle // IAM's name
}

// Statement is a statement of a policy.
type Statement struct {
	Sid       string
	Effect    string
	Action    []string
	Resource  []string
	Condition map[string]map[string][]string `json:",omitempty"` //nolint:tagliatelle // IAM's name
	// Why is the statement's reason, which the documentation shows.
	Why string `json:"-"`
}

// Documents returns all policies: for each part of the project, one for its own calls, and those
// for CloudFormation's calls on its behalf.
func Documents() []Document {
	documents := []Document{
		{Name: "operator-services", Title: "The operator's own calls for AWS services (kinds of ModelDefinitions).", Statements: direct(services, anywhere())},
		{Name: "operator-clusters", Title: "The operator's own calls for clusters.", Statements: direct(clusters, anywhere())},
		{Name: "terminal", Title: "The calls of the terminal commands, in addition to the operator's policies.", Statements: direct(terminal|trials, anywhere())},
	}
	documents = append(documents, Document{
		Name: "cloudformation-grants", Title: "CloudFormation's calls for the roles of spec.grants, and of objects that run with a role.",
		Statements: direct(grants|roles|podIdentities, anywhere()),
	})
	for _, part := range []struct {
		name, what string
		users      users
	}{{"cloudformation-services", "AWS services", services}, {"cloudformation-clusters", "clusters", clusters}, {"cloudformation-eks", "clusters whose control plane EKS runs, besides those of clusters", eksClusters}} {
		for i, statements := range pack(viaCloudFormation(func(t *resourceType) bool {
			return t.users&part.users != 0 || t.users&events != 0 && part.users != eksClusters
		})) {
			documents = append(documents, Document{
				Name:       fmt.Sprintf("%s-%d", part.name, i+1),
				Title:      fmt.Sprintf("CloudFormation's calls for the stacks of %s, part %d.", part.what, i+1),
				Statements: statements,
			})
		}
	}
	return documents
}

// ActionsOf returns the IAM actions of a call, given as "package.Operation".
func ActionsOf(call string) []string {
	if actions, ok := actionsOf[call]; ok {
		return actions
	}
	service, operation, _ := strings.Cut(call, ".")
	if prefix, ok := prefixes[service]; ok {
		service = prefix
	}
	return []string{service + ":" + operation}
}

// direct returns the statements for the own calls of parts of the project, with the values of the
// names in braces. Statements without a resource are left out.
func direct(of users, values map[string][]string) []Statement {
	var found []Statement
	for _, s := range statements {
		resources := expand(s.resources, values)
		if s.users&of == 0 || len(resources) == 0 {
			continue
		}
		actions := slices.Clone(s.actions)
		for _, call := range s.calls {
			actions = append(actions, ActionsOf(call)...)
		}
		found = append(found, Statement{
			Sid: s.sid, Effect: "Allow", Action: sorted(actions), Resource: resources, Condition: expandCondition(s.condition, values), Why: s.why,
		})
	}
	return found
}

// viaCloudFormation returns the statements for the calls that CloudFormation makes for types: one
// for each AWS service. The condition denies direct calls with the same credentials.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_condition-keys.html#condition-keys-calledvia
func viaCloudFormation(wanted func(*resourceType) bool) []Statement {
	byService := map[string][]string{}
	for i := range resourceTypes {
		if !wanted(&resourceTypes[i]) {
			continue
		}
		for _, action := range resourceTypes[i].actions {
			service, _, _ := strings.Cut(action, ":")
			byService[service] = append(byService[service], action)
		}
	}
	var found []Statement
	for _, service := range sortedKeys(byService) {
		found = append(found, Statement{
			Sid: "CloudFormation" + strings.ToUpper(service[:1]) + strings.ReplaceAll(service[1:], "-", ""), Effect: "Allow",
			Action: withoutCovered(sorted(byService[service])), Resource: all,
			Condition: map[string]map[string][]string{"ForAnyValue:StringEquals": {"aws:CalledVia": {"cloudformation.amazonaws.com"}}},
		})
	}
	return found
}

// pack distributes statements, in their order, over as few documents as the size limit of managed
// policies allows.
func pack(statements []Statement) [][]Statement {
	var documents [][]Statement
	for i := range statements {
		if last := len(documents) - 1; last >= 0 {
			longer := Document{Statements: append(slices.Clone(documents[last]), statements[i])}
			if longer.Size() <= MaxPolicy {
				documents[last] = longer.Statements
				continue
			}
		}
		documents = append(documents, statements[i:i+1:i+1])
	}
	return documents
}

// withoutCovered removes actions that a wildcard among them covers.
func withoutCovered(actions []string) []string {
	return slices.DeleteFunc(actions, func(action string) bool {
		return slices.ContainsFunc(actions, func(other string) bool {
			prefix, wild := strings.CutSuffix(other, "*")
			return wild && action != other && strings.HasPrefix(action, prefix)
		})
	})
}

// JSON returns the document as IAM expects it, one action per line.
func (d *Document) JSON() []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	// It consists of strings, and lists and maps of them, so encoding cannot fail.
	_ = encoder.Encode(struct {
		Version   string
		Statement []Statement
	}{"2012-10-17", d.Statements})
	return out.Bytes()
}

// Size returns the number of characters that count for MaxPolicy: all but white space.
func (d *Document) Size() int {
	return len(strings.Join(strings.Fields(string(d.JSON())), ""))
}

func sorted(actions []string) []string {
	slices.Sort(actions)
	return slices.Compact(actions)
}

func sortedKeys(m map[string][]string) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
