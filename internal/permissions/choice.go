package permissions

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/service/catalog"
	"github.com/aws-operator/aws-operator/internal/service/render"
)

// Choice is what policies are for. Its zero value needs none.
type Choice struct {
	// Kinds are built-in kinds of AWS services. Clusters is whether the operator reconciles Clusters,
	// and Terminal whether a user runs the commands.
	Kinds              []string
	Clusters, Terminal bool
	// EKS is whether EKS runs the control plane of Clusters. It needs Clusters.
	EKS bool
	// Trial is whether a user runs the command trial, which also needs Clusters.
	Trial bool
	// Grants is whether objects have roles: they grant access to service accounts, or run with a role
	// of their own.
	Grants bool
	// EKSCluster is the ARN of the EKS cluster whose Pod Identity gives pods the roles of grants; empty if
	// there is none.
	EKSCluster string
	// ClusterNames are the names of the Clusters; empty for all names.
	ClusterNames []string
	// Partition and Suffix are those of the region, as package partition has them. Region and Account
	// are empty for all.
	Partition, Suffix, Region, Account string
	// Operator is the operator's cluster name; Events is the name of its event queue's stack, or a
	// pattern for those of shards; empty without an operator.
	Operator, Events string
	// Roles are the ARNs of the roles that objects and Clusters assume. StateBucket is the bucket with
	// the commands' state. Without them, no statement allows their use.
	Roles       []string
	StateBucket string
	// Queues and Buckets are patterns for the names of further queues that are read, and of further
	// buckets whose objects are written.
	Queues, Buckets []string
}

// Documents returns the least policies for a choice, named after the operator's cluster name. It
// returns an error if a kind is not built in.
func (c *Choice) Documents() ([]Document, error) {
	types, err := typesOf(c.Kinds)
	if err != nil {
		return nil, err
	}
	var of users
	for part, chosen := range map[users]bool{
		services: len(c.Kinds) > 0, clusters: c.Clusters, terminal: c.Terminal, grants: c.Grants, trials: c.Trial,
		roles: len(passedTo(c.Kinds, c.Grants)) > 0, podIdentities: c.EKSCluster != "", eksClusters: c.EKS,
	} {
		if chosen {
			of |= part
		}
	}
	chosen := direct(of, c.values())
	if of&(services|clusters) != 0 {
		chosen = append(chosen, viaCloudFormation(func(t *resourceType) bool {
			return t.users&(events|of&(clusters|eksClusters)) != 0 || slices.Contains(types, t.name)
		})...)
	}
	var documents []Document
	for i, statements := range pack(chosen) {
		documents = append(documents, Document{Name: fmt.Sprintf("%s-%d", c.Operator, i+1), Statements: statements})
	}
	return documents, nil
}

// resourceTypeLine is a line of a template with the type of a resource.
var resourceTypeLine = regexp.MustCompile(`Type: (AWS::\w+::\w+)\n`)

// typesOf returns the types in the templates of built-in kinds.
func typesOf(kinds []string) ([]string, error) {
	definitions, err := catalog.Definitions()
	if err != nil {
		return nil, err
	}
	templates := map[string]string{}
	for _, d := range definitions {
		templates[d.Spec.Kind] = d.Spec.Template
	}
	var types []string
	for _, kind := range kinds {
		text, ok := templates[kind]
		if !ok {
			return nil, fmt.Errorf("%s is not one of the kinds %s", kind, strings.Join(Kinds(), ", "))
		}
		for _, match := range resourceTypeLine.FindAllStringSubmatch(text, -1) {
			types = append(types, match[1])
		}
	}
	return types, nil
}

// Kinds returns the built-in kinds of AWS services.
func Kinds() (kinds []string) {
	definitions, _ := catalog.Definitions() // A test of that package rules out an error.
	for _, d := range definitions {
		kinds = append(kinds, d.Spec.Kind)
	}
	return kinds
}

// anywhere returns the values for the documents of all choices. It reads all kinds, so it is no variable, which each
// program would fill in at its start.
func anywhere() map[string][]string {
	return map[string][]string{
		"partition": {"aws"}, "suffix": {"amazonaws.com"}, "region": all, "account": all, "serviceStack": {"aws-operator-*"},
		"clusterStack": all, "events": {"aws-operator-events*"}, "role": {"arn:aws:iam::*:role/cluster-operator"}, "group": all,
		"bucket": all, "cluster": all, "stateBucket": {"STATE-BUCKET"}, "grantRole": {"aws-operator/*"},
		"executionService": passedTo(Kinds(), true), "eksCluster": podIdentitiesIn("arn:aws:eks:*:*:cluster/*"),
	}
}

// podIdentitiesIn returns the resources on which associations in an EKS cluster are authorized.
func podIdentitiesIn(cluster string) []string {
	if cluster == "" {
		return nil
	}
	return []string{cluster, strings.Replace(cluster, ":cluster/", ":podidentityassociation/", 1) + "/*"}
}

// passedTo returns the services to which CloudFormation passes roles for kinds, if objects have roles:
// those that run objects with a role.
func passedTo(kinds []string, grants bool) []string {
	if !grants {
		return nil
	}
	found := map[string]bool{}
	for _, service := range executionServices(kinds) {
		found[service] = true
	}
	return slices.Sorted(maps.Keys(found))
}

// executionServices returns those of the kinds whose objects run with a role of their own, with the
// service that assumes it.
func executionServices(kinds []string) map[string]string {
	definitions, _ := catalog.Definitions() // A test of that package rules out an error.
	found := map[string]string{}
	for _, d := range definitions {
		if d.Spec.ExecutionRole != nil && slices.Contains(kinds, d.Spec.Kind) {
			found[d.Spec.Kind] = d.Spec.ExecutionRole.Service
		}
	}
	return found
}

// values returns the values of the names in braces.
func (c *Choice) values() map[string][]string {
	values := map[string][]string{
		"partition": {c.Partition}, "suffix": {c.Suffix}, "region": {cmp.Or(c.Region, "*")}, "account": {cmp.Or(c.Account, "*")},
		"events": c.Queues, "role": c.Roles,
		"grantRole":        {strings.TrimPrefix(render.RolePath(c.Operator), "/") + "*"},
		"executionService": passedTo(c.Kinds, c.Grants), "eksCluster": podIdentitiesIn(c.EKSCluster),
	}
	if c.Events != "" {
		values["serviceStack"], values["clusterStack"] = []string{c.Events + "/*"}, []string{c.Events + "/*"}
		values["events"] = append([]string{c.Events}, c.Queues...)
	}
	if c.StateBucket != "" {
		values["stateBucket"] = []string{c.StateBucket}
	}
	kinds := c.Kinds
	if c.Grants {
		kinds = append(slices.Clone(kinds), render.RoleOwner)
		for _, kind := range slices.Sorted(maps.Keys(executionServices(c.Kinds))) {
			kinds = append(kinds, render.RoleOwnerOf(kind))
		}
	}
	for _, kind := range kinds {
		values["serviceStack"] = append(values["serviceStack"], stacksOf(c.Operator, kind))
	}
	for _, name := range c.ClusterNames {
		values["clusterStack"] = append(values["clusterStack"], name+"/*", name+"-*")
		values["group"] = append(values["group"], name+"-*")
		values["bucket"] = append(values["bucket"], c.buckets(name)...)
		values["cluster"] = append(values["cluster"], name+"/*")
	}
	for _, name := range c.Buckets {
		values["bucket"] = append(values["bucket"], name, name+"/*")
	}
	if len(c.ClusterNames) == 0 {
		for _, name := range []string{"clusterStack", "group", "bucket", "cluster"} {
			values[name] = all
		}
	}
	return values
}

// buckets returns patterns for the buckets of a cluster and the objects in them.
func (c *Choice) buckets(cluster string) []string {
	if c.Account == "" || c.Region == "" {
		return []string{cluster + "-*"} // A long name is shortened after the cluster's name.
	}
	bucket, issuer := model.BucketName(cluster, c.Account, c.Region), model.IssuerBucketName(cluster, c.Account, c.Region)
	return []string{bucket, bucket + "/*", issuer, issuer + "/*"}
}

// stacksOf returns a pattern for the names of the stacks of a kind.
func stacksOf(operator, kind string) string {
	const rest = "-name-namespace"
	before, _, _ := strings.Cut(render.StackName(operator, kind, "namespace", "name"), rest)
	return before + "-*"
}

// expand returns the texts with each name in braces replaced by its value: several texts for
// several values, and none for none.
func expand(texts []string, values map[string][]string) (expanded []string) {
	for _, text := range texts {
		before, rest, found := strings.Cut(text, "{")
		name, after, _ := strings.Cut(rest, "}")
		if !found {
			expanded = append(expanded, text)
			continue
		}
		for _, value := range values[name] {
			expanded = append(expanded, expand([]string{before + value + after}, values)...)
		}
	}
	return expanded
}

func expandCondition(condition map[string]map[string][]string, values map[string][]string) map[string]map[string][]string {
	if condition == nil {
		return nil
	}
	expanded := map[string]map[string][]string{}
	for operator, keys := range condition {
		expanded[operator] = map[string][]string{}
		for key, texts := range keys {
			expanded[operator][key] = expand(texts, values)
		}
	}
	return expanded
}
