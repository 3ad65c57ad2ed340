package model

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
)

// Resolve resolves a cluster. The error is Problems.
func Resolve(in Input) (*Cluster, error) {
	var problems Problems
	if in.Cluster == nil {
		problems.add("spec", "give a Cluster", "there is no cluster")
		return nil, problems
	}
	c := &Cluster{
		Name: in.Cluster.Name, Namespace: in.Cluster.Namespace, Operator: in.Operator,
		Region: in.Cluster.Spec.Region, AccountID: in.AccountID, Partition: in.Partition, DNSSuffix: in.DNSSuffix,
		Spec: defaulted(&in.Cluster.Spec), Existing: in.Existing,
	}
	c.checkName(&problems)
	c.resolveRelease(&problems, in.Release)
	c.resolveNetwork(&problems)
	c.resolveNames(in.Alone)
	if c.EKS() != nil {
		c.checkEKS(&problems, &in.Cluster.Spec)
	} else {
		c.resolveMachines(&problems, in)
	}
	c.checkAddons(&problems, in.Release)
	c.checkReplacement(&problems, in)
	checkTags(&problems, "spec.tags", c.Spec.Tags)
	checkDynamic(&problems, &in.Cluster.Spec)
	checkNumberOfTags(&problems, "spec.tags", c.Tags)
	if err := problems.err(); err != nil {
		return nil, err
	}
	return c, nil
}

// resolveMachines resolves the slots and what their instances and others run.
func (c *Cluster) resolveMachines(problems *Problems, in Input) {
	c.resolveSlots(problems, LeavingSlots(in.Cluster), in.Cluster.Status.Etcd)
	c.remember(&in.Cluster.Status, in.IssuerInBucket)
	c.resolveImages(problems)
	c.checkBootable(problems, "spec.release", c.ControlPlaneArchitecture)
	c.checkControlPlane(problems)
	c.resolveAPIServer(problems)
	c.checkKubeletServing(problems)
	c.checkNodeLocalDNS(problems)
	c.resolveNodeSetup(problems)
}

// maxClusterName leaves room for suffixes of a cluster's name.
const maxClusterName = 40

// checkName checks the cluster's name, from which the names of stacks and buckets are derived.
func (c *Cluster) checkName(problems *Problems) {
	if !isLabel(c.Name) || c.Name[0] < 'a' || len(c.Name) > maxClusterName {
		problems.add(
			"metadata.name",
			fmt.Sprintf("choose at most %d lower-case letters, digits and hyphens, beginning with a letter", maxClusterName),
			"%q is not valid as part of the names of stacks and buckets",
			c.Name,
		)
	}
	if reason := nameTaken(c.Name); reason != "" {
		problems.add("metadata.name", "choose another name", "%s", reason)
	}
	if c.Region == "" {
		problems.add("spec.region", "name the AWS region, as eu-central-1", "there is no region")
	}
}

// nameTaken returns why AWS would reject resource names derived from a cluster's name, empty if it
// would not. CloudFormation prefixes generated names with the stack's.
func nameTaken(cluster string) string {
	begins := func(prefix string) bool { return strings.HasPrefix(cluster+"-", prefix) }
	switch {
	case begins("internal-"):
		// https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_CreateLoadBalancer.html
		return "the API's load balancer would be named " + cluster + "-…, but AWS rejects load balancer names that begin with internal-"
	case begins("sg-"):
		// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateSecurityGroup.html
		return "security groups would be named " + cluster + "-…, but AWS rejects security group names that begin with sg-"
	case begins("xn--"), begins("sthree-"), begins("amzn-s3-demo-"):
		// https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html
		return "the bucket would be named " + cluster + "-…, but AWS rejects bucket names that begin with xn--, sthree- or amzn-s3-demo-"
	case cluster == "ec2", cluster == "compute":
		// https://docs.aws.amazon.com/vpc/latest/userguide/vpc-dns.html
		return "the cluster's zone would be " + ZoneName(cluster) + ", which would hide AWS's own host names"
	}
	return ""
}

// isLabel reports whether s is a DNS label.
func isLabel(s string) bool {
	return s != "" && len(s) <= 63 && s[0] != '-' && s[len(s)-1] != '-' &&
		!strings.ContainsFunc(s, func(r rune) bool { return r != '-' && (r < 'a' || r > 'z') && (r < '0' || r > '9') })
}

// resolveRelease resolves the release and its resource set.
func (c *Cluster) resolveRelease(problems *Problems, r *v1alpha1.Release) {
	switch {
	case r == nil:
		c.Release = &v1alpha1.Release{}
		problems.add("spec.release", "name one that kubectl get releases shows", "there is no release %q", c.Spec.Release)
		return
	case r.Name != c.Spec.Release:
		problems.add("spec.release", "use that release", "release %s was passed for %s", r.Name, c.Spec.Release)
	}
	c.Release = r.DeepCopy()
	c.ResourceSet = r.Spec.ResourceSet
	set, err := release.Set(r.Spec.ResourceSet)
	if err != nil {
		problems.add("spec.release", "name another release, or run a newer operator", "release %s: %v", r.Name, err)
		return
	}
	c.Features = set.Features
	if c.EKS() != nil {
		c.Release.Spec.Addons = nil // They are for a control plane of slots.
	}
	c.Release.Spec.Addons = release.LeaveOut(c.Release.Spec.Addons, c.Spec.Addons)
	facts := release.Facts{Cluster: c.Name, Region: c.Region, PodCIDR: c.Spec.Network.PodCIDR, ServiceCIDR: c.Spec.Network.ServiceCIDR}
	if err := release.FillAddons(c.Release.Spec.Addons, facts); err != nil {
		problems.add("spec.release", "name another release", "release %s: %v", r.Name, err)
	}
}

// resolveNames determines the names of all resources.
func (c *Cluster) resolveNames(alone bool) {
	c.StackName = BaseStackName(c.Name)
	c.Bucket = BucketName(c.Name, c.AccountID, c.Region)
	c.ZoneName = ZoneName(c.Name)
	if alone || c.Features.SlotsKeepToken {
		c.TokenKey = KeyToken
	}
	if !alone {
		c.TokenParameter = TokenParameterName(c.Name)
	}
	c.Tags = maps.Clone(c.Spec.Tags)
	if c.Tags == nil {
		c.Tags = map[string]string{}
	}
	c.Tags[TagOwnedPrefix+c.Name] = TagOwned
	c.Tags[TagCluster] = c.Name
	c.Tags[TagNamespace] = c.Namespace
	c.Tags[TagOperator] = c.Operator
}

// remember copies facts from the status that the spec lacks: the program that restored etcd's volumes,
// and where the issuer's documents have been since before they had a separate bucket.
func (c *Cluster) remember(status *v1alpha1.ClusterStatus, issuerInBucket bool) {
	if status.Etcd != nil && c.Spec.ControlPlane.RestoreSnapshot != "" {
		c.RestoreProgram = status.Etcd.RestoreProgram
	}
	c.resolveIssuer(status.Outputs[OutputIssuer], issuerInBucket)
}

// resolveIssuer determines where the issuer's documents are. Provider is the ARN of the existing
// provider, if any; inBucket reports that the documents are already in the cluster's bucket. A
// cluster keeps the URL in its tokens, since another URL would invalidate all of them.
func (c *Cluster) resolveIssuer(provider string, inBucket bool) {
	issuer := c.Spec.ServiceAccountIssuer
	if issuer == nil {
		return
	}
	if issuer.URL != "" {
		c.Issuer = issuer.URL
		return
	}
	at := func(bucket string) string {
		return fmt.Sprintf("https://%s.s3.%s.%s/%s", bucket, c.Region, c.DNSSuffix, strings.TrimSuffix(KeyIssuerPrefix, "/"))
	}
	c.Issuer = at(c.Bucket)
	if c.Features.IssuerBucket && !inBucket && !strings.HasSuffix(provider, ":oidc-provider/"+strings.TrimPrefix(c.Issuer, "https://")) {
		c.IssuerBucket = IssuerBucketName(c.Name, c.AccountID, c.Region)
		c.Issuer = at(c.IssuerBucket)
	}
}

// resolveSlots determines the zone and subnet of each slot: the zones of the control plane, or
// those of the network, in turn.
func (c *Cluster) resolveSlots(problems *Problems, leaving []int, etcd *v1alpha1.EtcdStatus) {
	zones := c.Spec.ControlPlane.Zones
	if len(zones) == 0 {
		zones = c.Zones()
	}
	labels := maps.Clone(c.Spec.ControlPlane.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	checkLabels(problems, "spec.controlPlane.labels", labels)
	labels[LabelCluster] = c.Name
	c.ControlPlaneLabels = labels
	for i, zone := range c.Spec.ControlPlane.Zones {
		if !slices.Contains(c.Zones(), zone) {
			problems.add(fmt.Sprintf("spec.controlPlane.zones[%d]", i), "name one of the network's zones, or add it to the network",
				"zone %s has no %s subnet", zone, strings.ToLower(string(c.NodeRole)))
			return
		}
	}
	if len(zones) == 0 {
		return // reported for the network
	}
	for i := range int(min(c.Spec.ControlPlane.Replicas, MostSlots)) {
		c.Slots = append(c.Slots, c.slot(problems, i, zones, labels, etcd))
	}
	for _, i := range leaving {
		c.Leaving = append(c.Leaving, c.slot(problems, i, zones, labels, etcd))
	}
}

// slot returns a slot. Those beyond the third share the first three zones again, so that another zone
// of the network moves none.
func (c *Cluster) slot(problems *Problems, i int, zones []string, labels map[string]string, etcd *v1alpha1.EtcdStatus) Slot {
	slot := Slot{
		Index: i, SpecZone: zones[i%min(len(zones), defaultSlots)],
		EtcdName: EtcdName(i), EtcdDNS: EtcdName(i) + "." + c.ZoneName,
		StackName: SlotStackName(c.Name, i),
		Tags:      maps.Clone(c.Tags), Labels: maps.Clone(labels),
	}
	slot.placeVolumes(EtcdVolumeOf(etcd, c.Spec.ControlPlane.RestoreSnapshot, i))
	subnets := c.NodeSubnets()
	if n := slices.IndexFunc(subnets, func(s Subnet) bool { return s.Zone == slot.Zone }); n >= 0 {
		slot.Subnet = subnets[n]
	} else {
		problems.add("spec.network", "keep a subnet for nodes in that zone until the slot has moved",
			"slot %d is in zone %s, which has no %s subnet", i, slot.Zone, strings.ToLower(string(c.NodeRole)))
	}
	slot.Tags[TagRole], slot.Tags[TagSlot] = RoleControlPlane, strconv.Itoa(i)
	slot.DiskTags = slot.Tags
	slot.Labels[LabelSlot] = strconv.Itoa(i)
	return slot
}

// LeavingSlots returns the slots beyond spec.controlPlane.replicas that still exist, or whose volumes do,
// in order. They leave etcd one after another, and then the cluster; their volumes go last, together.
func LeavingSlots(cluster *v1alpha1.Cluster) []int {
	if UsesEKS(cluster) {
		return nil
	}
	var leaving []int
	exist := false
	for slot := int(max(0, cmp.Or(cluster.Spec.ControlPlane.Slots(), defaultSlots))); slot < MostSlots; slot++ {
		volume := cluster.Status.Outputs[OutputEtcdVolume(slot)] != ""
		name := SlotStackName(cluster.Name, slot)
		i := slices.IndexFunc(cluster.Status.Stacks, func(s v1alpha1.StackStatus) bool { return s.Name == name })
		stack := volume && i < 0 // The record was lost, so the stack may exist.
		if i >= 0 {
			stack = cluster.Status.Stacks[i].Status != "" && cluster.Status.Stacks[i].Status != "DELETE_COMPLETE"
		}
		if stack || volume {
			leaving = append(leaving, slot)
		}
		exist = exist || stack
	}
	if !exist {
		return nil
	}
	return leaving
}

// SlotCount returns the number of slots, with those that are leaving.
func SlotCount(cluster *v1alpha1.Cluster) int {
	leaving := LeavingSlots(cluster)
	if len(leaving) == 0 {
		return int(cluster.Spec.ControlPlane.Slots())
	}
	return leaving[len(leaving)-1] + 1
}

// AllSlots returns the slots, with those that are leaving.
func (c *Cluster) AllSlots() []Slot { return slices.Concat(c.Slots, c.Leaving) }

// resolveImages determines the images of slots and bastions.
func (c *Cluster) resolveImages(problems *Problems) {
	cp := &c.Spec.ControlPlane
	c.ControlPlaneArchitecture = ArchitectureOf(cp.InstanceType)
	c.ControlPlaneImage = c.image(problems, "spec.controlPlane.image", c.ControlPlaneArchitecture, cp.Image)
	if b := c.Spec.Bastion; b != nil {
		c.BastionArchitecture = ArchitectureOf(b.InstanceType)
		c.BastionImage = c.image(problems, "spec.bastion", c.BastionArchitecture, "")
	}
}

// checkBootable checks that instances of an architecture can become nodes with the release: nodeup
// refuses files without a hash.
func (c *Cluster) checkBootable(problems *Problems, field string, architecture v1alpha1.Architecture) {
	if reasons := release.Unbootable(c.Release, architecture); len(reasons) > 0 {
		problems.add(field, "name another release, or create one with all hashes (aws-operator create release)",
			"no %s instance can boot with release %s: %s", architecture, c.Release.Name, strings.Join(reasons, ", "))
	}
}

// image returns the image of an architecture, or the one with the given ID.
func (c *Cluster) image(problems *Problems, field string, architecture v1alpha1.Architecture, id string) Image {
	of := c.Release.Spec.Images[architecture]
	user := of.User
	if user == "" {
		user = "ubuntu"
	}
	switch {
	case id != "":
		return Image{ID: id, User: user}
	case of.ByRegion[c.Region] != "":
		return Image{ID: of.ByRegion[c.Region], User: user}
	case of.Parameter != "":
		return Image{Parameter: of.Parameter, User: user}
	case c.Release.Name != "":
		problems.add(
			field,
			"name an image, other instance types, or another release",
			"release %s has no %s image for %s",
			c.Release.Name,
			architecture,
			c.Region,
		)
	}
	return Image{}
}

// checkControlPlane checks the settings of the control plane.
func (c *Cluster) checkControlPlane(problems *Problems) {
	cp := &c.Spec.ControlPlane
	if cp.Replicas != 1 && cp.Replicas != defaultSlots && cp.Replicas != MostSlots {
		problems.add("spec.controlPlane.replicas", "set it to 1, 3 or 5", "%d is not a valid number of slots", cp.Replicas)
	}
	checkVolume(problems, "spec.controlPlane.rootVolume", &cp.RootVolume)
	checkVolume(problems, "spec.controlPlane.etcdVolume", &cp.EtcdVolume)
}

// KubeadmAddons are the addons that kubeadm installs unless the release or the cluster has a chart
// of that name, or the cluster disables it.
var KubeadmAddons = []string{"coredns", "kube-proxy"}

// HasAddonRole reports whether the base stack has an IAM role for the service account of an addon.
func (c *Cluster) HasAddonRole(addon string) bool {
	if !c.Features.AddonRoles || c.Issuer == "" {
		return false
	}
	switch addon {
	case release.AddonEBSCSIDriver:
		return true
	case release.AddonLoadBalancerController:
		return c.UsesAddon(addon)
	case release.AddonExternalDNS, release.AddonCertManager:
		return c.UsesAddon(addon) && len(c.Spec.IAM.HostedZones) > 0
	}
	return false
}

// UsesAddon reports whether the cluster uses an addon of the release.
func (c *Cluster) UsesAddon(name string) bool {
	return slices.ContainsFunc(c.Release.Spec.Addons, func(a v1alpha1.ReleaseAddon) bool { return a.Name == name })
}

// checkAddonRole checks that an addon of the release that needs an IAM role has one.
func (c *Cluster) checkAddonRole(problems *Problems, field string, addon *v1alpha1.ReleaseAddon) {
	if !release.NeedsRole(addon) || c.HasAddonRole(addon.Name) {
		return
	}
	remedy := "set spec.serviceAccountIssuer"
	switch {
	case !c.Features.AddonRoles:
		remedy = "name a release with resource set 1.2.0, or give a chart and values of your own"
	case c.Issuer != "":
		remedy = "set spec.iam.hostedZones"
	}
	problems.add(field, remedy, "addon %s needs an IAM role, and the cluster has none for it", addon.Name)
}

// checkReplacement refuses another network of pods for nodes that run.
func (c *Cluster) checkReplacement(problems *Problems, in Input) {
	if in.Release == nil || c.EKS() != nil {
		return
	}
	before, after := release.Replacement(in.Release.Spec.Addons, c.Spec.Addons, in.Cluster.Status.Addons)
	if before != "" {
		problems.add("spec.addons", "create another cluster", "pods run with addon %s, and would lose their network if %s replaced it", before, after)
	}
}

// checkAddons checks that addons that are not in the release have a chart, and that those of the release have the roles
// they need.
func (c *Cluster) checkAddons(problems *Problems, of *v1alpha1.Release) {
	for i, a := range c.Spec.Addons {
		field := fmt.Sprintf("spec.addons[%d]", i)
		if slices.ContainsFunc(c.Spec.Addons[:i], func(o v1alpha1.Addon) bool { return o.Name == a.Name }) {
			problems.add(field+".name", "name it once", "addon %s is named twice", a.Name)
		}
		named := func(o v1alpha1.ReleaseAddon) bool { return o.Name == a.Name }
		if used := slices.IndexFunc(c.Release.Spec.Addons, named); used >= 0 && !a.Disabled {
			c.checkAddonRole(problems, field, &c.Release.Spec.Addons[used])
		}
		if of == nil || c.EKS() == nil && slices.ContainsFunc(of.Spec.Addons, named) {
			continue
		}
		switch {
		case a.Disabled && slices.Contains(KubeadmAddons, a.Name):
		case a.Disabled:
			problems.add(field, "leave it out of spec.addons", "release %s has no addon %s to disable", c.Release.Name, a.Name)
		case a.Chart == "" || a.Version == "":
			problems.add(field, "give its chart, repository and version", "release %s has no addon %s", c.Release.Name, a.Name)
		}
	}
}
