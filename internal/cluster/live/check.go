package live

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/rollout"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
)

// Observation is the state of a cluster: desired and observed.
type Observation struct {
	// Cluster, Groups and Secrets are the definition.
	Cluster *v1alpha1.Cluster
	Groups  []*v1alpha1.InstanceGroup
	Secrets []*corev1.Secret
	// AWS is the state in AWS.
	AWS *Cluster
	// API is what the cluster's API reports; nil if it has no address.
	API *API
	// Resolves is why the API's name cannot be resolved, empty if it can or was not tried.
	Resolves string
	// Now is the time of the observation.
	Now time.Time
}

// Problem is a problem of a cluster.
type Problem struct {
	// Kind and Name identify the object: Cluster, InstanceGroup, Slot, Machine, Node, Pod,
	// LoadBalancer or Certificate.
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Reason is one word, for programs.
	Reason string `json:"reason"`
	// Message describes the problem and what to do.
	Message string `json:"message"`
}

// Reasons of problems.
const (
	ReasonGroupMissing       = "GroupMissing"
	ReasonGroupSize          = "GroupSize"
	ReasonMachinesMissing    = "MachinesMissing"
	ReasonMachineUnhealthy   = "MachineUnhealthy"
	ReasonNodeMissing        = "NodeMissing"
	ReasonNodeNotReady       = "NodeNotReady"
	ReasonNodeWithoutMachine = "NodeWithoutMachine"
	ReasonSlotNotServing     = "SlotNotServing"
	ReasonPodNotReady        = "PodNotReady"
	ReasonNoLoadBalancer     = "NoLoadBalancer"
	ReasonTargetMissing      = "TargetMissing"
	ReasonTargetUnhealthy    = "TargetUnhealthy"
	ReasonNoRecord           = "NoRecord"
	ReasonNameNotResolved    = "NameNotResolved"
	ReasonAPIUnreachable     = "APIUnreachable"
	ReasonCertificateEnds    = "CertificateEnds"
	ReasonCannotJoin         = "NobodyCanJoin"
	ReasonNoControlPlane     = "NoControlPlane"
	ReasonNotActive          = "NotActive"
	ReasonIssue              = "IssueOfEKS"
	ReasonAuditLog           = "AuditLogNotShipped"
)

// Check returns the problems of a cluster, none if it is healthy. It omits consequences of reported
// problems.
func Check(observed *Observation) []Problem {
	checks := []func(*Observation) []Problem{
		groupsThere, groupSizes, machines, loadBalancer, name, apiAnswers, nodes, slots, auditLogs, systemPods, joining, certificates,
	}
	if model.UsesEKS(observed.Cluster) {
		checks = []func(*Observation) []Problem{
			eksControlPlane, groupsThere, groupSizes, nodeGroups, machines, eksAPIAnswers, nodes, systemPods,
		}
	}
	var problems []Problem
	for _, check := range checks {
		problems = append(problems, check(observed)...)
	}
	return problems
}

// scalingGroup is what groups of instances are called in messages.
const scalingGroup = "Auto Scaling group"

// groupsThere finds slots, instance groups and bastions that are missing in AWS.
func groupsThere(l *Observation) []Problem {
	var problems []Problem
	spec := model.SpecOf(l.Cluster)
	missing := func(kind, name, what string) {
		if l.AWS.Group(name) == nil {
			problems = append(
				problems, Problem{kind, name, ReasonGroupMissing, "It has no " + what + " in AWS. Apply the cluster's definition."},
			)
		}
	}
	for slot := range int(spec.ControlPlane.Replicas) {
		missing("Slot", SlotName(slot), scalingGroup)
	}
	for _, group := range l.Groups {
		what := scalingGroup
		if spec.ControlPlane.EKS != nil && !model.IsSelfManaged(&group.Spec) {
			what = "managed node group"
		}
		missing("InstanceGroup", group.Name, what)
	}
	if spec.Bastion != nil {
		missing("InstanceGroup", model.RoleBastion, scalingGroup)
	}
	return problems
}

// groupSizes compares sizes with the definition.
func groupSizes(l *Observation) []Problem {
	var problems []Problem
	for _, wanted := range l.Groups {
		group := l.AWS.Group(wanted.Name)
		if group == nil || group.Min == int(wanted.Spec.MinSize) && group.Max == int(wanted.Spec.MaxSize) {
			continue
		}
		problems = append(problems, Problem{"InstanceGroup", wanted.Name, ReasonGroupSize, fmt.Sprintf(
			"It has %d to %d instances in AWS, but %d to %d in its definition. Apply the definition, or change it.",
			group.Min, group.Max, wanted.Spec.MinSize, wanted.Spec.MaxSize)})
	}
	return problems
}

// kindOf returns the kind of a group for messages.
func kindOf(g *Group) string {
	if g.Role == rollout.RoleControlPlane {
		return "Slot"
	}
	return "InstanceGroup"
}

// machines checks that each group has the desired number of instances, and that Auto Scaling
// considers them healthy.
func machines(l *Observation) []Problem {
	var problems []Problem
	for i := range l.AWS.Groups {
		g := &l.AWS.Groups[i]
		serving := 0
		for _, one := range g.Instances {
			if one.State == "InService" {
				serving++
			}
			if one.State == "InService" && !one.Healthy {
				problems = append(problems, Problem{"Machine", one.ID, ReasonMachineUnhealthy, fmt.Sprintf(
					"Auto Scaling considers this instance of %s unhealthy and will replace it. If this persists, check its status checks.",
					g.Name,
				)})
			}
		}
		if wanted := max(g.Desired, g.Min); serving < wanted {
			problems = append(problems, Problem{kindOf(g), g.Name, ReasonMachinesMissing, fmt.Sprintf(
				"%d of %d instances are in service. If this persists, check the activities of Auto Scaling group %s.",
				serving,
				wanted,
				g.AutoScalingGroup,
			)})
		}
	}
	return problems
}

// loadBalancer checks that the API has a load balancer with a healthy target in each slot.
func loadBalancer(l *Observation) []Problem {
	balancer := l.AWS.LoadBalancer
	if balancer == nil {
		return []Problem{
			{
				"LoadBalancer",
				l.Cluster.Name + "-api",
				ReasonNoLoadBalancer,
				"The API has no load balancer in AWS. Apply the cluster's definition.",
			},
		}
	}
	health := map[string]*TargetHealth{}
	for i := range balancer.Targets {
		health[balancer.Targets[i].Instance] = &balancer.Targets[i]
	}
	var problems []Problem
	for i := range l.AWS.Groups {
		g := &l.AWS.Groups[i]
		if g.Role != rollout.RoleControlPlane {
			continue
		}
		for _, one := range g.Instances {
			switch target := health[one.ID]; {
			case one.State != "InService":
			case target == nil:
				problems = append(problems, Problem{"LoadBalancer", balancer.Name, ReasonTargetMissing, fmt.Sprintf(
					"Instance %s of %s is not among its targets. Apply the cluster's definition.", one.ID, g.Name)})
			case target.State != "healthy":
				problems = append(problems, Problem{"LoadBalancer", balancer.Name, ReasonTargetUnhealthy, fmt.Sprintf(
					"It reports instance %s of %s as %s%s. Check that its API server is ready (/readyz) and that the security groups let the load balancer reach port %d.",
					one.ID,
					g.Name,
					cmp.Or(string(target.State), "unknown"),
					described(target.Description),
					model.PortAPI,
				)})
			}
		}
	}
	return problems
}

func described(text string) string {
	if text == "" {
		return ""
	}
	return " (" + strings.TrimSuffix(text, ".") + ")"
}

// name checks that the API's name resolves to it.
func name(l *Observation) []Problem {
	record := l.AWS.Record
	if record == nil {
		return nil
	}
	balancer := l.AWS.LoadBalancer
	switch {
	case record.Alias == "":
		return []Problem{{"Cluster", l.Cluster.Name, ReasonNoRecord, fmt.Sprintf(
			"Hosted zone %s has no alias record %s for the API's load balancer. Apply the cluster's definition.",
			record.Zone,
			record.Name,
		)}}
	case balancer != nil && !strings.EqualFold(strings.TrimPrefix(record.Alias, "dualstack."), balancer.DNSName):
		return []Problem{{"Cluster", l.Cluster.Name, ReasonNoRecord, fmt.Sprintf(
			"The record %s is an alias of %s, but the API's load balancer is %s. Apply the cluster's definition.",
			record.Name,
			record.Alias,
			balancer.DNSName,
		)}}
	case l.Resolves != "":
		return []Problem{{"Cluster", l.Cluster.Name, ReasonNameNotResolved, fmt.Sprintf(
			"The API's name %s cannot be resolved from here: %s. Check that hosted zone %s is delegated, or, if it is private, run this within its VPC.",
			record.Name,
			strings.TrimSuffix(l.Resolves, "."),
			record.Zone,
		)}}
	default:
		return nil
	}
}

// apiAnswers checks that the API responded.
func apiAnswers(l *Observation) []Problem {
	server := l.AWS.Server()
	switch {
	case server == "" || l.API == nil: // The missing load balancer is reported.
		return nil
	case l.API.Problem != "":
		return []Problem{{"Cluster", l.Cluster.Name, ReasonAPIUnreachable, fmt.Sprintf(
			"The API at %s does not respond: %s. Check that its access list (spec.api.allowedCIDRs) contains your address, and that a slot is healthy.",
			server,
			l.API.Problem,
		)}}
	default:
		return nil
	}
}

// answers reports whether the API was queried successfully.
func (l *Observation) answers() bool { return l.API != nil && l.API.Problem == "" }

// nodes checks that each in-service instance has a Ready node, and each node an instance.
func nodes(l *Observation) []Problem {
	if !l.answers() {
		return nil
	}
	of := map[string]*workload.Node{}
	for i := range l.API.Nodes {
		of[l.API.Nodes[i].InstanceID] = &l.API.Nodes[i]
	}
	var problems []Problem
	there := map[string]bool{}
	for i := range l.AWS.Groups {
		g := &l.AWS.Groups[i]
		for _, one := range g.Instances {
			there[one.ID] = true
			if one.State == "InService" && !g.Bastion() && of[one.ID] == nil {
				problems = append(problems, Problem{"Machine", one.ID, ReasonNodeMissing, fmt.Sprintf(
					"This instance of %s has not joined the cluster. If it was not just launched, find out why with aws-operator diagnose cluster %s.",
					g.Name,
					l.Cluster.Name,
				)})
			}
		}
	}
	for i := range l.API.Nodes {
		node := &l.API.Nodes[i]
		switch {
		case !there[node.InstanceID] && (node.Group != "" || node.Slot != workload.NoSlot):
			problems = append(problems, Problem{"Node", node.Name, ReasonNodeWithoutMachine, fmt.Sprintf(
				"Its instance %s is in no group of the cluster. Delete the Node if the instance is terminated.", node.InstanceID)})
		case !node.Ready:
			problems = append(problems, Problem{"Node", node.Name, ReasonNodeNotReady, fmt.Sprintf(
				"It has not been Ready since %s. Check its conditions (kubectl describe node %s) and the kubelet on instance %s.",
				node.ReadyChanged.UTC().Format(time.RFC3339), node.Name, node.InstanceID)})
		}
	}
	return problems
}

// slots checks the health of each slot's API server and etcd member.
func slots(l *Observation) []Problem {
	if !l.answers() {
		return nil
	}
	var problems []Problem
	for slot := range int(model.SpecOf(l.Cluster).ControlPlane.Replicas) {
		why := l.API.Slots[slot]
		if why == "" || l.AWS.Group(SlotName(slot)) == nil {
			continue
		}
		problems = append(problems, Problem{"Slot", SlotName(slot), ReasonSlotNotServing, fmt.Sprintf(
			"It is unhealthy: %s. Until it is healthy, do not take another slot out of service.", strings.TrimSuffix(why, "."))})
	}
	return problems
}

// auditLogs reports slots that say in a condition of their Nodes that they do not ship the audit log.
func auditLogs(l *Observation) []Problem {
	if audit := l.Cluster.Spec.API.Audit; !l.answers() || audit == nil || audit.Ship == nil {
		return nil
	}
	var problems []Problem
	for i := range l.API.Nodes {
		node := &l.API.Nodes[i]
		if node.Slot == workload.NoSlot || node.AuditLog == nil || node.AuditLog.Status == corev1.ConditionTrue {
			continue
		}
		problems = append(problems, Problem{"Slot", SlotName(node.Slot), ReasonAuditLog, fmt.Sprintf(
			"It reports: %s See journalctl -u nodeup-audit on it.", node.AuditLog.Message)})
	}
	return problems
}

// systemPods checks the system pods. Those on nodes that are not Ready are reported with the node.
func systemPods(l *Observation) []Problem {
	if !l.answers() {
		return nil
	}
	sick := map[string]bool{}
	for i := range l.API.Nodes {
		sick[l.API.Nodes[i].Name] = !l.API.Nodes[i].Ready
	}
	var problems []Problem
	for i := range l.API.Pods {
		pod := &l.API.Pods[i]
		if sick[pod.Spec.NodeName] {
			continue
		}
		problems = append(problems, Problem{"Pod", pod.Namespace + "/" + pod.Name, ReasonPodNotReady, fmt.Sprintf(
			"It is not Ready%s. See kubectl -n %s describe pod %s.", podState(pod), pod.Namespace, pod.Name)})
	}
	return problems
}

// podState returns what a pod waits for, as far as it reports that.
func podState(pod *corev1.Pod) string {
	for i := range pod.Status.ContainerStatuses {
		if c := &pod.Status.ContainerStatuses[i]; c.State.Waiting != nil && c.State.Waiting.Reason != "" {
			return fmt.Sprintf(": container %s is waiting with %s", c.Name, c.State.Waiting.Reason)
		}
	}
	if pod.Spec.NodeName == "" {
		return ": it is not scheduled"
	}
	return ""
}

// joining checks that new instances can join. A cluster without instance groups needs no token.
func joining(l *Observation) []Problem {
	if !l.answers() || len(l.Groups) == 0 || l.Now.Before(l.API.TokenUntil) {
		return nil
	}
	since := ""
	if !l.API.TokenUntil.IsZero() {
		since = " since " + l.API.TokenUntil.UTC().Format(time.RFC3339)
	}
	return []Problem{{"Cluster", l.Cluster.Name, ReasonCannotJoin, fmt.Sprintf(
		"New instances of instance groups cannot join: there has been no valid bootstrap token%s. Apply the cluster's definition, which creates one.",
		since,
	)}}
}
