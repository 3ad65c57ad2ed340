package fake

import (
	"net"
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
	for _, m := range c.slots {
		if !m.broken {
			work++
		}
	}
	return 2*work > c.members
}

func (c *cluster) up(slot int, instanceID, node string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.slots[slot] = member{instance: instanceID, node: node}
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
	for _, m := range c.slots {
		if m.instance == instanceID {
			return !m.broken && c.quorate()
		}
	}
	return false
}

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
