package fake

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/aws-operator/aws-operator/internal/kubeapi"
)

// Behaviour describes how the machines of an image behave. The zero value is normal behavior.
type Behaviour struct {
	// BootTime is added to the boot time in [Options].
	BootTime time.Duration
	// NeverJoins says that they run but never join.
	NeverJoins bool
	// Console is what they write to their console when they boot. Machines that join, or try to,
	// then write lines like those of nodeup.
	Console string
	// NotReady says that they join but their Nodes are not Ready.
	NotReady bool
}

// SetImage sets the behavior of machines that boot from an image after this call.
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

// SetKubelet stops or restarts a machine's kubelet: its Node becomes not Ready or Ready. It does so
// at once, where the node controller takes 50 seconds. It returns an error if the machine does not
// run.
func (h *Host) SetKubelet(instanceID string, works bool) error {
	m, err := h.machine(instanceID)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.silent = !works
	if m.api == nil {
		return nil
	}
	if works {
		err = m.api.SetNodeReady(m.node, corev1.ConditionTrue, "KubeletReady", "This machine is simulated.")
	} else {
		err = m.api.SetNodeReady(m.node, corev1.ConditionUnknown, "NodeStatusUnknown", "Kubelet stopped posting node status.")
	}
	if apierrors.IsNotFound(err) {
		return nil // the Node was deleted
	}
	return err //nolint:wrapcheck // has enough context
}

// SetMember makes the etcd member of a slot's machine fail or work. While it fails, its API server
// does not serve, and it does not count for the majority. It returns an error if the machine does
// not serve a slot.
func (h *Host) SetMember(instanceID string, works bool) error {
	m, err := h.machine(instanceID)
	if err != nil {
		return err
	}
	c := m.serves()
	if c == nil {
		return fmt.Errorf("the machine of %s does not serve a slot", instanceID)
	}
	c.change(instanceID, func(slot int, at member) {
		at.broken = !works
		c.slots[slot] = at
	})
	return nil
}

// API returns the API of a bucket's cluster, bypassing load balancers. It returns false until the
// cluster's first slot has joined.
func (h *Host) API(bucket string) (*kubeapi.Server, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c, ok := h.clusters[bucket]
	if !ok {
		return nil, false
	}
	return c.api, true
}

func (h *Host) machine(instanceID string) (*fakeMachine, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if m := h.machines[instanceID]; m != nil {
		return m, nil
	}
	return nil, fmt.Errorf("no machine of %s is running", instanceID)
}
