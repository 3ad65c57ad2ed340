package fake

import (
	"fmt"
	"strings"
)

// addVolume records that a volume holds the data of the cluster.
func (c *cluster) addVolume(volumeID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.volumes[volumeID] = true
}

// copied records a copy of one of the cluster's volumes or snapshots. It reports whether it is one
// of them.
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

// forget forgets a volume or snapshot, and reports whether volumes and snapshots are left.
func (c *cluster) forget(id string) (known, volumes, snapshots bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known = c.volumes[id] || c.snapshots[id]
	delete(c.volumes, id)
	delete(c.snapshots, id)
	return known, len(c.volumes) > 0, len(c.snapshots) > 0
}

func isSnapshot(id string) bool { return strings.HasPrefix(id, "snap-") }

// DeleteVolume deletes the data of a cluster when its last etcd volume and the last snapshot are
// deleted.
func (h *Host) DeleteVolume(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for bucket, c := range h.clusters {
		known, volumes, snapshots := c.forget(id)
		switch {
		case !known || volumes:
			continue
		case snapshots:
			h.dormant[c] = bucket
		default:
			c.close()
		}
		delete(h.clusters, bucket)
	}
	for c := range h.dormant {
		if _, _, snapshots := c.forget(id); !snapshots {
			delete(h.dormant, c)
			c.close()
		}
	}
}

// CopyVolume creates snapshots of volumes, and volumes from snapshots. Fake members share their
// data and volumes hold none, so a volume from a snapshot holds the cluster's latest data rather
// than the data at the time of the snapshot. It returns an error if the bucket has another cluster
// now.
func (h *Host) CopyVolume(fromID, toID string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.clusters {
		c.copied(fromID, toID)
	}
	for c, bucket := range h.dormant {
		if !c.copied(fromID, toID) || isSnapshot(toID) {
			continue
		}
		if h.clusters[bucket] != nil {
			return fmt.Errorf("%s holds the data of a former cluster of the bucket %s, which has another cluster now", fromID, bucket)
		}
		delete(h.dormant, c)
		h.clusters[bucket] = c
	}
	return nil
}
