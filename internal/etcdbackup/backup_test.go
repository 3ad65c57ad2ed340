package etcdbackup_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws-operator/aws-operator/internal/etcdbackup"
)

var now = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

// made returns backups by "hours ago/slot".
func made(ages ...[2]int) []etcdbackup.Backup {
	var backups []etcdbackup.Backup
	for _, age := range ages {
		b, _ := etcdbackup.Parse(etcdbackup.Key(now.Add(-time.Duration(age[0])*time.Hour), age[1]))
		backups = append(backups, b)
	}
	return backups
}

func TestKeysAreReadAsTheyAreWritten(t *testing.T) {
	at := time.Date(2026, 11, 28, 19, 30, 7, 999, time.FixedZone("CET", 3600))
	key := etcdbackup.Key(at, 2)
	if key != "backups/etcd/20261128T183007Z-slot2.db" {
		t.Fatalf("the key is %s", key)
	}
	b, ok := etcdbackup.Parse(key)
	if !ok || b.Slot != 2 || !b.Time.Equal(at.Truncate(time.Second)) || b.Key != key {
		t.Errorf("%s is read as %+v, %v", key, b, ok)
	}
}

func TestOtherObjectsAreNoBackups(t *testing.T) {
	for _, key := range []string{
		"", "backups/etcd/", "backups/etcd/readme.txt", "backups/etcd/20261128T183007Z-slot2.db.part", "backups/etcd/20261128T183007Z-slot12.db",
		"backups/etcd/20261128T183007Z-slot-1.db", "backups/etcd/20261328T183007Z-slot2.db", "backups/etcd/x/20261128T183007Z-slot2.db",
		"backups/etcd/../../pki/20261128T183007Z-slot2.db", "pki/20261128T183007Z-slot2.db", "backups/etcd/20261128T183007Z-slot2.db\n",
		"backups/etcd/20261128T183007Z-slot2\u0660.db", "Backups/etcd/20261128T183007Z-slot2.db",
	} {
		if b, ok := etcdbackup.Parse(key); ok {
			t.Errorf("%q counts as a backup: %+v", key, b)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("backups/etcd/20261128T183007Z-slot2.db")
	f.Add("backups/etcd/20260229T250000Z-slot2.db")
	f.Fuzz(func(t *testing.T, key string) {
		b, ok := etcdbackup.Parse(key)
		if ok && (etcdbackup.Key(b.Time, b.Slot) != key || !strings.HasPrefix(key, etcdbackup.Prefix)) {
			t.Errorf("%q is read as %+v", key, b)
		}
	})
}

func TestSlotsTakeTurns(t *testing.T) {
	const interval = 6 * time.Hour
	for name, test := range map[string]struct {
		backups []etcdbackup.Backup
		slots   int
		// want is, for each slot, how long after now it is due.
		want []time.Duration
	}{
		"none exists":                {nil, 3, []time.Duration{0, 5 * time.Minute, 10 * time.Minute}},
		"slot 0 made the newest":     {made([2]int{6, 0}, [2]int{12, 2}), 3, []time.Duration{10 * time.Minute, 0, 5 * time.Minute}},
		"slot 2 made the newest":     {made([2]int{5, 2}), 3, []time.Duration{time.Hour, 65 * time.Minute, 70 * time.Minute}},
		"the only slot":              {made([2]int{7, 0}), 1, []time.Duration{-time.Hour}},
		"a slot that exists no more": {made([2]int{6, 7}), 3, []time.Duration{5 * time.Minute, 10 * time.Minute, 0}},
		"the order of the list is no matter": {
			etcdbackup.Sorted(made([2]int{12, 2}, [2]int{6, 0}), now), 3, []time.Duration{10 * time.Minute, 0, 5 * time.Minute},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for slot, want := range test.want {
				if got := etcdbackup.Due(test.backups, slot, test.slots, interval, now).Sub(now); got != want {
					t.Errorf("slot %d is due in %s, want %s", slot, got, want)
				}
			}
		})
	}
}

// A name can claim any time. One of the future would stop the backups until then.
func TestBackupsOfTheFutureAreIgnored(t *testing.T) {
	got := etcdbackup.Sorted(made([2]int{-100000, 0}, [2]int{6, 1}, [2]int{0, 2}, [2]int{12, 1}), now)
	if want := made([2]int{0, 2}, [2]int{6, 1}, [2]int{12, 1}); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestOldestBackupsAreSurplus(t *testing.T) {
	all := made([2]int{0, 0}, [2]int{6, 1}, [2]int{12, 2})
	for keep, want := range map[int][]etcdbackup.Backup{
		3: nil, 500: nil, 2: made([2]int{12, 2}), 1: made([2]int{12, 2}, [2]int{6, 1}), 0: made([2]int{12, 2}, [2]int{6, 1}),
	} {
		if got := etcdbackup.Surplus(all, keep); !slices.Equal(got, want) {
			t.Errorf("with %d to keep, %v is deleted, want %v", keep, got, want)
		}
	}
	if got := etcdbackup.Surplus(nil, 0); len(got) != 0 {
		t.Errorf("of none, %v is deleted", got)
	}
}
