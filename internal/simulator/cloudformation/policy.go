package cloudformation

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// stackPolicy is a parsed stack policy.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/protect-stack-resources.html
type stackPolicy struct {
	Statement []policyStatement
}

type policyStatement struct {
	Effect      string
	Action      oneOrMany
	NotAction   oneOrMany
	Resource    oneOrMany
	NotResource oneOrMany
	Condition   map[string]map[string]oneOrMany
}

// oneOrMany is a string or a list of strings.
type oneOrMany []string

// UnmarshalJSON accepts both forms.
func (o *oneOrMany) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*o = oneOrMany{one}
		return nil
	}
	var many []string
	if err := json.Unmarshal(data, &many); err != nil {
		return fmt.Errorf("neither a string nor a list of strings: %w", err)
	}
	*o = many
	return nil
}

func parsePolicy(text string) (*stackPolicy, error) {
	var p stackPolicy
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return nil, invalid("Error validating stack policy: Invalid stack policy")
	}
	for i, st := range p.Statement {
		if st.Effect != "Allow" && st.Effect != "Deny" || len(st.Action)+len(st.NotAction) == 0 ||
			len(st.Resource)+len(st.NotResource) == 0 {
			return nil, invalid("Error validating stack policy: Invalid statement [#%d]", i+1)
		}
	}
	return &p, nil
}

// denied returns why the stack's policy denies an action on a resource, or "" if it allows the
// action.
func (s *stack) denied(action string, m *member) string {
	text := s.settings.policy
	if s.settings.policyDuringUpdate != "" {
		text = s.settings.policyDuringUpdate
	}
	if text == "" {
		return ""
	}
	p, err := parsePolicy(text)
	if err != nil {
		return messageOf(err)
	}
	allowed := false
	for i, st := range p.Statement {
		if !st.applies(action, m) {
			continue
		}
		if st.Effect == "Deny" {
			return fmt.Sprintf(
				"Action denied by stack policy: Statement [#%d] does not allow [%s] for resource [LogicalResourceId/%s];",
				i+1,
				action,
				m.id,
			)
		}
		allowed = true
	}
	if allowed {
		return ""
	}
	return fmt.Sprintf("Action denied by stack policy: no statement allows [%s] for resource [LogicalResourceId/%s];", action, m.id)
}

func (st *policyStatement) applies(action string, m *member) bool {
	if len(st.Action) > 0 && !matchesAny(st.Action, action) || len(st.NotAction) > 0 && matchesAny(st.NotAction, action) {
		return false
	}
	name := "LogicalResourceId/" + m.id
	if len(st.Resource) > 0 && !matchesAny(st.Resource, name) || len(st.NotResource) > 0 && matchesAny(st.NotResource, name) {
		return false
	}
	for operator, keys := range st.Condition {
		for key, values := range keys {
			if key != "ResourceType" {
				return false
			}
			if operator == "StringEquals" && !slices.Contains(values, m.kind) || operator == "StringLike" && !matchesAny(values, m.kind) {
				return false
			}
		}
	}
	return true
}

func matchesAny(patterns oneOrMany, text string) bool {
	flat := strings.ReplaceAll(text, "/", "\x01")
	for _, p := range patterns {
		if ok, err := path.Match(strings.ReplaceAll(p, "/", "\x01"), flat); err == nil && ok {
			return true
		}
	}
	return false
}

// deniedRemovals fails the members that the stack policy protects from removal by an update.
func (s *stack) deniedRemovals() bool {
	active := s.revision.activeIDs()
	denied := false
	for id, m := range s.members {
		if active[id] {
			continue
		}
		if reason := s.denied("Update:Delete", m); reason != "" {
			s.remember(id)
			next := *m
			s.members[id] = &next
			s.setMember(&next, types.ResourceStatusUpdateFailed, reason)
			denied = true
		}
	}
	return denied
}
