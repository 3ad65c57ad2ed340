package eks

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/aws-operator/aws-operator/internal/simulator/property"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// clusterProperties are the properties of AWS::EKS::Cluster.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-eks-cluster.html
type clusterProperties struct {
	Name, RoleArn, Version     string
	AccessConfig               *types.CreateAccessConfigRequest
	BootstrapSelfManagedAddons *bool
	ComputeConfig              *types.ComputeConfigRequest
	ControlPlaneScalingConfig  *types.ControlPlaneScalingConfig
	DeletionProtection         bool
	EncryptionConfig           []types.EncryptionConfig
	KubernetesNetworkConfig    *types.KubernetesNetworkConfigRequest
	Logging                    *struct {
		ClusterLogging *struct {
			EnabledTypes []struct{ Type types.LogType }
		}
	}
	OutpostConfig       *types.OutpostConfigRequest
	RemoteNetworkConfig *types.RemoteNetworkConfigRequest
	ResourcesVpcConfig  *types.VpcConfigRequest
	StorageConfig       *types.StorageConfigRequest
	Tags                []property.Tag
	UpgradePolicy       *types.UpgradePolicyRequest
	ZonalShiftConfig    *types.ZonalShiftConfigRequest
}

// logging returns the logs that a template turns on. It turns the others off.
func (p *clusterProperties) logging() *types.Logging {
	on := []types.LogType{}
	if p.Logging != nil && p.Logging.ClusterLogging != nil {
		for _, t := range p.Logging.ClusterLogging.EnabledTypes {
			on = append(on, t.Type)
		}
	}
	off := slices.DeleteFunc(slices.Clone(logTypesAll), func(t types.LogType) bool { return slices.Contains(on, t) })
	return &types.Logging{ClusterLogging: []types.LogSetup{{Enabled: new(false), Types: off}, {Enabled: new(true), Types: on}}}
}

// network returns the network with the defaults of what a template does not set.
func (p *clusterProperties) network() *types.VpcConfigRequest {
	n := types.VpcConfigRequest{}
	if p.ResourcesVpcConfig != nil {
		n = *p.ResourcesVpcConfig
	}
	n.EndpointPublicAccess, n.EndpointPrivateAccess = or(n.EndpointPublicAccess, true), or(n.EndpointPrivateAccess, false)
	return &n
}

type clusterProvider struct{ s *Service }

// Create begins to create a cluster.
func (p clusterProvider) Create(ctx context.Context, r resource.Request) (resource.Result, error) {
	props, err := decode[clusterProperties](r.Properties)
	if err != nil {
		return resource.Result{}, err
	}
	if props.Name == "" {
		props.Name = property.Name(r, 100, "") //nolint:mnd // of names of clusters
	}
	made, err := p.s.createCluster(calling(ctx, r), &eks.CreateClusterInput{
		Name: &props.Name, RoleArn: &props.RoleArn, Version: wire.Optional(props.Version), AccessConfig: props.AccessConfig,
		BootstrapSelfManagedAddons: props.BootstrapSelfManagedAddons, ComputeConfig: props.ComputeConfig,
		ControlPlaneScalingConfig: props.ControlPlaneScalingConfig, DeletionProtection: &props.DeletionProtection,
		EncryptionConfig: props.EncryptionConfig, KubernetesNetworkConfig: props.KubernetesNetworkConfig, Logging: props.logging(),
		OutpostConfig: props.OutpostConfig, RemoteNetworkConfig: props.RemoteNetworkConfig, ResourcesVpcConfig: props.network(),
		StorageConfig: props.StorageConfig, Tags: stackTags(r, props.Tags), UpgradePolicy: props.UpgradePolicy,
		ZonalShiftConfig: props.ZonalShiftConfig,
	})
	if err != nil {
		return resource.Result{}, exists(err, clusterType, props.Name)
	}
	return resource.Result{PhysicalID: props.Name, Attributes: clusterAttributes(made.Cluster)}, nil
}

// exists returns the handler's error for a resource that exists, or any other.
func exists(err error, kind, id string) error {
	if e, ok := errors.AsType[*wire.Error](err); ok && e.Code == "ResourceInUseException" {
		return property.Exists(kind, id)
	}
	return handled(err)
}

// clusterAttributes are the attributes of a cluster that it has so far.
func clusterAttributes(c *types.Cluster) map[string]any {
	a := map[string]any{
		"Arn": *c.Arn, "ClusterSecurityGroupId": *c.ResourcesVpcConfig.ClusterSecurityGroupId,
		"OpenIdConnectIssuerUrl": *c.Identity.Oidc.Issuer,
	}
	if c.Endpoint != nil {
		a["Endpoint"], a["CertificateAuthorityData"] = *c.Endpoint, *c.CertificateAuthority.Data
	}
	if len(c.EncryptionConfig) > 0 {
		a["EncryptionConfigKeyArn"] = *c.EncryptionConfig[0].Provider.KeyArn
	}
	return a
}

// Attributes returns the attributes of a cluster that is active.
func (p clusterProvider) Attributes(_ context.Context, r resource.Request) (attributes map[string]any, err error) {
	err = p.s.look(r, r.PhysicalID, func(c *cluster) error {
		attributes = clusterAttributes(c.describe())
		return nil
	})
	return attributes, handled(err)
}

// Update begins the first of the changes. Stable begins the next ones, because a cluster has one update
// at a time.
func (p clusterProvider) Update(ctx context.Context, r resource.Request) (resource.Result, error) {
	if _, err := p.next(ctx, r); err != nil {
		return resource.Result{}, handled(err)
	}
	attributes, err := p.Attributes(ctx, r)
	return resource.Result{PhysicalID: r.PhysicalID, Attributes: attributes}, err
}

// next begins the next change that a cluster needs to be as its properties, and reports whether there is
// one.
func (p clusterProvider) next(ctx context.Context, r resource.Request) (begun bool, err error) {
	props, err := decode[clusterProperties](r.Properties)
	if err != nil {
		return false, err
	}
	var live types.Cluster
	err = p.s.look(r, r.PhysicalID, func(c *cluster) error {
		c.Tags = stackTags(r, props.Tags)
		live = c.Cluster
		return nil
	})
	if err != nil {
		return false, err
	}
	if props.Version != "" && props.Version != *live.Version {
		_, err := p.s.updateClusterVersion(calling(ctx, r), &eks.UpdateClusterVersionInput{Name: live.Name, Version: &props.Version})
		return true, err
	}
	change := props.change(&live)
	if change == nil {
		return false, nil
	}
	change.Name = live.Name
	_, err = p.s.updateClusterConfig(calling(ctx, r), change)
	return true, err
}

// change returns the next change of the configuration, or nil.
func (p *clusterProperties) change(live *types.Cluster) *eks.UpdateClusterConfigInput {
	want, has := p.network(), live.ResourcesVpcConfig
	sorted := func(list []string) []string { return slices.Sorted(slices.Values(list)) }
	public := want.PublicAccessCidrs
	if len(public) == 0 && *want.EndpointPublicAccess {
		public = []string{"0.0.0.0/0"}
	}
	logs := logging(p.logging(), live.Logging)
	sameLogs := slices.EqualFunc(logs.ClusterLogging, live.Logging.ClusterLogging, func(a, b types.LogSetup) bool {
		return *a.Enabled == *b.Enabled && slices.Equal(a.Types, b.Types)
	})
	support := types.SupportTypeExtended
	if p.UpgradePolicy != nil && p.UpgradePolicy.SupportType != "" {
		support = p.UpgradePolicy.SupportType
	}
	zonal := p.ZonalShiftConfig != nil && value(p.ZonalShiftConfig.Enabled)
	switch {
	case !sameLogs:
		return &eks.UpdateClusterConfigInput{Logging: p.logging()}
	case *want.EndpointPublicAccess != has.EndpointPublicAccess || *want.EndpointPrivateAccess != has.EndpointPrivateAccess ||
		!slices.Equal(sorted(public), sorted(has.PublicAccessCidrs)):
		return &eks.UpdateClusterConfigInput{ResourcesVpcConfig: &types.VpcConfigRequest{
			EndpointPublicAccess: want.EndpointPublicAccess, EndpointPrivateAccess: want.EndpointPrivateAccess, PublicAccessCidrs: public,
		}}
	case !slices.Equal(sorted(want.SubnetIds), sorted(has.SubnetIds)) || !slices.Equal(sorted(want.SecurityGroupIds),
		sorted(has.SecurityGroupIds)):
		groups := want.SecurityGroupIds
		if groups == nil {
			groups = []string{}
		}
		return &eks.UpdateClusterConfigInput{ResourcesVpcConfig: &types.VpcConfigRequest{
			SubnetIds: want.SubnetIds, SecurityGroupIds: groups,
		}}
	case p.AccessConfig != nil && p.AccessConfig.AuthenticationMode != "" &&
		p.AccessConfig.AuthenticationMode != live.AccessConfig.AuthenticationMode:
		mode := p.AccessConfig.AuthenticationMode
		return &eks.UpdateClusterConfigInput{AccessConfig: &types.UpdateAccessConfigRequest{AuthenticationMode: mode}}
	case !p.sameAutoMode(live):
		return &eks.UpdateClusterConfigInput{
			ComputeConfig: p.ComputeConfig, StorageConfig: p.StorageConfig,
			KubernetesNetworkConfig: &types.KubernetesNetworkConfigRequest{
				ElasticLoadBalancing: p.KubernetesNetworkConfig.ElasticLoadBalancing,
			},
		}
	case support != live.UpgradePolicy.SupportType:
		return &eks.UpdateClusterConfigInput{UpgradePolicy: &types.UpgradePolicyRequest{SupportType: support}}
	case p.DeletionProtection != *live.DeletionProtection:
		return &eks.UpdateClusterConfigInput{DeletionProtection: &p.DeletionProtection}
	case zonal != shifts(live):
		return &eks.UpdateClusterConfigInput{ZonalShiftConfig: &types.ZonalShiftConfigRequest{Enabled: &zonal}}
	default:
		return nil
	}
}

// Stable reports whether a cluster is active and as its properties or, after a Delete, no longer exists.
func (p clusterProvider) Stable(ctx context.Context, r resource.Request) (bool, error) {
	var status types.ClusterStatus
	var message string
	done := true
	err := p.s.look(r, r.PhysicalID, func(c *cluster) (err error) {
		status = c.Status
		if len(c.Health.Issues) > 0 {
			message = *c.Health.Issues[0].Message
		}
		done, err = ended(c, "", "")
		return err
	})
	switch {
	case isMissing(err):
		return true, nil
	case err != nil:
		return false, err
	case status == types.ClusterStatusFailed:
		return false, resource.Errorf(resource.NotStabilized, "Cluster %s failed: %s", r.PhysicalID, message)
	case status != types.ClusterStatusActive || !done:
		return false, nil
	}
	begun, err := p.next(ctx, r)
	return !begun && err == nil, handled(err)
}

// Delete begins to delete a cluster.
func (p clusterProvider) Delete(ctx context.Context, r resource.Request) error {
	_, err := p.s.deleteCluster(calling(ctx, r), &eks.DeleteClusterInput{Name: &r.PhysicalID})
	return handled(err)
}

// List returns the names of clusters.
func (p clusterProvider) List(_ context.Context, at wire.Target) ([]string, error) {
	reg := p.s.enter(at)
	defer p.s.leave(reg)
	return slices.Collect(maps.Keys(reg.clusters)), nil
}

// Read returns the properties of a cluster.
func (p clusterProvider) Read(_ context.Context, r resource.Request) (live map[string]any, err error) {
	err = p.s.look(r, r.PhysicalID, func(c *cluster) error {
		network := c.ResourcesVpcConfig
		live = clusterAttributes(c.describe())
		maps.Copy(live, map[string]any{
			"Name": *c.Name, "RoleArn": *c.RoleArn, "Version": *c.Version, "DeletionProtection": *c.DeletionProtection,
			"AccessConfig":            map[string]any{"AuthenticationMode": string(c.AccessConfig.AuthenticationMode)},
			"UpgradePolicy":           map[string]any{"SupportType": string(c.UpgradePolicy.SupportType)},
			"KubernetesNetworkConfig": property.Plain(c.KubernetesNetworkConfig),
			"ResourcesVpcConfig": map[string]any{
				"SubnetIds": texts(network.SubnetIds), "SecurityGroupIds": texts(network.SecurityGroupIds),
				"PublicAccessCidrs":    texts(network.PublicAccessCidrs),
				"EndpointPublicAccess": network.EndpointPublicAccess, "EndpointPrivateAccess": network.EndpointPrivateAccess,
			},
			"Tags": ownTags(r, c.Tags),
		})
		enabled := []any{}
		for _, setup := range c.Logging.ClusterLogging {
			for _, kind := range setup.Types {
				if *setup.Enabled {
					enabled = append(enabled, map[string]any{"Type": string(kind)})
				}
			}
		}
		if len(enabled) > 0 {
			live["Logging"] = map[string]any{"ClusterLogging": map[string]any{"EnabledTypes": enabled}}
		}
		if c.ZonalShiftConfig != nil {
			live["ZonalShiftConfig"] = map[string]any{"Enabled": shifts(&c.Cluster)}
		}
		if c.ComputeConfig != nil {
			live["ComputeConfig"] = property.Plain(c.ComputeConfig)
		}
		if c.StorageConfig != nil {
			live["StorageConfig"] = property.Plain(c.StorageConfig)
		}
		if len(c.EncryptionConfig) > 0 {
			live["EncryptionConfig"] = property.Plain(c.EncryptionConfig)
		}
		return nil
	})
	return plain(live), handled(err)
}

// shifts reports whether a cluster takes part in zonal shifts.
func shifts(c *types.Cluster) bool {
	return c.ZonalShiftConfig != nil && value(c.ZonalShiftConfig.Enabled)
}

func texts(list []string) []any {
	out := make([]any, len(list))
	for i, text := range list {
		out[i] = text
	}
	return out
}
