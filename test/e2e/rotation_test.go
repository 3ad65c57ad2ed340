package e2e

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/aws-operator/aws-operator/internal/patience"
)

// The CAs and the service-account key of a real cluster are rotated: the API always answers those who have a
// kubeconfig or a token from before the rotation, until its last stage, and those who have one of a later stage. The
// operator is killed in each stage. API servers verify the serving certificates of kubelets before, amid and after it. At the
// end, the control plane trusts neither certificates nor tokens from before, and does not publish the old CAs.
func TestCAsOfRealMachinesAreRotated(t *testing.T) {
	requireOperations(t)
	c, _ := newProcessCloud(t, nil)
	objects := c.apply(strings.Replace(booting, "  controlPlane:", "  certificates: {kubeletServing: Verified}\n  controlPlane:", 1))
	c.awaitReady(objects...)
	former := c.clientConfig("real")
	old := kubernetes.NewForConfigOrDie(former)
	c.checkKubelets(old)
	runDeployment(c, old)
	write(t, old, "written", "before")
	formerToken := serviceAccountToken(t, old)

	start := time.Now()
	api, tokens := c.watchAPI(old), watchToken(t, former, formerToken)
	c.patch(objects[0], `{"spec":{"certificates":{"rotate":"first"}}}`)
	for _, stage := range []string{"Trust", "Issue", "Renew"} {
		c.awaitStage(objects[0], stage)
		c.kill()
		c.start()
	}
	renewed := c.awaitKubeconfig("real", former)
	newer := kubernetes.NewForConfigOrDie(renewed)
	c.checkKubelets(newer)
	renewedAPI := c.watchAPI(newer)
	c.awaitStage(objects[0], "Forget") // From here on, one slot after the other forgets the old CAs.
	api.end("the CAs were rotated, with a kubeconfig from before", outage)
	tokens.end(c.began("Forget"))
	renewedToken := serviceAccountToken(t, newer)
	c.awaitStage(objects[0], "Done")
	renewedAPI.end("the old CAs were forgotten, with a new kubeconfig", outage)
	c.awaitReady(objects...)
	t.Logf("the CAs of three slots and two workers were rotated in %s", time.Since(start).Round(time.Second))

	latest := c.clientConfig("real")
	if got := bytes.Count(latest.CAData, []byte("BEGIN CERTIFICATE")); got != 1 || bytes.Equal(latest.CAData, former.CAData) {
		t.Errorf("the kubeconfig trusts %d CAs", got)
	}
	c.checkRefused(former, latest, formerToken)
	c.checkKubelets(kubernetes.NewForConfigOrDie(latest))
	if err := readWith(t, withToken(latest, renewedToken)); err != nil {
		t.Errorf("a token from after the key was rotated: %v", err)
	}
	c.checkPublished(former, latest)
	c.checkProcessNodes(objects)
	c.remove(objects...)
}

// checkKubelets checks that API servers reach the kubelets of all nodes, and so accept their certificates.
func (c *cloud) checkKubelets(workload kubernetes.Interface) {
	c.t.Helper()
	const each = 6 // so that each slot's API server is likely to answer one
	patience.Until(c.t, "API servers verify all kubelets", func() error {
		nodes, err := workload.CoreV1().Nodes().List(c.t.Context(), metav1.ListOptions{})
		if err != nil || len(nodes.Items) == 0 {
			return fmt.Errorf("there are %d nodes, %w", len(nodes.Items), err)
		}
		for i := range each * len(nodes.Items) {
			path := "/api/v1/nodes/" + nodes.Items[i%len(nodes.Items)].Name + "/proxy/healthz"
			answer, err := workload.CoreV1().RESTClient().Get().AbsPath(path).DoRaw(c.t.Context())
			if err != nil || string(answer) != "ok" {
				return fmt.Errorf("%s is %q, %w", path, answer, err)
			}
		}
		return nil
	})
}

// clientConfig returns the configuration in the Secret of a cluster's kubeconfig.
func (c *cloud) clientConfig(name string) *rest.Config {
	c.t.Helper()
	secret, err := c.core.CoreV1().Secrets(c.namespace).Get(c.t.Context(), name+"-kubeconfig", metav1.GetOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(secret.Data["value"])
	if err != nil {
		c.t.Fatal(err)
	}
	return config
}

// awaitKubeconfig waits until the kubeconfig has a certificate of another CA than a former one.
func (c *cloud) awaitKubeconfig(name string, former *rest.Config) (found *rest.Config) {
	c.t.Helper()
	c.await(func() string { return "the kubeconfig to be renewed" }, func() bool {
		found = c.clientConfig(name)
		return !bytes.HasSuffix(former.CAData, firstBlock(found.CAData)) && !bytes.Equal(found.CertData, former.CertData)
	})
	return found
}

// firstBlock returns the first block of a file in PEM.
func firstBlock(file []byte) []byte {
	block, _ := pem.Decode(file)
	if block == nil {
		return nil
	}
	return pem.EncodeToMemory(block)
}

// awaitStage waits until the rotation of a cluster is in one of some stages.
func (c *cloud) awaitStage(cluster *unstructured.Unstructured, stages ...string) {
	c.t.Helper()
	var seen string
	c.await(func() string { return fmt.Sprintf("stage %v: it is %s", stages, seen) }, func() bool {
		object := c.get(cluster)
		stage, _, _ := unstructured.NestedString(object.Object, "status", "certificates", "rotation", "stage")
		message, _, _ := unstructured.NestedString(object.Object, "status", "certificates", "rotation", "message")
		if now := stage + ": " + message; now != seen {
			seen = now
			c.t.Logf("%s the rotation is in stage %s", time.Now().Format(time.TimeOnly), now)
		}
		return slices.Contains(stages, stage)
	})
}

// serviceAccountToken returns a token that is valid for a day.
func serviceAccountToken(t *testing.T, workload kubernetes.Interface) string {
	t.Helper()
	day := int64(24 * 60 * 60)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &day}}
	made, err := workload.CoreV1().ServiceAccounts("default").CreateToken(t.Context(), "default", request, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return made.Status.Token
}

// withToken returns a configuration that trusts the same CAs and authenticates with a token.
func withToken(config *rest.Config, token string) *rest.Config {
	made := rest.AnonymousClientConfig(config)
	made.BearerToken = token
	return made
}

// readWith returns an error unless a client authenticates. It need not be permitted to read.
func readWith(t *testing.T, config *rest.Config) error {
	t.Helper()
	_, err := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps("default").Get(t.Context(), "written", metav1.GetOptions{})
	if apierrors.IsForbidden(err) && !strings.Contains(err.Error(), "system:anonymous") {
		return nil
	}
	return err
}

// tokenWatch counts refusals of a token.
type tokenWatch struct {
	t       *testing.T
	stop    chan struct{}
	done    chan struct{}
	refused []refusedToken
	asked   int
}

// refusedToken is when and why a token was refused.
type refusedToken struct {
	at  time.Time
	why error
}

// watchToken authenticates with a token repeatedly, until end is called.
func watchToken(t *testing.T, config *rest.Config, token string) *tokenWatch {
	t.Helper()
	w := &tokenWatch{t: t, stop: make(chan struct{}), done: make(chan struct{})}
	limited := withToken(config, token)
	limited.Timeout = 2 * time.Second
	go func() {
		defer close(w.done)
		ticker := time.NewTicker(time.Second / 5)
		defer ticker.Stop()
		for {
			select {
			case <-w.stop:
				return
			case <-ticker.C:
			}
			w.asked++
			// A connection to a slot that ends is no refusal.
			if err := readWith(t, limited); apierrors.IsUnauthorized(err) || err != nil && strings.Contains(err.Error(), "x509") {
				w.refused = append(w.refused, refusedToken{time.Now(), err})
			}
		}
	}()
	return w
}

// end reports an error if the token was refused before a time.
func (w *tokenWatch) end(before time.Time) {
	w.t.Helper()
	close(w.stop)
	<-w.done
	w.refused = slices.DeleteFunc(w.refused, func(r refusedToken) bool { return !r.at.Before(before) })
	if len(w.refused) > 0 || w.asked == 0 {
		first := w.refused[:min(1, len(w.refused))]
		w.t.Errorf("a token from before the rotation was refused %d of %d times: %v", len(w.refused), w.asked, first)
	}
}

// began returns when a stage of the rotation began. The test observes the stage later.
func (c *cloud) began(stage string) time.Time {
	c.t.Helper()
	events, err := c.core.EventsV1().Events(c.namespace).List(c.t.Context(), metav1.ListOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	for i := range events.Items {
		if strings.HasPrefix(events.Items[i].Note, "The rotation is in stage "+stage) {
			return events.Items[i].EventTime.Time
		}
	}
	c.t.Fatalf("there is no Event about stage %s", stage)
	return time.Time{}
}

// checkRefused checks that neither side accepts the other's certificates from before the rotation.
func (c *cloud) checkRefused(former, latest *rest.Config, formerToken string) {
	c.t.Helper()
	if err := readWith(c.t, former); err == nil || !strings.Contains(err.Error(), "x509") {
		c.t.Errorf("a client that trusts only the old CA gets %v", err)
	}
	mixed := rest.CopyConfig(former)
	mixed.CAData = latest.CAData
	if err := readWith(c.t, mixed); !apierrors.IsUnauthorized(err) && (err == nil || !strings.Contains(err.Error(), "system:anonymous")) {
		c.t.Errorf("a client with a certificate of the old CA gets %v", err)
	}
	if err := readWith(c.t, withToken(latest, formerToken)); !apierrors.IsUnauthorized(err) {
		c.t.Errorf("a client with a token of the old key gets %v", err)
	}
}

// checkPublished waits until the cluster publishes only the new CA.
func (c *cloud) checkPublished(former, latest *rest.Config) {
	c.t.Helper()
	workload := kubernetes.NewForConfigOrDie(latest)
	patience.Until(c.t, "the control plane publishes only the new CA", func() error {
		for _, name := range []string{"kube-root-ca.crt", "extension-apiserver-authentication"} {
			found, err := workload.CoreV1().ConfigMaps("kube-system").Get(c.t.Context(), name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			text := contentOf(found)
			has := func(config *rest.Config) bool {
				return strings.Contains(text, strings.TrimSpace(string(config.CAData)))
			}
			if has(former) || !has(latest) {
				return fmt.Errorf("%s has %s", name, text)
			}
		}
		return nil
	})
}

func contentOf(config *corev1.ConfigMap) string {
	var all []string
	for _, text := range config.Data {
		all = append(all, text)
	}
	return strings.Join(all, "\n")
}
