package plan

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/cfn/diff"
	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	cfnstack "github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/cluster/render"
)

// driftPoll is the delay before the first poll of a detection. It doubles up to three times.
const driftPoll = time.Second

// Drift is what CloudFormation's drift detection says about a stack.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-cfn-stack-drift.html
type Drift struct {
	// Status is Drifted, InSync or Unknown.
	Status cfnstack.DriftStatus `json:"status"`
	// Message says what differs, or why that is not known.
	Message string `json:"message"`
	// Resources are the resources that differ from the deployed template; Omitted is the number of
	// further ones.
	Resources []cfnstack.DriftedResource `json:"resources,omitempty"`
	Omitted   int                        `json:"omitted,omitempty"`
	// Update says which of the drifted properties the planned update overwrites; empty without an update.
	Update string `json:"update,omitempty"`
}

// addDrift lets CloudFormation detect the drift of the deployed stacks. A stack that cannot be checked
// does not fail the plan.
func (d *draft) addDrift(ctx context.Context, p *Plan) error {
	if d.options.Clients == nil {
		return errors.New("the detection of drift needs AWS")
	}
	known, err := d.list(ctx, len(d.subjects))
	if err != nil {
		return err
	}
	engine := cfnstack.New(cfnstack.Options{Clients: d.options.Clients, DriftPoll: driftPoll})
	if err := parallel(len(d.subjects), func(i int) (err error) {
		p.Stacks[i].Drift, err = d.drift(ctx, engine, &d.subjects[i], known)
		return err
	}); err != nil {
		return err
	}
	p.Summary.Drift = &DriftSummary{}
	for i := range p.Stacks {
		if found := p.Stacks[i].Drift; found != nil {
			p.Summary.Drift.Checked++
			if found.Status == cfnstack.Drifted {
				p.Summary.Drift.Drifted++
			}
		}
	}
	return nil
}

// drift detects the drift of one stack. It returns nil for a stack that is not deployed or is deleted.
func (d *draft) drift(ctx context.Context, engine *cfnstack.Engine, s *Subject, known map[string]*types.Stack) (*Drift, error) {
	if s.Wanted == nil {
		return nil, nil //nolint:nilnil // as documented
	}
	there, err := describe(ctx, d.options.Clients.CloudFormation(d.target), s.Name, known)
	if err != nil || there == nil || isEmpty(there.StackStatus) {
		return nil, err
	}
	request := cfnstack.DriftRequest{
		Owner:  ownerOf(s.Wanted, there),
		Asked:  "plan",
		Except: s.Except,
		Deployed: func() (*template.Template, map[string]string, error) {
			side := cmp.Or(s.Deployed, sideOf(s.Wanted))
			return side.Template, side.Parameters, nil
		},
	}
	var record cfnstack.DriftRecord
	for {
		result := engine.Drift(ctx, d.target, request, record)
		if record = result.Record; record.Concluded != nil {
			found := result.Drift
			return &Drift{
				Status: found.Status, Message: found.Message, Resources: found.Resources, Omitted: found.Omitted,
				Update: overwrites(s, found.Resources),
			}, nil
		}
		next := time.NewTimer(result.RequeueAfter)
		select {
		case <-ctx.Done():
			next.Stop()
			return nil, ctx.Err() //nolint:wrapcheck // the user canceled the command
		case <-next.C:
		}
	}
}

// overwrites says what the planned update does to the drift of a stack.
func overwrites(s *Subject, drifted []cfnstack.DriftedResource) string {
	if len(drifted) == 0 || s.Same || s.Deployed == nil {
		return ""
	}
	changes := diff.Compare(*s.Deployed, *sideOf(s.Wanted), schema.Default())
	if changes.Empty() {
		return ""
	}
	overwritten := cfnstack.OverwrittenBy(changes, drifted)
	return overwritten.Sentences()
}

// ownerOf returns the owner of a deployed stack. A plan may read stacks of every management cluster.
func ownerOf(wanted *render.Stack, there *types.Stack) cfnstack.Owner {
	owner := cfnstack.Owner{Name: wanted.Name, StackID: aws.ToString(there.StackId), Tags: map[string]string{}}
	for name, value := range wanted.Tags {
		if slices.Contains(wanted.OwnerTags, name) {
			owner.Tags[name] = value
		}
	}
	for _, tag := range there.Tags {
		if aws.ToString(tag.Key) == cfnstack.ManagementTag {
			owner.AdoptFrom = []string{aws.ToString(tag.Value)}
		}
	}
	return owner
}
