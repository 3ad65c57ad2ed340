package fake

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/aws-operator/aws-operator/internal/kubeapi"
)

// Behaviour is how the machines of an image are; the zero value is as they should be.
type Behaviour struct {
	// BootTime is how long they take on top of [Options].
	BootTime time.Duration
	// NeverJoins says that they run and do nothing.
	NeverJoins bool
	// NotReady says that they join, and that their Nodes are not Ready.
	NotReady bool
}

// SetImage says how machines are that boot from an image from now on.
func (h *Host) SetImage(imageID string, b Behaviour) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.images[imageID] = b
}

func (h *Host) behaviour(imageID string) Behaviour {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.images[imageID]
}

// SetKubelet makes a machine's kubelet die, or come back: its Node is then not Ready, or Ready. That the Node is not
// Ready is seen at once, where the node controller takes 50 seconds. It errs when no such machine runs.
func (h *Host) SetKubelet(instanceID string, works bool) error {
	m, err := h.machine(instanceID)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.silent = !works
	if m.joined == nil {
		return nil
	}
	if works {
		err = m.joined.api.SetNodeReady(m.node, corev1.ConditionTrue, "KubeletReady", "This machine is played.")
	} else {
		err = m.joined.api.SetNodeReady(m.node, corev1.ConditionUnknown, "NodeStatusUnknown", "Kubelet stopped posting node status.")
	}
	if apierrors.IsNotFound(err) {
		return nil // Somebody deleted the Node.
	}
	return err //nolint:wrapcheck // says what it is about
}

// SetMember makes the etcd member of a slot's machine fail, or work again. Its API server does not serve meanwhile, and
// it does not count for the majority. It errs when no such machine serves a slot.
func (h *Host) SetMember(instanceID string, works bool) error {
	m, err := h.machine(instanceID)
	if err != nil {
		return err
	}
	c := m.serves()
	if c == nil {
		return fmt.Errorf("the machine of %s serves no slot", instanceID)
	}
	c.change(instanceID, func(slot int, at member) {
		at.broken = !works
		c.slots[slot] = at
	})
	return nil
}

// API returns the API of the cluster that a bucket is of, without the load balancers in between; false until its first
// slot has come up.
func (h *Host) API(bucket string) (*kubeapi.Server, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c, ok := h.clusters[bucket]
	if !ok {
		return nil, false
	}
	return c.api, true
}

func (h *Host) machine(instanceID string) (*played, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if m := h.machines[instanceID]; m != nil {
		return m, nil
	}
	return nil, fmt.Errorf("no machine of %s runs", instanceID)
}
