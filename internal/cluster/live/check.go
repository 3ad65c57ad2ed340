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

// Look is all that is known of a cluster: what it is to be, and what it is.
type Look struct {
	// Cluster, Groups and Secrets are what was asked for.
	Cluster *v1alpha1.Cluster
	Groups  []*v1alpha1.InstanceGroup
	Secrets []*corev1.Secret
	// AWS is what is in AWS.
	AWS *Cluster
	// API is what the cluster's API says; nil if it has no address to ask at.
	API *API
	// Resolves says why the API's name cannot be resolved, empty if it can or nobody tried.
	Resolves string
	// Now is when it was looked.
	Now time.Time
}

// Problem is something that is wrong with a cluster.
type Problem struct {
	// Kind and Name say with what: Cluster, InstanceGroup, Slot, Machine, Node, Pod, LoadBalancer or Certificate.
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Reason is one word, for machines.
	Reason string `json:"reason"`
	// Message says in a sentence what is wrong, and in another what to do.
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
	ReasonNobodyCanJoin      = "NobodyCanJoin"
)

// Check returns what is wrong with a cluster, nothing if it is as it should be. What follows from something else that is told is left
// out.
func Check(look *Look) []Problem {
	var problems []Problem
	for _, check := range []func(*Look) []Problem{
		groupsThere, groupSizes, machines, loadBalancer, name, apiAnswers, nodes, slots, systemPods, joining, certificates,
	} {
		problems = append(problems, check(look)...)
	}
	return problems
}

// groupsThere finds slots, instance groups and bastions of which nothing is in AWS.
func groupsThere(l *Look) []Problem {
	var problems []Problem
	missing := func(kind, name string) {
		if l.AWS.Group(name) == nil {
			problems = append(problems, Problem{kind, name, ReasonGroupMissing, "It has no Auto Scaling group in AWS. Apply the cluster's definition."})
		}
	}
	spec := model.SpecOf(l.Cluster)
	for slot := range int(spec.ControlPlane.Replicas) {
		missing("Slot", SlotName(slot))
	}
	for _, group := range l.Groups {
		missing("InstanceGroup", group.Name)
	}
	if spec.Bastion != nil {
		missing("InstanceGroup", model.RoleBastion)
	}
	return problems
}

// groupSizes compares sizes with those that were asked for.
func groupSizes(l *Look) []Problem {
	var problems []Problem
	for _, wanted := range l.Groups {
		group := l.AWS.Group(wanted.Name)
		if group == nil || group.Min == int(wanted.Spec.MinSize) && group.Max == int(wanted.Spec.MaxSize) {
			continue
		}
		problems = append(problems, Problem{"InstanceGroup", wanted.Name, ReasonGroupSize, fmt.Sprintf(
			"In AWS it has %d to %d machines, and its definition says %d to %d. Apply the definition, or change it to what is there.",
			group.Min, group.Max, wanted.Spec.MinSize, wanted.Spec.MaxSize)})
	}
	return problems
}

// kindOf is what people call a group of this kind.
func kindOf(g *Group) string {
	if g.Role == rollout.RoleControlPlane {
		return "Slot"
	}
	return "InstanceGroup"
}

// machines looks whether each group has the machines that it asks for, and AWS holds them for healthy.
func machines(l *Look) []Problem {
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
					"Auto Scaling holds this machine of %s for unhealthy and will replace it. Look at its status checks if that goes on.", g.Name)})
			}
		}
		if wanted := max(g.Desired, g.Min); serving < wanted {
			problems = append(problems, Problem{kindOf(g), g.Name, ReasonMachinesMissing, fmt.Sprintf(
				"%d of %d machines are in service. If that lasts, the activities of Auto Scaling group %s say why.", serving, wanted, g.AutoScalingGroup)})
		}
	}
	return problems
}

// loadBalancer looks whether the API has a load balancer, and it a healthy target in each slot.
func loadBalancer(l *Look) []Problem {
	balancer := l.AWS.LoadBalancer
	if balancer == nil {
		return []Problem{{"LoadBalancer", l.Cluster.Name + "-api", ReasonNoLoadBalancer, "The API has no load balancer in AWS. Apply the cluster's definition."}}
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
					"Machine %s of %s is not among its targets. Apply the cluster's definition.", one.ID, g.Name)})
			case target.State != "healthy":
				problems = append(problems, Problem{"LoadBalancer", balancer.Name, ReasonTargetUnhealthy, fmt.Sprintf(
					"It holds machine %s of %s for %s%s. Look whether the API server on it is ready (/readyz) and the security groups let the load balancer reach port %d.",
					one.ID, g.Name, cmp.Or(string(target.State), "unknown"), described(target.Description), model.PortAPI)})
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

// name looks whether the API is found by its name.
func name(l *Look) []Problem {
	record := l.AWS.Record
	if record == nil {
		return nil
	}
	balancer := l.AWS.LoadBalancer
	switch {
	case record.Alias == "":
		return []Problem{{"Cluster", l.Cluster.Name, ReasonNoRecord, fmt.Sprintf(
			"Hosted zone %s has no record %s that stands for the API's load balancer. Apply the cluster's definition.", record.Zone, record.Name)}}
	case balancer != nil && !strings.EqualFold(strings.TrimPrefix(record.Alias, "dualstack."), balancer.DNSName):
		return []Problem{{"Cluster", l.Cluster.Name, ReasonNoRecord, fmt.Sprintf(
			"The record %s stands for %s, and the API's load balancer is %s. Apply the cluster's definition.", record.Name, record.Alias, balancer.DNSName)}}
	case l.Resolves != "":
		return []Problem{{"Cluster", l.Cluster.Name, ReasonNameNotResolved, fmt.Sprintf(
			"The API's name %s cannot be resolved from here: %s. Look whether hosted zone %s is delegated to, or, where it is private, run this within its VPC.",
			record.Name, strings.TrimSuffix(l.Resolves, "."), record.Zone)}}
	default:
		return nil
	}
}

// apiAnswers looks whether the API could be asked.
func apiAnswers(l *Look) []Problem {
	server := l.AWS.Server()
	switch {
	case server == "" || l.API == nil: // That there is no load balancer is told.
		return nil
	case l.API.Problem != "":
		return []Problem{{"Cluster", l.Cluster.Name, ReasonAPIUnreachable, fmt.Sprintf(
			"The API at %s does not answer: %s. Look whether its access list (spec.api.allowedCIDRs) has your address, and whether a slot serves.", server, l.API.Problem)}}
	default:
		return nil
	}
}

// answers reports whether the API was asked and told everything.
func (l *Look) answers() bool { return l.API != nil && l.API.Problem == "" }

// nodes looks whether each machine in service is a Ready node, and each node has its machine.
func nodes(l *Look) []Problem {
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
					"This machine of %s has not joined the cluster. If it was not just made, its console output and the journal of nodeup and kubelet say why.", g.Name)})
			}
		}
	}
	for i := range l.API.Nodes {
		node := &l.API.Nodes[i]
		switch {
		case !there[node.InstanceID] && (node.Group != "" || node.Slot != workload.NoSlot):
			problems = append(problems, Problem{"Node", node.Name, ReasonNodeWithoutMachine, fmt.Sprintf(
				"It is of machine %s, which no group of the cluster has. Delete the Node if the machine is gone.", node.InstanceID)})
		case !node.Ready:
			problems = append(problems, Problem{"Node", node.Name, ReasonNodeNotReady, fmt.Sprintf(
				"It has not been Ready since %s. Look at its conditions (kubectl describe node %s) and at the kubelet on machine %s.",
				node.ReadyChanged.UTC().Format(time.RFC3339), node.Name, node.InstanceID)})
		}
	}
	return problems
}

// slots looks whether each API server and member of etcd serves.
func slots(l *Look) []Problem {
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
			"It does not serve: %s. While it does not, no other slot should go.", strings.TrimSuffix(why, "."))})
	}
	return problems
}

// systemPods looks at the pods that the cluster cannot do without. Those on nodes that are not Ready are told with the node.
func systemPods(l *Look) []Problem {
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

// podState says what a pod waits for, as far as it says so itself.
func podState(pod *corev1.Pod) string {
	for i := range pod.Status.ContainerStatuses {
		if c := &pod.Status.ContainerStatuses[i]; c.State.Waiting != nil && c.State.Waiting.Reason != "" {
			return fmt.Sprintf(": container %s waits with %s", c.Name, c.State.Waiting.Reason)
		}
	}
	if pod.Spec.NodeName == "" {
		return ": no node takes it"
	}
	return ""
}

// joining looks whether new machines can join. A cluster without instance groups needs no token.
func joining(l *Look) []Problem {
	if !l.answers() || len(l.Groups) == 0 || l.Now.Before(l.API.TokenUntil) {
		return nil
	}
	since := ""
	if !l.API.TokenUntil.IsZero() {
		since = " since " + l.API.TokenUntil.UTC().Format(time.RFC3339)
	}
	return []Problem{{"Cluster", l.Cluster.Name, ReasonNobodyCanJoin, fmt.Sprintf(
		"New machines of instance groups cannot join: no bootstrap token holds%s. Apply the cluster's definition, which makes one.", since)}}
}
