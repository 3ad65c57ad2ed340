package iam

import (
	"encoding/json"
	"strings"
	"time"
)

// propagated returns when other services know a role, user or instance profile that a client creates
// or changes now. CloudFormation waits for that itself, so what it creates is known at once.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot.html#troubleshoot_general_eventual-consistency
func (s *Service) propagated() time.Time { return s.env.Clock.Now().Add(s.env.Lag.Draw()) }

// IsNew reports whether other services do not know a role or user yet, by its ARN. A principal of
// another IAM is not new.
func (s *Service) IsNew(arn string) bool {
	parts := strings.SplitN(arn, ":", 6)
	if len(parts) != 6 || parts[2] != "iam" {
		return false
	}
	kind, path, _ := strings.Cut(parts[5], "/")
	a, unlock := s.lock(parts[4])
	defer unlock()
	e, ok := a.entities(kind)[path[strings.LastIndexByte(path, '/')+1:]]
	return ok && e.arn == arn && s.env.Clock.Now().Before(e.known)
}

// NamesNew reports whether a resource-based policy names a principal that is new (IsNew). Services
// refuse such a policy, because they store the principal's unique ID.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_principal.html
func (s *Service) NamesNew(policy string) bool {
	var document any
	if json.Unmarshal([]byte(policy), &document) != nil {
		return false
	}
	return s.anyNew(document, false)
}

// anyNew searches a document for principals.
func (s *Service) anyNew(v any, isPrincipal bool) bool {
	switch v := v.(type) {
	case string:
		return isPrincipal && s.IsNew(v)
	case []any:
		for _, e := range v {
			if s.anyNew(e, isPrincipal) {
				return true
			}
		}
	case map[string]any:
		for name, e := range v {
			if s.anyNew(e, isPrincipal || name == "Principal" || name == "NotPrincipal") {
				return true
			}
		}
	}
	return false
}
