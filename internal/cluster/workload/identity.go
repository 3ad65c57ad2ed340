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

// A client with the credentials of a kubelet can write the labels and, once, the provider ID of its
// Node:
// https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#noderestriction.
// So EC2 determines a Node's instance, and the instance's Auto Scaling group determines its
// instance group or slot.

// Identity is what EC2 reports about an instance that a Node claims to run on.
type Identity struct {
	// PrivateDNSName is EC2's name of the instance, which is the name of its Node; Address is its
	// primary private address.
	PrivateDNSName, Address string
	// Group is the instance group of its Auto Scaling group, empty for slots; Slot is NoSlot for
	// the others.
	Group string
	Slot  int
	// NodePool is the NodePool of an instance that the cluster's Karpenter launched. It is in no group.
	NodePool string
	// Problem is why the instance does not belong to the cluster, as the end of a sentence; empty
	// if it does.
	Problem string
}

// Identify looks up instances of a cluster in EC2. The result lacks unknown instances. It returns
// an error if the lookup failed.
type Identify func(ctx context.Context, key types.NamespacedName, instanceIDs []string) (map[string]Identity, error)

const (
	// identifyTimeout bounds a lookup of instances.
	identifyTimeout = 20 * time.Second
	// identifyAgain is the delay before EC2 is asked again about an instance that did not belong to
	// the cluster.
	identifyAgain = 5 * time.Minute
	// settling is how long after a Node was created EC2 may not know its instance, or not the
	// instance's tags:
	// https://docs.aws.amazon.com/ec2/latest/devguide/eventual-consistency.html
	settling = 2 * time.Minute
	// longestUnsettled bounds the growing delay between lookups of such instances.
	longestUnsettled = 5 * time.Second
)

// identified is a result of a lookup.
type identified struct {
	Identity

	at time.Time
}

// IdentifyWith enables the check of every Node against the instance that it claims to run on.
// Without it, Nodes are trusted, which is only acceptable for display. Call it before the first
// cluster is connected.
func (c *Clusters) IdentifyWith(identify Identify) { c.identify = identify }

// unconfirmed returns the Node's claim that EC2 does not confirm.
func (n *Node) unconfirmed(identity *Identity) string {
	switch {
	case identity.NodePool != "" && n.labels().slot == NoSlot: // it has the labels of the group whose bundle it boots
		return ""
	case n.labels().group != "" && n.labels().group != identity.Group:
		return fmt.Sprintf(
			"it is labelled as of instance group %s, and its instance %s is of %s", n.labels().group, n.Claimed, identity.of(),
		)
	case n.labels().slot != NoSlot && n.labels().slot != identity.Slot:
		return fmt.Sprintf(
			"it is labelled as of control-plane slot %d, and its instance %s is of %s", n.labels().slot, n.Claimed, identity.of(),
		)
	default:
		return ""
	}
}

func (i *Identity) of() string {
	if i.Slot != NoSlot {
		return fmt.Sprintf("control-plane slot %d", i.Slot)
	}
	if i.NodePool != "" {
		return "Karpenter's NodePool " + i.NodePool
	}
	return "instance group " + i.Group
}

// refusal returns why a Node cannot belong to the instance that it claims, "" if it can.
//
// The name's first label is that of the address, or the instance's ID; the rest may be the domain
// of the VPC's DHCP options, which EC2's API does not include.
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
		return fmt.Sprintf(
			"it claims instance %s, whose address is %s, and reports %s", n.Claimed, identity.Address, strings.Join(n.addresses, ", "),
		)
	default:
		return ""
	}
}

// identifies reports whether EC2 decides which instance group or slot the Nodes that claim an instance are of. In
// clusters of EKS, other Nodes than those of instance groups run on instances that the operator does not know, for
// example those of EKS Auto Mode. They are in no group.
func (c *Cluster) identifies(claimants []Node) bool {
	isLabelled := func(n Node) bool { return n.labels().group != "" }
	return c.owner.identify != nil && (!c.eks || slices.ContainsFunc(claimants, isLabelled))
}

// judge decides which of the Nodes that claim an instance is its Node, and returns the affected
// Nodes. It queues an unknown instance for a lookup. The caller holds the lock.
func (c *Cluster) judge(instance string) []Node {
	if instance == "" {
		return nil
	}
	var claimants []Node
	for name := range c.nodes {
		if node := c.nodes[name]; node.Claimed == instance {
			claimants = append(claimants, node)
		}
	}
	if !c.identifies(claimants) {
		return nil
	}
	return c.judgeClaimants(instance, claimants)
}

// judgeAll judges the claimants of every instance. The caller holds the lock.
func (c *Cluster) judgeAll() {
	c.forgetInstances()
	claimants := map[string][]Node{}
	for _, node := range c.nodes {
		if node.Claimed != "" {
			claimants[node.Claimed] = append(claimants[node.Claimed], node)
		}
	}
	for instance, of := range claimants {
		if c.identifies(of) {
			c.judgeClaimants(instance, of)
		}
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

// isPending reports whether the lookup of a Node's instance is outstanding. The caller holds the
// lock.
func (c *Cluster) isPending(node *Node) bool {
	_, known := c.instances[node.Claimed]
	return node.Claimed != "" && !known && c.identifies([]Node{*node})
}

// startIdentifying looks up the unknown instances, unless a lookup is in progress.
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

// identifyAll retries until every instance is known or the context ends.
func (c *Cluster) identifyAll(ctx context.Context) {
	delay := firstRetry
	for {
		settled, err := c.identifyOnce(ctx)
		c.mu.Lock()
		if c.asking = ctx.Err() == nil && len(c.unidentified) > 0; !c.asking {
			c.mu.Unlock()
			return
		}
		c.mu.Unlock()
		longest := longestUnsettled
		switch {
		case err != nil:
			longest = longestRetry
			c.owner.options.Logger.Info(
				"The instances of a cluster's nodes cannot be looked up; retrying", "cluster", c.key.String(), "error", err.Error(),
			)
		case settled:
			delay = firstRetry
			continue
		}
		c.pause(ctx, delay)
		delay = min(2*delay, longest)
	}
}

// identifyOnce looks up the unknown instances. It reports false if EC2 may answer differently soon
// about some: these stay unknown.
func (c *Cluster) identifyOnce(ctx context.Context) (settled bool, err error) {
	c.mu.RLock()
	ids := slices.Sorted(maps.Keys(c.unidentified))
	c.mu.RUnlock()
	if len(ids) == 0 {
		return true, nil
	}
	ctx, cancel := context.WithTimeout(ctx, identifyTimeout)
	defer cancel()
	found, err := c.owner.identify(ctx, c.key, ids)
	if err != nil {
		return false, err
	}
	now := c.owner.options.Clock.Now()
	var changed []Node
	settled = true
	c.mu.Lock()
	for _, id := range ids {
		identity, ok := found[id]
		if !ok {
			identity = Identity{Slot: NoSlot, Problem: "EC2 does not know"}
		}
		if identity.Problem != "" && c.isClaimedBySettling(id) {
			settled = false
			continue
		}
		c.instances[id] = identified{identity, now}
		delete(c.unidentified, id)
		changed = append(changed, c.judge(id)...)
	}
	c.mu.Unlock()
	for i := range changed {
		c.tell(&changed[i])
	}
	return settled, nil
}

// isClaimedBySettling reports whether a Node that claims an instance is new. The caller holds the
// lock.
func (c *Cluster) isClaimedBySettling(instance string) bool {
	for _, node := range c.nodes {
		if node.Claimed == instance && c.owner.options.Clock.Since(node.Created) < settling {
			return true
		}
	}
	return false
}

// forgetInstances drops instances that no Node claims. The caller holds the lock.
func (c *Cluster) forgetInstances() {
	claimed := map[string]bool{}
	for _, node := range c.nodes {
		claimed[node.Claimed] = true
	}
	maps.DeleteFunc(c.instances, func(id string, _ identified) bool { return !claimed[id] })
	maps.DeleteFunc(c.unidentified, func(id string, _ struct{}) bool { return !claimed[id] })
}
