package render

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

// eksRootDevice is the name of the root volume in the images of Amazon Linux.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/device_naming.html
const eksRootDevice = "/dev/xvda"

// accessPolicies are the policies of EKS:
// https://docs.aws.amazon.com/eks/latest/userguide/access-policy-permissions.html
var accessPolicies = map[v1alpha1.EKSAccessPolicy]string{
	v1alpha1.EKSView:         "AmazonEKSViewPolicy",
	v1alpha1.EKSEdit:         "AmazonEKSEditPolicy",
	v1alpha1.EKSAdmin:        "AmazonEKSAdminPolicy",
	v1alpha1.EKSClusterAdmin: "AmazonEKSClusterAdminPolicy",
}

// logTypes are the names of logs in EKS:
// https://docs.aws.amazon.com/eks/latest/userguide/control-plane-logs.html
var logTypes = map[v1alpha1.EKSLog]string{
	v1alpha1.EKSLogAPI:               "api",
	v1alpha1.EKSLogAudit:             "audit",
	v1alpha1.EKSLogAuthenticator:     "authenticator",
	v1alpha1.EKSLogControllerManager: "controllerManager",
	v1alpha1.EKSLogScheduler:         "scheduler",
}

// accessEntry is the templates' data of an access entry.
type accessEntry struct {
	v1alpha1.EKSAccess

	// LogicalID is its name in the stack, PolicyARN that of its policy, empty for none.
	LogicalID, PolicyARN string
}

// EKSLogs returns the logs that EKS writes.
func (s *baseScope) EKSLogs() []string {
	var types []string
	for _, log := range s.EKS().Logs {
		types = append(types, logTypes[log])
	}
	return types
}

// EKSSupport returns the support type.
func (s *baseScope) EKSSupport() string {
	if s.EKS().Support == v1alpha1.EKSExtended {
		return "EXTENDED"
	}
	return "STANDARD"
}

// EKSAccess returns the access entries. Their logical IDs depend on the principal alone, so that the
// order of the list changes nothing.
func (s *baseScope) EKSAccess() []accessEntry {
	var entries []accessEntry
	for _, access := range s.EKS().Access {
		entry := accessEntry{EKSAccess: access, LogicalID: "Access" + digest(access.Principal)}
		if policy := accessPolicies[access.Policy]; policy != "" {
			// https://docs.aws.amazon.com/eks/latest/APIReference/API_AssociateAccessPolicy.html
			entry.PolicyARN = "arn:" + s.Partition + ":eks::aws:cluster-access-policy/" + policy
		}
		entries = append(entries, entry)
	}
	return entries
}

// digest returns a short digest of a text in the form of logical IDs.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:6])
}

// nodeGroup is the templates' data of a managed node group.
type nodeGroup struct {
	machine

	// StackName is the name of the stack, Cluster that of the cluster, Version its Kubernetes version.
	StackName, Cluster, Version string
	// AMIType and CapacityType are what EKS calls them.
	AMIType, CapacityType string
	// InstanceTypes are the instance types.
	InstanceTypes []string
	// Labels are the labels of the nodes, Taints their taints.
	Labels []tag
	Taints []corev1.Taint
	// Force reports that nodes that cannot be drained are ended, Repair that EKS replaces unhealthy
	// ones.
	Force, Repair bool
}

// TaggedByTemplate are the resources that the launch template tags: EKS does not tag instances.
// https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html
func (nodeGroup) TaggedByTemplate() []string {
	return []string{"instance", "network-interface", "volume"}
}

// Parameters of the stacks of managed node groups.
const parameterNodeRole = "NodeRole"

// taintEffects are the effects of taints in EKS:
// https://docs.aws.amazon.com/eks/latest/APIReference/API_Taint.html
var taintEffects = map[corev1.TaintEffect]corev1.TaintEffect{
	corev1.TaintEffectNoSchedule:       "NO_SCHEDULE",
	corev1.TaintEffectNoExecute:        "NO_EXECUTE",
	corev1.TaintEffectPreferNoSchedule: "PREFER_NO_SCHEDULE",
}

// nodeGroupStack renders the stack of an instance group that EKS manages.
func nodeGroupStack(c *model.Cluster, g *model.Group, base map[string]string) (*Stack, error) {
	h := &handover{outputs: base, values: map[string]string{}}
	h.take(parameterSecurityGroup, typeSecurityGroup, model.OutputClusterSecurityGroup)
	h.take(parameterNodeRole, typeString, model.OutputWorkerRole)
	subnets, err := h.subnets(g.Subnets)
	if err != nil {
		return nil, err
	}
	more, err := expressions(g.Spec.SecurityGroups)
	if err != nil {
		return nil, err
	}
	n := nodeGroup{
		machine: machine{
			SecurityGroups: append([]string{"!Ref " + parameterSecurityGroup}, more...), Subnets: subnets,
			PublicAddress: len(g.Subnets) > 0 && g.Subnets[0].Role == v1alpha1.SubnetPublic,
			Volumes:       []v1alpha1.DataVolume{{Device: eksRootDevice, Volume: g.Spec.RootVolume}},
			MinSize:       g.Spec.MinSize, MaxSize: g.Spec.MaxSize, Replicas: strconv.Itoa(int(g.Spec.ExpectedNodes())),
			DiskTags: named(g.StackName, g.DiskTags), Roll: rollOf(g),
			UserData: rollUserData(g.Spec.Roll),
		},
		StackName: g.StackName, Cluster: c.Name, Version: c.EKSVersion(), AMIType: amiType(g.Spec.Architecture), CapacityType: "ON_DEMAND",
		InstanceTypes: g.Spec.InstanceTypes, Labels: tags(g.Labels),
		Force: g.Rolling.OnDrainTimeout != v1alpha1.DrainAbandon, Repair: !g.Spec.Repair.Disabled,
	}
	if g.Spec.Spot != nil {
		n.CapacityType = "SPOT"
	}
	for _, taint := range g.Spec.Taints {
		taint.Effect = taintEffects[taint.Effect]
		n.Taints = append(n.Taints, taint)
	}
	if err := h.err(); err != nil {
		return nil, fmt.Errorf("render stack %s: %w", g.StackName, err)
	}
	n.Parameters = h.parameters
	t, err := assemble(fmt.Sprintf("Kubernetes cluster %s: instance group %s", c.Name, g.Name), &n, "nodegroup.yaml")
	if err != nil {
		return nil, fmt.Errorf("render stack %s: %w", g.StackName, err)
	}
	return &Stack{
		Name: g.StackName, Template: t, Parameters: h.values, Tags: maps.Clone(g.Tags), OwnerTags: ownerTags(model.TagInstanceGroup),
	}, nil
}

// amiType returns the images of a managed node group: Amazon Linux 2023.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateNodegroup.html
func amiType(of v1alpha1.Architecture) string {
	if of == v1alpha1.ARM64 {
		return "AL2023_ARM_64_STANDARD"
	}
	return "AL2023_x86_64_STANDARD"
}

// rollUserData returns user data that differs for each request to replace nodes, "" without one. EKS
// merges it with its own, and accepts only MIME parts:
// https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html
func rollUserData(roll string) string {
	if roll == "" {
		return ""
	}
	return "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"//\"\n\n--//\nContent-Type: text/x-shellscript; charset=\"us-ascii\"\n\n" +
		"#!/bin/sh\n# Replaced on request " + digest(roll) + ".\n--//--\n"
}
