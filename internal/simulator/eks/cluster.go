package eks

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/aws-operator/aws-operator/internal/lazyregexp"
	"github.com/aws-operator/aws-operator/internal/simulator/machine"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// cluster is an EKS cluster. Its region's lock guards it. What describe returns is never changed, only
// replaced, because it is encoded after the lock is released.
type cluster struct {
	types.Cluster

	at wire.Target
	// creator is the user or role that created the cluster, and bootstrap whether it is an
	// administrator.
	creator   string
	bootstrap bool
	// selfManaged says that EKS has installed the add-ons of that name itself.
	selfManaged bool
	// due is when the status changes; host is what the host does for it.
	due  time.Time
	host *work

	entries      map[string]*accessEntry // by principal
	nodegroups   map[string]*nodegroup
	addons       map[string]*addon
	associations map[string]*association // by ID
	updates      []*update
}

// work is something that the host does.
type work struct {
	done     chan struct{}
	endpoint machine.ControlPlaneEndpoint
	err      error
}

// finished reports whether the work is done. Nil is.
func (w *work) finished() bool {
	if w == nil {
		return true
	}
	select {
	case <-w.done:
		return true
	default:
		return false
	}
}

// planes returns the host of control planes; false if there is none.
func (s *Service) planes() (machine.ControlPlanes, bool) {
	host, ok := s.options.Host.(machine.ControlPlanes)
	return host, ok
}

func (c *cluster) key() machine.ControlPlaneKey {
	return machine.ControlPlaneKey{Account: c.at.Account, Region: c.at.Region, Cluster: *c.Name}
}

// onHost runs fn in the background.
func (s *Service) onHost(fn func(*work)) *work {
	w := &work{done: make(chan struct{})}
	s.begin(func() {
		fn(w)
		close(w.done)
	})
	return w
}

// clusterName matches the names of clusters.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateCluster.html#AmazonEKS-CreateCluster-request-name
var clusterName = lazyregexp.New(`^[0-9A-Za-z][A-Za-z0-9\-_]{0,99}$`)

// createCluster begins to create a cluster.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateCluster.html
func (s *Service) createCluster(ctx context.Context, in *eks.CreateClusterInput) (*eks.CreateClusterOutput, error) {
	r := s.here(ctx)
	defer s.leave(r)
	name := value(in.Name)
	if found, ok := r.clusters[name]; ok {
		if in.ClientRequestToken != nil && value(found.ClientRequestToken) == *in.ClientRequestToken {
			return &eks.CreateClusterOutput{Cluster: found.describe()}, nil
		}
		return nil, inUse(name, "Cluster already exists with name: %s", name)
	}
	c, err := s.newCluster(r, s.principalOf(ctx), in)
	if err != nil {
		return nil, err
	}
	if err := s.addSecurityGroup(c); err != nil {
		return nil, err
	}
	r.clusters[name] = c
	s.startControlPlane(c)
	c.bootstrapCreator(s.now())
	return &eks.CreateClusterOutput{Cluster: c.describe()}, nil
}

// newCluster returns the cluster of a request after it has checked the request.
func (s *Service) newCluster(r *region, creator string, in *eks.CreateClusterInput) (*cluster, error) {
	name := value(in.Name)
	if !clusterName.MatchString(name) {
		return nil, invalidParameter("", "The cluster name %q is not valid: name has 1 to 100 letters, digits, hyphens and underscores, and "+
			"begins with a letter or a digit.", name)
	}
	if member := unsupportedOf(in); member != "" {
		return nil, unsupported(name, member)
	}
	version, ok := standardVersion(), true
	if in.Version != nil {
		version, ok = releaseOf(*in.Version)
	}
	if !ok || version.status == types.VersionStatusUnsupported {
		return nil, invalidParameter(name, "unsupported Kubernetes version")
	}
	if err := s.checkClusterRole(name, value(in.RoleArn)); err != nil {
		return nil, err
	}
	c := &cluster{
		selfManaged: *or(in.BootstrapSelfManagedAddons, true),
		at:          r.Target, creator: creator, due: s.due(), entries: map[string]*accessEntry{}, nodegroups: map[string]*nodegroup{},
		addons: map[string]*addon{}, associations: map[string]*association{},
	}
	c.Cluster = types.Cluster{
		Name: &name, Arn: new(r.ARN(s.partition(), "eks", "cluster/"+name)), CreatedAt: new(s.now()), Status: types.ClusterStatusCreating,
		Version: &version.version, PlatformVersion: &version.platform, RoleArn: in.RoleArn, ClientRequestToken: in.ClientRequestToken,
		Tags: maps.Clone(in.Tags), Health: &types.ClusterHealth{Issues: []types.ClusterIssue{}},
		DeletionProtection: or(in.DeletionProtection, false), CertificateAuthority: &types.Certificate{},
		UpgradePolicy: &types.UpgradePolicyResponse{SupportType: types.SupportTypeExtended},
		Logging:       logging(in.Logging, nil),
	}
	if c.Tags == nil {
		c.Tags = map[string]string{}
	}
	if in.UpgradePolicy != nil {
		c.UpgradePolicy.SupportType = in.UpgradePolicy.SupportType
	}
	if in.ZonalShiftConfig != nil {
		c.ZonalShiftConfig = &types.ZonalShiftConfigResponse{Enabled: or(in.ZonalShiftConfig.Enabled, false)}
	}
	c.ControlPlaneScalingConfig = in.ControlPlaneScalingConfig
	for _, check := range []func(*cluster, *eks.CreateClusterInput) error{
		checkClusterTags, s.setVPC, s.setNetwork, s.setEncryption, setAccess, checkLogging, s.setAutoMode,
	} {
		if err := check(c, in); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func checkClusterTags(c *cluster, in *eks.CreateClusterInput) error {
	return checkTags(*c.Name, in.Tags)
}

func checkLogging(c *cluster, in *eks.CreateClusterInput) error { return logTypes(*c.Name, in.Logging) }

// unsupportedOf returns the first member of a request that the simulator does not support.
func unsupportedOf(in *eks.CreateClusterInput) string {
	for _, m := range []struct {
		given bool
		name  string
	}{
		{in.OutpostConfig != nil, "outpostConfig"},
		{in.RemoteNetworkConfig != nil, "remoteNetworkConfig"},
		{
			in.ControlPlaneScalingConfig != nil && in.ControlPlaneScalingConfig.Tier != types.ProvisionedControlPlaneTierStandard,
			"controlPlaneScalingConfig",
		},
		{in.KubeApiServerConfig != nil, "kubeApiServerConfig"},
		{in.KubeControllerManagerConfig != nil, "kubeControllerManagerConfig"},
		{in.KubeSchedulerConfig != nil, "kubeSchedulerConfig"},
		{in.ResourcesVpcConfig != nil && in.ResourcesVpcConfig.ControlPlaneEgressMode != "", "resourcesVpcConfig.controlPlaneEgressMode"},
	} {
		if m.given {
			return m.name
		}
	}
	if n := in.KubernetesNetworkConfig; n != nil && n.IpFamily == types.IpFamilyIpv6 {
		return "kubernetesNetworkConfig.ipFamily ipv6"
	}
	return ""
}

// setAccess sets how principals get access.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateAccessConfigRequest.html
func setAccess(c *cluster, in *eks.CreateClusterInput) error {
	mode, bootstrap := types.AuthenticationModeConfigMap, true
	if a := in.AccessConfig; a != nil {
		if a.AuthenticationMode != "" {
			mode = a.AuthenticationMode
		}
		bootstrap = *or(a.BootstrapClusterCreatorAdminPermissions, true)
	}
	switch {
	case !slices.Contains(mode.Values(), mode):
		return invalidParameter(*c.Name, "The authentication mode %s is not valid. Valid values are %v", mode, mode.Values())
	case mode == types.AuthenticationModeConfigMap && !bootstrap:
		return invalidParameter(*c.Name,
			"bootstrapClusterCreatorAdminPermissions must be true if cluster authentication mode is set to CONFIG_MAP")
	}
	c.bootstrap = bootstrap
	c.AccessConfig = &types.AccessConfigResponse{AuthenticationMode: mode, BootstrapClusterCreatorAdminPermissions: &bootstrap}
	return nil
}

// setEncryption sets the key of secrets.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_EncryptionConfig.html
func (s *Service) setEncryption(c *cluster, in *eks.CreateClusterInput) error {
	if len(in.EncryptionConfig) == 0 {
		return nil
	}
	e := in.EncryptionConfig[0]
	if len(in.EncryptionConfig) > 1 || !slices.Equal(e.Resources, []string{"secrets"}) || e.Provider == nil ||
		value(e.Provider.KeyArn) == "" {
		return invalidParameter(*c.Name, "encryptionConfig must have one element, with the resources [secrets] and a provider with a keyArn")
	}
	if s.options.Ciphers != nil {
		arn, err := s.options.Ciphers.KeyARN(c.at.Account, c.at.Region, *e.Provider.KeyArn)
		if err != nil {
			return invalidRequest(*c.Name, "The keyArn %s in encryptionConfig is not valid: %v", *e.Provider.KeyArn, err)
		}
		e.Provider = &types.Provider{KeyArn: &arn}
	}
	c.EncryptionConfig = []types.EncryptionConfig{e}
	return nil
}

// logTypesAll are the types of logs, in the order in which EKS returns them.
var logTypesAll = []types.LogType{
	types.LogTypeApi, types.LogTypeAudit, types.LogTypeAuthenticator, types.LogTypeControllerManager, types.LogTypeScheduler,
}

// logTypes returns an error for a type of logs that does not exist.
func logTypes(cluster string, in *types.Logging) error {
	if in == nil {
		return nil
	}
	for _, setup := range in.ClusterLogging {
		for _, kind := range setup.Types {
			if !slices.Contains(logTypesAll, kind) {
				return invalidParameter(cluster, "The log type %s in logging.clusterLogging is not valid. Valid values are %v", kind, logTypesAll)
			}
		}
	}
	return nil
}

// logging applies a change of logs to the present state. Types that a change does not name stay.
func logging(change, before *types.Logging) *types.Logging {
	on := map[types.LogType]bool{}
	for _, l := range []*types.Logging{before, change} {
		if l == nil {
			continue
		}
		for _, setup := range l.ClusterLogging {
			for _, kind := range setup.Types {
				on[kind] = value(setup.Enabled)
			}
		}
	}
	out := &types.Logging{}
	for _, enabled := range []bool{true, false} {
		var kinds []types.LogType
		for _, kind := range logTypesAll {
			if on[kind] == enabled {
				kinds = append(kinds, kind)
			}
		}
		if kinds != nil {
			out.ClusterLogging = append(out.ClusterLogging, types.LogSetup{Types: kinds, Enabled: &enabled})
		}
	}
	return out
}

// startControlPlane lets the host start the control plane, and gives the cluster what identifies it.
func (s *Service) startControlPlane(c *cluster) {
	id := strings.ToUpper(randomHex(16))
	c.Identity = &types.Identity{Oidc: &types.OIDC{Issuer: new("https://oidc.eks." + c.at.Region + "." + suffix(c.at.Region) + "/id/" + id)}}
	host, ok := s.planes()
	c.host = s.onHost(func(w *work) {
		if !ok {
			w.endpoint, w.err = absentEndpoint(s.now(), c.at.Region, id)
			return
		}
		w.endpoint, w.err = host.StartControlPlane(machine.ControlPlaneSpec{
			ControlPlaneKey: c.key(), Version: *c.Version,
			Authenticate: func(token string) (machine.KubernetesUser, error) { return s.Authenticate(c.key(), token) },
			Authorize: func(user machine.KubernetesUser, request machine.KubernetesRequest) bool {
				return s.Authorize(c.key(), user, request)
			},
		})
	})
}

func suffix(region string) string {
	if strings.HasPrefix(region, "cn-") {
		return "amazonaws.com.cn"
	}
	return "amazonaws.com"
}

func randomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // It never fails.
	return hex.EncodeToString(b)
}

// describe returns a cluster as AWS shows it. A cluster that is being created has no endpoint yet.
func (c *cluster) describe() *types.Cluster {
	shown := c.Cluster
	return &shown
}

// settleCluster lets a cluster take the next state if its time has come. The caller holds the lock.
func (s *Service) settleCluster(r *region, c *cluster) {
	for _, u := range c.updates {
		s.settleUpdate(c, u)
	}
	for _, n := range c.nodegroups {
		s.settleNodegroup(c, n)
	}
	for _, a := range c.addons {
		s.settleAddon(c, a)
	}
	if !c.host.finished() || s.now().Before(c.due) {
		return
	}
	switch c.Status { //nolint:exhaustive // the others change only by calls
	case types.ClusterStatusCreating:
		if c.host.err != nil {
			c.Status = types.ClusterStatusFailed
			c.Health = &types.ClusterHealth{Issues: []types.ClusterIssue{{
				Code: types.ClusterIssueCodeInternalFailure, Message: new(c.host.err.Error()), ResourceIds: []string{*c.Name},
			}}}
			return
		}
		c.Endpoint = &c.host.endpoint.URL
		c.CertificateAuthority = &types.Certificate{Data: new(base64.StdEncoding.EncodeToString(c.host.endpoint.CertificateAuthority))}
		c.Status = types.ClusterStatusActive
	case types.ClusterStatusDeleting:
		s.deleteSecurityGroup(c)
		delete(r.clusters, *c.Name)
	}
}

// settle lets everything in a region take the next state if its time has come. The caller holds the
// lock.
func (s *Service) settle(r *region) {
	for _, name := range slices.Sorted(maps.Keys(r.clusters)) {
		s.settleCluster(r, r.clusters[name])
	}
}

// changing reports whether something of a cluster changes without a call.
func (c *cluster) changing() bool {
	if c.Status == types.ClusterStatusCreating || c.Status == types.ClusterStatusDeleting || c.running() != nil {
		return true
	}
	for _, n := range c.nodegroups {
		if n.changing() {
			return true
		}
	}
	for _, a := range c.addons {
		if a.changing() {
			return true
		}
	}
	return false
}

// describeCluster returns a cluster.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_DescribeCluster.html
func (s *Service) describeCluster(ctx context.Context, in *eks.DescribeClusterInput) (*eks.DescribeClusterOutput, error) {
	r := s.here(ctx)
	defer s.leave(r)
	c, err := r.find(in.Name)
	if err != nil {
		return nil, err
	}
	return &eks.DescribeClusterOutput{Cluster: c.describe()}, nil
}

// listClusters lists the names of clusters. There are no connected clusters.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_ListClusters.html
func (s *Service) listClusters(ctx context.Context, in *eks.ListClustersInput) (*eks.ListClustersOutput, error) {
	r := s.here(ctx)
	defer s.leave(r)
	names, next, err := page(slices.Collect(maps.Keys(r.clusters)), in.NextToken, in.MaxResults)
	return &eks.ListClustersOutput{Clusters: names, NextToken: next}, err
}

// deleteCluster begins to delete a cluster.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_DeleteCluster.html
func (s *Service) deleteCluster(ctx context.Context, in *eks.DeleteClusterInput) (*eks.DeleteClusterOutput, error) {
	r := s.here(ctx)
	defer s.leave(r)
	c, err := r.find(in.Name)
	if err != nil {
		return nil, err
	}
	switch u := c.running(); {
	case c.Status == types.ClusterStatusDeleting:
		return &eks.DeleteClusterOutput{Cluster: c.describe()}, nil
	case len(c.nodegroups) > 0:
		return nil, inUse(*c.Name, "Cluster has nodegroups attached")
	case u != nil:
		return nil, inUse(*c.Name, "Cannot delete because cluster %s currently has update %s in progress", *c.Name, *u.Id)
	case *c.DeletionProtection && c.Status == types.ClusterStatusActive:
		// https://docs.aws.amazon.com/eks/latest/userguide/deletion-protection.html
		return nil, invalidRequest(*c.Name, "Cluster %s cannot be deleted because deletion protection is enabled", *c.Name)
	}
	c.Status, c.due = types.ClusterStatusDeleting, s.due()
	if host, ok := s.planes(); ok {
		key, starting := c.key(), c.host
		c.host = s.onHost(func(*work) {
			<-starting.done
			host.StopControlPlane(key)
		})
	}
	return &eks.DeleteClusterOutput{Cluster: c.describe()}, nil
}

// principalOf returns the user or role of a call.
func (s *Service) principalOf(ctx context.Context) string {
	call := wire.CallFrom(ctx)
	if call.Caller != nil && call.Caller.Role != "" {
		return call.Caller.Role
	}
	principal, _ := s.canonical(call.Principal)
	return principal
}

// arnOf returns the ARN of something in a cluster, which has a random ID.
func (s *Service) arnOf(c *cluster, kind string, parts ...string) string {
	return c.at.ARN(s.partition(), "eks", fmt.Sprintf("%s/%s/%s", kind, *c.Name, strings.Join(parts, "/")))
}
