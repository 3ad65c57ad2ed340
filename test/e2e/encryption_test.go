package e2e

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"

	"github.com/aws-operator/aws-operator/internal/machines/process"
)

// Encryption is added to a cluster of three slots while clients read and write Secrets, and the operator is killed at
// random moments. Each Secret stays readable, and at the end etcd has none in plain text. The machines, nodeup, etcd, the
// API servers and the KMS plugins are real.
func TestEncryptionOfRealMachinesIsAdded(t *testing.T) {
	requireOperations(t)
	c, host := newProcessCloud(t, nil)
	objects := c.apply(strings.Replace(resizing, "replicas: 1", "replicas: 3", 1))
	cluster := objects[0]
	c.awaitReady(objects...)
	workload := c.workload("real")
	const old = 120
	for i := range old {
		putSecret(t, workload, "old-"+strconv.Itoa(i))
	}
	if stored := c.secretsInEtcd(host); len(stored) < old || !anyPlain(stored) {
		t.Fatalf("etcd has %d Secrets, before encryption is added", len(stored))
	}

	config := c.clientConfig("real")
	config.QPS = -1
	users := watchSecrets(t, kubernetes.NewForConfigOrDie(config), old)
	start, kills := time.Now(), 0
	kill := inAWhile()
	c.patch(cluster, `{"spec":{"api":{"encryption":{}}}}`)
	var seen []string
	c.await(func() string { return fmt.Sprintf("the encryption to be done: %v", seen) }, func() bool {
		object := c.get(cluster)
		stage, _, _ := unstructured.NestedString(object.Object, "status", "encryption", "stage")
		message, _, _ := unstructured.NestedString(object.Object, "status", "encryption", "message")
		if now := stage + ": " + message; len(seen) == 0 || seen[len(seen)-1] != now {
			seen = append(seen, now)
			t.Logf("%s the encryption is in stage %s", time.Now().Format(time.TimeOnly), now)
		}
		if time.Now().After(kill) {
			c.kill()
			c.start()
			kills, kill = kills+1, inAWhile()
		}
		return stage == "Done"
	})
	users.end()
	c.awaitReady(objects...)
	t.Logf("encryption was added in %s, while the operator was killed %d times", time.Since(start).Round(time.Second), kills)

	for key, value := range c.secretsInEtcd(host) {
		if !strings.HasPrefix(value, "k8s:enc:kms:v2:aws-kms:") {
			t.Errorf("etcd has %s as %.20q", key, value)
		}
	}
	for i := range old {
		name := "old-" + strconv.Itoa(i)
		got, err := workload.CoreV1().Secrets("default").Get(t.Context(), name, metav1.GetOptions{})
		if err != nil || string(got.Data["a"]) != name {
			t.Errorf("Secret %s is not what it was: %v", name, err)
		}
	}
	c.remove(objects...)
}

func putSecret(t *testing.T, workload kubernetes.Interface, name string) {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: map[string]string{"a": name}}
	if _, err := workload.CoreV1().Secrets("default").Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func anyPlain(stored map[string]string) bool {
	for _, value := range stored {
		if !strings.HasPrefix(value, "k8s:enc:") {
			return true
		}
	}
	return false
}

// inAWhile returns when to kill the operator next.
func inAWhile() time.Time {
	return time.Now().Add(time.Duration(1000+rand.IntN(14000)) * time.Millisecond)
}

// secretsInEtcd returns the Secrets as etcd stores them, by key.
func (c *cloud) secretsInEtcd(host *process.Host) map[string]string {
	c.t.Helper()
	stored := map[string]string{}
	c.await(func() string { return "etcd to answer" }, func() bool {
		for _, instance := range c.slots(c.t.Context()) {
			command, err := host.Command(c.t.Context(), instance, "sh", "-c", `p=/etc/kubernetes/pki/etcd
curl -s -m 20 --cacert $p/ca.crt --cert $p/healthcheck-client.crt --key $p/healthcheck-client.key \
	https://127.0.0.1:2379/v3/kv/range -d '{"key":"`+inBase64("/registry/secrets/")+`","range_end":"`+inBase64("/registry/secrets0")+`"}'`)
			if err != nil {
				continue
			}
			out, err := command.Output()
			var found struct{ Kvs []struct{ Key, Value []byte } }
			if err != nil || json.Unmarshal(out, &found) != nil {
				continue
			}
			for _, one := range found.Kvs {
				stored[string(one.Key)] = string(one.Value)
			}
			return len(stored) > 0
		}
		return false
	})
	return stored
}

func inBase64(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// secretUsers read and write Secrets.
type secretUsers struct {
	t      *testing.T
	stop   context.CancelFunc
	all    sync.WaitGroup
	reads  atomic.Int64
	writes atomic.Int64
	cut    atomic.Int64
}

// watchSecrets reads Secrets that exist and writes others, until end is called. A request may fail only because its
// connection ends with the API server that it is to, and succeeds when it is repeated.
func watchSecrets(t *testing.T, workload kubernetes.Interface, old int) *secretUsers {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	u := &secretUsers{t: t, stop: stop}
	secrets := workload.CoreV1().Secrets("default")
	u.all.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			name := "old-" + strconv.Itoa(i%old)
			var got *corev1.Secret
			u.must(ctx, "read "+name, func(ctx context.Context) (err error) {
				got, err = secrets.Get(ctx, name, metav1.GetOptions{})
				return err
			})
			if ctx.Err() == nil && string(got.Data["a"]) != name {
				t.Errorf("Secret %s is %q", name, got.Data["a"])
			}
			u.reads.Add(1)
			pause(ctx)
		}
	})
	u.all.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			name := "new-" + strconv.Itoa(i)
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: map[string]string{"a": name}}
			u.must(ctx, "write "+name, func(ctx context.Context) error {
				_, err := secrets.Create(ctx, secret, metav1.CreateOptions{})
				if apierrors.IsAlreadyExists(err) { // A request before was answered by a connection that ended.
					return nil
				}
				return err
			})
			for _, read := range []string{name, "new-" + strconv.Itoa(rand.IntN(i+1))} {
				var got *corev1.Secret
				u.must(ctx, "read "+read, func(ctx context.Context) (err error) {
					got, err = secrets.Get(ctx, read, metav1.GetOptions{})
					return err
				})
				if ctx.Err() == nil && string(got.Data["a"]) != read {
					t.Errorf("Secret %s is %q", read, got.Data["a"])
				}
			}
			u.writes.Add(1)
			pause(ctx)
		}
	})
	return u
}

// pause bounds the rate of requests.
func pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(50 * time.Millisecond):
	}
}

// must repeats a request while its connection ends or the load balancer has no slot for it, and fails for each other
// answer: an API server that cannot read what is in etcd answers with an internal error.
func (u *secretUsers) must(ctx context.Context, what string, request func(context.Context) error) {
	for ctx.Err() == nil {
		limited, end := context.WithTimeout(ctx, 5*time.Second)
		err := request(limited)
		end()
		switch {
		case err == nil:
			return
		case apierrors.ReasonForError(err) != metav1.StatusReasonUnknown && !apierrors.IsServerTimeout(err) &&
			!apierrors.IsTimeout(err) && !apierrors.IsTooManyRequests(err) && !apierrors.IsServiceUnavailable(err) &&
			!strings.Contains(err.Error(), "etcdserver"):
			u.t.Errorf("%s: %v", what, err)
		default:
			u.cut.Add(1)
		}
		pause(ctx)
	}
}

func (u *secretUsers) end() {
	u.t.Helper()
	u.stop()
	u.all.Wait()
	u.t.Logf("%d Secrets were read and %d written, and %d requests were repeated", u.reads.Load(), u.writes.Load(), u.cut.Load())
	if u.reads.Load() < 100 || u.writes.Load() < 100 {
		u.t.Error("too few Secrets were read and written")
	}
}
