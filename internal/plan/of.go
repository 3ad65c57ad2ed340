package plan

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cfn/policy"
	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	cfnstack "github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/cluster/existingvpc"
	"github.com/aws-operator/aws-operator/internal/cluster/live"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/offerings"
	"github.com/aws-operator/aws-operator/internal/cluster/pki"
	"github.com/aws-operator/aws-operator/internal/cluster/programs"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/internal/cluster/render"
	"github.com/aws-operator/aws-operator/internal/cluster/stacks"
	"github.com/aws-operator/aws-operator/internal/partition"
	"github.com/aws-operator/aws-operator/internal/price"
)

// Input is the definition of a cluster, with its status. Planning does not change it.
type Input struct {
	// Cluster and Groups are the desired objects; their status describes what is deployed. An
	// object with a deletion timestamp is deleted.
	Cluster *v1alpha1.Cluster
	Groups  []*v1alpha1.InstanceGroup
	// Releases are the existing Releases besides the built-in ones.
	Releases []*v1alpha1.Release
	// CACertificate is the certificate of the cluster's CA in PEM; nil if there is none yet.
	CACertificate []byte
	// Keys are which CAs and keys instances use, and Rotation is the state of their rotation.
	Keys     model.Keys
	Rotation pki.Rotation
}

// Options are the options of a plan.
type Options struct {
	// Clients are AWS clients. Without them, a plan that needs AWS returns an error or uses
	// placeholders.
	Clients *awsapi.Clients
	// Operator is the operator's --cluster-name, which is in the tags of stacks.
	Operator string
	// AccountID is the account of a new cluster without a role; if empty, AWS is asked.
	AccountID string
	// NodeupDir is the folder of nodeup, with which instances boot.
	NodeupDir string
	// ChangeSets also lets CloudFormation compute the changes, with temporary change sets.
	ChangeSets bool
	// NoOperator reports that no operator manages the cluster.
	NoOperator bool
	// Drift also lets CloudFormation detect the drift of the deployed stacks, which can take minutes.
	Drift bool
	// Quotas also lets AWS say whether the account's quotas suffice.
	Quotas bool
	// Prices is the price list by which the plan says what the changes cost. Without it, the plan
	// says nothing of prices.
	Prices *price.List
}

// allowAnnotation lists dangerous changes that the user allows for an object.
const allowAnnotation = v1alpha1.Group + "/allow"

// draft is an incomplete plan.
type draft struct {
	in      Input
	options Options
	target  awsapi.Target
	nodeup  *programs.Folder

	model    *model.Cluster
	outputs  map[string]string // of the base stack, as they will be
	subjects []Subject
	pending  []pending
	notes    []string
	// wants are the instance types and images that a stack asks for, by its name.
	wants map[string][]offerings.Want
	// left are the logical IDs of the etcd volumes in zones that slots leave.
	left []string
	// alone means that stacks are only rendered, not compared.
	alone bool
}

// pending is a subject whose deployed stack must be read.
type pending struct {
	subject int
	id      string
	// guessed reports that no status has the name of the stack, so it may never have existed.
	guessed bool
}

// Of plans one cluster. It returns an error if the specs are invalid (model.Problems), or if a
// required AWS call fails.
func Of(ctx context.Context, in Input, o Options) (*Plan, error) {
	d := &draft{in: in, options: o, nodeup: programs.In(o.NodeupDir), wants: map[string][]offerings.Want{}}
	if o.Clients != nil {
		d.target = live.TargetOf(o.Clients, in.Cluster)
	}
	if err := d.resolve(ctx); err != nil {
		return nil, err
	}
	if d.madeByTerraform(ctx) {
		return &Plan{Name: in.Cluster.Name, Terraform: true}, nil
	}
	d.wants[d.model.StackName] = offerings.OfCluster(d.model)
	if err := d.base(ctx); err != nil {
		return nil, err
	}
	if err := d.slots(); err != nil {
		return nil, err
	}
	if err := d.groups(); err != nil {
		return nil, err
	}
	if err := d.eksAddons(); err != nil {
		return nil, err
	}
	if err := d.fetch(ctx); err != nil {
		return nil, err
	}
	p := Compare(in.Cluster.Name, d.subjects, schema.Default())
	d.refuseUnoffered(ctx, p)
	if err := d.askAWS(ctx, p); err != nil {
		return nil, err
	}
	d.circumstances(p)
	if o.Quotas && d.offline() {
		d.note("Quotas were not checked, since the AWS account is unknown.")
	} else if err := p.addQuotas(ctx, o, d.target, d.subjects); err != nil {
		return nil, err
	}
	p.Notes = d.notes
	p.addPrice(o.Prices, in.Cluster.Spec.Region, d.subjects)
	return p, nil
}

// askAWS adds to a plan what CloudFormation says about the changes and about drift, if the options ask for it.
func (d *draft) askAWS(ctx context.Context, p *Plan) error {
	if d.options.ChangeSets {
		if err := d.ask(ctx, p); err != nil {
			return err
		}
	}
	if !d.options.Drift {
		return nil
	}
	return d.addDrift(ctx, p)
}

// madeByTerraform reports whether Terraform made the cluster. A plan without access to AWS assumes
// that it did not.
func (d *draft) madeByTerraform(ctx context.Context) bool {
	if d.offline() {
		return false
	}
	terraform, err := live.MadeByTerraform(ctx, d.options.Clients, d.in.Cluster)
	if err != nil {
		d.note("Whether Terraform made this cluster was not checked: %s", awsapi.Explain(err))
	}
	return terraform
}

// offline reports whether AWS cannot be asked.
func (d *draft) offline() bool {
	return d.options.Clients == nil || d.model.AccountID == placeholderAccount
}

// refuseUnoffered adds to each stack that is created which of its instance types and images AWS
// does not offer.
func (d *draft) refuseUnoffered(ctx context.Context, p *Plan) {
	if d.offline() {
		return
	}
	catalog := offerings.New(clock.RealClock{})
	for i := range p.Stacks {
		one := &p.Stacks[i]
		if one.Action != Create || len(d.wants[one.Name]) == 0 {
			continue
		}
		problem, err := catalog.Find(ctx, d.options.Clients.EC2(d.target), d.target, d.wants[one.Name])
		switch {
		case err != nil:
			d.note("Whether AWS offers the instance types and images was not checked: %s", awsapi.Explain(err))
			return
		case problem != nil:
			one.Refused = append(one.Refused, problem.Message)
		}
	}
}

// OutputMark is the prefix of placeholders for outputs of the base stack in the parameters of
// rendered stacks ([Render]). The name of the output follows.
const OutputMark = "output:"

// Render renders the stacks of a cluster without a comparison: the base stack, slots, groups and EKS's
// add-ons in their order. Parameters that are outputs of the base stack have a placeholder ([OutputMark]). It
// returns the errors of [Of].
func Render(ctx context.Context, in Input, o Options) ([]Subject, error) {
	d := &draft{in: in, options: o, nodeup: programs.In(o.NodeupDir), alone: true}
	if len(d.in.CACertificate) == 0 {
		d.in.CACertificate = placeholderCA
	}
	if o.Clients != nil {
		d.target = live.TargetOf(o.Clients, in.Cluster)
	}
	if err := d.resolve(ctx); err != nil {
		return nil, err
	}
	if err := d.base(ctx); err != nil {
		return nil, err
	}
	for name := range d.outputs {
		d.outputs[name] = OutputMark + name
	}
	if err := d.slots(); err != nil {
		return nil, err
	}
	if err := d.groups(); err != nil {
		return nil, err
	}
	return d.subjects, d.eksAddons()
}

// Resolve returns the resolved cluster and its instance groups by name, without rendering them. It
// returns the errors of [Of].
func Resolve(ctx context.Context, in Input, o Options) (*model.Cluster, []*model.Group, error) {
	d := &draft{in: in, options: o}
	if o.Clients != nil {
		d.target = live.TargetOf(o.Clients, in.Cluster)
	}
	if err := d.resolve(ctx); err != nil {
		return nil, nil, err
	}
	var groups []*model.Group
	for _, group := range d.sorted() {
		resolved, err := model.ResolveGroup(d.model, group)
		if err != nil {
			return nil, nil, fmt.Errorf("instance group %s: %w", group.Name, err)
		}
		groups = append(groups, resolved)
	}
	return d.model, groups, nil
}

func (d *draft) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(d.notes, text) {
		d.notes = append(d.notes, text)
	}
}

// isDeployed reports whether any stack of the cluster exists.
func (d *draft) isDeployed() bool {
	return slices.ContainsFunc(d.in.Cluster.Status.Stacks, func(s v1alpha1.StackStatus) bool { return s.Record != nil })
}

// resolve resolves the cluster.
func (d *draft) resolve(ctx context.Context) error {
	c := d.in.Cluster
	of, err := d.release()
	if err != nil {
		return err
	}
	account, err := d.account(ctx)
	if err != nil {
		return err
	}
	var found *model.ExistingVPC
	if vpc := c.Spec.Network.VPC; vpc != "" {
		if d.options.Clients == nil {
			d.note("VPC %s was not read from AWS; the plan lacks its ranges.", vpc)
		} else if found, err = existingvpc.Describe(ctx, d.options.Clients.EC2(d.target), vpc); err != nil {
			return awsapi.Explain(err)
		} else if problem := found.DNSProblem(model.ZoneName(c.Name), model.AllowsDNSServers(c)); problem != "" {
			d.note("%s", problem)
		}
	}
	name, suffix := partition.Of(c.Spec.Region)
	in := model.Input{
		Cluster: c, Release: of, Operator: d.options.Operator, AccountID: account, Partition: name, DNSSuffix: suffix, Existing: found,
	}
	if d.model, err = model.Resolve(in); err != nil {
		return fmt.Errorf("cluster %s: %w", c.Name, err)
	}
	moves, err := d.moves(ctx)
	if err != nil {
		return err
	}
	if in.Cluster = d.in.Cluster; moves {
		if d.model, err = model.Resolve(in); err != nil {
			return fmt.Errorf("cluster %s: %w", c.Name, err)
		}
	}
	keys, err := d.keys()
	d.model.SetKeys(keys)
	return err
}

// release returns the Release of the cluster. Like the operator, it returns an error if the Release
// does not exist, or if the version skew policy does not allow the cluster to move to it.
func (d *draft) release() (*v1alpha1.Release, error) {
	c := d.in.Cluster
	to, err := release.Find(c.Spec.Release, d.in.Releases...)
	if err != nil {
		return nil, fmt.Errorf("cluster %s: %w; name one of these, or give its manifest with -f", c.Name, err)
	}
	if !c.DeletionTimestamp.IsZero() {
		return to, nil
	}
	all, err := release.All(d.in.Releases...)
	if err != nil {
		return nil, err
	}
	why, err := stacks.Refusal(c, d.in.Groups, to, all)
	if err != nil {
		return nil, err
	}
	if why != "" {
		return nil, fmt.Errorf("cluster %s: %s", c.Name, strings.TrimSuffix(why, "."))
	}
	return to, nil
}

// placeholderAccount stands for an unknown account.
const placeholderAccount = "000000000000"

// account returns the account of the cluster.
func (d *draft) account(ctx context.Context) (string, error) {
	c := d.in.Cluster
	if known := cmp.Or(c.Status.Account, d.options.AccountID); known != "" {
		return known, nil
	}
	if role := c.Spec.Role; role != nil && role.ARN != "" {
		const parts, account = 6, 4 // arn:partition:iam::account:role/…
		if fields := strings.SplitN(role.ARN, ":", parts); len(fields) == parts {
			return fields[account], nil
		}
	}
	return d.accountOf(ctx)
}

// accountOf returns the account of the AWS credentials.
func (d *draft) accountOf(ctx context.Context) (string, error) {
	if d.options.AccountID != "" {
		return d.options.AccountID, nil
	}
	if d.options.Clients != nil {
		account, err := d.options.Clients.Identity(ctx)
		if err == nil {
			return account, nil
		}
		if failure := awsapi.Explain(err); failure.Kind != awsapi.BadCredentials && failure.Kind != awsapi.Unreachable {
			return "", failure
		}
	}
	d.note("The AWS account is unknown; the plan uses %s as a placeholder. Configure credentials, or set --aws-account-id.", placeholderAccount)
	return placeholderAccount, nil
}

// find returns the hash of nodeup, or a placeholder.
func (d *draft) find(architecture v1alpha1.Architecture) (string, error) {
	file, err := d.nodeup.Find(architecture)
	if err != nil {
		d.note(
			"nodeup for %s is not next to this program; the plan uses a placeholder for its hash. Set its folder with --nodeup-dir.",
			architecture,
		)
		return strings.Repeat("0", 64), nil //nolint:nilerr // a plan works without it
	}
	return file.Hash, nil
}

// notKnownYet is the prefix of placeholders for outputs that the base stack does not have yet.
const notKnownYet = "known once stack"

// renderBase renders the base stack as it is at the end, when the slots by which the control plane shrinks have left.
func (d *draft) renderBase() (*render.Stack, error) {
	final := *d.model
	final.Leaving = nil
	rendered, err := render.Base(&final)
	if err != nil {
		return nil, fmt.Errorf("the base stack cannot be rendered: %w", err)
	}
	return rendered, nil
}

// base plans the base stack, whose outputs the other stacks use.
func (d *draft) base(ctx context.Context) error {
	c := d.in.Cluster
	rendered, err := d.renderBase()
	if err != nil {
		return err
	}
	if err := d.add(Subject{Name: d.model.StackName, Part: Base, Wanted: rendered}, record.Find(c, d.model.StackName), c); err != nil {
		return err
	}
	if err := d.fetch(ctx); err != nil {
		return err
	}
	compared := compareStack(&d.subjects[0], schema.Default())
	d.outputs = map[string]string{}
	for name, output := range rendered.Template.Outputs {
		known := c.Status.Outputs[name]
		for _, use := range Uses(output.Value) {
			if r := compared.Resource(use.Target); r != nil && (r.Action == Create || r.Action == Replace) {
				known = ""
			}
		}
		d.outputs[name] = cmp.Or(known, "("+notKnownYet+" "+d.model.StackName+" has its output "+name+")")
	}
	return nil
}

// slots plans the stacks of slots, in the order of their changes: stacks whose update failed first.
func (d *draft) slots() error {
	var failed, others []Subject
	for i, slot := range d.model.Slots {
		known, err := record.Decode(record.Find(d.in.Cluster, slot.StackName))
		if err != nil {
			return err
		}
		made, err := stacks.Slot(d.model, i, d.outputs, &known, d.find)
		if err != nil {
			return fmt.Errorf("slot %d: %w", slot.Index, err)
		}
		s := Subject{
			Name: slot.StackName, Part: Slot, Of: fmt.Sprint(slot.Index), Wanted: made.Stack, Machines: 1,
			Parts: known.History().Now.Changed(&made.Machines),
		}
		if known.FailedDigest != "" {
			failed = append(failed, s)
			continue
		}
		others = append(others, s)
	}
	for _, s := range append(failed, others...) {
		if err := d.add(s, record.Find(d.in.Cluster, s.Name), d.in.Cluster); err != nil {
			return err
		}
	}
	d.leaving()
	return nil
}

// sorted returns the instance groups by name.
func (d *draft) sorted() []*v1alpha1.InstanceGroup {
	return slices.SortedFunc(
		slices.Values(d.in.Groups), func(a, b *v1alpha1.InstanceGroup) int { return strings.Compare(a.Name, b.Name) },
	)
}

// groups plans the stacks of instance groups, by name.
func (d *draft) groups() error {
	for _, group := range d.sorted() {
		if err := d.group(group); err != nil {
			return fmt.Errorf("instance group %s: %w", group.Name, err)
		}
	}
	return nil
}

func (d *draft) group(group *v1alpha1.InstanceGroup) error {
	shape, err := model.ResolveGroup(d.model, group)
	if err != nil {
		return err //nolint:wrapcheck // the caller names the group
	}
	known, err := record.Decode(group.Status.Stack)
	if err != nil {
		return err
	}
	ca := d.in.CACertificate
	if len(ca) == 0 && d.model.EKS() == nil {
		if known.StackID != "" {
			return fmt.Errorf(
				"the CA certificate of the cluster, which is part of its instances' bundles, is unknown; it is in the Secret %s-ca",
				d.in.Cluster.Name,
			)
		}
		d.note("The cluster's CA does not exist yet; the plan uses a placeholder for it in the bundles of instance groups.")
		ca = placeholderCA
	}
	made, err := stacks.Group(d.model, shape, d.outputs, ca, &known, d.find)
	if err != nil {
		return err
	}
	if d.wants != nil {
		d.wants[shape.StackName] = offerings.OfGroup(shape)
	}
	status := d.in.Cluster.Status
	machines := int(group.Status.Nodes.Desired)
	return d.add(Subject{
		Name: shape.StackName, Part: Group, Of: group.Name, Wanted: made.Stack, Rolling: &shape.Rolling,
		Machines: cmp.Or(machines, int(shape.Spec.ExpectedNodes())), Parts: known.History().Now.Changed(&made.Machines),
		After: status.Release != "" && status.Release != d.model.Release.Name,
	}, group.Status.Stack, group)
}

// add adds a stack, with notes from its status.
func (d *draft) add(s Subject, status *v1alpha1.StackStatus, owner client.Object) error {
	known, err := record.Decode(status)
	if err != nil {
		return err
	}
	s.Allow = policy.ParseAllow(owner.GetAnnotations()[allowAnnotation])
	s.Allow.Annotation, s.Allow.Object = allowAnnotation, owner.GetName()
	if s.Part == Base {
		s.Allow.Gone = append(d.removedVolumes(), d.left...)
	}
	s.Except, _ = cfnstack.ParseDriftExceptions(owner.GetAnnotations()[v1alpha1.IgnoreDriftAnnotation]) // Unknown values except nothing.
	want := stacks.Desired(s.Wanted)
	digest := want.Digest()
	there := exists(&known)
	s.Same = isCurrent(&known, digest)
	if there && known.PendingDigest != "" {
		d.note("An operation on stack %s is in progress (%s); the plan compares with its current template.", s.Name, known.Status)
	}
	if there && known.FailedDigest == digest {
		d.note(
			"A previous update of stack %s to this template failed (%s); the operator does not retry it until the definition changes.",
			s.Name,
			known.StatusReason,
		)
	}
	goes := !owner.GetDeletionTimestamp().IsZero() || !d.in.Cluster.DeletionTimestamp.IsZero()
	switch {
	case goes && s.Same: // The deployed stack is up to date.
		s.Deployed, s.Same = sideOf(s.Wanted), false
	case there && !s.Same && !d.alone:
		d.pending = append(d.pending, pending{subject: len(d.subjects), id: s.Name}) // not by the ARN: a status can name any stack
	}
	if goes {
		s.Wanted = nil
	}
	d.subjects = append(d.subjects, s)
	return nil
}

// exists reports whether a stack exists.
func exists(known *record.Stack) bool {
	return known.StackID != "" && known.Status != "DELETE_COMPLETE"
}

// isCurrent reports whether a stack exists as it is wanted.
func isCurrent(known *record.Stack, digest string) bool {
	return exists(known) && known.Digest == digest && known.PendingDigest == ""
}
