package fleets

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/internal/cluster/fleet"
)

// retryRefused is the time after which a template is applied again that the API server refused: an admission policy may
// have changed.
const retryRefused = 5 * time.Minute

// memory is what the controller remembers of a Fleet. It is lost with the process: then the API server says it again.
type memory struct {
	mu sync.Mutex
	// objects is what is known of each Cluster and InstanceGroup.
	objects map[types.UID]*remembered
}

// remembered is what the controller remembers of a Cluster or an InstanceGroup.
type remembered struct {
	// applied is the generation that an apply returned. The cache may have an older one.
	applied int64
	// version and revision are the version of the object and the template for which the rest holds.
	version, revision string
	// compared is the comparison with the template, nil if there is none yet.
	compared *fleet.Comparison
	// conflicts are the fields that belong to others, as the API server named them.
	conflicts []string
	// refused is why the API server refused the template, and at is when it did.
	refused string
	at      time.Time
}

// memoryOf returns the memory of a Fleet.
func (c *controller) memoryOf(uid types.UID) *memory {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known[uid] == nil {
		c.known[uid] = &memory{objects: map[types.UID]*remembered{}}
	}
	return c.known[uid]
}

// forget drops the memory of a deleted Fleet.
func (c *controller) forget(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.known, uid)
}

// of returns what is remembered of an object, for its version and a template. The caller holds the lock.
func (m *memory) of(object client.Object, revision string, now time.Time) *remembered {
	r := m.objects[object.GetUID()]
	if r == nil {
		r = &remembered{}
		m.objects[object.GetUID()] = r
	}
	if r.revision != revision || r.refused != "" && now.Sub(r.at) >= retryRefused {
		r.refused = ""
	}
	if r.version != object.GetResourceVersion() || r.revision != revision {
		r.version, r.revision, r.compared, r.conflicts = object.GetResourceVersion(), revision, nil, nil
	}
	return r
}

// keep drops what is remembered of objects that the Fleet no longer has. The caller holds the lock.
func (m *memory) keep(uids map[types.UID]bool) {
	for uid := range m.objects {
		if !uids[uid] {
			delete(m.objects, uid)
		}
	}
}
