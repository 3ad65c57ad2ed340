package nodeup

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// attachVolume attaches the slot's volume, which outlives instances: after a replacement it may
// still be attached to the previous instance, which is terminating.
func (b *boot) attachVolume(ctx context.Context) (string, error) {
	volume, err := b.findVolume(ctx)
	if err != nil {
		return "", err
	}
	id := aws.ToString(volume.VolumeId)
	holder := holderOf(volume)
	switch {
	case holder == b.machine.InstanceID:
	case holder != "":
		return "", fmt.Errorf("the volume %s is still attached to %s", id, holder)
	default:
		_, err := b.AWS.Volumes.AttachVolume(ctx, &ec2.AttachVolumeInput{
			VolumeId: volume.VolumeId, InstanceId: &b.machine.InstanceID, Device: &b.bundle.Etcd.Device,
		})
		if err != nil {
			return "", fmt.Errorf("attach the volume %s: %w", id, err)
		}
	}
	names := deviceNames(id, b.bundle.Etcd.Device)
	i := slices.IndexFunc(names, b.files.exists)
	if i < 0 {
		return "", fmt.Errorf("the volume %s is attached; its device does not exist yet: %s", id, strings.Join(names, " or "))
	}
	b.etcdDevice = names[i]
	return id + " is " + b.etcdDevice, nil
}

// deviceNames are those under which a volume may show up: by its ID where volumes are NVMe devices
// (https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/nvme-ebs-volumes.html), and on older
// instance types by the name that it was attached as, which the kernel may write otherwise
// (https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/device_naming.html).
func deviceNames(id, attachedAs string) []string {
	return []string{
		"/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_" + strings.ReplaceAll(id, "-", ""),
		strings.Replace(attachedAs, "/dev/sd", "/dev/xvd", 1),
		attachedAs,
	}
}

// formerAfter is how long a slot that moved here waits for its instance in the former zone to terminate. If
// that zone has an outage, the instance may not.
const formerAfter = 4 * time.Minute

// findVolume returns the slot's volume in this zone. While the slot moves, it has another one in another zone.
func (b *boot) findVolume(ctx context.Context) (types.Volume, error) {
	tags := b.bundle.Etcd.VolumeTags
	var filters []types.Filter
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		filters = append(filters, types.Filter{Name: aws.String("tag:" + key), Values: []string{tags[key]}})
	}
	found, err := b.AWS.Volumes.DescribeVolumes(ctx, &ec2.DescribeVolumesInput{Filters: filters})
	if err != nil {
		return types.Volume{}, fmt.Errorf("find the etcd volume of slot %d: %w", b.bundle.Etcd.Slot, err)
	}
	if b.volumeAwaited.IsZero() {
		b.volumeAwaited = b.Clock.Now()
	}
	var usable []types.Volume
	for _, volume := range found.Volumes {
		holder := holderOf(volume)
		switch {
		case isLost(volume):
		case aws.ToString(volume.AvailabilityZone) == b.machine.Zone:
			usable = append(usable, volume)
		case holder != "" && b.Clock.Since(b.volumeAwaited) < formerAfter:
			return types.Volume{}, fmt.Errorf("the slot's volume %s in %s is still attached to %s",
				aws.ToString(volume.VolumeId), aws.ToString(volume.AvailabilityZone), holder)
		}
	}
	var ids []string
	for _, volume := range usable {
		ids = append(ids, aws.ToString(volume.VolumeId))
	}
	if len(ids) != 1 {
		return types.Volume{}, fmt.Errorf(
			"there are %d volumes tagged %v in %s %v; there must be one, the etcd data of slot %d",
			len(ids),
			tags,
			b.machine.Zone,
			ids,
			b.bundle.Etcd.Slot,
		)
	}
	return usable[0], nil
}

// isLost reports whether a volume is unusable. A slot whose volume has failed gets another one with
// the same tags, and CloudFormation may fail to delete the failed volume, because no snapshot of it
// can be taken.
// https://docs.aws.amazon.com/ebs/latest/userguide/ebs-describing-volumes.html#volume-state
func isLost(volume types.Volume) bool {
	return slices.Contains([]types.VolumeState{types.VolumeStateError, types.VolumeStateDeleting, types.VolumeStateDeleted}, volume.State)
}

// holderOf returns the instance that a volume is attached to, empty if there is none.
func holderOf(volume types.Volume) string {
	for _, attachment := range volume.Attachments {
		if attachment.State != types.VolumeAttachmentStateDetached {
			return aws.ToString(attachment.InstanceId)
		}
	}
	return ""
}

// mountVolume mounts the volume. It creates a file system only on an empty volume: any data on it
// is the cluster's.
func (b *boot) mountVolume(ctx context.Context) (string, error) {
	target := b.bundle.Etcd.MountPoint
	if err := b.writeMountUnit(target); err != nil {
		return "", err
	}
	if err := os.MkdirAll(b.files.path(target), 0o700); err != nil {
		return "", fmt.Errorf("make a folder: %w", err)
	}
	if b.mounted(target) {
		return "nothing, it is mounted", nil
	}
	did := "mounted"
	formatted, err := b.format(ctx, b.files.path(b.etcdDevice))
	if err != nil {
		return "", err
	}
	if formatted {
		did = "created a file system and mounted"
	}
	if _, err := b.command(ctx, "mount", b.files.path(b.etcdDevice), b.files.path(target)); err != nil {
		return "", err
	}
	// The root of a new file system is readable by all users.
	if err := os.Chmod(b.files.path(target), 0o700); err != nil { //nolint:gosec // A folder has to be entered.
		return "", fmt.Errorf("close the folder %s: %w", target, err)
	}
	return did + " at " + target, nil
}

func (b *boot) mounted(target string) bool {
	mounts, err := b.files.read("/proc/self/mounts")
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(mounts)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[1] == b.files.path(target) {
			return true
		}
	}
	return false
}

// format creates a file system if there is none, and reports whether it did.
func (b *boot) format(ctx context.Context, device string) (bool, error) {
	const nothingFound = 2 // https://man7.org/linux/man-pages/man8/blkid.8.html
	kind, err := b.command(ctx, "blkid", "-o", "value", "-s", "TYPE", device)
	if err == nil && strings.TrimSpace(kind) != "" {
		return false, nil
	}
	if code, failed := exitCode(err); err != nil && (!failed || code != nothingFound) {
		return false, err
	}
	if err := mustBeBlank(device); err != nil {
		return false, err
	}
	if _, err := b.command(ctx, "mkfs.ext4", "-q", device); err != nil {
		return false, err
	}
	return true, nil
}

// mustBeBlank returns an error if there is any data in the first megabyte of a device. A new volume
// reads as zeros. A volume with data in which blkid finds no file system is damaged, and needs a
// user's decision.
func mustBeBlank(device string) error {
	const length = 1 << 20
	file, err := os.Open(device) //nolint:gosec // The slot's own volume.
	if err != nil {
		return fmt.Errorf("read the etcd volume: %w", err)
	}
	defer file.Close() //nolint:errcheck // It was only read.
	start, err := io.ReadAll(io.LimitReader(file, length))
	if err != nil {
		return fmt.Errorf("read the etcd volume: %w", err)
	}
	if len(bytes.Trim(start, "\x00")) > 0 {
		return fmt.Errorf("the etcd volume %s has data and no file system: it is damaged, and nodeup does not format it", device)
	}
	return nil
}

// writeMountUnit makes systemd mount the volume at each boot before the kubelet, whose unit
// requires it: etcd must never start on the empty folder below the mount point.
func (b *boot) writeMountUnit(target string) error {
	unit := fmt.Sprintf("[Unit]\nDescription=etcd's data\n\n[Mount]\nWhat=%s\nWhere=%s\nType=ext4\n", b.etcdDevice, target)
	name := strings.ReplaceAll(strings.Trim(target, "/"), "/", "-") + ".mount"
	_, err := b.files.write(unitFolder+"/"+name, []byte(unit), 0o644)
	return err
}
