package eks

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/google/uuid"

	"github.com/aws-operator/aws-operator/internal/lazyregexp"
)

// The types of access entries that the simulator has. AWS has others for Windows, Fargate and nodes
// elsewhere.
// https://docs.aws.amazon.com/eks/latest/userguide/creating-access-entries.html
const (
	typeStandard = "STANDARD"
	typeLinux    = "EC2_LINUX"
	typeEC2      = "EC2" // of EKS Auto Mode
)

// The parts of user names that depend on the session.
const (
	sessionNameVariable    = "{{SessionName}}"
	sessionNameRawVariable = "{{SessionNameRaw}}"
	nodeNameVariable       = "{{EC2PrivateDNSName}}"
)

// accessEntry lets a principal use the API of a cluster.
type accessEntry struct {
	types.AccessEntry

	// policies are the associated access policies.
	policies []types.AssociatedAccessPolicy
	// managed says that EKS created the entry for a node group.
	managed bool
	token   *string
}

// principalARN matches the users and roles of access entries.
var principalARN = lazyregexp.New(`^arn:[a-z-]+:iam::(\d{12}):(root|(user|role)/[\w+=,.@/-]+)$`)

// withEntries returns a cluster that has access entries.
func (r *region) withEntries(name *string) (*cluster, error) {
	c, err := r.find(name)
	if err != nil {
		return nil, err
	}
	if !c.hasEntries() {
		return nil, invalidRequest(
			*c.Name, "The cluster's authentication mode must be set to one of [API, API_AND_CONFIG_MAP] to perform this operation.",
		)
	}
	return c, nil
}

func (c *cluster) hasEntries() bool {
	return c.AccessConfig.AuthenticationMode != types.AuthenticationModeConfigMap
}

func (c *cluster) entry(principal *string) (*accessEntry, error) {
	e, ok := c.entries[value(principal)]
	if !ok {
		return nil, notFound(*c.Name, "The specified principalArn could not be found. "+
			"You can view your available access entries with 'list-access-entries'.")
	}
	return e, nil
}

// addEntry adds an access entry.
func (c *cluster) addEntry(now time.Time, principal, kind string) *accessEntry {
	resource := principal[strings.LastIndexByte(principal, ':')+1:]
	entity, path, _ := strings.Cut(resource, "/")
	name := path[strings.LastIndexByte(path, '/')+1:]
	e := &accessEntry{AccessEntry: types.AccessEntry{
		AccessEntryArn: new(strings.Replace(*c.Arn, ":cluster/", ":access-entry/", 1) + "/" +
			strings.Join([]string{entity, accountOf(principal), name, uuid.NewString()}, "/")),
		ClusterName: c.Name, PrincipalArn: &principal, Type: &kind, CreatedAt: &now, ModifiedAt: &now, KubernetesGroups: []string{},
		Username: new(userName(kind, principal)), Tags: map[string]string{},
	}}
	if kind == typeLinux {
		e.KubernetesGroups = []string{"system:nodes"}
	}
	c.entries[principal] = e
	return e
}

// userName returns the user name of an entry that has none of its own.
func userName(kind, principal string) string {
	switch {
	case kind != typeStandard:
		return "system:node:" + nodeNameVariable
	case strings.Contains(principal, ":role/"):
		prefix, name, _ := strings.Cut(principal, ":role/")
		return strings.Replace(prefix, ":iam:", ":sts:", 1) + ":assumed-role/" + name[strings.LastIndexByte(name, '/')+1:] + "/" + sessionNameVariable
	default:
		return principal
	}
}

// bootstrapCreator makes the creator of a cluster its administrator, if that was asked for and the
// cluster has access entries.
// https://docs.aws.amazon.com/eks/latest/userguide/grant-k8s-access.html
func (c *cluster) bootstrapCreator(now time.Time) {
	if !c.bootstrap || !c.hasEntries() || c.creator == "" || c.entries[c.creator] != nil {
		return
	}
	e := c.addEntry(now, c.creator, typeStandard)
	arn := policyARN(c, clusterAdminPolicy)
	e.policies = []types.AssociatedAccessPolicy{{
		PolicyArn: &arn, AccessScope: &types.AccessScope{Type: types.AccessScopeTypeCluster, Namespaces: []string{}}, AssociatedAt: &now, ModifiedAt: &now,
	}}
}

// addNodeEntry lets the instances of a node group join.
// https://docs.aws.amazon.com/eks/latest/userguide/access-entries.html
func (s *Service) addNodeEntry(c *cluster, n *nodegroup) {
	if role := value(n.NodeRole); c.hasEntries() && c.entries[role] == nil {
		c.addEntry(s.now(), role, typeLinux).managed = true
	}
}

// checkEntry returns an error for what an entry cannot have.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateAccessEntry.html
func checkEntry(cluster, kind string, username *string, groups []string) error {
	if kind != typeStandard && (username != nil || len(groups) > 0) {
		return invalidParameter(cluster, "kubernetesGroups and username can't be set on an access entry of type %s.", kind)
	}
	for _, group := range groups {
		if group == "" || slices.ContainsFunc(reservedPrefixes, func(p string) bool { return strings.HasPrefix(group, p) }) {
			return invalidParameter(cluster, "The kubernetes group name %q is invalid, it cannot start with any of %v", group, reservedPrefixes)
		}
	}
	name := value(username)
	for _, prefix := range reservedPrefixes {
		if strings.HasPrefix(name, prefix) {
			return invalidParameter(cluster, "The username %s is invalid, it cannot start with any of %v", name, reservedPrefixes)
		}
	}
	before, _, templated := strings.Cut(name, "{{SessionName")
	if templated && !strings.Contains(before, ":") {
		return invalidParameter(cluster, "The username %s is invalid, a colon is required before %s", name, sessionNameVariable)
	}
	return nil
}

// reservedPrefixes are prefixes of names of users and groups that no access entry can have.
var reservedPrefixes = []string{"system:", "eks:", "aws:", "amazon:", "iam:"}

// createAccessEntry creates an access entry.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateAccessEntry.html
func (s *Service) createAccessEntry(ctx context.Context, in *eks.CreateAccessEntryInput) (*eks.CreateAccessEntryOutput, error) {
	r := s.here(ctx)
	defer s.leave(r)
	c, err := r.withEntries(in.ClusterName)
	if err != nil {
		return nil, err
	}
	principal, kind := value(in.PrincipalArn), *or(in.Type, typeStandard)
	if found, ok := c.entries[principal]; ok {
		if in.ClientRequestToken != nil && value(found.token) == *in.ClientRequestToken {
			return &eks.CreateAccessEntryOutput{AccessEntry: new(found.AccessEntry)}, nil
		}
		return nil, inUse(*c.Name, "The specified access entry resource is already in use on this cluster.")
	}
	if err := s.checkPrincipal(c, principal, kind); err != nil {
		return nil, err
	}
	if err := checkEntry(*c.Name, kind, in.Username, in.KubernetesGroups); err != nil {
		return nil, err
	}
	if err := checkTags(*c.Name, nil, in.Tags); err != nil {
		return nil, err
	}
	e := c.addEntry(s.now(), principal, kind)
	e.token = in.ClientRequestToken
	if in.Username != nil {
		e.Username = in.Username
	}
	if len(in.KubernetesGroups) > 0 {
		e.KubernetesGroups = in.KubernetesGroups
	}
	if in.Tags != nil {
		e.Tags = in.Tags
	}
	return &eks.CreateAccessEntryOutput{AccessEntry: new(e.AccessEntry)}, nil
}

// checkPrincipal returns an error if an entry cannot be for a principal. A role or user of the account
// must exist.
func (s *Service) checkPrincipal(c *cluster, principal, kind string) error {
	match := principalARN.FindStringSubmatch(principal)
	switch {
	case match == nil:
		return invalidParameter(*c.Name, "The principalArn parameter format is not valid")
	case strings.Contains(principal, ":role/aws-service-role/"):
		return invalidParameter(*c.Name, "The caller is not allowed to modify access entries with a principalArn value of a Service Linked Role")
	case !slices.Contains([]string{typeStandard, typeLinux, typeEC2}, kind):
		return invalidParameter(*c.Name, "The access entry type %s is not valid. The simulator supports [%s, %s, %s]", kind, typeStandard, typeLinux, typeEC2)
	case kind != typeStandard && (match[3] != "role" || match[1] != c.at.Account):
		return invalidParameter(*c.Name, "The principalArn of an access entry of type %s must be a role in the account of the cluster", kind)
	case match[2] == "root" || match[1] != c.at.Account:
		return nil
	}
	if _, exists, _ := s.role(principal); !exists {
		return invalidParameter(*c.Name, "The specified principalArn is invalid: invalid principal.")
	}
	return nil
}

// describeAccessEntry returns an access entry.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_DescribeAccessEntry.html
func (s *Service) describeAccessEntry(ctx context.Context, in *eks.DescribeAccessEntryInput) (*eks.DescribeAccessEntryOutput, error) {
	r := s.here(ctx)
	defer s.leave(r)
	c, err := r.withEntries(in.ClusterName)
	if err != nil {
		return nil, err
	}
	e, err := c.entry(in.PrincipalArn)
	if err != nil {
		return nil, err
	}
	return &eks.DescribeAccessEntryOutput{AccessEntry: new(e.AccessEntry)}, nil
}

// listAccessEntries lists the principals of access entries.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_ListAccessEntries.html
func (s *Service) listAccessEntries(ctx context.Context, in *eks.ListAccessEntriesInput) (*eks.ListAccessEntriesOutput, error) {
	r := s.here(ctx)
	defer s.leave(r)
	c, err := r.withEntries(in.ClusterName)
	if err != nil {
		return nil, err
	}
	var principals []string
	for principal, e := range c.entries {
		if in.AssociatedPolicyArn == nil || e.policy(*in.AssociatedPolicyArn) >= 0 {
			principals = append(principals, principal)
		}
	}
	principals, next, err := page(principals, in.NextToken, in.MaxResults)
	return &eks.ListAccessEntriesOutput{AccessEntries: principals, NextToken: next}, err
}

// updateAccessEntry changes the user name and the groups.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_UpdateAccessEntry.html
func (s *Service) updateAccessEntry(ctx context.Context, in *eks.UpdateAccessEntryInput) (*eks.UpdateAccessEntryOutput, error) {
	r := s.here(ctx)
	defer s.leave(r)
	c, err := r.withEntries(in.ClusterName)
	if err != nil {
		return nil, err
	}
	e, err := c.entry(in.PrincipalArn)
	if err != nil {
		return nil, err
	}
	username := in.Username
	if value(username) == value(e.Username) || value(username) == "" {
		username = nil
	}
	if err := checkEntry(*c.Name, *e.Type, username, in.KubernetesGroups); err != nil {
		return nil, err
	}
	if username != nil {
		e.Username = username
	}
	if in.KubernetesGroups != nil && *e.Type == typeStandard {
		e.KubernetesGroups = in.KubernetesGroups
	}
	e.ModifiedAt = new(s.now())
	return &eks.UpdateAccessEntryOutput{AccessEntry: new(e.AccessEntry)}, nil
}

// deleteAccessEntry deletes an access entry.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_DeleteAccessEntry.html
func (s *Service) deleteAccessEntry(ctx context.Context, in *eks.DeleteAccessEntryInput) (*eks.DeleteAccessEntryOutput, error) {
	r := s.here(ctx)
	defer s.leave(r)
	c, err := r.withEntries(in.ClusterName)
	if err != nil {
		return nil, err
	}
	if _, err := c.entry(in.PrincipalArn); err != nil {
		return nil, err
	}
	delete(c.entries, *in.PrincipalArn)
	return nil, nil
}

// principals returns the principals of entries, sorted.
func (c *cluster) principals() []string { return slices.Sorted(maps.Keys(c.entries)) }
