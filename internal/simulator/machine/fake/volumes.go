package fake

import (
	"fmt"
	"strings"
)

// know notes that a volume holds what the cluster knows.
func (c *cluster) know(volumeID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.volumes[volumeID] = true
}

// copied notes that a volume or snapshot was made of another, if the cluster knows that, and says whether it does.
func (c *cluster) copied(fromID, toID string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.volumes[fromID] && !c.snapshots[fromID] {
		return false
	}
	if isSnapshot(toID) {
		c.snapshots[toID] = true
	} else {
		c.volumes[toID] = true
	}
	return true
}

// forget drops a volume or snapshot, and says whether volumes and snapshots are left.
func (c *cluster) forget(id string) (known, volumes, snapshots bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known = c.volumes[id] || c.snapshots[id]
	delete(c.volumes, id)
	delete(c.snapshots, id)
	return known, len(c.volumes) > 0, len(c.snapshots) > 0
}

func isSnapshot(id string) bool { return strings.HasPrefix(id, "snap-") }

// DeleteVolume forgets what a cluster knows once its last etcd volume and the last snapshot of one are gone.
func (h *Host) DeleteVolume(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for bucket, c := range h.clusters {
		known, volumes, snapshots := c.forget(id)
		switch {
		case !known || volumes:
			continue
		case snapshots:
			h.asleep[c] = bucket
		default:
			c.close()
		}
		delete(h.clusters, bucket)
	}
	for c := range h.asleep {
		if _, _, snapshots := c.forget(id); !snapshots {
			delete(h.asleep, c)
			c.close()
		}
	}
}

// CopyVolume takes snapshots of volumes, and makes volumes of snapshots. Played members share what they know, and a volume has none
// of it for itself: one that is made of a snapshot holds what the cluster knew last, and not what it knew then. It errs when
// the bucket has another cluster by now.
func (h *Host) CopyVolume(fromID, toID string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.clusters {
		c.copied(fromID, toID)
	}
	for c, bucket := range h.asleep {
		if !c.copied(fromID, toID) || isSnapshot(toID) {
			continue
		}
		if h.clusters[bucket] != nil {
			return fmt.Errorf("what %s holds is of a cluster that was in the bucket %s before, and another is there now", fromID, bucket)
		}
		delete(h.asleep, c)
		h.clusters[bucket] = c
	}
	return nil
}
