package nodeup_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	testclock "k8s.io/utils/clock/testing"

	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
	"github.com/aws-operator/aws-operator/internal/nodeup"
	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/simulator/fault"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	simulated "github.com/aws-operator/aws-operator/internal/simulator/s3"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

const backupBucket = "demo-111111111111-eu-central-1"

// store is the cluster's bucket in the simulator's S3.
type store struct {
	t      *testing.T
	client *s3.Client
	faults *fault.Injector
}

func newStore(t *testing.T) *store {
	t.Helper()
	clock := testclock.NewFakeClock(time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC))
	faults := fault.New()
	buckets := simulated.New(&resource.Env{Clock: clock, Partition: "aws"})
	server := httptest.NewServer(wire.NewRouter([]*wire.Service{buckets.Service()}, faults, clock))
	t.Cleanup(server.Close)
	const region = "eu-central-1"
	client := s3.New(s3.Options{
		BaseEndpoint: &server.URL, Region: region, UsePathStyle: true, RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("111111111111", "secret", ""),
	})
	_, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{
		Bucket:                    aws.String(backupBucket),
		CreateBucketConfiguration: &s3types.CreateBucketConfiguration{LocationConstraint: region},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &store{t: t, client: client, faults: faults}
}

func (s *store) put(key string, content []byte) {
	s.t.Helper()
	if _, err := s.client.PutObject(s.t.Context(), &s3.PutObjectInput{
		Bucket: aws.String(backupBucket), Key: &key, Body: bytes.NewReader(content),
	}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *store) get(key string) []byte {
	s.t.Helper()
	found, err := s.client.GetObject(s.t.Context(), &s3.GetObjectInput{Bucket: aws.String(backupBucket), Key: &key})
	if err != nil {
		s.t.Fatal(err)
	}
	content, err := io.ReadAll(found.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return content
}

// keys are those below backups, in alphabetical order.
func (s *store) keys() []string {
	s.t.Helper()
	found, err := s.client.ListObjectsV2(s.t.Context(), &s3.ListObjectsV2Input{
		Bucket: aws.String(backupBucket), Prefix: aws.String("backups/"),
	})
	if err != nil {
		s.t.Fatal(err)
	}
	keys := make([]string, len(found.Contents))
	for i, object := range found.Contents {
		keys[i] = strings.TrimPrefix(*object.Key, "backups/etcd/")
	}
	return keys
}

// snapshots is the JSON gateway of a member whose snapshot is a database of some bytes.
type snapshots struct {
	mu       sync.Mutex
	database []byte
	sick     bool
	// cut is how many bytes of the snapshot are not sent, flip changes one.
	cut  int
	flip bool
	// fails ends the stream with an error.
	fails bool
}

func (s *snapshots) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch r.URL.Path {
	case "/health":
		_, _ = fmt.Fprintf(w, `{"health":"%t","reason":"RAFT NO LEADER"}`, !s.sick)
	case "/v3/maintenance/status":
		_, _ = fmt.Fprintf(w, `{"dbSize":%q}`, strconv.Itoa(len(s.database)))
	case "/v3/maintenance/snapshot":
		s.send(w)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func (s *snapshots) send(w io.Writer) {
	whole := append(bytes.Clone(s.database), sumOf(s.database)...)
	if s.flip {
		whole[7] ^= 1
	}
	whole = whole[:len(whole)-s.cut]
	encoder := json.NewEncoder(w)
	for part := range slices.Chunk(whole, 1000) {
		_ = encoder.Encode(map[string]any{"result": map[string]any{"remaining_bytes": "1", "blob": part}})
		if s.fails {
			_ = encoder.Encode(map[string]any{"error": map[string]any{"message": "etcdserver: database closed"}})
			return
		}
	}
}

// sumOf returns the hash that etcd appends to a database.
func sumOf(database []byte) []byte {
	sum := sha256.Sum256(database)
	return sum[:]
}

// hasty is a clock on which every wait is over at once, and has taken its time.
type hasty struct{ *testclock.FakeClock }

func (h *hasty) After(length time.Duration) <-chan time.Time {
	h.Step(length)
	over := make(chan time.Time, 1)
	over <- h.Now()
	return over
}

// saver is a slot that makes backups, on a clock that all slots share.
type saver struct {
	*machine
	etcd  *snapshots
	clock *testclock.FakeClock
}

// newSaver returns the slot of that number of three.
func newSaver(t *testing.T, to *store, number int, change func(*bundle.EtcdBackup)) *saver {
	t.Helper()
	b := slot()
	b.Etcd.Slot, b.Etcd.DNSName = number, fmt.Sprintf("etcd-%d.demo.internal", number)
	b.Etcd.Members = map[string]string{
		"etcd-0": "etcd-0.demo.internal", "etcd-1": "etcd-1.demo.internal", "etcd-2": "etcd-2.demo.internal",
	}
	b.Etcd.Backup = &bundle.EtcdBackup{IntervalSeconds: 6 * 3600, Keep: 28}
	if change != nil {
		change(b.Etcd.Backup)
	}
	s := &saver{machine: newMachine(t, b), etcd: &snapshots{database: bytes.Repeat([]byte("etcd"), 4096)}}
	s.clock = testclock.NewFakeClock(time.Date(2026, 11, 28, 6, 0, 0, 0, time.UTC))
	server := httptest.NewUnstartedServer(s.etcd)
	server.TLS = s.trustEtcd(t)
	server.StartTLS()
	t.Cleanup(server.Close)
	s.dial(server.Listener.Addr().String())
	s.account.names[b.Etcd.DNSName] = "10.0.1.2"
	to.put(bundle.Key(b.Hash()), b.JSON())
	s.options.Bucket, s.options.Clock, s.options.AWS = backupBucket, s.clock, nodeup.AWS{Objects: to.client}
	if err := os.MkdirAll(filepath.Join(s.root, "/var/lib/nodeup"), 0o755); err != nil {
		t.Fatal(err)
	}
	return s
}

// run runs the slot. It steps the clock by each duration as soon as the slot waits.
func (s *saver) run(t *testing.T, passing ...time.Duration) {
	t.Helper()
	s.clock = testclock.NewFakeClock(s.clock.Now()) // the former one still has the waiter of the former run
	s.options.Clock = s.clock
	ctx, cancel := context.WithCancel(patience.Context(t))
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- nodeup.BackUp(ctx, s.options) }()
	for _, length := range append(passing, 0) {
		for !s.clock.HasWaiters() {
			select {
			case err := <-ended:
				t.Fatalf("it ended: %v", err)
			case <-time.After(time.Millisecond):
			}
		}
		s.clock.Step(length)
	}
	cancel()
	if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(s.root, "/var/lib/nodeup/etcd-backup.db")); !os.IsNotExist(err) {
		t.Errorf("the snapshot is left on the disk: %v", err)
	}
}

func TestSlotBacksUpOnSchedule(t *testing.T) {
	to := newStore(t)
	s := newSaver(t, to, 0, nil)
	s.run(t)
	if got := to.keys(); !slices.Equal(got, []string{"20261128T060000Z-slot0.db"}) {
		t.Fatalf("the bucket has %v\n%s", got, s.log)
	}
	if got := to.get("backups/etcd/20261128T060000Z-slot0.db"); !bytes.Equal(got, append(bytes.Clone(s.etcd.database), sumOf(s.etcd.database)...)) {
		t.Errorf("the backup has %d bytes, and not those of etcd", len(got))
	}
	// The others are down. It waits for them, and then makes theirs.
	s.run(t, 5*time.Hour+59*time.Minute)
	if got := to.keys(); len(got) != 1 {
		t.Fatalf("before the interval is over, the bucket has %v", got)
	}
	s.run(t, 10*time.Minute)
	if got := to.keys(); len(got) != 1 {
		t.Fatalf("in the turns of the other slots, the bucket has %v", got)
	}
	s.run(t, time.Minute)
	if got := to.keys(); len(got) != 2 || got[1] != "20261128T121000Z-slot0.db" {
		t.Fatalf("after the turns of the other slots, the bucket has %v\n%s", got, s.log)
	}
}

// Three slots run one after the other at each moment, as they do at the same time in a cluster.
// Slot 1 is down for a day.
func TestSlotsTakeTurnsAndSkipOneThatIsDown(t *testing.T) {
	to := newStore(t)
	savers := []*saver{newSaver(t, to, 0, nil), newSaver(t, to, 1, nil), newSaver(t, to, 2, nil)}
	began := savers[0].clock.Now()
	for passed := time.Duration(0); passed < 30*time.Hour; passed += 5 * time.Minute {
		for i, s := range savers {
			if i == 1 && passed > 5*time.Hour && passed < 29*time.Hour {
				continue
			}
			s.clock.SetTime(began.Add(passed))
			s.run(t)
		}
	}
	want := []string{
		"20261128T060000Z-slot0.db", "20261128T120500Z-slot2.db", "20261128T180500Z-slot0.db", "20261129T001000Z-slot2.db",
		"20261129T061000Z-slot0.db",
	}
	if got := to.keys(); !slices.Equal(got, want) {
		t.Errorf("the bucket has %v, want %v", got, want)
	}
}

func TestOldBackupsAreDeletedAndOtherObjectsAreNot(t *testing.T) {
	to := newStore(t)
	others := []string{
		"20261128T050000Z-slot0.db.copy", "29991231T235959Z-slot1.db", "notes.txt", "restore/20261101T000000Z-slot0.db", "zzz-slot0.db",
	}
	for _, key := range append(others, "20261127T060000Z-slot0.db", "20261127T120000Z-slot1.db", "20261127T180000Z-slot2.db") {
		to.put("backups/etcd/"+key, []byte("content"))
	}
	to.put("backups/other/20261101T000000Z-slot0.db", []byte("content"))
	s := newSaver(t, to, 0, func(b *bundle.EtcdBackup) { b.Keep = 2 })
	s.run(t)
	want := slices.Sorted(slices.Values(append(
		others, "20261127T180000Z-slot2.db", "20261128T060000Z-slot0.db", "backups/other/20261101T000000Z-slot0.db",
	)))
	if got := slices.Sorted(slices.Values(to.keys())); !slices.Equal(got, want) {
		t.Errorf("the bucket has\n%v, want\n%v", got, want)
	}
}

// A backup that cannot be made is tried again, says why, and leaves nothing in the bucket.
func TestBackupThatFailsIsTriedAgain(t *testing.T) {
	for name, test := range map[string]struct {
		breaks func(*saver, *store) (repair func())
		says   []string
	}{
		"etcd has no quorum": {func(s *saver, _ *store) func() {
			s.etcd.sick = true
			return func() { s.etcd.sick = false }
		}, []string{"etcd of slot 0 makes no backup", "RAFT NO LEADER"}},
		"the disk is full": {func(s *saver, _ *store) func() {
			s.options.Space = func(string) (uint64, uint64, error) { return 1 << 30, 30 << 30, nil }
			return func() { s.options.Space = nil }
		}, []string{"1024 MiB free", "4607 MiB must stay free", "spec.controlPlane.rootVolume"}},
		"etcd grows while it is read": {func(s *saver, _ *store) func() {
			s.options.Space = func(string) (uint64, uint64, error) { return uint64(len(s.etcd.database)), 0, nil }
			return func() { s.options.Space = nil }
		}, []string{"it became larger than 0 MiB"}},
		"S3 denies it": {func(_ *saver, to *store) func() {
			return to.faults.Add(fault.Rule{Service: "s3", Operation: "PutObject", Deny: true})
		}, []string{"upload backups/etcd/20261128T060000Z-slot0.db", "AccessDenied", "s3:PutObject and kms:GenerateDataKey for backups/etcd/*", "apply the cluster's definition"}},
		"S3 denies the list": {func(_ *saver, to *store) func() {
			return to.faults.Add(fault.Rule{Service: "s3", Operation: "ListObjectsV2", Deny: true})
		}, []string{"list backups/etcd/", "s3:ListBucket for backups/etcd/*"}},
		"the snapshot ends early": {func(s *saver, _ *store) func() {
			s.etcd.cut = 5000
			return func() { s.etcd.cut = 0 }
		}, []string{"without its hash"}},
		"the snapshot is damaged": {func(s *saver, _ *store) func() {
			s.etcd.flip = true
			return func() { s.etcd.flip = false }
		}, []string{"does not have the hash that etcd appended"}},
		"etcd fails while it is read": {func(s *saver, _ *store) func() {
			s.etcd.fails = true
			return func() { s.etcd.fails = false }
		}, []string{"database closed"}},
	} {
		t.Run(name, func(t *testing.T) {
			to := newStore(t)
			s := newSaver(t, to, 0, nil)
			repair := test.breaks(s, to)
			s.run(t, time.Second)
			if log := s.log.String(); slices.ContainsFunc(test.says, func(text string) bool { return !strings.Contains(log, text) }) {
				t.Errorf("the log does not say %q:\n%s", test.says, log)
			}
			repair()
			if got := to.keys(); len(got) != 0 {
				t.Errorf("the bucket has %v", got)
			}
			s.run(t)
			if got := to.keys(); len(got) != 1 {
				t.Errorf("after the repair, the bucket has %v\n%s", got, s.log)
			}
		})
	}
}

// A slot that may not delete still makes backups.
func TestBackupDoesNotDependOnRetention(t *testing.T) {
	to := newStore(t)
	to.put("backups/etcd/20261127T060000Z-slot0.db", []byte("content"))
	to.faults.Add(fault.Rule{Service: "s3", Operation: "DeleteObject", Deny: true})
	s := newSaver(t, to, 1, func(b *bundle.EtcdBackup) { b.Keep = 1 })
	s.run(t)
	if got := to.keys(); len(got) != 2 {
		t.Errorf("the bucket has %v\n%s", got, s.log)
	}
	if !strings.Contains(s.log.String(), "s3:DeleteObject for backups/etcd/*") {
		t.Errorf("the log does not say why one remains:\n%s", s.log)
	}
}

func TestSlotWithoutTheFieldMakesNoBackups(t *testing.T) {
	to := newStore(t)
	s := newSaver(t, to, 0, nil)
	b := slot()
	to.put(bundle.Key(b.Hash()), b.JSON())
	s.options.BundleSHA256 = b.Hash()
	err := nodeup.BackUp(t.Context(), s.options)
	if _, permanent := errors.AsType[*nodeup.PermanentError](err); !permanent || len(to.keys()) != 0 {
		t.Errorf("it ends with %v, and the bucket has %v", err, to.keys())
	}
}

// The unit runs only where the cluster has backups in its bucket.
func TestUnitOfBackups(t *testing.T) {
	for _, enabled := range []bool{false, true} {
		b := slot()
		if enabled {
			b.Etcd.Backup = &bundle.EtcdBackup{IntervalSeconds: 3600, Keep: 3}
		}
		m := newMachine(t, b)
		if err := nodeup.Run(t.Context(), m.options); err != nil {
			t.Fatal(err)
		}
		started := strings.Contains(m.calls(t), "systemctl enable --now nodeup-backup.service")
		_, err := os.Stat(filepath.Join(m.root, "/etc/systemd/system/nodeup-backup.service"))
		if started != enabled || (err == nil) != enabled {
			t.Errorf("with the field: %v, started: %v, unit: %v", enabled, started, err)
		}
		if enabled && !strings.Contains(m.read(t, "/etc/systemd/system/nodeup-backup.service"), "--bundle "+b.Hash()+" --back-up\n") {
			t.Error("the unit does not run --back-up with the bundle")
		}
	}
}
