//go:build linux

package process_test

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/internal/machines/process"
)

// slot does in short what nodeup does: it runs one control plane whose etcd is on a volume. The
// volume also keeps the CAs.
const slot = `
set -e
export KUBECONFIG=/etc/kubernetes/super-admin.conf
disk=/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_vol0123
until test -e $disk; do sleep 0.1; done
blkid -o value -s TYPE $disk || mkfs.ext4 -q $disk
mkdir -p /var/lib/etcd /etc/kubernetes/pki
mount $disk /var/lib/etcd
cat > kubeadm.yaml <<EOF
apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
localAPIEndpoint: {advertiseAddress: 10.0.0.5}
nodeRegistration: {name: $(hostname), criSocket: unix:///run/containerd/containerd.sock}
---
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
kubernetesVersion: v1.36.3
controlPlaneEndpoint: 10.0.0.100:6443
networking: {podSubnet: 10.244.0.0/16}
etcd: {local: {dataDir: /var/lib/etcd/data}}
EOF
if test -d /var/lib/etcd/pki; then cp -r /var/lib/etcd/pki/. /etc/kubernetes/pki; fi
kubeadm init phase certs all --config kubeadm.yaml
if ! test -d /var/lib/etcd/pki; then
  mkdir -p /var/lib/etcd/pki/etcd
  (cd /etc/kubernetes/pki; cp ca.* sa.* front-proxy-ca.* /var/lib/etcd/pki; cp etcd/ca.* /var/lib/etcd/pki/etcd)
fi
kubeadm init phase kubeconfig all --config kubeadm.yaml
kubeadm init phase etcd local --config kubeadm.yaml
kubeadm init phase control-plane all --config kubeadm.yaml
cat > /etc/systemd/system/kubelet.service <<EOF
[Service]
ExecStart=/usr/local/bin/kubelet \
  --kubeconfig=/etc/kubernetes/kubelet.conf \
  --config=/var/lib/kubelet/config.yaml \
  --hostname-override=$(hostname) \
  --cloud-provider=external \
  --provider-id=aws:///eu-central-1a/i-1 \
  --node-labels=topology.kubernetes.io/zone=eu-central-1a,node.kubernetes.io/instance-type=m6i.xlarge
Restart=always
RestartSec=10
EOF
systemctl enable kubelet
kubeadm init phase kubelet-start --config kubeadm.yaml
systemctl is-active kubelet
echo "kubelet started"
until kubeadm init phase upload-config all --config kubeadm.yaml; do sleep 0.5; done
kubeadm init phase mark-control-plane --config kubeadm.yaml
kubeadm init phase bootstrap-token --config kubeadm.yaml
field() { sed -n "s/.*$1: //p" $KUBECONFIG | base64 -d; }
field certificate-authority-data > ca; field client-certificate-data > crt; field client-key-data > key
api() { curl -sS --cacert ca --cert crt --key key "$@"; }
h=https://10.0.0.100:6443
api $h/api/v1/namespaces/before | grep -q '"kind": "Namespace"' && echo "the namespace is there" || true
api -o /dev/null -H 'Content-Type: application/json' -d '{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"before"}}' $h/api/v1/namespaces
until api $h/api/v1/namespaces/kube-system/pods | grep -q '"phase": "Running"'; do sleep 0.2; done
until test 4 = $(api "$h/api/v1/namespaces/kube-system/pods?fieldSelector=status.phase=Running" | grep -c '"type": "Ready",'); do sleep 0.2; done
systemctl restart kubelet
api $h/api/v1/nodes/$(hostname)
systemctl is-active kubelet
echo "slot finished"
`

func TestControlPlaneBootsAndItsDataSurvives(t *testing.T) {
	if _, found := kube(); !found {
		t.Skip("bin/kube is not built: make build")
	}
	host := newHost(t)
	balance(t, host, "10.0.0.100:6443", "i-1", "i-2")
	boot(t, host, spec("i-1", "vpc-1", "10.0.0.5", slot))
	if err := host.Attach("i-1", "vol-0123", "/dev/sdf"); err != nil {
		t.Fatal(err)
	}
	console := awaitSlot(t, host, "i-1")
	if strings.Contains(console, "the namespace is there") {
		t.Error("a new cluster has data")
	}
	for _, want := range []string{
		`instance-type": "m6i.xlarge"`, `"providerID": "aws:///eu-central-1a/i-1"`, `"kubeletVersion": "v1.36.3"`, uninitializedTaint,
	} {
		if !strings.Contains(console, want) {
			t.Errorf("the Node has no %s", want)
		}
	}
	if err := host.Attach("i-2", "vol-0123", "/dev/sdf"); err == nil {
		t.Error("a volume was attached to a machine that does not run")
	}
	host.Terminate("i-1")
	if host.Running("i-1") {
		t.Error("a terminated machine runs")
	}
	boot(t, host, spec("i-2", "vpc-1", "10.0.0.5", slot))
	if err := host.Attach("i-2", "vol-0123", "/dev/sdf"); err != nil {
		t.Fatal(err)
	}
	if console := awaitSlot(t, host, "i-2"); !strings.Contains(console, "the namespace is there") {
		t.Error("what was written before is not there after")
	}
	ready(t, host, "i-2")
}

const uninitializedTaint = "node.cloudprovider.kubernetes.io/uninitialized"

// awaitSlot returns the console when the script has ended; if the script fails, it shows the logs.
func awaitSlot(t *testing.T, host *process.Host, id string) string {
	t.Helper()
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		logs, _ := filepath.Glob(filepath.Join(host.Dir(), "machines", id, "log", "pods", "*", "*.log"))
		for _, path := range append(logs, filepath.Join(host.Dir(), "machines", id, "log", "kubelet.service.log")) {
			data, _ := os.ReadFile(path)
			t.Logf("%s:\n%s", path, data[max(0, len(data)-3000):])
		}
	})
	console := awaitConsole(t, host, id, "the user data ended")
	if !strings.Contains(console, "slot finished") {
		t.Fatalf("the user data failed:\n%s", console)
	}

	return console
}

// balance is a load balancer: it forwards to the first machine that accepts.
func balance(t *testing.T, host *process.Host, address string, targets ...string) {
	t.Helper()
	stop := host.Serve(frontend("vpc-1", address), func(c net.Conn) {
		defer func() { _ = c.Close() }()
		for _, id := range targets {
			target, err := host.Dial(context.Background(), id, 6443)
			if err != nil {
				continue
			}
			pipe(c, target)
			return
		}
	})
	t.Cleanup(stop)
}

// ready queries an API server through the machine's own address.
func ready(t *testing.T, host *process.Host, id string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{
		DialContext:     func(ctx context.Context, _, _ string) (net.Conn, error) { return host.Dial(ctx, id, 6443) },
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	}}
	defer client.CloseIdleConnections()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://api/readyz", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Errorf("readyz: %s", response.Status)
	}
}
