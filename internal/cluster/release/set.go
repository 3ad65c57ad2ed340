package release

import (
	"fmt"
	"slices"
	"strings"
)

// The versions of the resource sets.
const (
	// Set100 is the first set.
	Set100 = "1.0.0"
	// Set110 enables cross-zone load balancing of the API.
	Set110 = "1.1.0"
	// Set120 fixes what would not have worked on AWS where the fix changes instances.
	Set120 = "1.2.0"
)

// ResourceSet is a version of the templates.
type ResourceSet struct {
	// Version is its name, for example 1.1.0.
	Version string
	// Features are its optional features.
	Features Features
}

// Features distinguish the templates of resource sets. The zero value is the first set.
type Features struct {
	// CrossZoneAPI lets each address of the API's load balancer send connections to the slots of
	// every zone (the attribute load_balancing.cross_zone.enabled, which is off for network load
	// balancers unless set). Without it an address in a zone whose slot is being replaced answers
	// nothing until clients try the next one.
	// https://docs.aws.amazon.com/elasticloadbalancing/latest/network/network-load-balancers.html
	CrossZoneAPI bool
	// TaggedImages limits the images that instances may pull from the account's ECR repositories to
	// those tagged kubernetes.io/cluster/<name>, unless spec.iam.imageRepositories names them. Sets
	// without it allow all repositories of the account, so that running clusters keep their images.
	TaggedImages bool
	// SignedBootRequest makes user data send x-amz-content-sha256, which S3 requires and curl adds
	// on its own only from 8.0 on, and exit with a message where the image's curl cannot sign the
	// header (https://github.com/curl/curl/issues/8810).
	SignedBootRequest bool
	// ShortNodeShutdown gives pods 30 seconds when an instance shuts down. With more, the kubelet
	// of an Ubuntu image would give them none, since logind is limited to 30 seconds there
	// (https://github.com/kubernetes/kubernetes/issues/102818).
	ShortNodeShutdown bool
	// FastSlotRestart limits the back-off of a slot's containers to a minute, from Kubernetes v1.35
	// on.
	FastSlotRestart bool
	// ConfiguredCrictl configures crictl with containerd's socket.
	ConfiguredCrictl bool
	// PartitionedRegistries requests credentials for public.ecr.aws only in the partition that
	// issues its tokens, and grants instances the permission.
	PartitionedRegistries bool
	// SlotsKeepToken makes slots renew the token that workers join with, in the cluster's bucket,
	// so that instances can join even if no operator runs. Without it, the operator renews it in an
	// SSM parameter, unless Terraform creates the cluster.
	SlotsKeepToken bool
	// RejoinEtcd lets a slot whose etcd volume is blank join the etcd cluster that the other slots
	// run. Without it such a slot starts as a member of a new cluster, which the others refuse.
	RejoinEtcd bool
	// IssuerBucket publishes the documents of the service-account issuer from a bucket of their
	// own. Without it they are in the bucket that holds the CA keys, of which a part is public
	// then. The bucket's name is part of the issuer's URL, and another URL invalidates the tokens
	// in use.
	IssuerBucket bool
	// AddonRoles gives addons that call AWS IAM roles of their own in clusters with an issuer of
	// service account tokens. Without them, these addons use the role of control-plane nodes.
	// [AddonRoles] lists the addons.
	AddonRoles bool
	// ProvenJoin makes workers prove to slots which instance they are, with an STS request that
	// only the instance can sign, before they get a certificate. Without it, the token that all
	// workers share is sufficient for a certificate of any Node.
	ProvenJoin bool
}

// sets are all resource sets, oldest first.
var sets = []ResourceSet{
	{Version: Set100},
	{Version: Set110, Features: Features{CrossZoneAPI: true}},
	{Version: Set120, Features: Features{
		CrossZoneAPI: true, SignedBootRequest: true, ShortNodeShutdown: true, FastSlotRestart: true, ConfiguredCrictl: true,
		PartitionedRegistries: true, TaggedImages: true, SlotsKeepToken: true, RejoinEtcd: true, IssuerBucket: true, AddonRoles: true,
		ProvenJoin: true,
	}},
}

// Set returns the resource set with a version, or an error if there is none.
func Set(version string) (ResourceSet, error) {
	i := slices.IndexFunc(sets, func(s ResourceSet) bool { return s.Version == version })
	if i < 0 {
		return ResourceSet{}, fmt.Errorf("there is no resource set %q; this operator knows %s", version, strings.Join(Sets(), ", "))
	}
	return sets[i], nil
}

// Sets returns the versions of all resource sets, oldest first.
func Sets() []string {
	versions := make([]string, len(sets))
	for i, s := range sets {
		versions[i] = s.Version
	}
	return versions
}
