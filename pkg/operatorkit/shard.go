package operatorkit

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/watchlist"
)

// Shard is one of several parts into which the objects of a cluster are divided, so
// that several processes can share them: the part with number Index of Count. Every
// key belongs to exactly one shard of the same Count, whichever process asks. The
// zero value is the only shard, to which all belong.
type Shard struct{ Index, Count int }

// Has reports whether a key belongs to the shard. Objects that must be reconciled
// together have the same key, for example their namespace.
func (s Shard) Has(key string) bool {
	if s.Count <= 1 {
		return true
	}
	// Similar names, such as team-1 and team-2, must not share a shard.
	sum := sha256.Sum256([]byte(key))
	return binary.BigEndian.Uint64(sum[:])%uint64(s.Count) == uint64(s.Index) //nolint:gosec // neither is negative
}

// String returns the shard's number and their count, for example "0 of 3".
func (s Shard) String() string { return fmt.Sprintf("%d of %d", s.Index, max(s.Count, 1)) }

// NewInformer returns a constructor of informers, for the NewInformer option of
// controller-runtime's cache, whose informers drop the objects of other shards as
// they arrive. KeyOf returns the key of an object, or false for an object that
// every shard needs. An object's key must not change. NewInformer returns nil, for
// the default constructor, if there is only one shard.
func (s Shard) NewInformer(keyOf func(runtime.Object) (key string, divided bool)) InformerConstructor {
	if s.Count <= 1 {
		return nil
	}
	keep := func(obj runtime.Object) bool {
		key, divided := keyOf(obj)
		return !divided || s.Has(key)
	}
	return func(
		from toolscache.ListerWatcher, of runtime.Object, resync time.Duration, indexers toolscache.Indexers,
	) toolscache.SharedIndexInformer {
		return toolscache.NewSharedIndexInformer(&part{toolscache.ToListerWatcherWithContext(from), keep}, of, resync, indexers)
	}
}

// InformerConstructor is the type of the NewInformer option of controller-runtime's
// cache.
type InformerConstructor = func(toolscache.ListerWatcher, runtime.Object, time.Duration, toolscache.Indexers) toolscache.SharedIndexInformer

// part lists and watches the objects that are kept.
type part struct {
	from toolscache.ListerWatcherWithContext
	keep func(runtime.Object) bool
}

// IsWatchListSemanticsUnSupported reports whether the client cannot stream the list,
// as client-go's reflector asks.
func (p *part) IsWatchListSemanticsUnSupported() bool {
	return watchlist.DoesClientNotSupportWatchListSemantics(p.from)
}

// List lists the objects that are kept.
func (p *part) List(options metav1.ListOptions) (runtime.Object, error) {
	return p.ListWithContext(context.Background(), options)
}

// ListWithContext lists the objects that are kept.
func (p *part) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	list, err := p.from.ListWithContext(ctx, options)
	if err != nil {
		return nil, err //nolint:wrapcheck // client-go's reflector compares it
	}
	var kept []runtime.Object
	err = meta.EachListItem(list, func(item runtime.Object) error {
		if p.keep(item) {
			kept = append(kept, item)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the items of %T: %w", list, err)
	}
	if err := meta.SetList(list, kept); err != nil {
		return nil, fmt.Errorf("set the items of %T: %w", list, err)
	}
	return list, nil
}

// Watch watches the objects that are kept.
func (p *part) Watch(options metav1.ListOptions) (watch.Interface, error) {
	return p.WatchWithContext(context.Background(), options)
}

// WatchWithContext watches the objects that are kept. Bookmarks and errors pass.
func (p *part) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	all, err := p.from.WatchWithContext(ctx, options)
	if err != nil {
		return nil, err //nolint:wrapcheck // client-go's reflector compares it
	}
	kept := &keptEvents{all: all, events: make(chan watch.Event), done: make(chan struct{})}
	go kept.forward(p.keep)
	return kept, nil
}

// keptEvents is a watch of the objects that are kept. Unlike watch.Filter, it ends when it is stopped while it has
// an event that is not received.
type keptEvents struct {
	all    watch.Interface
	events chan watch.Event
	done   chan struct{}
	once   sync.Once
}

// ResultChan returns the events.
func (k *keptEvents) ResultChan() <-chan watch.Event { return k.events }

// Stop ends the watch.
func (k *keptEvents) Stop() {
	k.once.Do(func() { close(k.done) })
	k.all.Stop()
}

func (k *keptEvents) forward(keep func(runtime.Object) bool) {
	defer close(k.events)
	for e := range k.all.ResultChan() {
		if e.Type != watch.Bookmark && e.Type != watch.Error && !keep(e.Object) {
			continue
		}
		select {
		case k.events <- e:
		case <-k.done:
			return
		}
	}
}
