package render

import (
	"fmt"
	"maps"
	"strings"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/internal/etcdbackup"
)

// baseScope is the data of the base stack's templates.
type baseScope struct {
	*model.Cluster
	// Bastion is the data of the bastions, nil without any.
	Bastion *machine
	// ImageType is the type of the parameter for the bastions' image.
	ImageType string
}

// base renders the base stack.
func base(c *model.Cluster) (*Stack, error) {
	scope := &baseScope{Cluster: c}
	policy := eksStackPolicy
	if c.EKS() == nil {
		if err := scope.reachable(); err != nil {
			return nil, err
		}
		policy = stackPolicy
	}
	parameters := map[string]string{}
	if c.Spec.Bastion != nil {
		var err error
		if scope.Bastion, err = bastion(c); err != nil {
			return nil, err
		}
		scope.ImageType, parameters[bastionID+"ImageID"] = imageParameter(c.BastionImage)
	}
	t, err := assemble(
		fmt.Sprintf("Kubernetes cluster %s: what its machines share and what outlives them", c.Name),
		scope,
		scope.files()...)
	if err != nil {
		return nil, fmt.Errorf("render the base stack of cluster %s: %w", c.Name, err)
	}
	return &Stack{
		Name: c.StackName, Template: t, Parameters: parameters,
		Tags: maps.Clone(c.Tags), OwnerTags: ownerTags(),
		Capabilities:          []string{"CAPABILITY_IAM"},
		TerminationProtection: true,
		Policy:                policy,
	}, nil
}

// files returns the template files of the base stack, one per concern.
func (s *baseScope) files() []string {
	names := []string{"existing.yaml"}
	if s.NewVPC {
		names = []string{"vpc.yaml", "subnets.yaml"}
		if len(s.Private()) > 0 {
			names = append(names, "nat.yaml")
		}
	}
	if s.EKS() != nil {
		return append(names, "eks.yaml")
	}
	names = append(names, "securitygroups.yaml", "api.yaml", "iam.yaml", "storage.yaml", "dns.yaml")
	if s.Bastion != nil {
		names = append(names, "bastion.yaml")
	}
	if s.Issuer != "" {
		names = append(names, "issuer.yaml")
		for _, one := range addonRoleFiles {
			if s.HasAddonRole(one.addon) {
				names = append(names, one.file)
			}
		}
	}
	return names
}

// addonRoleFiles are the template files of the roles of addons.
var addonRoleFiles = []struct{ addon, file string }{
	{release.AddonEBSCSIDriver, "addon-ebs-csi.yaml"},
	{release.AddonLoadBalancerController, "addon-load-balancers.yaml"},
	{release.AddonExternalDNS, "addon-external-dns.yaml"},
	{release.AddonCertManager, "addon-cert-manager.yaml"},
}

// addonTrust is what the trust policy of an addon's role depends on.
type addonTrust struct{ IssuerHost, ServiceAccount, Boundary string }

// AddonTrust returns it for a service account, NAMESPACE:NAME.
func (s *baseScope) AddonTrust(serviceAccount string) addonTrust {
	return addonTrust{IssuerHost: s.IssuerHost(), ServiceAccount: serviceAccount, Boundary: s.Spec.IAM.PermissionsBoundary}
}

// HostedZoneARNs returns the ARNs of the zones whose records addons may change.
func (s *baseScope) HostedZoneARNs() []string {
	arns := make([]string, len(s.Spec.IAM.HostedZones))
	for i, zone := range s.Spec.IAM.HostedZones {
		arns[i] = fmt.Sprintf("arn:%s:route53:::hostedzone/%s", s.Partition, zone)
	}
	return arns
}

// IssuerHost returns the issuer in the form of IAM's condition keys.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_iam-condition-keys.html#condition-keys-wif
func (s *baseScope) IssuerHost() string { return strings.TrimPrefix(s.Issuer, "https://") }

// Public returns the public subnets.
func (s *baseScope) Public() []model.Subnet { return s.SubnetsOf(v1alpha1.SubnetPublic) }

// Private returns the private subnets.
func (s *baseScope) Private() []model.Subnet { return s.SubnetsOf(v1alpha1.SubnetPrivate) }

// PublicAPI reports whether the API's load balancer is internet-facing.
func (s *baseScope) PublicAPI() bool { return s.Spec.API.Access != v1alpha1.APIInternal }

// APIPort returns the port of the API.
func (s *baseScope) APIPort() int { return model.PortAPI }

// Gateways returns the public subnets with a NAT gateway.
func (s *baseScope) Gateways() []model.Subnet {
	public := s.Public()
	switch {
	case !s.NewVPC || len(s.Private()) == 0:
		return nil
	case s.Spec.Network.NAT == v1alpha1.NATPerZone:
		return public
	case s.Spec.Network.NAT == v1alpha1.NATSingle:
		return public[:min(1, len(public))]
	}
	return nil
}

// Gateway returns the ID of the gateway of a zone's private subnet as YAML, empty without one.
func (s *baseScope) Gateway(zone string) (string, error) {
	if s.Spec.Network.NAT == v1alpha1.NATExisting {
		return quote(s.Spec.Network.NATGateways[zone])
	}
	gateways := s.Gateways()
	for _, g := range gateways {
		if g.Zone == zone || len(gateways) == 1 {
			return "!Ref NATGateway" + zoneID(g.Zone), nil
		}
	}
	return "", nil
}

// VPCID returns the VPC's ID as YAML.
func (s *baseScope) VPCID() (string, error) {
	if s.NewVPC {
		return "!Ref VPC", nil
	}
	return quote(s.VPC)
}

// VPCARN returns the VPC's ARN as YAML.
func (s *baseScope) VPCARN() (string, error) {
	prefix := fmt.Sprintf("arn:%s:ec2:%s:%s:vpc/", s.Partition, s.Region, s.AccountID)
	if s.NewVPC {
		text, err := quote(prefix + "${VPC}")
		return "!Sub " + text, err
	}
	return quote(prefix + s.VPC)
}

// BucketARN returns the ARN of the bucket, which is known before its creation.
func (s *baseScope) BucketARN() string { return "arn:" + s.Partition + ":s3:::" + s.Bucket }

// ImageRepositoryARNs returns the ARNs of the repositories from which nodes may pull images.
func (s *baseScope) ImageRepositoryARNs() []string {
	arns := make([]string, len(s.Spec.IAM.ImageRepositories))
	for i, repository := range s.Spec.IAM.ImageRepositories {
		arns[i] = repository
		if !strings.HasPrefix(repository, "arn:") {
			arns[i] = fmt.Sprintf("arn:%s:ecr:*:%s:repository/%s", s.Partition, s.AccountID, repository)
		}
	}
	return arns
}

// BackupsPattern returns the keys of the backups that slots make, as a pattern of IAM.
func (s *baseScope) BackupsPattern() string { return etcdbackup.Prefix + "*" }

// BackupsARN returns the ARNs of these backups, as a pattern.
func (s *baseScope) BackupsARN() string { return s.BucketARN() + "/" + s.BackupsPattern() }

// AuditARN returns the ARNs of the objects of the audit log that slots ship, as a pattern.
func (s *baseScope) AuditARN() string {
	return s.AuditBucketARN() + "/" + s.AuditShipping().Keys + "*"
}

// AuditBucketARN returns the ARN of their bucket.
func (s *baseScope) AuditBucketARN() string {
	return "arn:" + s.Partition + ":s3:::" + s.AuditShipping().Bucket
}

// TokenObjectARN returns the ARN of the object with the bootstrap token that the slots keep.
func (s *baseScope) TokenObjectARN() string { return s.BucketARN() + "/" + s.TokenKey }

// TokenParameterARN returns the ARN of the parameter with the bootstrap token that the operator
// keeps.
func (s *baseScope) TokenParameterARN() string {
	return fmt.Sprintf("arn:%s:ssm:%s:%s:parameter/%s", s.Partition, s.Region, s.AccountID, strings.TrimPrefix(s.TokenParameter, "/"))
}

// PublishesIssuer reports whether the issuer's documents are in the cluster's bucket, part of which
// is then public.
func (s *baseScope) PublishesIssuer() bool {
	return s.Spec.ServiceAccountIssuer != nil && s.Spec.ServiceAccountIssuer.URL == "" && s.IssuerBucket == ""
}

// IssuerARNs returns the ARNs of the issuer's documents in their own bucket.
func (s *baseScope) IssuerARNs() []string {
	var arns []string
	for _, key := range model.IssuerDocumentKeys {
		arns = append(arns, "arn:"+s.Partition+":s3:::"+s.IssuerBucket+"/"+key)
	}
	return arns
}

// EtcdVolume returns the logical ID of a slot's etcd volume.
func (s *baseScope) EtcdVolume(slot model.Slot) string {
	return model.EtcdVolumeID(slot.Index, s.Spec.ControlPlane.RestoreSnapshot, slot.EtcdVolumeGeneration)
}

// NextEtcdVolume returns the logical ID of the second etcd volume of a slot that moves.
func (s *baseScope) NextEtcdVolume(slot model.Slot) string {
	return model.EtcdVolumeID(slot.Index, s.Spec.ControlPlane.RestoreSnapshot, slot.EtcdVolumeGeneration+1)
}

// etcdVolume is the templates' data of an etcd volume.
type etcdVolume struct {
	ID, Zone string
	// Snapshot is the snapshot from which the volume is created, empty for a blank one.
	Snapshot string
}

// EtcdVolumes returns a slot's etcd volumes: a second one while it moves to another zone.
func (s *baseScope) EtcdVolumes(slot model.Slot) []etcdVolume {
	volumes := []etcdVolume{{ID: s.EtcdVolume(slot), Zone: slot.EtcdVolumeZone, Snapshot: s.etcdSnapshot(slot)}}
	if slot.NextEtcdVolumeZone != "" {
		volumes = append(volumes, etcdVolume{ID: s.NextEtcdVolume(slot), Zone: slot.NextEtcdVolumeZone})
	}
	return volumes
}

// EtcdGeneration returns how often a slot's etcd volume was replaced by a blank one.
func (s *baseScope) EtcdGeneration(slot model.Slot) string {
	return model.EtcdGeneration(slot.EtcdVolumeGeneration, s.Spec.ControlPlane.RestoreSnapshot)
}

// etcdSnapshot returns the snapshot from which a slot's etcd volume is created, empty for a blank
// one. A volume that was replaced after a restore is not created from the snapshot again, whose data
// is older than that of the other members.
func (s *baseScope) etcdSnapshot(slot model.Slot) string {
	if slot.EtcdVolumeGeneration > 0 {
		return ""
	}
	return s.Spec.ControlPlane.RestoreSnapshot
}

// VolumeTags returns the tags by which a slot's instance finds its etcd volume. The stack has the
// same tags, but these do not depend on their propagation.
func (s *baseScope) VolumeTags(slot model.Slot) []tag {
	return tags(map[string]string{
		model.TagOwnedPrefix + s.Name: model.TagOwned,
		model.TagCluster:              s.Name,
		model.TagEtcdSlot:             model.EtcdSlotTag(slot.Index, s.Spec.ControlPlane.RestoreSnapshot),
	})
}
