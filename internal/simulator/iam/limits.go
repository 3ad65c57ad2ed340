package iam

import (
	"net/http"
	"strings"
	"unicode"

	"github.com/aws-operator/aws-operator/internal/simulator/iampolicy"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// The quotas of policies. Sizes are in characters without white space.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html
const (
	managedPolicySize = 6144
	trustPolicySize   = 2048
	attachedPolicies  = 10
)

// inlinePolicySize is the quota of all inline policies of an entity together, by kind.
var inlinePolicySize = map[string]int{"role": 10240, "user": 2048}

func overQuota(format string, args ...any) error {
	return wire.Errorf("LimitExceeded", format, args...).WithStatus(http.StatusConflict)
}

// sizeOf returns the size of a policy as IAM counts it.
func sizeOf(document string) int {
	return len(strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, document))
}

// checkManaged validates the document of a managed policy.
func checkManaged(document string) error {
	if err := checkDocument(document); err != nil {
		return err
	}
	if sizeOf(document) > managedPolicySize {
		return overQuota("Cannot exceed quota for PolicySize: %d", managedPolicySize)
	}
	return nil
}

// checkTrust validates the trust policy of a role.
func checkTrust(document string) error {
	if _, err := iampolicy.ParseTrust(document); err != nil {
		return malformed(document, err)
	}
	if sizeOf(document) > trustPolicySize {
		return overQuota("Cannot exceed quota for ACLSizePerRole: %d", trustPolicySize)
	}
	return nil
}

// checkInline validates an inline policy with the entity's other ones.
func (e *entity) checkInline(name, document string) error {
	if err := checkDocument(document); err != nil {
		return err
	}
	size := sizeOf(document)
	for other, text := range e.inline {
		if other != name {
			size += sizeOf(text)
		}
	}
	if most := inlinePolicySize[e.kind]; size > most {
		return overQuota("Maximum policy size of %d bytes exceeded for %s %s", most, e.kind, e.name)
	}
	return nil
}
