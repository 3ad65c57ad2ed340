package nodeup_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awskms "github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/internal/etcdbackup"
)

// confidential is in a Secret, and never in etcd or a backup in clear text; public is in a ConfigMap.
const confidential, public = "the launch code is 00000000", "the rocket is white"

// TestSecretsAreEncryptedInEtcd boots three slots for real, with the permissions that their role has.
// Each API server reads what the others have encrypted: while the plugins are killed at random moments,
// after it is restarted, after etcd is restored from a backup, and after an instance is replaced. The role can
// use the key for nothing else. A disabled key is reported.
func TestSecretsAreEncryptedInEtcd(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes minutes")
	}
	l := newSuite(t, release.Set120, 3, func(spec *v1alpha1.ClusterSpec) {
		spec.API.Encryption = &v1alpha1.Encryption{}
		spec.Backup.Bucket = &v1alpha1.BucketBackup{}
	})
	_, api := l.newCAs()
	bundles := l.startSlots()
	var instances []string
	for slot, b := range bundles {
		l.await("each slot is a node", func() error {
			return hasNode(t.Context(), api, fmt.Sprintf("%s=%d", model.LabelSlot, slot), b.Hash())
		})
		node := l.nodesOf(api, slot)[0]
		instances = append(instances, node[strings.LastIndexByte(node, '/')+1:])
	}
	l.await("a ConfigMap and a Secret are written", func() error {
		config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "open"}, Data: map[string]string{"a": public}}
		_, err := api.CoreV1().ConfigMaps("default").Create(t.Context(), config, metav1.CreateOptions{})
		return errors.Join(ignoreExists(err), ignoreExists(writeSecret(t.Context(), api, "kept")))
	})
	if stored := l.inEtcd(instances[0], "/registry/configmaps/default/open"); !strings.Contains(stored, public) {
		t.Errorf("etcd has the ConfigMap as %q", stored)
	}
	stored := l.inEtcd(instances[0], "/registry/secrets/default/kept")
	if !strings.HasPrefix(stored, "k8s:enc:kms:v2:aws-kms:") || strings.Contains(stored, confidential) {
		t.Errorf("etcd has the Secret as %q", stored)
	}
	for i, instance := range instances {
		l.await("each slot's API server reads the Secret", func() error { return l.readsSecret(instance, "kept") })
		t.Logf("slot %d reads it", i)
	}

	l.killPlugins(api, instances)
	l.restartAPIServers(instances)
	l.tryKey(instances[0])
	l.restoreEncrypted(api, bundles, instances)
	l.disableKey(api, instances)
	l.replaceSlot(api)
}

func writeSecret(ctx context.Context, api kubernetes.Interface, name string) error {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: map[string]string{"a": confidential}}
	_, err := api.CoreV1().Secrets("default").Create(ctx, secret, metav1.CreateOptions{})
	return err
}

// inEtcd returns the value of a key as etcd has it.
func (l *suite) inEtcd(instance, key string) string {
	l.t.Helper()
	var found struct{ Kvs []struct{ Value []byte } }
	l.await("etcd has "+key, func() error {
		out := l.inside(instance, `p=/etc/kubernetes/pki/etcd; curl -s -m 20 --cacert $p/ca.crt --cert $p/healthcheck-client.crt `+
			`--key $p/healthcheck-client.key https://127.0.0.1:2379/v3/kv/range -d '{"key":"`+base64.StdEncoding.EncodeToString([]byte(key))+`"}'`)
		if err := json.Unmarshal([]byte(out), &found); err != nil || len(found.Kvs) != 1 {
			return fmt.Errorf("it answers %q: %w", out, err)
		}
		return nil
	})
	return string(found.Kvs[0].Value)
}

// askAPI returns the answer of the API server of an instance, and not of another one.
func (l *suite) askAPI(instance, path string) string {
	l.t.Helper()
	return l.inside(instance, `c=/etc/kubernetes
one() { sed -n "s/.*$1: //p" $c/super-admin.conf | base64 -d >/run/$1; }
one client-certificate-data; one client-key-data
curl -s -m 20 --cacert $c/pki/ca.crt --cert /run/client-certificate-data --key /run/client-key-data `+
		`--resolve kubernetes:6443:127.0.0.1 https://kubernetes:6443`+path)
}

// readsSecret returns an error unless the API server of an instance reads a Secret.
func (l *suite) readsSecret(instance, name string) error {
	l.t.Helper()
	out := l.askAPI(instance, "/api/v1/namespaces/default/secrets/"+name)
	var secret corev1.Secret
	if err := json.Unmarshal([]byte(out), &secret); err != nil || string(secret.Data["a"]) != confidential {
		return fmt.Errorf("it answers %q: %w", out, err)
	}
	return nil
}

// killPlugins kills plugins at random moments, while Secrets are written and read. Seeds are cached, so
// nothing fails: https://kubernetes.io/docs/tasks/administer-cluster/kms-provider/.
func (l *suite) killPlugins(api kubernetes.Interface, instances []string) {
	l.t.Helper()
	const lasts = 15 * time.Second
	ctx, stop := context.WithTimeout(l.t.Context(), lasts)
	defer stop()
	var kills, written atomic.Int32
	var all sync.WaitGroup
	all.Go(func() {
		for ctx.Err() == nil {
			time.Sleep(time.Duration(rand.IntN(1000)) * time.Millisecond) // The moment of a kill is random; no condition states it.
			if strings.Contains(l.inside(instances[rand.IntN(len(instances))], killPlugin), "killed") {
				kills.Add(1)
			}
		}
	})
	all.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			name := fmt.Sprintf("while-killing-%d", i)
			if err := despiteCuts(func() error { return ignoreExists(writeSecret(l.t.Context(), api, name)) }); err != nil {
				l.t.Errorf("write %s: %v", name, err)
				continue
			}
			var got *corev1.Secret
			err := despiteCuts(func() (err error) {
				got, err = api.CoreV1().Secrets("default").Get(l.t.Context(), name, metav1.GetOptions{})
				return err
			})
			if err != nil || string(got.Data["a"]) != confidential {
				l.t.Errorf("read %s: %v", name, err)
			}
			written.Add(1)
		}
	})
	all.Wait()
	if kills.Load() < 3 || written.Load() < 15 {
		l.t.Errorf("plugins were killed %d times, and %d Secrets were written", kills.Load(), written.Load())
	}
	l.t.Logf("plugins were killed %d times, while %d Secrets were written and read", kills.Load(), written.Load())
}

// despiteCuts repeats a request whose connection the load balancer has closed, as it does when a slot
// becomes unhealthy, at most five times.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/network/edit-target-group-attributes.html#unhealthy-target-connection-termination
func despiteCuts(request func() error) (err error) {
	for range 5 {
		if err = request(); !utilnet.IsProbableEOF(err) && !utilnet.IsConnectionReset(err) {
			return err
		}
	}
	return err
}

// killPlugin kills the process of the plugin, inside the machine.
const killPlugin = `for p in /proc/[0-9]*; do
	if tr '\0' ' ' <$p/cmdline 2>/dev/null | grep -q '^[^ ]*nodeup .*--serve-kms'; then kill -9 ${p#/proc/} && echo killed; fi
done`

// restartAPIServers kills each API server. The next one has no seeds, and gets them from the plugin.
func (l *suite) restartAPIServers(instances []string) {
	l.t.Helper()
	const kill = `for p in /proc/[0-9]*; do
	if tr '\0' ' ' <$p/cmdline 2>/dev/null | grep -q '^kube-apiserver '; then kill -9 ${p#/proc/} && echo killed; fi
done`
	for _, instance := range instances {
		if out := l.inside(instance, kill); !strings.Contains(out, "killed") {
			l.t.Errorf("there is no API server to kill: %q", out)
		}
	}
	for _, instance := range instances {
		l.await("the next API server reads the Secrets", func() error {
			return errors.Join(l.readsSecret(instance, "kept"), l.readsSecret(instance, "while-killing-0"))
		})
	}
}

// kms returns a client of KMS with credentials.
func (l *suite) kms(as aws.CredentialsProvider) *awskms.Client {
	o := l.objects.Options()
	return awskms.New(awskms.Options{Region: o.Region, Credentials: as, BaseEndpoint: o.BaseEndpoint, HTTPClient: o.HTTPClient})
}

// tryKey does with the credentials of a slot's role what an intruder on the slot could do with the key.
func (l *suite) tryKey(instance string) {
	l.t.Helper()
	const role = `at=http://169.254.169.254/latest
token=$(curl -s -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 60' $at/api/token)
read() { curl -s -H "X-aws-ec2-metadata-token: $token" $at/meta-data/iam/security-credentials/$1; }
read $(read)`
	var keys struct{ AccessKeyID, SecretAccessKey, Token string }
	if err := json.Unmarshal([]byte(l.inside(instance, role)), &keys); err != nil || keys.Token == "" {
		l.t.Fatalf("the machine has no credentials: %v", err)
	}
	slot := l.kms(credentials.NewStaticCredentialsProvider(keys.AccessKeyID, keys.SecretAccessKey, keys.Token))
	owner, ctx := l.kms(l.objects.Options().Credentials), l.t.Context()
	key := aws.String(l.outputs[model.OutputKey])
	of := func(cluster string) map[string]string {
		return map[string]string{bundle.ContextAccount: "123456789012", bundle.ContextCluster: cluster}
	}
	// What each of these contexts would protect, encrypted by the account's root user.
	open := func(encryption map[string]string) error {
		sealed, err := owner.Encrypt(ctx, &awskms.EncryptInput{KeyId: key, Plaintext: []byte("x"), EncryptionContext: encryption})
		if err != nil {
			l.t.Fatal(err)
		}
		_, err = slot.Decrypt(ctx, &awskms.DecryptInput{KeyId: key, CiphertextBlob: sealed.CiphertextBlob, EncryptionContext: encryption})
		return err
	}
	seal := func(encryption map[string]string) error {
		_, err := slot.Encrypt(ctx, &awskms.EncryptInput{KeyId: key, Plaintext: []byte("x"), EncryptionContext: encryption})
		return err
	}
	_, generated := slot.GenerateDataKey(ctx, &awskms.GenerateDataKeyInput{KeyId: key, KeySpec: "AES_256", EncryptionContext: of("demo")})
	_, disabled := slot.DisableKey(ctx, &awskms.DisableKeyInput{KeyId: key})
	object := map[string]string{"aws:s3:arn": "arn:aws:s3:::" + l.outputs[model.OutputBucket] + "/pki/ca.key"}
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"decrypt its own":            {open(of("demo")), ""},
		"decrypt another cluster's":  {open(of("demo2")), "AccessDenied"},
		"decrypt without a context":  {open(nil), "AccessDenied"},
		"decrypt an object directly": {open(object), "AccessDenied"},
		"encrypt its own":            {seal(of("demo")), ""},
		"encrypt another cluster's":  {seal(of("demo2")), "AccessDenied"},
		"encrypt without a context":  {seal(nil), "AccessDenied"},
		"generate a key":             {generated, "AccessDenied"},
		"disable the key":            {disabled, "AccessDenied"},
	} {
		if test.want == "" && test.err != nil || test.want != "" && (test.err == nil || !strings.Contains(test.err.Error(), test.want)) {
			l.t.Errorf("%s: got %v, want %q", name, test.err, test.want)
		}
	}
}

// restoreEncrypted restores etcd from a backup in the bucket, which has the Secret encrypted.
func (l *suite) restoreEncrypted(api kubernetes.Interface, bundles []*bundle.Bundle, instances []string) {
	l.t.Helper()
	bucket := l.outputs[model.OutputBucket]
	l.await("there is a backup", func() error {
		found, err := l.objects.ListObjectsV2(l.t.Context(), &s3.ListObjectsV2Input{Bucket: &bucket, Prefix: aws.String(etcdbackup.Prefix)})
		if err != nil || len(found.Contents) == 0 {
			return fmt.Errorf("there is none: %w", err)
		}
		l.remove(*found.Contents[0].Key)
		return nil
	})
	l.restoreInPlace(api, bundles, build(l.t, "etcd-restore"))
	found, err := l.objects.ListObjectsV2(l.t.Context(), &s3.ListObjectsV2Input{Bucket: &bucket, Prefix: aws.String(etcdbackup.Prefix)})
	if err != nil || len(found.Contents) == 0 {
		l.t.Fatal("there is no backup", err)
	}
	backup := l.get(*found.Contents[0].Key)
	for text, want := range map[string]bool{public: true, "k8s:enc:kms:v2:aws-kms:": true, confidential: false} {
		if strings.Contains(backup, text) != want {
			l.t.Errorf("it is not %v that the backup has %q", want, text)
		}
	}
	for _, instance := range instances {
		l.await("each API server reads the restored Secret", func() error { return l.readsSecret(instance, "kept") })
	}
	if stored := l.inEtcd(instances[0], "/registry/secrets/default/kept"); !strings.HasPrefix(stored, "k8s:enc:kms:v2:aws-kms:") {
		l.t.Errorf("etcd has the restored Secret as %q", stored)
	}
}

// disableKey disables the key. The API servers report it, and read and write on, until it is enabled.
func (l *suite) disableKey(api kubernetes.Interface, instances []string) {
	l.t.Helper()
	owner, key := l.kms(l.objects.Options().Credentials), aws.String(l.outputs[model.OutputKey])
	if _, err := owner.DisableKey(l.t.Context(), &awskms.DisableKeyInput{KeyId: key}); err != nil {
		l.t.Fatal(err)
	}
	for _, instance := range instances {
		l.inside(instance, killPlugin) // The next one checks the key at once.
	}
	const health = "/readyz/kms-providers"
	for _, instance := range instances {
		l.await("each API server reports the key", func() error {
			if out := l.askAPI(instance, health); !strings.Contains(out, "enable the key in KMS") {
				return fmt.Errorf("it answers %q", out)
			}
			return nil
		})
	}
	if err := writeSecret(l.t.Context(), api, "while-disabled"); err != nil {
		l.t.Errorf("write a Secret while the key is disabled: %v", err)
	}
	if _, err := owner.EnableKey(l.t.Context(), &awskms.EnableKeyInput{KeyId: key}); err != nil {
		l.t.Fatal(err)
	}
	for _, instance := range instances {
		l.await("each API server is healthy, and reads what was written meanwhile", func() error {
			if out := l.askAPI(instance, health); out != "ok" {
				return fmt.Errorf("it answers %q", out)
			}
			return l.readsSecret(instance, "while-disabled")
		})
	}
}

// replaceSlot terminates an instance. The next one of the slot reads what is on the slot's volume.
func (l *suite) replaceSlot(api kubernetes.Interface) {
	l.t.Helper()
	before, next := l.nodesOf(api, 0)[0], ""
	l.terminate(before)
	l.await("the slot's next machine is a node", func() error {
		for _, node := range l.nodesOf(api, 0) {
			if node != before {
				next = node[strings.LastIndexByte(node, '/')+1:]
				return nil
			}
		}
		return errors.New("there is none")
	})
	l.await("its API server reads the Secrets", func() error {
		return errors.Join(l.readsSecret(next, "kept"), l.readsSecret(next, "while-disabled"))
	})
}
