package operatorkit

import (
	"math"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// newQueue returns the work queue of a controller.
func newQueue(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) queue {
	return &endingQueue{PriorityQueue: priorityqueue.New(name, func(o *priorityqueue.Opts[reconcile.Request]) { o.RateLimiter = limiter })}
}

// endingQueue is a priority queue that ends. controller-runtime's own, up to v0.24, may hand an item
// to a worker that has just left because of the shutdown, and then blocks all others, so that the
// manager does not stop within its grace period. This one lets all waiting workers leave first.
// https://github.com/kubernetes-sigs/controller-runtime/issues/3538
type endingQueue struct {
	priorityqueue.PriorityQueue[reconcile.Request]

	mu      sync.Mutex
	ending  bool
	waiting int
	left    sync.Cond
}

// GetWithPriority returns the next item, and whether the queue is shut down.
func (q *endingQueue) GetWithPriority() (item reconcile.Request, priority int, shutdown bool) {
	q.mu.Lock()
	if q.ending {
		q.mu.Unlock()
		return reconcile.Request{}, 0, true
	}
	q.waiting++
	q.mu.Unlock()
	item, priority, shutdown = q.PriorityQueue.GetWithPriority()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting--
	if q.ending {
		q.left.Signal()
		return reconcile.Request{}, 0, true
	}
	return item, priority, shutdown
}

// Get is GetWithPriority without the priority.
func (q *endingQueue) Get() (item reconcile.Request, shutdown bool) {
	item, _, shutdown = q.GetWithPriority()
	return item, shutdown
}

// ShutDown ends the wait of each worker by an item of its own, and then shuts the queue down.
func (q *endingQueue) ShutDown() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ending {
		return
	}
	q.ending, q.left.L = true, &q.mu
	for i := range q.waiting {
		last := reconcile.Request{NamespacedName: types.NamespacedName{Name: "shutdown/" + strconv.Itoa(i)}} // no object's name
		q.AddWithOpts(priorityqueue.AddOpts{Priority: new(math.MaxInt)}, last)
	}
	for q.waiting > 0 {
		q.left.Wait()
	}
	q.PriorityQueue.ShutDown()
}

// ShutDownWithDrain is ShutDown, as in the priority queue.
func (q *endingQueue) ShutDownWithDrain() { q.ShutDown() }
