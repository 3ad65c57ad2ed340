package kops

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	releases "github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/internal/lazyregexp"
	"github.com/aws-operator/aws-operator/internal/yamltree"
)

// cluster is a cluster of kops with all that belongs to it.
type cluster struct {
	t      *translator
	spec   *part
	name   string
	groups []*group
	keys   []*part
	result *v1alpha1.Cluster

	subnets []*subnet
	// autoscaler is whether kops would install the cluster autoscaler.
	autoscaler bool
	// kubelet are the arguments of all nodes' kubelets.
	kubelet map[string]string
	// workers are the files and units of all groups of role Node.
	workers v1alpha1.NodeSetup
	// surge and batch are how groups roll that do not say so themselves.
	rolling *part
}

// clusterName matches what a cluster of ours may be called.
var clusterName = lazyregexp.New(`^[a-z]([-a-z0-9]{0,38}[a-z0-9])?$`)

// translate makes the Cluster and its InstanceGroups.
func (c *cluster) translate() {
	c.result = &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{
		Name: c.ourName(), Annotations: map[string]string{AnnotationName: c.name},
	}}
	s := &c.result.Spec
	c.readSubnets()
	s.Region = c.region()
	s.Release = c.release()
	c.network(&s.Network)
	c.api(&s.API)
	c.dns()
	c.controlPlane(&s.ControlPlane)
	c.components(&s.ControlPlane.ExtraArgs)
	c.nodeSetup()
	c.access()
	c.iam(&s.IAM)
	c.issuer()
	s.Tags = c.tags("cloudLabels", c.spec)
	c.cni()
	c.releaseAddons()
	c.shared()
	c.check()
	c.spec.Finish()
	c.t.add(c.spec.Document, c.result)
	c.nodes()
}

// ourName is the first part of the cluster's name, which is a domain in kops.
func (c *cluster) ourName() string {
	name := c.t.options.Name
	if name == "" {
		name, _, _ = strings.Cut(c.name, ".")
	}
	if !clusterName.MatchString(name) {
		c.t.Problem(c.spec.Document, c.spec.Document.Value.Line, "metadata.name", "",
			"%q is not a valid name: set one of at most 40 lower-case letters, digits and hyphens with --kops-name", name)
	}
	return name
}

// ownTag matches the tags that the operator sets itself.
var ownTag = lazyregexp.New(`(?i)^(aws:|kubernetes\.io/cluster/|cluster-operator\.aws/)`)

// tags returns labels as tags, except reserved ones.
func (c *cluster) tags(field string, p *part) map[string]string {
	tags := p.Labels(field)
	for _, key := range sorted(tags) {
		if ownTag.MatchString(key) {
			delete(tags, key)
			p.Note(field, Info, fmt.Sprintf("the tag %s is reserved by the operator or AWS", key))
		}
	}
	return orNil(tags)
}

func sorted(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// iam translates permissions.
func (c *cluster) iam(to *v1alpha1.NodeIAM) {
	for _, entry := range c.entries("externalPolicies") {
		var arns []string
		for _, item := range entry.Value.Items {
			arns = append(arns, item.Text)
		}
		switch role(entry.Key) {
		case roleControlPlane:
			to.ControlPlanePolicies = arns
		case roleNode:
			to.WorkerPolicies = arns
		default:
			c.spec.Note(
				"externalPolicies",
				Warning,
				"policies for "+entry.Key+" are dropped: bastions have no role, and the cluster has no other instances",
			)
		}
	}
	for _, entry := range c.entries("additionalPolicies") {
		c.spec.Note("additionalPolicies", Warning,
			"the statements for "+entry.Key+" are dropped: create a managed policy from them, and set its ARN in externalPolicies")
	}
	if p := c.spec.Section("iam", iamFields); p != nil {
		to.PermissionsBoundary = p.Text("permissionsBoundary")
		if p.Truth("allowContainerRegistry", false) {
			to.ImageRepositories = []string{"*"}
		}
		p.Finish()
	}
}

// entries returns the entries of a map.
func (c *cluster) entries(field string) []yamltree.Entry {
	v := c.spec.Of(field, yamltree.Map)
	if v == nil {
		return nil
	}
	return v.Entries
}

// issuer translates the publication of service-account keys.
func (c *cluster) issuer() {
	p := c.spec.Section("serviceAccountIssuerDiscovery", issuerFields)
	if p == nil {
		return
	}
	c.result.Spec.ServiceAccountIssuer = &v1alpha1.ServiceAccountIssuer{}
	if !p.Truth("enableAWSOIDCProvider", false) {
		p.Note("enableAWSOIDCProvider", Info, "an identity provider is created with the issuer")
	}
	p.Finish()
}

// noteValues notes the settings of an addon that were not translated.
func noteValues(p *part, addon string) {
	for _, entry := range p.Value.Entries {
		if !p.Used(entry.Key) {
			p.Use(entry.Key)
			p.Note(entry.Key, Warning, "set it in the values of "+addon+" in spec.addons")
		}
	}
}

// loadBalancerController adds the AWS Load Balancer Controller of the release. kops, too, enables neither WAF nor Shield unless
// the manifest does (https://github.com/kubernetes/kops/blob/master/docs/addons.md#aws-load-balancer-controller).
func (c *cluster) loadBalancerController() {
	p := c.spec.Section("awsLoadBalancerController", addonFields)
	if p == nil {
		return
	}
	p.Open = true
	enabled := p.Truth("enabled", false)
	for _, field := range []string{"enableWAF", "enableWAFv2", "enableShield"} {
		if p.Truth(field, false) {
			p.Note(field, Warning, "its role has no permissions for it: give it a chart and a role of your own in spec.addons")
		}
	}
	switch {
	case !enabled:
	case c.result.Spec.ServiceAccountIssuer == nil:
		p.Note("enabled", Warning,
			"it is not installed, because its role trusts a service account: set spec.serviceAccountIssuer, and add "+
				releases.AddonLoadBalancerController+" to spec.addons")
	default:
		c.result.Spec.Addons = append(c.result.Spec.Addons, v1alpha1.Addon{Name: releases.AddonLoadBalancerController})
	}
	noteValues(p, releases.AddonLoadBalancerController)
}

// certManager adds cert-manager of the release, unless kops only uses one that is there already.
func (c *cluster) certManager() {
	p := c.spec.Section("certManager", addonFields)
	if p == nil {
		return
	}
	p.Open = true
	managed, zones := p.Truth("managed", true), p.Texts("hostedZoneIDs")
	if p.Truth("enabled", false) && managed {
		c.result.Spec.Addons = append(c.result.Spec.Addons, v1alpha1.Addon{Name: releases.AddonCertManager})
		c.result.Spec.IAM.HostedZones = zones
		if len(zones) > 0 && c.result.Spec.ServiceAccountIssuer == nil {
			p.Note("hostedZoneIDs", Warning, "it may change no records, because its role trusts a service account: set spec.serviceAccountIssuer")
		}
	}
	noteValues(p, releases.AddonCertManager)
}

// releaseAddons leaves out addons of the release that the manifest switches off.
func (c *cluster) releaseAddons() {
	for field, addon := range map[string]string{"clusterAutoscaler": "cluster-autoscaler", "metricsServer": "metrics-server"} {
		p := c.spec.Section(field, addonFields)
		if p == nil {
			continue
		}
		p.Open = true
		enabled := p.Truth("enabled", false)
		if field == "clusterAutoscaler" {
			c.autoscaler = enabled
		}
		if !enabled {
			c.result.Spec.Addons = append(c.result.Spec.Addons, v1alpha1.Addon{Name: addon, Disabled: true})
		}
		noteValues(p, addon)
	}
	c.loadBalancerController()
	c.certManager()
	slices.SortFunc(c.result.Spec.Addons, func(a, b v1alpha1.Addon) int { return strings.Compare(a.Name, b.Name) })
	if p := c.spec.Section("cloudConfig", cloudFields); p != nil {
		p.Open = true
		p.Finish()
	}
	if p := c.spec.Section("kubeDNS", dnsServiceFields); p != nil {
		p.Open = true
		c.nodeLocalDNS(p.Section("nodeLocalDNS", nodeLocalDNSFields))
		p.Finish()
	}
}

// nodeLocalDNS reads whether nodes have DNS caches.
func (c *cluster) nodeLocalDNS(p *part) {
	if p == nil {
		return
	}
	p.Use("enabled", "forwardToKubeDNS")
	if p.Truth("enabled", false) {
		caches := &v1alpha1.NodeLocalDNS{}
		if p.Truth("forwardToKubeDNS", false) {
			caches.Forward = v1alpha1.ForwardToCoreDNS
		}
		c.result.Spec.Network.NodeLocalDNS = caches
	}
	p.Finish()
}

// shared reads what groups have from their cluster.
func (c *cluster) shared() {
	if p := componentOf(c.spec, "kubelet", kubeletFlags); p != nil {
		c.kubelet = flagsOf(p, kubeletFlags)
		p.Finish()
	}
	c.rolling = c.spec.Section("rollingUpdate", rollingFields)
	if c.rolling != nil {
		c.rolling.Use("maxSurge", "maxUnavailable")
		c.rolling.Finish()
	}
	if p := c.spec.Section("authorization", fields{"rbac": taken, "alwaysAllow": taken}); p != nil {
		p.Field("rbac")
		if p.Field("alwaysAllow") != nil {
			p.Note("alwaysAllow", Warning, "RBAC authorizes requests: bind roles to the accounts that need them")
		}
		p.Finish()
	}
}
