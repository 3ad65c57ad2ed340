//go:build linux

package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/yaml"
)

// manifestsEvery is the interval at which the directory of manifests is read. A kubelet watches it;
// polling costs less than 0.1 % of a processor.
const manifestsEvery = 500 * time.Millisecond

// staticPods are the pods of the manifests directory.
type staticPods struct {
	dir   string
	log   logr.Logger
	clock clock.WithTicker

	mu      sync.Mutex
	pods    map[string]*staticPod // by file
	changed chan struct{}         // has an element when a pod's state may have changed
}

// staticPod is a running manifest.
type staticPod struct {
	pod       *corev1.Pod
	hash      string
	container *container
}

func newStaticPods(dir string, log logr.Logger, clk clock.WithTicker) *staticPods {
	return &staticPods{dir: dir, log: log, clock: clk, pods: map[string]*staticPod{}, changed: make(chan struct{}, 1)}
}

// run starts and stops pods as manifests change, until ctx ends. Processes that still run then
// continue, and the next kubelet adopts them.
func (s *staticPods) run(ctx context.Context) {
	if s.dir == "" {
		return
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	ticker := s.clock.NewTicker(manifestsEvery)
	defer ticker.Stop()
	for {
		s.sync(ctx, &wg)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
	}
}

// sync compares the directory with the running pods.
func (s *staticPods) sync(ctx context.Context, wg *sync.WaitGroup) {
	manifests := s.read()
	s.mu.Lock()
	defer s.mu.Unlock()
	for file, running := range s.pods {
		if data, there := manifests[file]; !there || hashOf(data) != running.hash {
			s.log.Info("a static pod's manifest was changed or deleted: stopping it", "pod", running.pod.Name)
			running.container.stop()
			delete(s.pods, file)
			s.notify()
		}
	}
	for file, data := range manifests {
		if _, running := s.pods[file]; running {
			continue
		}
		pod := &corev1.Pod{}
		if err := yaml.Unmarshal(data, pod); err != nil || len(pod.Spec.Containers) == 0 {
			continue // partly written, or not a manifest
		}
		hash := hashOf(data)
		if pod.Namespace == "" {
			pod.Namespace = corev1.NamespaceDefault
		}
		pod.UID = types.UID(hash)
		s.log.Info("starting a static pod", "pod", pod.Name)
		c := newContainer(pod, hash, s.notify, s.log, s.clock)
		s.pods[file] = &staticPod{pod: pod, hash: hash, container: c}
		wg.Go(func() { c.run(ctx) })
		s.notify()
	}
}

// notify triggers an update of the pods' state.
func (s *staticPods) notify() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

func (s *staticPods) read() map[string][]byte {
	found := map[string][]byte{}
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return found // the directory does not exist yet
	}
	for _, entry := range entries {
		extension := filepath.Ext(entry.Name())
		if entry.IsDir() || strings.HasPrefix(entry.Name(), ".") || !slices.Contains([]string{".yaml", ".yml", ".json"}, extension) {
			continue
		}
		data, err := os.ReadFile(filepath.Join(s.dir, entry.Name()))
		if err == nil {
			found[entry.Name()] = data
		}
	}
	return found
}

// all returns the pods of all manifests in a stable order.
func (s *staticPods) all() []*staticPod {
	s.mu.Lock()
	defer s.mu.Unlock()
	pods := make([]*staticPod, 0, len(s.pods))
	for _, p := range s.pods {
		pods = append(pods, p)
	}
	slices.SortFunc(pods, func(a, b *staticPod) int { return strings.Compare(a.pod.Name, b.pod.Name) })
	return pods
}

// hashOf returns the hash of a manifest's content, as long as a kubelet's own hash.
func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16])
}
