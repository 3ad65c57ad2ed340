package terraform

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap"
	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
	"github.com/aws-operator/aws-operator/internal/cluster/eksboot"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/render"
)

// Layout is how a configuration is spread over files.
type Layout string

// Layouts.
const (
	// LayoutCluster is one file for the whole cluster, kubernetes.tf.
	LayoutCluster Layout = "cluster"
	// LayoutStack is kubernetes.tf for what the stacks share, and kubernetes-STACK.tf for each
	// stack.
	LayoutStack Layout = "stack"
)

// Input is all that a configuration is made from.
type Input struct {
	// Cluster and Groups are the cluster and its instance groups, with everything decided.
	Cluster *model.Cluster
	Groups  []*model.Group
	// CACertificate is the PEM of the cluster's CA, which workers trust. Without one there may be
	// no instance groups.
	CACertificate []byte
	// Keys are the files of the cluster's CAs by their keys in the bucket, including private keys.
	// Without them, the slots wait until another client uploads them.
	Keys map[string][]byte
	// Public are the files by their keys in the bucket that all who may read the bucket may read:
	// what an issuer publishes.
	Public map[string][]byte
	// Nodeup are the SHA-256s of nodeup, in hex, by architecture: all that the cluster's machines
	// are of.
	Nodeup map[v1alpha1.Architecture]string
	// EtcdRestore is the SHA-256, in hex, of what makes members of etcd of a snapshot's data, for
	// the control plane's architecture. It is needed where the cluster is restored.
	EtcdRestore string
	// Layout is how the configuration is spread over files, [LayoutCluster] if empty.
	Layout Layout
	// OmitProvider leaves out the blocks terraform and provider, for a module that has its own.
	OmitProvider bool
	// Renames are former names of resources, besides those of earlier versions of this package.
	// Terraform moves such resources in its state.
	Renames []Rename
}

// Configuration is a cluster as Terraform configuration.
type Configuration struct {
	// Files are the files by their paths, which are relative and have slashes: *.tf, and below
	// Folder what these read.
	Files map[string][]byte
	// Folder holds the data files, and nothing else: data/CLUSTER.
	Folder string
	// Stacks are the stacks that it is made of: the base stack, slots and groups.
	Stacks []*render.Stack
	// Resources are the stacks' resources and what became of them, by stack and logical ID.
	Resources []Resource
	// Secrets are files that only their owner may read, by their paths below
	// [Configuration.SecretsFolder]. Terraform uploads them; neither its state nor a plan has their
	// contents.
	Secrets map[string][]byte
	// Programs are the files that Terraform uploads besides; their contents are the caller's to put
	// there.
	Programs []Program
	// Elsewhere are the keys in the cluster's bucket that machines need and that are not in the
	// configuration, since they were not given.
	Elsewhere []string
}

// Resource is a resource of a CloudFormation stack, and what it became.
type Resource struct {
	// Stack, LogicalID and Type are CloudFormation's.
	Stack, LogicalID, Type string
	// Address is that of the main resource in Terraform, Ref the attribute of it that Ref gives.
	Address, Ref string
}

// SecretsFolder is where the secrets are, and nothing else; they are not for Git.
func (c *Configuration) SecretsFolder() string { return secretsFolder(c.Folder) }

func secretsFolder(folder string) string { return folder + "/secrets" }

// Program is a file that machines run.
type Program struct {
	// Name is the program's: nodeup, etcd-restore.
	Name string
	// Path is where it belongs, below Folder; it has the hash in it.
	Path string
	// Architecture is what it is for, SHA256 the hash that it must have.
	Architecture v1alpha1.Architecture
	SHA256       string
}

// Names of programs.
const (
	ProgramNodeup      = "nodeup"
	ProgramEtcdRestore = "etcd-restore"
)

// AccountOfProvider stands in a model for the account of the cluster where that is not known: the
// configuration asks for the account that the provider acts in. It is as long as an account's
// number.
const AccountOfProvider = "tf-account-x"

// Cluster returns the configuration of a cluster. It returns an error when the input lacks
// something, when the stacks cannot be rendered, and when a template has something that the mapping
// has no counterpart for.
func Cluster(in Input) (*Configuration, error) {
	if in.Cluster == nil {
		return nil, errors.New("there is no cluster")
	}
	if in.Layout == "" {
		in.Layout = LayoutCluster
	}
	c := in.Cluster
	if err := representable(c); err != nil {
		return nil, err
	}
	m := newModule(c.Name)
	base, err := render.Base(c)
	if err != nil {
		return nil, err //nolint:wrapcheck // it says which stack cannot be rendered
	}
	s, err := m.add(base, true)
	if err != nil {
		return nil, err
	}
	if err := m.learn(s); err != nil {
		return nil, err
	}
	programs, err := m.programs(s, &in)
	if err != nil {
		return nil, err
	}
	if err := m.given(s, &in); err != nil {
		return nil, err
	}
	if err := m.machines(&in, base, programs); err != nil {
		return nil, err
	}
	if err := m.translate(); err != nil {
		return nil, err
	}
	files, err := m.print(&in)
	if err != nil {
		return nil, err
	}
	maps.Copy(files, m.files)
	made := &Configuration{Files: files, Folder: m.folder, Secrets: m.secrets, Elsewhere: elsewhere(&in)}
	for _, s := range m.scopes {
		made.Stacks = append(made.Stacks, s.stack)
		for _, id := range slices.Sorted(maps.Keys(s.resources)) {
			of := s.resources[id]
			made.Resources = append(made.Resources, Resource{s.stack.Name, id, s.stack.Template.Resources[id].Type, of.address, of.row.ref})
		}
	}
	for _, a := range slices.Sorted(maps.Keys(programs)) {
		made.Programs = append(made.Programs, programs[a])
	}
	if restore := restoreProgram(m.folder, &in); restore != nil {
		made.Programs = append(made.Programs, *restore)
	}
	return made, nil
}

// representable returns an error if a cluster cannot be one of Terraform.
func representable(c *model.Cluster) error {
	if c.EKS() != nil { // It has neither a token nor a bucket.
		return nil
	}
	if c.TokenKey == "" {
		return fmt.Errorf(
			"the model of cluster %s requires an operator, but a cluster of Terraform has none",
			c.Name,
		)
	}
	if c.AccountID == AccountOfProvider &&
		(!strings.Contains(c.Bucket, AccountOfProvider) || c.IssuerBucket != "" && !strings.Contains(c.IssuerBucket, AccountOfProvider)) {
		return fmt.Errorf(
			"the bucket name of cluster %s is shortened and therefore depends on the account; set it with --aws-account-id",
			c.Name,
		)
	}
	return nil
}

func newModule(cluster string) *module {
	return &module{
		folder: "data/" + cluster, data: map[string]*block{}, files: map[string][]byte{}, secrets: map[string][]byte{},
		owners: map[string]string{}, marks: map[string]meaning{},
	}
}

// translate translates all stacks' resources, and then puts them in order.
func (m *module) translate() error {
	for _, s := range m.scopes {
		for _, id := range slices.Sorted(maps.Keys(s.resources)) {
			if err := s.translate(id); err != nil {
				return err
			}
		}
	}
	for _, s := range m.scopes {
		for _, of := range s.all() {
			of.order()
		}
	}
	return nil
}

// add adds a stack.
func (m *module) add(stack *render.Stack, base bool) (*scope, error) {
	s := &scope{module: m, stack: stack, base: base}
	m.scopes = append(m.scopes, s)
	tags := make([]member, 0, len(stack.Tags))
	for _, key := range slices.Sorted(maps.Keys(stack.Tags)) {
		tags = append(tags, member{key, text(stack.Tags[key])})
	}
	s.locals = append(s.locals, member{plain(stack.Name) + "_tags", object(tags)})
	return s, s.declare()
}

// programs puts nodeup into the bucket, for each architecture of the cluster's machines.
func (m *module) programs(base *scope, in *Input) (map[v1alpha1.Architecture]Program, error) {
	if in.Cluster.EKS() != nil {
		return nil, nil
	}
	architectures := []v1alpha1.Architecture{in.Cluster.ControlPlaneArchitecture}
	for _, g := range in.Groups {
		architectures = append(architectures, g.Spec.Architecture)
	}
	slices.Sort(architectures)
	programs := map[v1alpha1.Architecture]Program{}
	for _, a := range slices.Compact(architectures) {
		hash := in.Nodeup[a]
		if hash == "" {
			return nil, fmt.Errorf("there is no nodeup for %s, the architecture of instances of cluster %s", a, in.Cluster.Name)
		}
		p := Program{Name: ProgramNodeup, Path: programPath(m.folder, ProgramNodeup, hash, a), Architecture: a, SHA256: hash}
		if err := base.storeProgram(p, model.NodeupKey(hash, a)); err != nil {
			return nil, err
		}
		programs[a] = p
	}
	return programs, nil
}

// machines adds the stacks of slots and instance groups.
func (m *module) machines(in *Input, base *render.Stack, programs map[v1alpha1.Architecture]Program) error {
	c := in.Cluster
	outputs := map[string]string{}
	for name := range base.Template.Outputs {
		outputs[name] = markOf(name)
	}
	for _, slot := range c.Slots {
		b, err := bootstrap.ControlPlane(c, slot.Index, outputs)
		if err != nil {
			return fmt.Errorf("create the bundle of slot %d: %w", slot.Index, err)
		}
		err = m.machine(c, b, programs[c.ControlPlaneArchitecture], func(userData string) (*render.Stack, error) {
			return render.Slot(c, slot.Index, outputs, userData)
		})
		if err != nil {
			return err
		}
	}
	if c.EKS() != nil {
		return m.nodeGroups(in, outputs)
	}
	if len(in.Groups) > 0 && len(in.CACertificate) == 0 {
		return fmt.Errorf("the CA certificate of cluster %s is not known, and its workers need it to join", c.Name)
	}
	for _, g := range in.Groups {
		b, err := bootstrap.Worker(c, g, outputs, in.CACertificate)
		if err != nil {
			return fmt.Errorf("create the bundle of instance group %s: %w", g.Name, err)
		}
		err = m.machine(c, b, programs[g.Spec.Architecture], func(userData string) (*render.Stack, error) {
			return render.Group(c, g, outputs, userData)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// nodeGroups adds the stacks of instance groups of EKS, and that of the add-ons, most of which need their nodes.
func (m *module) nodeGroups(in *Input, outputs map[string]string) error {
	after := []string{m.scopes[0].resources["Cluster"].address}
	for _, g := range in.Groups {
		nodes, err := m.nodeGroup(in.Cluster, g, outputs, after[0])
		if err != nil {
			return err
		}
		if !model.EKSAddonsBeforeNodes(in.Cluster.EKS()) {
			after = append(after, nodes...)
		}
	}
	addons, err := render.EKSAddons(in.Cluster)
	if addons == nil || err != nil {
		return err //nolint:wrapcheck // it names the add-on
	}
	s, err := m.add(addons, false)
	if err != nil {
		return err
	}
	s.before = after
	return nil
}

// nodeGroup adds the stack of an instance group of EKS, and returns the resources that have its nodes.
func (m *module) nodeGroup(c *model.Cluster, g *model.Group, outputs map[string]string, cluster string) (nodes []string, err error) {
	userData, before := "", []string(nil)
	if model.IsSelfManaged(&g.Spec) {
		boot, err := eksboot.Of(c, g, outputs)
		if err != nil {
			return nil, err //nolint:wrapcheck // it names the output
		}
		userData, before = boot.UserData, []string{cluster}
	}
	stack, err := render.Group(c, g, outputs, userData)
	if err != nil {
		return nil, err //nolint:wrapcheck // it says which stack cannot be rendered
	}
	s, err := m.add(stack, false)
	if err != nil {
		return nil, err
	}
	s.before = before
	for _, id := range slices.Sorted(maps.Keys(s.resources)) {
		if slices.Contains([]string{"AWS::EKS::Nodegroup", "AWS::AutoScaling::AutoScalingGroup"}, stack.Template.Resources[id].Type) {
			nodes = append(nodes, s.resources[id].address)
		}
	}
	return nodes, nil
}

// machine adds the stack of machines that boot from a bundle.
func (m *module) machine(c *model.Cluster, b *bootstrap.Bundle, nodeup Program, rendered func(string) (*render.Stack, error)) error {
	userData, err := bootstrap.UserData(bootstrap.UserDataInput{
		Region: c.Region, DNSSuffix: c.DNSSuffix, Bucket: c.Bucket, Architecture: string(nodeup.Architecture),
		NodeupSHA256: nodeup.SHA256, BundleSHA256: bundle.HashOf(b.JSON()), Signed: c.Features.SignedBootRequest,
	})
	if err != nil {
		return fmt.Errorf("create user data: %w", err)
	}
	stack, err := rendered(userData)
	if err != nil {
		return err
	}
	s, err := m.add(stack, false)
	if err != nil {
		return err
	}
	if err := s.store(b); err != nil {
		return err
	}
	s.before = []string{s.objects[0].address, "aws_s3_object." + plain(c.StackName) + "_nodeup_" + string(nodeup.Architecture)}
	if b.Role == bundle.ControlPlane {
		s.before = append(s.before, m.slotsNeed...)
	}
	return nil
}

func programPath(folder, name, hash string, architecture v1alpha1.Architecture) string {
	return folder + "/" + name + "-" + bundle.LabelValue(hash) + "-linux-" + string(architecture)
}

// restoreProgram is what slots of a cluster that is restored make their members of etcd with; nil
// if there is none to upload.
func restoreProgram(folder string, in *Input) *Program {
	c := in.Cluster
	if c.Spec.ControlPlane.RestoreSnapshot == "" || in.EtcdRestore == "" {
		return nil
	}
	return &Program{
		Name: ProgramEtcdRestore, Path: programPath(folder, ProgramEtcdRestore, in.EtcdRestore, c.ControlPlaneArchitecture),
		Architecture: c.ControlPlaneArchitecture, SHA256: in.EtcdRestore,
	}
}

// given puts into the bucket what the caller has: the authorities' files, what the issuer
// publishes, what restores etcd. Slots are made when it is there.
func (m *module) given(base *scope, in *Input) error {
	before := len(base.objects)
	for _, key := range slices.Sorted(maps.Keys(in.Keys)) {
		if err := base.storeSecret(key, in.Keys[key]); err != nil {
			return err
		}
	}
	for _, key := range slices.Sorted(maps.Keys(in.Public)) {
		if err := base.publish(key, in.Public[key]); err != nil {
			return err
		}
	}
	if restore := restoreProgram(m.folder, in); restore != nil {
		if err := base.storeProgram(
			*restore, bundle.RestoreKey(in.Cluster.Spec.ControlPlane.RestoreSnapshot, string(restore.Architecture)),
		); err != nil {
			return err
		}
	}
	for _, object := range base.objects[before:] {
		m.slotsNeed = append(m.slotsNeed, object.address)
	}
	return nil
}

// elsewhere are the keys in the bucket of what was not given.
func elsewhere(in *Input) []string {
	c := in.Cluster
	if c.EKS() != nil {
		return nil
	}
	var keys []string
	if len(in.Keys) == 0 {
		keys = append(keys, "s3://"+c.Bucket+"/"+model.KeyPKIPrefix)
	}
	if issuer := c.Spec.ServiceAccountIssuer; issuer != nil && issuer.URL == "" && len(in.Public) == 0 {
		keys = append(keys, "s3://"+cmp.Or(c.IssuerBucket, c.Bucket)+"/"+model.KeyIssuerPrefix)
	}
	if snapshot := c.Spec.ControlPlane.RestoreSnapshot; snapshot != "" && in.EtcdRestore == "" {
		keys = append(keys, "s3://"+c.Bucket+"/"+bundle.RestoreKey(snapshot, string(c.ControlPlaneArchitecture)))
	}
	return keys
}
