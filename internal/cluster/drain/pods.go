package drain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	kubectldrain "k8s.io/kubectl/pkg/drain"

	"github.com/aws-operator/aws-operator/internal/cluster/workload"
)

// podWatch watches the pods of one node.
type podWatch struct {
	clients  kubernetes.Interface
	node     string
	informer cache.SharedInformer
	cancel   context.CancelFunc
	done     chan struct{}

	mu         sync.Mutex
	fresh      bool // pods changed since they were last classified
	candidates map[types.UID]bool
}

// watchPods starts to watch the pods of a node. It calls nudge whenever one is added, changes or is
// deleted.
func watchPods(ctx context.Context, to *workload.Cluster, node string, nudge func()) (*podWatch, error) {
	clients, err := to.Kubernetes()
	if err != nil {
		return nil, fmt.Errorf("create clients: %w", err)
	}
	of := fields.OneTermEqualSelector("spec.nodeName", node)
	w := &podWatch{
		clients: clients, node: node, done: make(chan struct{}), fresh: true, candidates: map[types.UID]bool{},
		informer: cache.NewSharedInformer(
			cache.NewListWatchFromClient(clients.CoreV1().RESTClient(), "pods", metav1.NamespaceAll, of), &corev1.Pod{}, 0,
		),
	}
	_, err = w.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) {
			w.mu.Lock()
			w.fresh = true
			w.mu.Unlock()
			nudge()
		},
		UpdateFunc: func(any, any) { nudge() },
		DeleteFunc: func(any) { nudge() },
	})
	if err != nil {
		return nil, fmt.Errorf("watch pods: %w", err)
	}
	// The informer restarts a failed watch, and the connection reports an unreachable API.
	if err := w.informer.SetWatchErrorHandlerWithContext(func(context.Context, *cache.Reflector, error) {}); err != nil {
		return nil, fmt.Errorf("watch pods: %w", err)
	}
	ctx, w.cancel = context.WithCancel(ctx)
	go func() {
		defer close(w.done)
		w.informer.RunWithContext(ctx)
	}()
	go func() { // A node without pods has no event that calls nudge.
		if cache.WaitForCacheSync(ctx.Done(), w.informer.HasSynced) {
			nudge()
		}
	}()
	return w, nil
}

func (w *podWatch) stop() {
	w.cancel()
	<-w.done
}

// podsToEvict returns the pods to evict, selected like kubectl drain --ignore-daemonsets
// --delete-emptydir-data --force; listed is false until they are known. It returns an error if the
// owner of a pod cannot be determined.
func (w *podWatch) podsToEvict(ctx context.Context) (pods []*corev1.Pod, listed bool, err error) {
	if !w.informer.HasSynced() {
		return nil, false, nil
	}
	w.mu.Lock()
	fresh := w.fresh
	w.fresh = false
	w.mu.Unlock()
	var all []*corev1.Pod
	for _, obj := range w.informer.GetStore().List() {
		if pod, ok := obj.(*corev1.Pod); ok {
			all = append(all, pod)
		}
	}
	if fresh {
		err = w.classify(ctx, all)
	}
	for _, pod := range all {
		if w.candidates[pod.UID] {
			pods = append(pods, pod)
		}
	}
	return pods, true, err
}

// classify classifies the pods.
func (w *podWatch) classify(ctx context.Context, all []*corev1.Pod) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	helper := &kubectldrain.Helper{
		Ctx: ctx, Client: known{w.clients, all}, Force: true, IgnoreAllDaemonSets: true, DeleteEmptyDirData: true,
		GracePeriodSeconds: -1, Out: io.Discard, ErrOut: io.Discard,
	}
	list, problems := helper.GetPodsForDeletion(w.node)
	if list != nil {
		clear(w.candidates)
		for _, pod := range list.Pods() {
			w.candidates[pod.UID] = true
		}
	}
	if err := errors.Join(problems...); err != nil {
		w.mu.Lock()
		w.fresh = true
		w.mu.Unlock()
		return err
	}
	return nil
}

// known is a clientset that returns the known pods without calling the API.
type known struct {
	kubernetes.Interface

	pods []*corev1.Pod
}

func (k known) CoreV1() corev1client.CoreV1Interface { return knownCore{k.Interface.CoreV1(), k.pods} }

type knownCore struct {
	corev1client.CoreV1Interface

	pods []*corev1.Pod
}

func (k knownCore) Pods(namespace string) corev1client.PodInterface {
	return knownPods{k.CoreV1Interface.Pods(namespace), k.pods}
}

type knownPods struct {
	corev1client.PodInterface

	pods []*corev1.Pod
}

// List returns the known pods.
func (k knownPods) List(context.Context, metav1.ListOptions) (*corev1.PodList, error) {
	list := &corev1.PodList{Items: make([]corev1.Pod, len(k.pods))}
	for i := range k.pods {
		k.pods[i].DeepCopyInto(&list.Items[i])
	}
	return list, nil
}
