package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/aws-operator/aws-operator/internal/cfn/diff"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/cluster/stacks"
)

// digestLength is the number of hexadecimal digits of a digest.
const digestLength = 16

// DigestOf returns the digest of several plans, like [Plan.Digest] for one.
func DigestOf(plans ...*Plan) string {
	if len(plans) == 1 {
		return plans[0].Digest
	}
	sum := sha256.New()
	for _, p := range plans {
		_, _ = fmt.Fprintf(sum, "%s %s\n", p.Name, p.Digest) // A hash never returns an error.
	}
	return hex.EncodeToString(sum.Sum(nil))[:digestLength]
}

// digest returns a digest of the deployed and the desired state of the stacks that change.
func (p *Plan) digest(subjects []Subject) string {
	sum := sha256.New()
	_, _ = fmt.Fprintf(sum, "%s\n", p.Name) // A hash never returns an error.
	for i := range subjects {
		s := &subjects[i]
		if p.Stacks[i].Action == None {
			continue
		}
		was, is := "none", "none"
		if s.Deployed != nil {
			was = digestOfSide(s.Deployed)
		}
		if s.Wanted != nil {
			want := stacks.Desired(s.Wanted)
			is = want.Digest()
		}
		_, _ = fmt.Fprintf(sum, "%s %s %s\n", s.Name, was, is)
	}
	return hex.EncodeToString(sum.Sum(nil))[:digestLength]
}

func digestOfSide(s *diff.Side) string {
	side := stack.Desired{Template: s.Template, Parameters: s.Parameters, Tags: s.Tags}
	return side.Digest()
}
