package iampolicy

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// principals are the Principal or NotPrincipal of a statement.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_principal.html
type principals struct {
	not bool
	// everyone is "*".
	everyone bool
	// aws are account IDs and ARNs; services and federated are names of services and ARNs or names of
	// identity providers.
	aws, services, federated []string
}

// UnmarshalJSON accepts "*" and an object of lists by type.
func (p *principals) UnmarshalJSON(data []byte) error {
	if data[0] == '"' {
		var text string
		if err := json.Unmarshal(data, &text); err != nil || text != "*" {
			return fmt.Errorf(`the Principal is %s: it must be "*" or an object`, data)
		}
		p.everyone = true
		return nil
	}
	byType := map[string]texts{}
	if err := json.Unmarshal(data, &byType); err != nil {
		return err
	}
	if len(byType) == 0 {
		return errors.New("the Principal is empty")
	}
	for kind, values := range byType {
		switch kind {
		case "AWS":
			p.aws = values
			p.everyone = p.everyone || slices.Contains(values, "*")
		case "Service":
			p.services = values
		case "Federated":
			p.federated = values
		case "CanonicalUser": // no request of the simulator has one
		default:
			return fmt.Errorf("the Principal has the unknown type %s", kind)
		}
	}
	return nil
}

// grant is how directly a statement names the principal of a request, in increasing order.
type grant int

const (
	// notNamed: the statement does not apply to the principal.
	notNamed grant = iota
	// byAccount: the statement names the principal's account, which has to allow the request, too.
	byAccount
	// byRole: it names everyone, or the role of a session, whose boundary and session policies apply.
	byRole
	// byName: it names the user, the session or the service itself.
	byName
)

// grants returns how a statement names the principal of a request.
func (p *principals) grants(r *Request) grant {
	if !p.not {
		return p.names(r)
	}
	if p.exempts(r) {
		return notNamed
	}
	return byRole
}

// exempts reports whether a NotPrincipal names the principal of a request. It has to name the
// account and the role of a principal, too.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_notprincipal.html
func (p *principals) exempts(r *Request) bool {
	if p.everyone || r.Service != "" || r.Federated != "" {
		return p.names(r) != notNamed
	}
	return slices.Contains(p.aws, r.Principal) && slices.Contains(p.aws, r.role()) && p.namesAccount(r)
}

func (p *principals) names(r *Request) grant {
	switch {
	case r.Service != "":
		if slices.Contains(p.services, r.Service) || slices.Contains(p.services, "*") {
			return byName
		}
	case r.Federated != "":
		if slices.Contains(p.federated, r.Federated) {
			return byName
		}
	case slices.Contains(p.aws, r.Principal):
		return byName
	}
	if p.everyone {
		return byRole
	}
	if r.Service != "" || r.Federated != "" {
		return notNamed
	}
	if slices.Contains(p.aws, r.role()) {
		return byRole
	}
	if p.namesAccount(r) {
		return byAccount
	}
	return notNamed
}

func (p *principals) namesAccount(r *Request) bool {
	account := accountOf(r.Principal)
	return account != "" && slices.ContainsFunc(p.aws, func(name string) bool {
		return name == account || strings.HasSuffix(name, ":iam::"+account+":root")
	})
}

// accountOf returns the account of an ARN.
func accountOf(arn string) string {
	if parts := strings.SplitN(arn, ":", segments); len(parts) == segments {
		return parts[4]
	}
	return ""
}

// RoleOf returns the ARN of a session's role without the role's path, which a session's ARN does not
// have, or the ARN itself if it is not that of a session.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html#identifiers-arns
func RoleOf(principal string) string {
	before, session, ok := strings.Cut(principal, ":assumed-role/")
	if !ok {
		return principal
	}
	role, _, _ := strings.Cut(session, "/")
	return strings.Replace(before, ":sts:", ":iam:", 1) + ":role/" + role
}
