//go:build linux

package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The default periods of a kubelet:
// https://kubernetes.io/docs/reference/node/node-status/#heartbeats
const (
	leaseEvery   = 10 * time.Second
	leaseSeconds = 40
	statusEvery  = 5 * time.Minute
)

// uninitialized keeps pods off a node that the cloud controller has not initialized.
const uninitialized = "node.cloudprovider.kubernetes.io/uninitialized"

// register creates the Node, or updates an existing one with its name.
func (k *kubelet) register(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	node, err := k.describe()
	if err != nil {
		return err
	}
	err = k.api.core.Post().Resource("nodes").Body(node).Do(ctx).Error()
	if apierrors.IsAlreadyExists(err) {
		err = k.takeOver(ctx, node)
	}
	if err != nil {
		return fmt.Errorf("create the Node: %w", err)
	}
	return k.report(ctx)
}

// takeOver sets the labels of this boot on the Node. It keeps the taints, which a kubelet may not
// change.
func (k *kubelet) takeOver(ctx context.Context, node *corev1.Node) error {
	var there corev1.Node
	if err := k.api.core.Get().Resource("nodes").Name(k.nodeName).Do(ctx).Into(&there); err != nil {
		return err
	}
	if there.Labels == nil {
		there.Labels = map[string]string{}
	}
	maps.Copy(there.Labels, node.Labels)
	if there.Spec.ProviderID == "" {
		there.Spec.ProviderID = node.Spec.ProviderID
	}
	return k.api.core.Put().Resource("nodes").Name(k.nodeName).Body(&there).Do(ctx).Error()
}

// describe returns the Node as a kubelet creates it.
func (k *kubelet) describe() (*corev1.Node, error) {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: k.nodeName, Labels: map[string]string{
			corev1.LabelHostname: k.nodeName, corev1.LabelOSStable: "linux", corev1.LabelArchStable: runtime.GOARCH,
			"beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": runtime.GOARCH,
		}},
		Spec: corev1.NodeSpec{ProviderID: k.providerID, Taints: k.taints},
	}
	maps.Copy(node.Labels, k.labels)
	if k.cloudProvider == "external" {
		node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: uninitialized, Value: "true", Effect: corev1.TaintEffectNoSchedule})
	}
	status, err := k.status()
	node.Status = status
	return node, err
}

// report patches only the Node's status, because others change the Node's labels, which a kubelet
// may not.
func (k *kubelet) report(ctx context.Context) error {
	var node corev1.Node
	if err := k.api.core.Get().Resource("nodes").Name(k.nodeName).Do(ctx).Into(&node); err != nil {
		return fmt.Errorf("report the node's status: %w", err)
	}
	status, err := k.status()
	if err != nil {
		return err
	}
	keepTransitions(node.Status.Conditions, status.Conditions)
	patch, err := json.Marshal(map[string]any{"status": map[string]any{
		"capacity": status.Capacity, "allocatable": status.Allocatable, "conditions": status.Conditions,
		"nodeInfo": status.NodeInfo, "addresses": status.Addresses,
	}})
	if err != nil {
		return fmt.Errorf("report the node's status: %w", err)
	}
	err = k.api.core.Patch(types.StrategicMergePatchType).
		Resource("nodes").
		Name(k.nodeName).
		SubResource("status").
		Body(patch).
		Do(ctx).
		Error()
	if err != nil {
		return fmt.Errorf("report the node's status: %w", err)
	}
	return nil
}

func keepTransitions(before, now []corev1.NodeCondition) {
	for i := range now {
		for _, old := range before {
			if old.Type == now[i].Type && old.Status == now[i].Status {
				now[i].LastTransitionTime = old.LastTransitionTime
			}
		}
	}
}

func (k *kubelet) status() (corev1.NodeStatus, error) {
	address, err := k.address()
	if err != nil {
		return corev1.NodeStatus{}, err
	}
	capacity := capacityOf(k.labels[corev1.LabelInstanceTypeStable])
	return corev1.NodeStatus{
		Capacity: capacity, Allocatable: capacity, Conditions: k.conditions(), NodeInfo: nodeInfo(),
		Addresses: []corev1.NodeAddress{
			{Type: corev1.NodeInternalIP, Address: address},
			{Type: corev1.NodeHostName, Address: k.nodeName},
			{Type: corev1.NodeInternalDNS, Address: k.nodeName},
		},
	}, nil
}

func (k *kubelet) conditions() []corev1.NodeCondition {
	now := k.second()
	condition := func(kind corev1.NodeConditionType, status corev1.ConditionStatus, reason, message string) corev1.NodeCondition {
		return corev1.NodeCondition{
			Type: kind, Status: status, Reason: reason, Message: message, LastHeartbeatTime: now, LastTransitionTime: now,
		}
	}
	return []corev1.NodeCondition{
		condition(
			corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory", "kubelet has sufficient memory available",
		),
		condition(corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
		condition(corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
		condition(corev1.NodeReady, corev1.ConditionTrue, "KubeletReady", "kubelet is posting ready status"),
	}
}

var errNoAddress = errors.New("the machine has no address")

// address returns the machine's address.
func (k *kubelet) address() (string, error) {
	if k.nodeIP != "" {
		return k.nodeIP, nil
	}
	eth0, err := net.InterfaceByName("eth0")
	if err != nil {
		return "", fmt.Errorf("find the machine's address: %w", err)
	}
	addresses, err := eth0.Addrs()
	if err != nil {
		return "", fmt.Errorf("find the machine's address: %w", err)
	}
	for _, a := range addresses {
		if prefix, ok := a.(*net.IPNet); ok && prefix.IP.To4() != nil {
			return prefix.IP.String(), nil
		}
	}
	return "", errNoAddress
}

// nodeInfo returns the system information of the node.
func nodeInfo() corev1.NodeSystemInfo {
	id, _ := os.ReadFile("/etc/machine-id")
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	info := corev1.NodeSystemInfo{
		MachineID: strings.TrimSpace(string(id)), SystemUUID: strings.TrimSpace(string(id)), BootID: strings.TrimSpace(string(boot)),
		KubeletVersion: Version, ContainerRuntimeVersion: "simulated://" + strings.TrimPrefix(Version, "v"),
		OperatingSystem: "linux", Architecture: runtime.GOARCH, OSImage: osImage(),
	}
	var name unix.Utsname
	if unix.Uname(&name) == nil {
		info.KernelVersion = unix.ByteSliceToString(name.Release[:])
	}
	return info
}

func osImage() string {
	data, _ := os.ReadFile("/etc/os-release")
	for line := range strings.Lines(string(data)) {
		if name, ok := strings.CutPrefix(line, "PRETTY_NAME="); ok {
			return strings.Trim(strings.TrimSpace(name), `"`)
		}
	}
	return "Linux"
}

// capacityOf estimates the capacity of an instance type: the family determines the memory per
// processor, the size the number of processors
// (https://docs.aws.amazon.com/ec2/latest/instancetypes/instance-type-names.html).
func capacityOf(instanceType string) corev1.ResourceList {
	family, size, _ := strings.Cut(instanceType, ".")
	perCPU := int64(4)
	switch {
	case strings.HasPrefix(family, "c"):
		perCPU = 2
	case strings.HasPrefix(family, "r"):
		perCPU = 8
	}
	cpus := int64(2)
	if times, ok := strings.CutSuffix(size, "xlarge"); ok {
		n, err := strconv.ParseInt(times, 10, 64)
		if err != nil {
			n = 1
		}
		cpus = 4 * n
	}
	return corev1.ResourceList{
		corev1.ResourceCPU:              *resource.NewQuantity(cpus, resource.DecimalSI),
		corev1.ResourceMemory:           *resource.NewQuantity(cpus*perCPU<<30, resource.BinarySI),
		corev1.ResourceEphemeralStorage: resource.MustParse("20Gi"),
		corev1.ResourcePods:             resource.MustParse("110"),
	}
}

// keepStatus reports the status periodically, for clients that read heartbeats from it.
func (k *kubelet) keepStatus(ctx context.Context) {
	k.every(ctx, statusEvery, func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		if err := k.report(ctx); err != nil && ctx.Err() == nil {
			k.log.Info("the node's status was not reported", "because", err.Error())
		}
	})
}

// keepLease renews the node's lease.
func (k *kubelet) keepLease(ctx context.Context) {
	var lease *coordinationv1.Lease
	k.every(ctx, leaseEvery, func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		renewed, err := k.renew(ctx, lease)
		if err != nil {
			lease = nil // read it again
			if ctx.Err() == nil {
				k.log.Info("the lease was not renewed", "because", err.Error())
			}
			return
		}
		lease = renewed
	})
}

const leaseNamespace = corev1.NamespaceNodeLease

func (k *kubelet) renew(ctx context.Context, lease *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	now := metav1.NewMicroTime(k.clock.Now())
	if lease == nil {
		lease = &coordinationv1.Lease{}
		err := k.api.coordination.Get().Namespace(leaseNamespace).Resource("leases").Name(k.nodeName).Do(ctx).Into(lease)
		if apierrors.IsNotFound(err) {
			return k.makeLease(ctx, now)
		}
		if err != nil {
			return nil, err
		}
	}
	lease.Spec.RenewTime = &now
	renewed := &coordinationv1.Lease{}
	err := k.api.coordination.Put().Namespace(leaseNamespace).Resource("leases").Name(k.nodeName).Body(lease).Do(ctx).Into(renewed)
	return renewed, err
}

// makeLease creates the lease. The Node owns it, so that it is deleted with the Node.
func (k *kubelet) makeLease(ctx context.Context, now metav1.MicroTime) (*coordinationv1.Lease, error) {
	var node corev1.Node
	if err := k.api.core.Get().Resource("nodes").Name(k.nodeName).Do(ctx).Into(&node); err != nil {
		return nil, err
	}
	seconds := int32(leaseSeconds)
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Name: k.nodeName, Namespace: leaseNamespace,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}},
		},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &k.nodeName, LeaseDurationSeconds: &seconds, RenewTime: &now},
	}
	made := &coordinationv1.Lease{}
	err := k.api.coordination.Post().Namespace(leaseNamespace).Resource("leases").Body(lease).Do(ctx).Into(made)
	return made, err
}
