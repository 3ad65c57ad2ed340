package operatorkit_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// TestKeyBelongsToOneShard also tests that similar names are divided, which the high bits of simpler hashes do not.
func TestKeyBelongsToOneShard(t *testing.T) {
	const keys = 3000
	for count := range 6 {
		counts := make([]int, max(1, count))
		for i := range keys {
			owners := 0
			for index := range counts {
				if (operatorkit.Shard{Index: index, Count: count}).Has(fmt.Sprintf("team-%d", i)) {
					owners++
					counts[index]++
				}
			}
			if owners != 1 {
				t.Fatalf("a key belongs to %d of %d shards", owners, count)
			}
		}
		for index, n := range counts {
			if fair := keys / len(counts); n < fair*9/10 || n > fair*11/10 {
				t.Errorf("shard %d of %d has %d of %d keys", index, count, n, keys)
			}
		}
	}
}

// operateShard runs a process that reconciles one shard of the widgets, divided by their names. Kept is whether its
// cache has those of others, too.
func operateShard(t *testing.T, w *suite, shard operatorkit.Shard, kept bool, o operatorkit.Options[*Widget]) *suite {
	t.Helper()
	options := cache.Options{DefaultNamespaces: map[string]cache.Config{w.namespace: {}}}
	if !kept {
		options.NewInformer = shard.NewInformer(func(obj runtime.Object) (string, bool) {
			widget, ok := obj.(*Widget)
			if !ok {
				return "", false
			}
			return widget.Name, true
		})
	}
	mgr, err := ctrl.NewManager(apiServer(t), manager.Options{
		Scheme: newScheme(), Metrics: metricsserver.Options{BindAddress: "0"}, Cache: options,
		Controller: config.Controller{SkipNameValidation: new(true)},
	})
	if err != nil {
		t.Fatal(err)
	}
	one := &suite{t: t, mgr: mgr, c: w.c, namespace: w.namespace}
	o.Owns = func(key types.NamespacedName) bool { return shard.Has(key.Name) }
	one.operate(o)
	return one
}

// TestProcessesShareObjects tests that each of many objects is reconciled and deleted by one process only, whose cache has
// no others.
func TestProcessesShareObjects(t *testing.T) {
	w := newSuite(t)
	const processes, widgets = 3, 30
	var caches []client.Reader
	logs := make([]callLog, processes)
	for i := range processes {
		log := &logs[i]
		one := operateShard(t, w, operatorkit.Shard{Index: i, Count: processes}, false, operatorkit.Options[*Widget]{
			Pipelines: operatorkit.NewPipeline(operatorkit.NewStep("size",
				func(_ context.Context, widget *Widget) operatorkit.Outcome {
					log.note("+" + widget.Name)
					return operatorkit.Done()
				},
				func(_ context.Context, widget *Widget) operatorkit.Outcome {
					log.note("-" + widget.Name)
					return operatorkit.Done()
				},
			)),
		})
		caches = append(caches, one.mgr.GetClient())
	}
	for i := range widgets {
		w.create(fmt.Sprintf("w%d", i))
	}
	for i := range widgets {
		w.waitFor(fmt.Sprintf("w%d", i), operatorkit.ConditionReady, metav1.ConditionTrue, operatorkit.ReasonReady)
	}
	total := 0
	for i := range processes {
		list := &WidgetList{}
		if err := caches[i].List(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		total += len(list.Items)
	}
	if total != widgets {
		t.Errorf("the caches have %d objects together, want %d", total, widgets)
	}
	for i := range widgets {
		w.delete(fmt.Sprintf("w%d", i))
	}
	for i := range widgets {
		w.waitDeleted(fmt.Sprintf("w%d", i))
	}
	for i := range processes {
		for _, line := range logs[i].read() {
			if !(operatorkit.Shard{Index: i, Count: processes}).Has(line[1:]) {
				t.Errorf("process %d did %s, which belongs to another", i, line)
			}
		}
	}
}

// TestObjectsOfOthersAreFollowed tests that a process learns of each change of an object that another one owns, and
// writes nothing to it.
func TestObjectsOfOthersAreFollowed(t *testing.T) {
	w := newSuite(t)
	var mu sync.Mutex
	var seen []string
	note := func(text string) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, text)
	}
	saw := func(text string) func() bool {
		return func() bool {
			mu.Lock()
			defer mu.Unlock()
			return strings.Contains(strings.Join(seen, ","), text)
		}
	}
	log := &callLog{}
	mine, theirs := "a", "b"
	shard := operatorkit.Shard{Count: 2}
	for i := 0; !shard.Has(mine) || shard.Has(theirs); i++ {
		mine, theirs = fmt.Sprintf("a%d", i), fmt.Sprintf("b%d", i)
	}
	operateShard(t, w, shard, true, operatorkit.Options[*Widget]{
		Pipelines: operatorkit.NewPipeline(log.step("size")),
		Follow: func(_ context.Context, key types.NamespacedName, widget *Widget, exists bool) (time.Duration, error) {
			note(fmt.Sprintf("%s size %d exists %v", key.Name, widget.Spec.Size, exists))
			return 0, nil
		},
	})
	w.create(theirs)
	w.create(mine)
	w.waitFor(mine, operatorkit.ConditionReady, metav1.ConditionTrue, operatorkit.ReasonReady)
	w.eventually("the creation is followed", saw(theirs+" size 0 exists true"), func() any { return seen })
	w.edit(theirs, func(widget *Widget) { widget.Spec.Size = 7 })
	w.eventually("the edit is followed", saw(theirs+" size 7 exists true"), func() any { return seen })
	if widget := w.get(theirs); len(widget.Finalizers)+len(widget.Status.Conditions) > 0 {
		t.Errorf("the object of another process was written: %+v", widget)
	}
	w.delete(theirs)
	w.eventually("the deletion is followed", saw(theirs+" size 0 exists false"), func() any { return seen })
	if lines := log.read(); len(lines) != 1 {
		t.Errorf("the steps ran %d times, want once for the own object", len(lines))
	}
}
