package operatorkit

import (
	"strconv"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// TestQueueEnds shuts queues down while workers take items. With controller-runtime's own queue, some of them stay blocked.
func TestQueueEnds(t *testing.T) {
	for round := range 100 {
		q := newQueue("test", workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
		var workers sync.WaitGroup
		began := make(chan struct{}, 20)
		for worker := range 20 {
			workers.Go(func() {
				for i := 0; ; i++ {
					q.Add(reconcile.Request{NamespacedName: types.NamespacedName{Name: strconv.Itoa(worker) + "-" + strconv.Itoa(i)}})
					item, shutdown := q.Get()
					if shutdown {
						return
					}
					q.Done(item)
					if i == 10 {
						began <- struct{}{}
					}
				}
			})
		}
		for range 20 {
			<-began
		}
		ended := make(chan struct{})
		go func() {
			q.ShutDown()
			workers.Wait()
			close(ended)
		}()
		select {
		case <-ended:
		case <-time.After(time.Minute):
			t.Fatalf("in round %d, workers did not end", round)
		}
	}
}
