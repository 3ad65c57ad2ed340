//go:build linux

package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/aws-operator/aws-operator/internal/machines/guest"
)

// Directories in Options.Dir.
const (
	consolesDir = "consoles"
	machinesDir = "machines"
	volumesDir  = "volumes"
	imageDir    = "image"
	// rootVolumeDir, in a machine's directory, holds its container images and the files of its pods.
	rootVolumeDir = "root-volume"
)

// Attach shows a volume in a machine. It returns an error if the machine does not run or another
// machine has the volume.
func (h *Host) Attach(instanceID, volumeID, _ string) error {
	if err := h.makeVolume(volumeID); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, runs := h.machines[instanceID]; !runs {
		return fmt.Errorf("attach %s: %w: %s", volumeID, errNoMachine, instanceID)
	}
	if other, taken := h.attached[volumeID]; taken && other != instanceID {
		return fmt.Errorf("attach %s to %s: %s has it", volumeID, instanceID, other)
	}
	err := os.Symlink(filepath.Join(guest.VolumesPath, volumeID, guest.DeviceFile), h.diskPath(instanceID, volumeID))
	if err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("attach %s: %w", volumeID, err)
	}
	h.attached[volumeID] = instanceID
	return nil
}

// Detach removes a volume from a machine. Processes that have mounted it keep it until it is
// unmounted.
func (h *Host) Detach(instanceID, volumeID string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.attached[volumeID] != instanceID {
		return
	}
	delete(h.attached, volumeID)
	_ = os.Remove(h.diskPath(instanceID, volumeID))
}

// diskPath returns the path of udev's link to an EBS volume:
// https://docs.aws.amazon.com/ebs/latest/userguide/nvme-ebs-volumes.html
func (h *Host) diskPath(instanceID, volumeID string) string {
	name := guest.DiskPrefix + strings.ReplaceAll(volumeID, "-", "")
	return filepath.Join(h.opts.Dir, machinesDir, instanceID, "disks", name)
}

func (h *Host) volumePath(volumeID string) string {
	return filepath.Join(h.opts.Dir, volumesDir, filepath.Base(volumeID))
}

// makeVolume creates an empty disk unless it exists.
func (h *Host) makeVolume(volumeID string) error {
	if err := os.MkdirAll(h.volumePath(volumeID), 0o700); err != nil {
		return fmt.Errorf("create %s: %w", volumeID, err)
	}
	device, err := os.OpenFile(filepath.Join(h.volumePath(volumeID), guest.DeviceFile), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("create %s: %w", volumeID, err)
	}
	return device.Close()
}

// DeleteVolume deletes the data of a volume or snapshot.
func (h *Host) DeleteVolume(volumeID string) {
	if err := os.RemoveAll(h.volumePath(volumeID)); err != nil {
		h.opts.Log.Error(err, "delete a volume", "volume", volumeID)
	}
}

// CopyVolume copies the data of a volume or snapshot, as of one point in time, to a new one. A
// volume that was never attached is empty.
func (h *Host) CopyVolume(fromID, toID string) error {
	if err := h.makeVolume(fromID); err != nil {
		return err
	}
	h.DeleteVolume(toID)
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.copyStill(fromID, h.volumePath(toID)); err != nil {
		return fmt.Errorf("copy %s to %s: %w", fromID, toID, err)
	}
	// CopyFS creates directories that everybody can read.
	return filepath.WalkDir(h.volumePath(toID), func(path string, entry os.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			err = os.Chmod(path, 0o700) //nolint:gosec // a directory
		}
		return err
	})
}
