//go:build linux

package agent

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 123456789, time.UTC)

func TestCommandLineAndConfiguration(t *testing.T) {
	config := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(config, []byte("staticPodPath: /etc/kubernetes/manifests\nproviderID: aws:///a/i-2\nhealthzPort: 10000\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o, err := parse([]string{
		"--config=" + config, "--kubeconfig=/k", "--hostname-override=node", "--provider-id=aws:///a/i-1", "--cloud-provider=external",
		"--node-labels=a=b,c=", "--register-with-taints=dedicated=db:NoSchedule,spot:NoExecute", "--v=2",
		"--container-runtime-endpoint=unix:///run/containerd/containerd.sock",
	})
	if err != nil {
		t.Fatal(err)
	}
	if o.manifests != "/etc/kubernetes/manifests" || o.providerID != "aws:///a/i-1" || o.healthzPort != 10000 || o.nodeName != "node" {
		t.Errorf("got %+v", o)
	}
	want := []corev1.Taint{{Key: "dedicated", Value: "db", Effect: "NoSchedule"}, {Key: "spot", Effect: "NoExecute"}}
	if !slices.Equal(o.taints, want) || o.labels["a"] != "b" || len(o.labels) != 2 {
		t.Errorf("taints %v, labels %v", o.taints, o.labels)
	}
	for reason, args := range map[string][]string{
		"a flag that a kubelet does not have":    {"--nonsense=1"},
		"a taint without an effect":              {"--register-with-taints=a=b"},
		"a configuration file that is not there": {"--config=/nowhere"},
	} {
		if _, err := parse(args); err == nil {
			t.Errorf("%s is accepted", reason)
		}
	}
}

func TestServingCertificateHasTheAddressesOfTheNode(t *testing.T) {
	config := filepath.Join(t.TempDir(), "config.yaml")
	text := "serverTLSBootstrap: true\nauthentication: {x509: {clientCAFile: /etc/kubernetes/pki/ca.crt}}\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	o, err := parse([]string{"--config=" + config, "--hostname-override=node", "--node-ip=10.0.0.5"})
	if err != nil {
		t.Fatal(err)
	}
	if !o.servesIssued || o.clientCA != "/etc/kubernetes/pki/ca.crt" {
		t.Errorf("got %+v", o)
	}
	status, err := newKubelet(o, logr.Discard(), testclock.NewFakeClock(noon)).status()
	if err != nil {
		t.Fatal(err)
	}
	asked := servingNames(status.Addresses)
	if !slices.Equal(asked.DNSNames, []string{"node"}) || len(asked.IPAddresses) != 1 || asked.IPAddresses[0].String() != "10.0.0.5" {
		t.Errorf("it asks for %v and %v", asked.DNSNames, asked.IPAddresses)
	}
}

func TestCapacityFollowsTheInstanceType(t *testing.T) {
	for instanceType, want := range map[string][2]string{
		"m6i.large": {"2", "8Gi"}, "c7g.xlarge": {"4", "8Gi"}, "r5.4xlarge": {"16", "128Gi"}, "t3.medium": {"2", "8Gi"}, "": {"2", "8Gi"},
	} {
		got := capacityOf(instanceType)
		if got.Cpu().String() != want[0] || got.Memory().String() != want[1] {
			t.Errorf("%s has %s processors and %s, want %v", instanceType, got.Cpu(), got.Memory(), want)
		}
	}
}

func pod(name string) *corev1.Pod {
	always := corev1.ContainerRestartPolicyAlways
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name)},
		Spec: corev1.PodSpec{
			InitContainers: []corev1.Container{{Name: "init"}, {Name: "sidecar", RestartPolicy: &always}},
			Containers:     []corev1.Container{{Name: "app", Image: "nginx"}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	}
}

func TestSimulatedPodStatusIsWrittenOnce(t *testing.T) {
	k := newKubelet(&options{}, logr.Discard(), testclock.NewFakeClock(noon))
	p := pod("web")
	setRunning(&p.Status, p, "10.1.0.2", "10.0.0.5", k.second())
	// The pod as the API server returns it.
	data, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	back := &corev1.Pod{}
	if err := json.Unmarshal(data, back); err != nil {
		t.Fatal(err)
	}
	again := back.DeepCopy()
	setRunning(&again.Status, back, "10.1.0.2", "10.0.0.5", metav1.NewTime(noon.Add(time.Hour)))
	if !sameStatus(&back.Status, &again.Status) {
		t.Errorf("it differs an hour later:\n%+v\n%+v", back.Status, again.Status)
	}
	status := again.Status
	if status.Phase != corev1.PodRunning || !status.ContainerStatuses[0].Ready || status.InitContainerStatuses[0].State.Terminated == nil ||
		status.InitContainerStatuses[1].State.Running == nil {
		t.Errorf("its status is %+v", status)
	}
}

func TestReadinessGatesDelayReadiness(t *testing.T) {
	p := pod("web")
	p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "balanced"}}
	ready := func() bool {
		setRunning(&p.Status, p, "10.1.0.2", "10.0.0.5", metav1.NewTime(noon))
		return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
	}
	if ready() {
		t.Error("it is ready before its gate is open")
	}
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: "balanced", Status: corev1.ConditionTrue})
	if !ready() {
		t.Error("it is not ready although its gate is open")
	}
}

func TestPodsHaveAddressesFromPodCIDR(t *testing.T) {
	var a addresses
	a.learn("10.244.1.0/29")
	old := pod("old")
	old.Status.PodIP = "10.244.1.3"
	a.keep([]*corev1.Pod{old})
	var got []string
	for _, name := range []string{"a", "b", "a", "c", "d"} {
		ip, err := a.take(types.UID(name))
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, ip)
	}
	if want := "10.244.1.2 10.244.1.4 10.244.1.2 10.244.1.5 10.244.1.6"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
	if _, err := a.take("e"); err != nil {
		t.Fatal(err)
	}
	if _, err := a.take("f"); err == nil {
		t.Error("more pods than addresses have one")
	}
	a.keep(nil)
	if ip, err := a.take("g"); err != nil || ip != "10.244.1.2" {
		t.Errorf("got %s, %v after all pods are deleted", ip, err)
	}
}

func TestStaticPodsRunOnlyImagePrograms(t *testing.T) {
	p := pod("static")
	p.Spec.Containers[0] = corev1.Container{
		Name: "kube-apiserver", Command: []string{"/usr/local/bin/kube-apiserver", "--name=$(NAME)"}, Args: []string{"--more"},
		Env: []corev1.EnvVar{
			{Name: "NAME", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}},
		},
	}
	c := newContainer(p, "key", func() {}, logr.Discard(), testclock.NewFakeClock(noon))
	got, err := c.command()
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"kube-apiserver", "--name=static", "--more"}; !slices.Equal(got, want) {
		t.Errorf("it runs %q, want %q", got, want)
	}
	for reason, command := range map[string][]string{"another program": {"/bin/nginx"}, "none": nil} {
		p.Spec.Containers[0].Command, p.Spec.Containers[0].Args = command, nil
		if _, err := newContainer(p, "key", func() {}, logr.Discard(), testclock.NewFakeClock(noon)).command(); err == nil {
			t.Errorf("%s runs", reason)
		}
	}
}

func TestInstanceIsFoundByProviderID(t *testing.T) {
	for id, want := range map[string]string{"aws:///eu-central-1a/i-1": "i-1", "": "", "kind://a/b": ""} {
		if got := instanceOf(&corev1.Node{Spec: corev1.NodeSpec{ProviderID: id}}); got != want {
			t.Errorf("%q names %q, want %q", id, got, want)
		}
	}
}
