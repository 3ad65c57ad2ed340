package workload

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Whoever holds the credentials of a kubelet writes the labels and, once, the provider ID of its Node:
// https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#noderestriction
// So EC2 decides which instance a Node is of, and the instance's Auto Scaling group which group or slot that instance is of.

// Identity is what EC2 says of an instance that a Node claims to run on.
type Identity struct {
	// PrivateDNSName is the name that EC2 gives the instance, which is the name of its Node; Address is its primary private address.
	PrivateDNSName, Address string
	// Group is the instance group that its Auto Scaling group is of, empty for slots; Slot is NoSlot for the others.
	Group string
	Slot  int
	// Problem is why the instance is not one of the cluster's, as the end of a sentence; empty if it is one.
	Problem string
}

// Identify asks EC2 for instances of a cluster. An instance that EC2 does not know is missing in the answer. It returns an error if EC2
// cannot be asked.
type Identify func(ctx context.Context, key types.NamespacedName, instanceIDs []string) (map[string]Identity, error)

const (
	// identifyTimeout bounds one question for instances.
	identifyTimeout = 20 * time.Second
	// identifyAgain is after what time EC2 is asked again for an instance that was not one of the cluster's.
	identifyAgain = 5 * time.Minute
)

// identified is an answer of EC2.
type identified struct {
	Identity

	at time.Time
}

// IdentifyWith has every Node checked against the instance that it claims to run on. Without it Nodes are taken at their word, which is
// good enough only for those that show them. Call it before the first cluster is connected.
func (c *Clusters) IdentifyWith(identify Identify) { c.identify = identify }

// unconfirmed returns what a Node says of itself that EC2 does not confirm.
func (n *Node) unconfirmed(identity *Identity) string {
	switch {
	case n.labels().group != "" && n.labels().group != identity.Group:
		return fmt.Sprintf("it is labelled as of instance group %s, and its instance %s is of %s", n.labels().group, n.Claimed, identity.of())
	case n.labels().slot != NoSlot && n.labels().slot != identity.Slot:
		return fmt.Sprintf("it is labelled as of control-plane slot %d, and its instance %s is of %s", n.labels().slot, n.Claimed, identity.of())
	default:
		return ""
	}
}

func (i *Identity) of() string {
	if i.Slot != NoSlot {
		return fmt.Sprintf("control-plane slot %d", i.Slot)
	}
	return "instance group " + i.Group
}

// refusal returns why a Node cannot be the one of the instance that it claims, "" if it can.
//
// The name's first label is that of the address, or the instance's ID; what follows may be the domain of the VPC's DHCP options, of which
// EC2's API does not say anything.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-instance-naming.html
func (n *Node) refusal(identity *Identity) string {
	first := func(name string) string {
		label, _, _ := strings.Cut(name, ".")
		return label
	}
	switch {
	case identity.Problem != "":
		return fmt.Sprintf("it claims instance %s, which %s", n.Claimed, identity.Problem)
	case first(n.Name) != first(identity.PrivateDNSName):
		return fmt.Sprintf("it claims instance %s, whose name is %s", n.Claimed, identity.PrivateDNSName)
	case len(n.addresses) > 0 && !slices.Contains(n.addresses, identity.Address):
		return fmt.Sprintf("it claims instance %s, whose address is %s, and reports %s", n.Claimed, identity.Address, strings.Join(n.addresses, ", "))
	default:
		return ""
	}
}

// judge decides which of the Nodes that claim an instance is its Node, and returns those of which the decision changed. An instance that
// is not known is put among those to ask for. The lock is held.
func (c *Cluster) judge(instance string) []Node {
	if c.owner.identify == nil || instance == "" {
		return nil
	}
	var claimants []Node
	for name := range c.nodes {
		if node := c.nodes[name]; node.Claimed == instance {
			claimants = append(claimants, node)
		}
	}
	return c.judgeClaimants(instance, claimants)
}

// judgeAll judges the claimants of every instance. The lock is held.
func (c *Cluster) judgeAll() {
	c.forgetInstances()
	if c.owner.identify == nil {
		return
	}
	claimants := map[string][]Node{}
	for _, node := range c.nodes {
		if node.Claimed != "" {
			claimants[node.Claimed] = append(claimants[node.Claimed], node)
		}
	}
	for instance, of := range claimants {
		c.judgeClaimants(instance, of)
	}
}

func (c *Cluster) judgeClaimants(instance string, claimants []Node) []Node {
	known, ok := c.instances[instance]
	if len(claimants) > 0 && (!ok || known.Problem != "" && c.owner.options.Clock.Since(known.at) >= identifyAgain) {
		c.unidentified[instance] = struct{}{}
	}
	slices.SortFunc(claimants, func(a, b Node) int {
		exact := func(n *Node) int {
			if n.Name == known.PrivateDNSName {
				return 0
			}
			return 1
		}
		return cmp.Or(cmp.Compare(exact(&a), exact(&b)), a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name))
	})
	var changed []Node
	holder := ""
	for _, node := range claimants {
		node.InstanceID, node.Group, node.Slot, node.Problem = "", "", NoSlot, ""
		switch {
		case !ok:
		case holder != "":
			node.Problem = fmt.Sprintf("it claims instance %s, which is that of Node %s", instance, holder)
		default:
			if node.Problem = node.refusal(&known.Identity); node.Problem == "" {
				holder = node.Name
				node.InstanceID, node.Group, node.Slot = instance, known.Group, known.Slot
				node.Problem = node.unconfirmed(&known.Identity)
			}
		}
		was := c.nodes[node.Name]
		if was.InstanceID != node.InstanceID || was.Group != node.Group || was.Slot != node.Slot || was.Problem != node.Problem {
			changed = append(changed, node)
		}
		c.nodes[node.Name] = node
	}
	c.sorted = nil
	return changed
}

// isPending reports whether EC2 has not said yet what a Node's instance is. The lock is held.
func (c *Cluster) isPending(node *Node) bool {
	_, known := c.instances[node.Claimed]
	return c.owner.identify != nil && node.Claimed != "" && !known
}

// startIdentifying asks for the instances that are not known, unless that is under way.
func (c *Cluster) startIdentifying() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asking || len(c.unidentified) == 0 || c.running == nil || c.running.Err() != nil {
		return
	}
	c.asking = true
	ctx := c.running
	c.asks.Go(func() { c.identifyAll(ctx) })
}

// identifyAll asks until every instance is known or the context ends.
func (c *Cluster) identifyAll(ctx context.Context) {
	delay := firstRetry
	for {
		err := c.identifyOnce(ctx)
		c.mu.Lock()
		if c.asking = ctx.Err() == nil && len(c.unidentified) > 0; !c.asking {
			c.mu.Unlock()
			return
		}
		c.mu.Unlock()
		if err == nil {
			delay = firstRetry
			continue
		}
		c.owner.options.Logger.Info("The instances of a cluster's nodes cannot be looked up; trying again", "cluster", c.key.String(), "error", err.Error())
		c.pause(ctx, delay)
		delay = min(2*delay, longestRetry)
	}
}

// identifyOnce asks for the instances that are not known.
func (c *Cluster) identifyOnce(ctx context.Context) error {
	c.mu.RLock()
	ids := slices.Sorted(maps.Keys(c.unidentified))
	c.mu.RUnlock()
	if len(ids) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, identifyTimeout)
	defer cancel()
	found, err := c.owner.identify(ctx, c.key, ids)
	if err != nil {
		return err
	}
	now := c.owner.options.Clock.Now()
	var changed []Node
	c.mu.Lock()
	for _, id := range ids {
		identity, ok := found[id]
		if !ok {
			identity = Identity{Slot: NoSlot, Problem: "EC2 does not have"}
		}
		c.instances[id] = identified{identity, now}
		delete(c.unidentified, id)
		changed = append(changed, c.judge(id)...)
	}
	c.mu.Unlock()
	for i := range changed {
		c.tell(&changed[i])
	}
	return nil
}

// forgetInstances drops what is known of instances that no Node claims. The lock is held.
func (c *Cluster) forgetInstances() {
	claimed := map[string]bool{}
	for _, node := range c.nodes {
		claimed[node.Claimed] = true
	}
	maps.DeleteFunc(c.instances, func(id string, _ identified) bool { return !claimed[id] })
	maps.DeleteFunc(c.unidentified, func(id string, _ struct{}) bool { return !claimed[id] })
}
