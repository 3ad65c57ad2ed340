package terraform

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap"
	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/render"
)

// Layout is how a configuration is spread over files.
type Layout string

// Layouts.
const (
	// LayoutCluster is one file for the whole cluster, kubernetes.tf.
	LayoutCluster Layout = "cluster"
	// LayoutStack is kubernetes.tf for what the stacks share, and kubernetes-STACK.tf for each stack.
	LayoutStack Layout = "stack"
)

// Input is all that a configuration is made from.
type Input struct {
	// Cluster and Groups are the cluster and its instance groups, with everything decided.
	Cluster *model.Cluster
	Groups  []*model.Group
	// CACertificate is the PEM of the cluster's CA, which workers trust. Without one there may be no instance groups.
	CACertificate []byte
	// Nodeup are the SHA-256s of nodeup, in hex, by architecture: all that the cluster's machines are of.
	Nodeup map[v1alpha1.Architecture]string
	// Layout is how the configuration is spread over files, [LayoutCluster] if empty.
	Layout Layout
	// OmitProvider leaves out the blocks terraform and provider, for a module that has its own.
	OmitProvider bool
}

// Configuration is a cluster as Terraform configuration.
type Configuration struct {
	// Files are the files by their paths, which are relative and have slashes: *.tf, and below Folder what these read.
	Files map[string][]byte
	// Folder holds the data files, and nothing else: data/CLUSTER.
	Folder string
	// Programs are the files that Terraform uploads besides; their contents are the caller's to put there.
	Programs []Program
	// Elsewhere are the keys in the cluster's bucket, and the parameter of Systems Manager, that machines need and that are not
	// Terraform's to put there, since they are secret or made by what is.
	Elsewhere []string
}

// Program is a file that machines run.
type Program struct {
	// Path is where it belongs, below Folder; it has the hash in it.
	Path string
	// Architecture is what it is for, SHA256 the hash that it must have.
	Architecture v1alpha1.Architecture
	SHA256       string
}

// Cluster returns the configuration of a cluster. It errs when the input lacks something, when the stacks cannot be rendered,
// and when a template has something that the mapping has no counterpart for.
func Cluster(in Input) (*Configuration, error) {
	if in.Cluster == nil {
		return nil, errors.New("there is no cluster")
	}
	if in.Layout == "" {
		in.Layout = LayoutCluster
	}
	c := in.Cluster
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
	made := &Configuration{Files: files, Folder: m.folder, Elsewhere: elsewhere(c)}
	for _, a := range slices.Sorted(maps.Keys(programs)) {
		made.Programs = append(made.Programs, programs[a])
	}
	return made, nil
}

func newModule(cluster string) *module {
	return &module{
		folder: "data/" + cluster, data: map[string]*block{}, files: map[string][]byte{}, owners: map[string]string{}, marks: map[string]meaning{},
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
	architectures := []v1alpha1.Architecture{in.Cluster.ControlPlaneArchitecture}
	for _, g := range in.Groups {
		architectures = append(architectures, g.Spec.Architecture)
	}
	slices.Sort(architectures)
	programs := map[v1alpha1.Architecture]Program{}
	for _, a := range slices.Compact(architectures) {
		hash := in.Nodeup[a]
		if hash == "" {
			return nil, fmt.Errorf("there is no nodeup for %s, which machines of cluster %s are of", a, in.Cluster.Name)
		}
		p := Program{Path: m.folder + "/nodeup-" + bundle.LabelValue(hash) + "-linux-" + string(a), Architecture: a, SHA256: hash}
		if err := base.storeProgram(a, p.Path, hash); err != nil {
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
			return fmt.Errorf("make the bundle of slot %d: %w", slot.Index, err)
		}
		err = m.machine(c, b, programs[c.ControlPlaneArchitecture], func(userData string) (*render.Stack, error) {
			return render.Slot(c, slot.Index, outputs, userData)
		})
		if err != nil {
			return err
		}
	}
	if len(in.Groups) > 0 && len(in.CACertificate) == 0 {
		return fmt.Errorf("the certificate of the CA of cluster %s is not known, and its workers must be told whom to trust", c.Name)
	}
	for _, g := range in.Groups {
		b, err := bootstrap.Worker(c, g, outputs, in.CACertificate)
		if err != nil {
			return fmt.Errorf("make the bundle of instance group %s: %w", g.Name, err)
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

// machine adds the stack of machines that boot from a bundle.
func (m *module) machine(c *model.Cluster, b *bootstrap.Bundle, nodeup Program, rendered func(string) (*render.Stack, error)) error {
	userData, err := bootstrap.UserData(bootstrap.UserDataInput{
		Region: c.Region, DNSSuffix: c.DNSSuffix, Bucket: c.Bucket, Architecture: string(nodeup.Architecture),
		NodeupSHA256: nodeup.SHA256, BundleSHA256: bundle.HashOf(b.JSON()),
	})
	if err != nil {
		return fmt.Errorf("make user data: %w", err)
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
	return nil
}

// elsewhere are what the operator's own code puts into the bucket and to Systems Manager.
func elsewhere(c *model.Cluster) []string {
	keys := []string{
		"s3://" + c.Bucket + "/" + model.KeyPKIPrefix,
		"ssm:" + c.TokenParameter,
	}
	if issuer := c.Spec.ServiceAccountIssuer; issuer != nil && issuer.URL == "" {
		keys = append(keys, "s3://"+c.Bucket+"/"+model.KeyIssuerPrefix)
	}
	if snapshot := c.Spec.ControlPlane.RestoreSnapshot; snapshot != "" {
		keys = append(keys, "s3://"+c.Bucket+"/"+bundle.RestoreKey(snapshot, string(c.ControlPlaneArchitecture)))
	}
	return keys
}
