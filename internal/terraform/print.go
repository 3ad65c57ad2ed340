package terraform

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclwrite"

	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

const (
	// mainFile is the configuration's, or with [LayoutStack] that of what the stacks share.
	mainFile = "kubernetes.tf"
	// headerPrefix begins the first line of each file.
	headerPrefix = "# Written by aws-operator for cluster "
)

// Header is the first line of every *.tf file of a cluster's configuration, by which one is known
// that may be overwritten.
func Header(cluster string) string {
	return headerPrefix + cluster + ". The next update of the cluster overwrites changes.\n"
}

// IsWritten reports whether a file is part of a cluster's configuration, and of which cluster's.
func IsWritten(contents []byte) (cluster string, ok bool) {
	line, _, _ := strings.Cut(string(contents[:min(len(contents), len(headerPrefix)+200)]), "\n") //nolint:mnd // longer than any name
	rest, ok := strings.CutPrefix(line, headerPrefix)
	if !ok {
		return "", false
	}
	cluster, _, ok = strings.Cut(rest, ". ")
	return cluster, ok
}

// print returns the *.tf files.
func (m *module) print(in *Input) (map[string][]byte, error) {
	outputs, err := m.outputs(in)
	if err != nil {
		return nil, err
	}
	var shared []*block
	if !in.OmitProvider {
		shared = append(shared, requirements(), provider(in.Cluster))
	}
	for _, address := range slices.Sorted(maps.Keys(m.data)) {
		shared = append(shared, m.data[address])
	}
	after := slices.Concat(outputs, m.moved(slices.Concat(renames, in.Renames)))
	files := map[string][]byte{}
	if in.Layout == LayoutStack {
		files[mainFile] = write(in.Cluster.Name, append(shared, after...))
		for _, s := range m.scopes {
			files["kubernetes-"+s.stack.Name+".tf"] = write(in.Cluster.Name, s.blocks())
		}
		return files, nil
	}
	whole := shared
	for _, s := range m.scopes {
		whole = append(whole, s.blocks()...)
	}
	files[mainFile] = write(in.Cluster.Name, append(whole, after...))
	return files, nil
}

// blocks returns a stack's blocks: locals, data sources, and the resources by type and name.
func (s *scope) blocks() []*block {
	locals := &block{kind: "locals", arguments: s.locals}
	var resources []*block
	for _, of := range s.all() {
		resources = append(resources, of.blocks...)
	}
	slices.SortStableFunc(resources, func(a, b *block) int { return slices.Compare(a.labels, b.labels) })
	locals.comment = s.stack.Template.Description
	return append(append([]*block{locals}, s.data...), resources...)
}

// write writes blocks as terraform fmt would.
func write(cluster string, blocks []*block) []byte {
	var out bytes.Buffer
	out.WriteString(Header(cluster))
	for _, b := range blocks {
		var one strings.Builder
		b.write(&one)
		out.WriteByte('\n')
		out.Write(hclwrite.Format([]byte(one.String())))
	}
	return out.Bytes()
}

// requirements say what the configuration works with. Version 5.81 of the provider is the first
// that takes an OpenID Connect provider without a thumbprint:
// https://github.com/hashicorp/terraform-provider-aws/pull/37255
func requirements() *block {
	b := &block{kind: "terraform"}
	b.set("required_version", text(">= 1.5"))
	b.add("required_providers").set("aws", object([]member{{"source", text("hashicorp/aws")}, {"version", text(">= 5.81")}}))
	return b
}

// provider is that of the cluster's region and, where it has one, of its role.
func provider(c *model.Cluster) *block {
	b := &block{kind: "provider", labels: []string{"aws"}}
	b.set("region", text(c.Region))
	if role := c.Spec.Role; role != nil {
		assume := b.add("assume_role")
		assume.set("role_arn", text(role.ARN))
		if role.ExternalID != "" {
			assume.set("external_id", text(role.ExternalID))
		}
	}
	return b
}

// moved tells Terraform how resources were called before.
func (m *module) moved(renames []Rename) []*block {
	var blocks []*block
	for _, address := range slices.Sorted(maps.Keys(m.owners)) {
		resource, name, _ := strings.Cut(address, ".")
		now := name
		for _, former := range formerNames(renames, resource, name) {
			b := &block{kind: "moved"}
			b.set("from", raw(resource+"."+former))
			b.set("to", raw(resource+"."+now))
			blocks = append(blocks, b)
			now = former
		}
	}
	return blocks
}

// outputs are what the next layer needs to know of the cluster.
func (m *module) outputs(in *Input) ([]*block, error) {
	c := in.Cluster
	w := &outputWriter{base: m.scopes[0]}
	w.put("cluster_name", "The cluster's name.", text(c.Name))
	w.put("region", "The region that it stands in.", text(c.Region))
	for _, o := range baseOutputs {
		if w.base.stack.Template.Outputs[o.from] != nil {
			value, err := w.base.output(o.from)
			if err != nil {
				return nil, err
			}
			w.put(o.name, o.description, value)
		}
	}
	if err := w.subnets(c); err != nil {
		return nil, err
	}
	w.resource("control_plane_role_arn", "The ARN of the role of the control plane's machines.", "ControlPlaneRole", "arn")
	w.resource("control_plane_role_name", "The name of that role.", "ControlPlaneRole", "name")
	w.resource("worker_role_arn", "The ARN of the role of the workers.", "WorkerRole", "arn")
	w.resource("worker_role_name", "The name of that role.", "WorkerRole", "name")
	if c.Issuer != "" {
		w.put("service_account_issuer", "The issuer's URL, which roles trust.", text(c.Issuer))
	}
	if err := m.machineOutputs(w, in); err != nil {
		return nil, err
	}
	slices.SortFunc(w.blocks, func(a, b *block) int { return slices.Compare(a.labels, b.labels) })
	return w.blocks, nil
}

// machineOutputs are what the next layer needs to know of the slots and the instance groups.
func (m *module) machineOutputs(w *outputWriter, in *Input) error {
	c := in.Cluster
	if c.EKS() != nil {
		var managed, selfManaged []*model.Group
		for _, g := range in.Groups {
			if model.IsSelfManaged(&g.Spec) {
				selfManaged = append(selfManaged, g)
				continue
			}
			managed = append(managed, g)
		}
		w.put("instance_group_node_group_names", "The names of the instance groups' managed node groups, by instance group.",
			m.addressesOf(managed, "NodeGroup", "node_group_name"))
		if len(selfManaged) > 0 {
			w.put(scalingGroupNames, "The names of the Auto Scaling groups of self-managed instance groups, by instance group.",
				m.addressesOf(selfManaged, "AutoScalingGroup", "name"))
		}
		return nil
	}
	var volumes, slots []expression
	for _, slot := range c.Slots {
		volume, err := w.base.output(model.OutputEtcdVolume(slot.Index))
		if err != nil {
			return err
		}
		volumes = append(volumes, volume)
		slots = append(slots, m.addressOf(slot.StackName, "AutoScalingGroup", "name"))
	}
	w.put("etcd_volume_ids", "The IDs of etcd's volumes, by slot.", list(volumes))
	w.put("control_plane_autoscaling_group_names", "The names of the slots' Auto Scaling groups, by slot.", list(slots))
	w.put(scalingGroupNames, "The names of the instance groups' Auto Scaling groups, by instance group.",
		m.addressesOf(in.Groups, "AutoScalingGroup", "name"))
	return nil
}

// scalingGroupNames is the output with the names of Auto Scaling groups.
const scalingGroupNames = "instance_group_autoscaling_group_names"

// addressesOf refers to an attribute of a resource of each group.
func (m *module) addressesOf(of []*model.Group, id, attribute string) expression {
	var groups []member
	for _, g := range of {
		groups = append(groups, member{g.Name, m.addressOf(g.StackName, id, attribute)})
	}
	return object(groups)
}

// addressOf refers to an attribute of a resource of a stack of machines.
func (m *module) addressOf(stack, id, attribute string) expression {
	i := slices.IndexFunc(m.scopes, func(s *scope) bool { return s.stack.Name == stack })
	return raw(m.scopes[i].resources[id].address + "." + attribute)
}

// baseOutputs are outputs of the base stack, if it has them.
var baseOutputs = []struct{ name, from, description string }{
	{"vpc_id", model.OutputVPC, "The ID of the VPC."},
	{"api_address", model.OutputAPIAddress, "The DNS name of the Kubernetes API's load balancer."},
	{"api_target_group_arn", model.OutputAPITargetGroup, "The ARN of the load balancer's target group."},
	{
		"control_plane_security_group_id",
		model.OutputControlPlaneSecurityGroup,
		"The ID of the security group of the control plane's machines.",
	},
	{"worker_security_group_id", model.OutputWorkerSecurityGroup, "The ID of the security group of the workers."},
	{"bastion_security_group_id", model.OutputBastionSecurityGroup, "The ID of the security group of the bastions."},
	{"bastion_autoscaling_group_name", "BastionAutoScalingGroup", "The name of the bastions' Auto Scaling group."},
	{
		"control_plane_instance_profile_name",
		model.OutputControlPlaneInstanceProfile,
		"The name of the instance profile of the control plane's machines.",
	},
	{"worker_instance_profile_name", model.OutputWorkerInstanceProfile, "The name of the instance profile of the workers."},
	{"hosted_zone_id", model.OutputHostedZone, "The ID of the private hosted zone."},
	{"cluster_endpoint", model.OutputEndpoint, "The address of the Kubernetes API, which EKS serves."},
	{"cluster_certificate_authority_data", model.OutputCertificateAuthority, "The CA of that address, in PEM and base64."},
	{"cluster_security_group_id", model.OutputClusterSecurityGroup, "The ID of the security group that EKS made for the cluster."},
	{"bucket_name", model.OutputBucket, "The name of the cluster's bucket."},
	{"kms_key_arn", model.OutputKey, "The ARN of the cluster's KMS key."},
	{"service_account_issuer_arn", "Issuer", "The ARN of the OpenID Connect provider of the cluster's service accounts."},
}

// outputWriter collects outputs.
type outputWriter struct {
	base   *scope
	blocks []*block
}

func (w *outputWriter) put(name, description string, value expression) {
	b := &block{kind: "output", labels: []string{name}}
	b.set("description", text(description))
	b.set("value", value)
	w.blocks = append(w.blocks, b)
}

// resource puts an attribute of one of the base stack's resources, if it has that.
func (w *outputWriter) resource(name, description, id, attribute string) {
	if of := w.base.resources[id]; of != nil {
		w.put(name, description, raw(of.address+"."+attribute))
	}
}

// subnets puts the IDs of the subnets by role, both those that are made and those that were there.
func (w *outputWriter) subnets(c *model.Cluster) error {
	byRole := map[string][]expression{}
	for _, subnet := range c.Subnets {
		id := text(subnet.ID)
		if subnet.ID == "" {
			var err error
			if id, err = w.base.output(model.OutputSubnet(subnet)); err != nil {
				return err
			}
		}
		role := strings.ToLower(string(subnet.Role))
		byRole[role] = append(byRole[role], id)
	}
	for role, ids := range byRole {
		w.put(role+"_subnet_ids", fmt.Sprintf("The IDs of the %s subnets, by zone.", role), list(ids))
	}
	return nil
}
