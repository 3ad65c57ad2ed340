package fake

import (
	"errors"
	"net"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
	"github.com/aws-operator/aws-operator/internal/kubeapi"
)

// hasQuorum reports whether a majority of the members works.
func (c *cluster) hasQuorum() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.quorate()
}

// quorate is hasQuorum for callers that hold the lock.
func (c *cluster) quorate() bool {
	work := 0
	for slot, m := range c.slots {
		if !m.broken && c.members[slot] {
			work++
		}
	}
	return 2*work > len(c.members)
}

// up adds the member of a slot that is up. A slot that etcd does not know joins it, if a quorum of the
// others works.
func (c *cluster) up(slot int, instanceID, node string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.members[slot] {
		if !c.quorate() {
			return errors.New("no other member of etcd is in a quorum")
		}
		c.members[slot] = true
	}
	c.slots[slot] = member{instance: instanceID, node: node}
	return nil
}

// leave removes the member of an instance when all others work, as nodeup does, and says so in the cluster. It
// ends if the cluster does, or if the instance serves no slot any more.
func (c *cluster) leave(instanceID string, clk clock.Clock) {
	for {
		c.mu.Lock()
		slot, m, up := -1, member{}, false
		for number, one := range c.slots {
			if one.instance == instanceID {
				slot, m, up = number, one, true
			}
		}
		well := up
		for other := range c.members {
			at, works := c.slots[other]
			well = well && (other == slot || works && !at.broken)
		}
		c.mu.Unlock()
		if !up {
			return
		}
		if well {
			c.change(m.instance, func(slot int, _ member) { delete(c.members, slot) })
			_ = c.api.Put(&corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: bundle.LeaveConfigMap},
				Data:       map[string]string{bundle.LeaveInstance: m.instance, bundle.LeftInstance: m.instance},
			})
			return
		}
		select {
		case <-c.ended:
			return
		case <-clk.After(leaveAgain):
		}
	}
}

// leaveAgain is how often a slot that is to leave etcd checks whether the others work.
const leaveAgain = 5 * time.Second

// observe has slots leave etcd when the cluster's operator asks for that.
func (c *cluster) observe(clk clock.Clock) func(kubeapi.Event) {
	return func(e kubeapi.Event) {
		if e.Kind != "ConfigMap" || e.Type == watch.Deleted || e.Object.GetName() != bundle.LeaveConfigMap ||
			e.Object.GetNamespace() != metav1.NamespaceSystem {
			return
		}
		data, _, _ := unstructured.NestedStringMap(e.Object.Object, "data") // What has another form asks for nothing.
		if asked := data[bundle.LeaveInstance]; asked != "" && data[bundle.LeftInstance] != asked {
			go c.leave(asked, clk)
		}
	}
}

func (c *cluster) down(instanceID string) {
	c.change(instanceID, func(slot int, _ member) { delete(c.slots, slot) })
}

// change changes the slot of a machine, and closes the connections that the change breaks.
func (c *cluster) change(instanceID string, do func(slot int, m member)) {
	c.mu.Lock()
	for slot, m := range c.slots {
		if m.instance == instanceID {
			do(slot, m)
		}
	}
	var cut []*connection
	for open := range c.connections {
		if !c.serves(open.instance) {
			cut = append(cut, open)
		}
	}
	c.mu.Unlock()
	for _, open := range cut {
		_ = open.Close()
	}
}

// serves reports whether a machine's API server answers. It depends on its own member alone, which
// needs a majority. The caller holds the lock.
func (c *cluster) serves(instanceID string) bool {
	for slot, m := range c.slots {
		if m.instance == instanceID {
			return c.works(slot, m)
		}
	}
	return false
}

// works reports whether the API server of a slot answers. The caller holds the lock.
func (c *cluster) works(slot int, m member) bool { return !m.broken && c.members[slot] && c.quorate() }

// connection is a connection to the API through a machine.
type connection struct {
	net.Conn

	cluster  *cluster
	instance string
}

// Close ends the connection.
func (o *connection) Close() error {
	o.cluster.mu.Lock()
	delete(o.cluster.connections, o)
	o.cluster.mu.Unlock()
	return o.Conn.Close() //nolint:wrapcheck // the connection's own error
}

// dial connects to the API through a machine, unless the machine does not serve it.
func (c *cluster) dial(instanceID string) (net.Conn, bool) {
	here, there := net.Pipe()
	open := &connection{there, c, instanceID}
	c.mu.Lock()
	ok := c.serves(instanceID)
	if ok {
		c.connections[open] = struct{}{}
	}
	c.mu.Unlock()
	if !ok || !c.listener.offer(open) {
		_ = open.Close()
		return nil, false
	}
	return here, true
}
