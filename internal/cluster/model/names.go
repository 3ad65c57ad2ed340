package model

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
)

// Tags. Those that begin with kubernetes.io are read by the cloud controller
// manager, the CSI driver and the load balancer controller.
const (
	// TagOwnedPrefix and the cluster's name form the tag whose value is TagOwned on resources that
	// the cluster owns, and TagShared on resources that it only uses.
	TagOwnedPrefix = "kubernetes.io/cluster/"
	// TagOwned is the value for resources that are deleted with the cluster.
	TagOwned = "owned"
	// TagShared is the value for resources that outlive the cluster, such as existing subnets.
	TagShared = "shared"
	// TagNodePool names the NodePool for which Karpenter launched an instance or created a launch template.
	// https://karpenter.sh/docs/concepts/nodeclasses/#spectags
	TagNodePool = "karpenter.sh/nodepool"
	// TagCluster holds the cluster's name.
	TagCluster = v1alpha1.Group + "/cluster"
	// TagNamespace holds the namespace of the Cluster.
	TagNamespace = v1alpha1.Group + "/namespace"
	// TagOperator holds the operator's --cluster-name.
	TagOperator = v1alpha1.Group + "/operator"
	// TagRole holds the role of an instance: RoleControlPlane, RoleWorker or RoleBastion. On the stack of
	// EKS's add-ons it is RoleEKSAddons.
	TagRole = v1alpha1.Group + "/role"
	// TagSlot holds the slot's number.
	TagSlot = v1alpha1.Group + "/slot"
	// TagInstanceGroup holds the instance group's name.
	TagInstanceGroup = v1alpha1.Group + "/instance-group"
	// TagEtcdSlot holds the result of EtcdSlotTag on an etcd volume, and the slot's number on a
	// snapshot of one.
	TagEtcdSlot = v1alpha1.Group + "/etcd-slot"
)

// The roles of instances, values of TagRole.
const (
	// RoleControlPlane is the instance of a slot.
	RoleControlPlane = "control-plane"
	// RoleWorker is an instance of an instance group.
	RoleWorker = "worker"
	// RoleBastion is an instance for SSH.
	RoleBastion = "bastion"
	// RoleEKSAddons is not of an instance: it is the stack of the add-ons of EKS.
	RoleEKSAddons = "eks-addons"
)

// Labels of nodes that the kubelet sets itself.
const (
	// LabelCluster holds the cluster's name.
	LabelCluster = TagCluster
	// LabelInstanceGroup holds the instance group's name.
	LabelInstanceGroup = TagInstanceGroup
	// LabelSlot holds the slot's number.
	LabelSlot = TagSlot
	// LabelBundle holds the first BundleLabelLength hex digits of the bundle's hash.
	LabelBundle = v1alpha1.Group + "/bundle"
	// BundleLabelLength is the number of digits of a bundle's hash in its label.
	BundleLabelLength = 16
)

// Labels of nodes that kubelets may not set: the operator does.
const (
	// LabelRolePrefix and a role form the label from which kubectl shows roles.
	LabelRolePrefix = "node-role.kubernetes.io/"
	// LabelControlPlane marks control-plane nodes.
	LabelControlPlane = LabelRolePrefix + "control-plane"
	// LabelWorker marks workers.
	LabelWorker = LabelRolePrefix + "worker"
)

// Ports.
const (
	// PortAPI is the port of the API server, on instances and on the load balancer.
	PortAPI = 6443
	// PortEtcdClient is etcd's port for clients.
	PortEtcdClient = 2379
	// PortEtcdPeer is etcd's port for its members.
	PortEtcdPeer = 2380
)

// Outputs of the base stack.
const (
	// OutputVPC is the VPC's ID.
	OutputVPC = "VPC"
	// OutputControlPlaneSecurityGroup is the ID of the slots' security group.
	OutputControlPlaneSecurityGroup = "ControlPlaneSecurityGroup"
	// OutputWorkerSecurityGroup is the ID of the workers' security group.
	OutputWorkerSecurityGroup = "WorkerSecurityGroup"
	// OutputBastionSecurityGroup is the ID of the bastions' security group, if there are any.
	OutputBastionSecurityGroup = "BastionSecurityGroup"
	// OutputControlPlaneInstanceProfile is the name of the slots' instance profile.
	OutputControlPlaneInstanceProfile = "ControlPlaneInstanceProfile"
	// OutputWorkerInstanceProfile is the name of the workers' instance profile.
	OutputWorkerInstanceProfile = "WorkerInstanceProfile"
	// OutputWorkerRole is the ARN of the workers' role, from resource set 1.2.0 on.
	OutputWorkerRole = "WorkerRole"
	// OutputAPITargetGroup is the ARN of the API's target group.
	OutputAPITargetGroup = "APITargetGroup"
	// OutputAPIAddress is the DNS name of the API's load balancer, in the case that AWS gave it;
	// see [APIAddress].
	OutputAPIAddress = "APIAddress"
	// OutputHostedZone is the ID of the private hosted zone.
	OutputHostedZone = "HostedZone"
	// OutputBucket is the name of the bucket.
	OutputBucket = "Bucket"
	// OutputKey is the ARN of the KMS key.
	OutputKey = "Key"
	// OutputIssuer is the ARN of the provider through which roles trust the cluster's service
	// accounts.
	OutputIssuer = "Issuer"
	// OutputIssuerBucket is the name of the bucket that publishes the issuer's documents, if they
	// have one of their own.
	OutputIssuerBucket = "IssuerBucket"
)

// APIAddress returns the host name of the API's load balancer from the outputs of the base stack,
// in lower case, empty if it is not known yet. CloudFormation names load balancers in both cases,
// and AWS keeps the case in DNSName. DNS ignores case, but kubeadm accepts only RFC 1123 subdomains
// as controlPlaneEndpoint and certSANs, and those are in lower case:
// https://kubernetes.io/docs/reference/config-api/kubeadm-config.v1beta4/
func APIAddress(outputs map[string]string) string { return strings.ToLower(outputs[OutputAPIAddress]) }

// APIServer returns the URL of the API at a host.
func APIServer(host string) string { return "https://" + net.JoinHostPort(host, strconv.Itoa(PortAPI)) }

// OutputSubnet returns the output that holds a new subnet's ID.
func OutputSubnet(s Subnet) string { return s.LogicalID }

// OutputEtcdVolume returns the output that holds the ID of a slot's etcd volume.
func OutputEtcdVolume(slot int) string { return "EtcdVolume" + strconv.Itoa(slot) }

// Keys in the cluster's bucket.
const (
	// KeyPKIPrefix is where the CAs are, for the control-plane role only.
	KeyPKIPrefix = "pki/"
	// KeyEtcdPrefix is where slots record the state of the cluster's etcd.
	KeyEtcdPrefix = "etcd/"
	// KeyIssuerPrefix is where the service-account issuer's documents are.
	KeyIssuerPrefix = "oidc/"
	// KeyToken is where slots keep the bootstrap token of a cluster without an operator.
	KeyToken = "token/bootstrap-token"
)

// IssuerDocumentKeys are the keys of the issuer's documents.
var IssuerDocumentKeys = []string{KeyIssuerPrefix + ".well-known/openid-configuration", KeyIssuerPrefix + "openid/v1/jwks"}

// The CAs and keys in the bucket.
const (
	// KeyCACert is the cluster's CA.
	KeyCACert = KeyPKIPrefix + "ca.crt"
	// KeyCAKey is its key.
	KeyCAKey = KeyPKIPrefix + "ca.key"
	// KeyServiceAccountPublic verifies service-account tokens.
	KeyServiceAccountPublic = KeyPKIPrefix + "sa.pub"
	// KeyServiceAccountPrivate signs service-account tokens.
	KeyServiceAccountPrivate = KeyPKIPrefix + "sa.key"
	// KeyFrontProxyCACert is the CA of API aggregation.
	KeyFrontProxyCACert = KeyPKIPrefix + "front-proxy-ca.crt"
	// KeyFrontProxyCAKey is its key.
	KeyFrontProxyCAKey = KeyPKIPrefix + "front-proxy-ca.key"
	// KeyEtcdCACert is etcd's CA.
	KeyEtcdCACert = KeyPKIPrefix + "etcd/ca.crt"
	// KeyEtcdCAKey is its key.
	KeyEtcdCAKey = KeyPKIPrefix + "etcd/ca.key"
)

// NodeupKey returns where the nodeup of that SHA-256 is in the bucket.
func NodeupKey(sha256 string, architecture v1alpha1.Architecture) string {
	return bundle.NodeupKey(sha256, string(architecture))
}

// BundleKey returns where the bundle of that SHA-256 is in the bucket.
func BundleKey(sha256 string) string { return bundle.Key(sha256) }

// Limits on names.
const (
	maxStackName  = 128 // https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_CreateStack.html
	maxBucketName = 63  // https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html
	hashLength    = 8
)

// ShortName returns the parts joined by hyphens if they are at most limit long,
// and otherwise their beginning and a hash of the whole, limit long. A limit too
// small for the hash gives a piece of the hash.
func ShortName(limit int, parts ...string) string {
	whole := strings.Join(parts, "-")
	if len(whole) <= limit {
		return whole
	}
	sum := sha256.Sum256([]byte(whole))
	hash := hex.EncodeToString(sum[:])[:hashLength]
	if limit <= hashLength+1 {
		return hash[:max(0, min(limit, hashLength))]
	}
	return strings.TrimRight(whole[:limit-hashLength-1], "-.") + "-" + hash
}

// BaseStackName returns the name of the cluster's base stack.
func BaseStackName(cluster string) string { return ShortName(maxStackName, cluster) }

// SlotStackName returns the name of a slot's stack.
func SlotStackName(cluster string, slot int) string {
	return ShortName(maxStackName, cluster, RoleControlPlane, strconv.Itoa(slot))
}

// EKSAddonsStackName returns the name of the stack of the add-ons that EKS installs.
func EKSAddonsStackName(cluster string) string {
	return ShortName(maxStackName, cluster, RoleEKSAddons)
}

// GroupStackName returns the name of an instance group's stack: the cluster's
// name and the group's, or the group's alone if it begins with the cluster's.
func GroupStackName(cluster, group string) string {
	if strings.HasPrefix(group, cluster+"-") {
		return ShortName(maxStackName, group)
	}
	return ShortName(maxStackName, cluster, group)
}

// BucketName returns the name of the cluster's bucket, which the account's ID makes globally
// unique.
func BucketName(cluster, accountID, region string) string {
	return ShortName(maxBucketName, strings.ToLower(cluster), accountID, region)
}

// IssuerBucketName returns the name of the bucket that publishes the documents of the cluster's
// service-account issuer. It differs from all names of clusters' buckets, which end in the region.
func IssuerBucketName(cluster, accountID, region string) string {
	return ShortName(maxBucketName, strings.ToLower(cluster), accountID, region, "oidc")
}

// ZoneName returns the name of the cluster's private hosted zone.
func ZoneName(cluster string) string { return cluster + ".internal" }

// EtcdName returns the name of the slot's etcd member.
func EtcdName(slot int) string { return "etcd-" + strconv.Itoa(slot) }

// EtcdSlotTag returns the value of the tag by which a slot's instance finds its etcd volume. It
// differs for each snapshot from which the volume was created, so that an instance never attaches
// the wrong volume while an old and a new one exist.
func EtcdSlotTag(slot int, snapshot string) string {
	if snapshot == "" {
		return strconv.Itoa(slot)
	}
	return strconv.Itoa(slot) + "/" + snapshot
}

// EtcdToken returns the token that distinguishes the cluster's etcd from all others, including
// itself before a restore from a snapshot.
func EtcdToken(cluster, snapshot string) string {
	if snapshot == "" {
		return cluster
	}
	return cluster + "-" + snapshot
}

// EtcdVolumeGeneration returns how often a slot's etcd volume was replaced by a blank one since the
// cluster was restored from the snapshot, or created.
func EtcdVolumeGeneration(status *v1alpha1.EtcdStatus, snapshot string, slot int) int32 {
	return EtcdVolumeOf(status, snapshot, slot).Generation
}

// OutputNextEtcdVolume returns the output that holds the ID of the volume of the next generation,
// while a slot moves to another zone.
func OutputNextEtcdVolume(slot int) string { return OutputEtcdVolume(slot) + "Next" }

// OutputEtcdGeneration returns the output with the generation of a slot's etcd volume, see
// [EtcdGeneration]. A volume that replaced no other has no such output.
func OutputEtcdGeneration(slot int) string { return OutputEtcdVolume(slot) + "Generation" }

// EtcdGeneration encodes the generation of a slot's etcd volume, and the snapshot from which it is
// counted, for an output.
func EtcdGeneration(generation int32, snapshot string) string {
	return strings.TrimSpace(strconv.Itoa(int(generation)) + " " + snapshot)
}

// ParseEtcdGeneration parses the output of [EtcdGeneration]. It returns 0 for other values.
func ParseEtcdGeneration(output string) (generation int32, snapshot string) {
	number, snapshot, _ := strings.Cut(output, " ")
	parsed, err := strconv.ParseInt(number, 10, 32)
	if err != nil || parsed < 0 {
		return 0, ""
	}
	return int32(parsed), snapshot
}

// EtcdVolumeID returns the name of a slot's etcd volume in the base stack. CloudFormation replaces
// a volume neither if the snapshot changes from which it was created, nor if the volume is lost
// (https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-ec2-volume.html),
// so the volume of another snapshot, and the replacement of a lost one, is another resource.
func EtcdVolumeID(slot int, snapshot string, generation int32) string {
	id := OutputEtcdVolume(slot) + strings.Replace(snapshot, "snap-", "Of", 1)
	if generation > 0 {
		id += "Generation" + strconv.Itoa(int(generation))
	}
	return id
}

// EtcdFormedKey returns the key in the bucket of the object that exists once the cluster's etcd has
// had a quorum. It differs for each restore, which creates a new etcd cluster.
func EtcdFormedKey(cluster, snapshot string) string {
	return KeyEtcdPrefix + EtcdToken(cluster, snapshot) + "/formed"
}

// TokenParameterName returns the name of the SSM parameter of the bootstrap token. Names that begin
// with aws, also behind the first slash, are reserved:
// https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_PutParameter.html
func TokenParameterName(cluster string) string {
	return fmt.Sprintf("/cluster-operator/%s/bootstrap-token", cluster)
}

// zoneLogicalID returns a zone in the form of logical IDs: EuCentral1a.
func zoneLogicalID(zone string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(zone, "-") {
		if part != "" {
			b.WriteString(strings.ToUpper(part[:1]) + part[1:])
		}
	}
	return b.String()
}
