//go:build linux

package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/aws-operator/aws-operator/internal/simulator/machine/guest"
)

// Folders in Options.Dir.
const (
	consolesDir = "consoles"
	machinesDir = "machines"
	volumesDir  = "volumes"
	imageDir    = "image"
)

// Attach makes a volume show up in a machine. It errs when no such machine runs
// or when another has the volume.
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

// Detach takes a volume away from a machine. What has it mounted keeps it until
// it is unmounted.
func (h *Host) Detach(instanceID, volumeID string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.attached[volumeID] != instanceID {
		return
	}
	delete(h.attached, volumeID)
	_ = os.Remove(h.diskPath(instanceID, volumeID))
}

// diskPath is where udev has a volume of EC2's:
// https://docs.aws.amazon.com/ebs/latest/userguide/nvme-ebs-volumes.html
func (h *Host) diskPath(instanceID, volumeID string) string {
	name := guest.DiskPrefix + strings.ReplaceAll(volumeID, "-", "")
	return filepath.Join(h.opts.Dir, machinesDir, instanceID, "disks", name)
}

func (h *Host) volumePath(volumeID string) string {
	return filepath.Join(h.opts.Dir, volumesDir, filepath.Base(volumeID))
}

// makeVolume makes an empty disk unless it is there.
func (h *Host) makeVolume(volumeID string) error {
	if err := os.MkdirAll(h.volumePath(volumeID), 0o700); err != nil {
		return fmt.Errorf("make %s: %w", volumeID, err)
	}
	device, err := os.OpenFile(filepath.Join(h.volumePath(volumeID), guest.DeviceFile), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("make %s: %w", volumeID, err)
	}
	return device.Close()
}

// DeleteVolume forgets the data of a volume or snapshot.
func (h *Host) DeleteVolume(volumeID string) {
	if err := os.RemoveAll(h.volumePath(volumeID)); err != nil {
		h.opts.Log.Error(err, "delete a volume", "volume", volumeID)
	}
}

// CopyVolume gives a new volume or snapshot the data of another, as it is at one moment. One that was never attached is
// empty.
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
	// CopyFS makes folders for everybody to read.
	return filepath.WalkDir(h.volumePath(toID), func(path string, entry os.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			err = os.Chmod(path, 0o700) //nolint:gosec // a folder
		}
		return err
	})
}
