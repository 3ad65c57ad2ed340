package etcdbackup

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"
)

// Prefix is where the backups are in the cluster's bucket.
const Prefix = "backups/etcd/"

// InPlaceFile is a file in etcd's data directory of a member that was restored in place from a
// backup. It names the EBS snapshot that the volume was created from before that, if any.
const InPlaceFile = "restored-in-place"

const (
	// TurnLength is how long a slot waits for each slot before it in the order, before it makes the
	// backup in its place.
	TurnLength = 5 * time.Minute
	// skew is how far ahead the clock of another slot may be. A backup of a later time is ignored: it
	// would keep all slots from making backups until then, and make them delete others.
	skew = 10 * time.Minute
)

// Backup is a backup in the bucket.
type Backup struct {
	// Key is its key in the bucket.
	Key string
	// Time is when it was begun, in whole seconds, by the clock of the slot that made it.
	Time time.Time
	// Slot is that slot's number.
	Slot int
	// Size is its size in bytes.
	Size int64
}

// timeForm is the form of times in keys, UTC. Keys in alphabetical order are in that of their times.
const timeForm = "20060102T150405Z"

var keyForm = regexp.MustCompile(`^` + Prefix + `([0-9]{8}T[0-9]{6}Z)-slot([0-9])\.db$`)

// Key returns the key of a backup that a slot begins at a time.
func Key(at time.Time, slot int) string {
	return fmt.Sprintf("%s%s-slot%d.db", Prefix, at.UTC().Format(timeForm), slot)
}

// Parse reads the key of a backup. It reports whether it is one: other objects below the prefix are
// not the slots', which neither count nor delete them.
func Parse(key string) (Backup, bool) {
	found := keyForm.FindStringSubmatch(key)
	if found == nil {
		return Backup{}, false
	}
	at, err := time.Parse(timeForm, found[1])
	if err != nil {
		return Backup{}, false
	}
	slot, err := strconv.Atoi(found[2])
	return Backup{Key: key, Time: at, Slot: slot}, err == nil
}

// Sorted returns the backups, the newest first, without those of the future.
func Sorted(backups []Backup, now time.Time) []Backup {
	found := slices.DeleteFunc(slices.Clone(backups), func(b Backup) bool { return b.Time.After(now.Add(skew)) })
	slices.SortFunc(found, func(a, b Backup) int { return cmp.Or(b.Time.Compare(a.Time), cmp.Compare(b.Key, a.Key)) })
	return found
}

// Due returns when a slot has to make the next backup, unless another slot has made it by then.
// Backups are sorted. The slot after the one that made the newest backup is first, and each other
// waits for those before it, so a slot that is down is skipped. Without a backup, slot 0 is first;
// since is when the slot began to watch.
func Due(backups []Backup, slot, slots int, interval time.Duration, since time.Time) time.Time {
	due, first := since, 0
	if len(backups) > 0 {
		due, first = backups[0].Time.Add(interval), backups[0].Slot+1
	}
	before := ((slot-first)%slots + slots) % slots
	return due.Add(time.Duration(before) * TurnLength)
}

// Surplus returns the backups beyond those to keep, the oldest first. Backups are sorted. The newest
// is always kept.
func Surplus(backups []Backup, keep int) []Backup {
	surplus := slices.Clone(backups[min(len(backups), max(keep, 1)):])
	slices.Reverse(surplus)
	return surplus
}
