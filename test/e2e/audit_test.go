package e2e

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/internal/machines/process"
	"github.com/aws-operator/aws-operator/internal/patience"
)

// The real kube-apiserver reports the size of the real etcd, and starts with the configuration of spec.api and heeds it: the audit log, the
// defaults of the Pod Security Standards, and the authentication by OpenID Connect, whose provider it
// does not need for its start. A change of the policy reaches the next instance of the slot. Each node has started the unit of
// spec.nodes before it joined.
func TestAuditedCluster(t *testing.T) {
	if err := process.Supported(); err != nil {
		t.Skip(err)
	}
	t.Parallel()
	c, host := newProcessCloud(t, nil)
	objects := c.apply(strings.ReplaceAll(example(t, "audited"), "release: v1.36.3", "release: "+processRelease))
	c.awaitReady(objects...)

	// An API server that has just started does not report the size to anyone.
	patience.Until(t, "the size of etcd's database is known", func() error {
		if cluster := c.get(objects[0]); condition(cluster, "EtcdHasSpace") != "True" {
			return fmt.Errorf("the status is %v", cluster.Object["status"])
		}
		return nil
	})
	workload := c.workload("audited")
	nodes, err := workload.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// The unit of spec.nodes ends before the kubelet starts, so all nodes have run it.
	recorded, err := filepath.Glob(filepath.Join(host.Dir(), "machines", "*", "log", "kernels"))
	if err != nil || len(recorded) < len(nodes.Items) {
		t.Errorf("%d of %d nodes have run the unit of all nodes: %v", len(recorded), len(nodes.Items), err)
	}
	const password = "swordfish of the audited cluster"
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "first"}, StringData: map[string]string{"password": password}}
	if _, err := workload.CoreV1().Secrets("default").Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	line := auditLine(t, host.Dir(), "first")
	if !strings.Contains(line, `"verb":"create"`) || !strings.Contains(line, `"level":"Metadata"`) {
		t.Errorf("the audit log says %s", line)
	}
	if strings.Contains(line, password) || strings.Contains(line, base64.StdEncoding.EncodeToString([]byte(password))) {
		t.Errorf("the audit log has the Secret's content: %s", line)
	}

	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "privileged"},
		Spec:       corev1.PodSpec{HostNetwork: true, Containers: []corev1.Container{{Name: "a", Image: "a"}}},
	}
	for namespace, refused := range map[string]bool{"default": true, "kube-system": false} {
		dry := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
		_, err := workload.CoreV1().Pods(namespace).Create(t.Context(), pod.DeepCopy(), dry)
		if refused != (apierrors.IsForbidden(err) && strings.Contains(err.Error(), `violates PodSecurity "baseline:latest"`)) || !refused && err != nil {
			t.Errorf("a privileged pod in %s: %v", namespace, err)
		}
	}

	c.patch(objects[0], `{"spec":{"api":{"audit":{"policy":{"rules":[{"level":"Request","resources":[{"group":"","resources":["configmaps"]}]}]}}}}}`)
	c.awaitReady(objects...)
	written := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "second"}, Data: map[string]string{"key": "a value of the second"}}
	if _, err := workload.CoreV1().ConfigMaps("default").Create(t.Context(), written, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if line := auditLine(t, host.Dir(), "second"); !strings.Contains(line, "a value of the second") {
		t.Errorf("with the changed policy, the audit log says %s", line)
	}
	c.remove(objects...)
}

// auditLine returns the line of an audit log about the object of that name in the namespace default.
func auditLine(t *testing.T, dir, name string) (found string) {
	t.Helper()
	patience.Until(t, "the audit log has "+name, func() error {
		logs, err := filepath.Glob(filepath.Join(dir, "machines", "*", "log", "kubernetes", "audit", "audit.log"))
		if err != nil {
			return err
		}
		for _, path := range logs {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for line := range strings.Lines(string(data)) {
				if strings.Contains(line, `"namespace":"default","name":"`+name+`"`) {
					found = line
					return nil
				}
			}
		}
		return fmt.Errorf("none of %d logs has it", len(logs))
	})
	return found
}
