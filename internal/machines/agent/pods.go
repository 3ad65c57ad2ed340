//go:build linux

package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// podsEvery is the interval at which all pods are synced without an event, to retry failures.
const podsEvery = 10 * time.Second

// mirrorOf marks a mirror pod with the hash of its manifest.
const mirrorOf = corev1.MirrorPodAnnotationKey

// pods simulates the pods of a node.
type pods struct {
	*kubelet
	store   cache.Store
	trigger chan struct{}
	tables  addresses
}

func newPods(k *kubelet) *pods {
	return &pods{kubelet: k, trigger: make(chan struct{}, 1)}
}

// run syncs the pods whenever one changed, until ctx ends.
func (p *pods) run(ctx context.Context) {
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { p.poke() },
		UpdateFunc: func(any, any) { p.poke() },
		DeleteFunc: func(any) { p.poke() },
	}
	source := cache.NewListWatchFromClient(
		p.api.core, "pods", metav1.NamespaceAll, fields.OneTermEqualSelector("spec.nodeName", p.nodeName),
	)
	store, controller := cache.NewInformerWithOptions(
		cache.InformerOptions{ListerWatcher: source, ObjectType: &corev1.Pod{}, Handler: handler},
	)
	p.store = store
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { controller.RunWithContext(ctx) })
	ticker := p.clock.NewTicker(podsEvery)
	defer ticker.Stop()
	for {
		if controller.HasSynced() {
			p.sync(ctx)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		case <-p.trigger:
		case <-p.static.changed:
		}
	}
}

// second returns the time in the API server's resolution.
func (k *kubelet) second() metav1.Time { return metav1.NewTime(k.clock.Now().Truncate(time.Second)) }

func (p *pods) poke() {
	select {
	case p.trigger <- struct{}{}:
	default:
	}
}

// sync syncs all pods.
func (p *pods) sync(ctx context.Context) {
	mirrors := map[string]*corev1.Pod{} // by manifest
	var own []*corev1.Pod
	for _, object := range p.store.List() {
		pod, ok := object.(*corev1.Pod)
		if !ok {
			continue
		}
		if hash, mirror := pod.Annotations[mirrorOf]; mirror {
			mirrors[hash] = pod
			continue
		}
		own = append(own, pod)
	}
	errs := []error{p.syncMirrors(ctx, mirrors)}
	p.tables.keep(own)
	for _, pod := range own {
		errs = append(errs, p.syncPod(ctx, pod))
	}
	if err := errors.Join(errs...); err != nil && ctx.Err() == nil {
		p.log.Info("some pods were not synced", "because", err.Error())
	}
}

// syncPod removes a deleted pod, and runs any other.
func (p *pods) syncPod(ctx context.Context, pod *corev1.Pod) error {
	if pod.DeletionTimestamp != nil {
		return p.remove(ctx, pod)
	}
	if pod.Status.Phase != corev1.PodPending && pod.Status.Phase != corev1.PodRunning {
		return nil
	}
	want := pod.DeepCopy()
	address, err := p.addressOf(ctx, pod)
	if err != nil {
		return err
	}
	host, err := p.address()
	if err != nil {
		return err
	}
	setRunning(&want.Status, pod, address, host, p.second())
	return p.write(ctx, pod, want)
}

// write updates a pod's status if it differs.
func (p *pods) write(ctx context.Context, pod, want *corev1.Pod) error {
	if sameStatus(&pod.Status, &want.Status) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := p.api.core.Put().Namespace(pod.Namespace).Resource("pods").Name(pod.Name).SubResource("status").Body(want).Do(ctx).Error()
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil // its event has not arrived yet
	}
	if err != nil {
		return fmt.Errorf("report the status of %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return nil
}

// remove deletes a terminating pod from the API.
func (p *pods) remove(ctx context.Context, pod *corev1.Pod) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	now := int64(0)
	options := &metav1.DeleteOptions{GracePeriodSeconds: &now, Preconditions: &metav1.Preconditions{UID: &pod.UID}}
	err := p.api.core.Delete().Namespace(pod.Namespace).Resource("pods").Name(pod.Name).Body(options).Do(ctx).Error()
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("remove %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return nil
}

// addressOf returns a pod's address, or assigns one.
func (p *pods) addressOf(ctx context.Context, pod *corev1.Pod) (string, error) {
	if pod.Spec.HostNetwork {
		return p.address()
	}
	if pod.Status.PodIP != "" {
		return pod.Status.PodIP, nil
	}
	if !p.tables.known() {
		var node corev1.Node
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		if err := p.api.core.Get().Resource("nodes").Name(p.nodeName).Do(ctx).Into(&node); err != nil {
			return "", fmt.Errorf("find the node's pod CIDR: %w", err)
		}
		p.tables.learn(node.Spec.PodCIDR)
	}
	return p.tables.take(pod.UID)
}

// withoutCIDR is the range of pod addresses if the cluster assigns no pod CIDRs to nodes: the
// shared address space of RFC 6598.
var withoutCIDR = netip.MustParsePrefix("100.64.0.0/10")

// addresses allocates the addresses of a node's pods.
type addresses struct {
	prefix netip.Prefix
	given  map[types.UID]netip.Addr
}

func (a *addresses) known() bool { return a.prefix.IsValid() }

func (a *addresses) learn(cidr string) {
	prefix, err := netip.ParsePrefix(cidr)
	if err != nil {
		prefix = withoutCIDR
	}
	a.prefix = prefix.Masked()
}

// keep forgets the addresses of deleted pods and learns those of pods that existed before this
// kubelet started.
func (a *addresses) keep(own []*corev1.Pod) {
	given := map[types.UID]netip.Addr{}
	for _, pod := range own {
		if ip, err := netip.ParseAddr(pod.Status.PodIP); err == nil && !pod.Spec.HostNetwork {
			given[pod.UID] = ip
		} else if ip, ok := a.given[pod.UID]; ok {
			given[pod.UID] = ip
		}
	}
	a.given = given
}

// take allocates a free address to a pod.
func (a *addresses) take(uid types.UID) (string, error) {
	if ip, ok := a.given[uid]; ok {
		return ip.String(), nil
	}
	taken := slices.Collect(maps.Values(a.given))
	// The first address is the network's, the second its bridge's.
	for ip := a.prefix.Addr().Next().Next(); a.prefix.Contains(ip); ip = ip.Next() {
		if !slices.Contains(taken, ip) {
			a.given[uid] = ip
			return ip.String(), nil
		}
	}
	return "", fmt.Errorf("all addresses of %s are taken", a.prefix)
}
