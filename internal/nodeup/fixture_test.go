package nodeup_test

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	route53types "github.com/aws/aws-sdk-go-v2/service/route53/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
	"github.com/aws-operator/aws-operator/internal/nodeup"
)

const (
	instance = "i-0123456789abcdef0"
	volume   = "vol-0123456789abcdef0"
	device   = "/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_vol0123456789abcdef0"
	address  = "10.0.1.2"
	token    = "abcdef.0123456789abcdef"
)

// impatient is a clock on which every wait is over at once.
type impatient struct{ clock.RealClock }

func (impatient) After(time.Duration) <-chan time.Time {
	over := make(chan time.Time, 1)
	over <- time.Time{}
	return over
}

// account is AWS as one machine sees it, in memory: a bucket, a parameter, a volume, a zone. The
// simulator's services are tried with nodeup where machines boot for real.
type account struct {
	root      string // where the machine's devices show up
	objects   map[string][]byte
	volumes   []ec2types.Volume
	names     map[string]string
	device    string   // the volume's device name, if not by its ID
	missing   []string // names that were resolved before they existed
	spreading int      // how often Route 53 reports that not all its servers have a change
	tokens    []string // what the parameter holds before it holds the token
	attaching int      // how often AttachVolume fails because another instance holds the volume
}

func (a *account) GetMetadata(_ context.Context, in *imds.GetMetadataInput, _ ...func(*imds.Options)) (*imds.GetMetadataOutput, error) {
	value, ok := map[string]string{
		"instance-id": instance, "instance-type": "m6i.large", "local-ipv4": address,
		"local-hostname":              "ip-10-0-1-2.eu-central-1.compute.internal example.com",
		"placement/availability-zone": "eu-central-1a",
	}[in.Path]
	if !ok {
		return nil, fmt.Errorf("there is no %s", in.Path)
	}
	return &imds.GetMetadataOutput{Content: io.NopCloser(strings.NewReader(value))}, nil
}

func (a *account) GetObject(_ context.Context, in *s3.GetObjectInput, _ ...func(*s3.Options)) (*s3.GetObjectOutput, error) {
	content, ok := a.objects[*in.Key]
	if !ok {
		return nil, errors.New("NoSuchKey: " + *in.Key)
	}
	return &s3.GetObjectOutput{Body: io.NopCloser(bytes.NewReader(content))}, nil
}

func (a *account) PutObject(_ context.Context, in *s3.PutObjectInput, _ ...func(*s3.Options)) (*s3.PutObjectOutput, error) {
	content, err := io.ReadAll(in.Body)
	a.objects[*in.Key] = content
	return &s3.PutObjectOutput{}, err
}

func (a *account) ListObjectsV2(_ context.Context, in *s3.ListObjectsV2Input, _ ...func(*s3.Options)) (*s3.ListObjectsV2Output, error) {
	found := &s3.ListObjectsV2Output{}
	for key := range a.objects {
		if strings.HasPrefix(key, aws.ToString(in.Prefix)) {
			found.Contents = append(found.Contents, s3types.Object{Key: aws.String(key)})
		}
	}
	return found, nil
}

func (a *account) DeleteObject(_ context.Context, in *s3.DeleteObjectInput, _ ...func(*s3.Options)) (*s3.DeleteObjectOutput, error) {
	delete(a.objects, *in.Key)
	return &s3.DeleteObjectOutput{}, nil
}

func (a *account) GetParameter(_ context.Context, in *ssm.GetParameterInput, _ ...func(*ssm.Options)) (*ssm.GetParameterOutput, error) {
	if *in.Name != "/demo/token" || !*in.WithDecryption {
		return nil, errors.New("ParameterNotFound")
	}
	value := token
	if len(a.tokens) > 0 {
		value, a.tokens = a.tokens[0], a.tokens[1:]
	}
	return &ssm.GetParameterOutput{Parameter: &ssmtypes.Parameter{Value: aws.String(value)}}, nil
}

func (a *account) DescribeVolumes(
	_ context.Context, in *ec2.DescribeVolumesInput, _ ...func(*ec2.Options),
) (*ec2.DescribeVolumesOutput, error) {
	found := &ec2.DescribeVolumesOutput{}
	for _, v := range a.volumes {
		matches := true
		for _, filter := range in.Filters {
			key, isTag := strings.CutPrefix(*filter.Name, "tag:")
			if !isTag {
				matches = matches && slices.Contains(filter.Values, *v.AvailabilityZone)
				continue
			}
			matches = matches &&
				slices.ContainsFunc(v.Tags, func(t ec2types.Tag) bool { return *t.Key == key && *t.Value == filter.Values[0] })
		}
		if matches {
			found.Volumes = append(found.Volumes, v)
		}
	}
	if a.attaching--; a.attaching == 0 {
		a.volumes[0].Attachments = nil
	}
	return found, nil
}

func (a *account) AttachVolume(_ context.Context, in *ec2.AttachVolumeInput, _ ...func(*ec2.Options)) (*ec2.AttachVolumeOutput, error) {
	if *in.VolumeId != volume || len(a.volumes[0].Attachments) > 0 {
		return nil, errors.New("VolumeInUse")
	}
	a.volumes[0].Attachments = []ec2types.VolumeAttachment{{InstanceId: in.InstanceId, State: ec2types.VolumeAttachmentStateAttaching}}
	path := filepath.Join(a.root, cmp.Or(a.device, device))
	if _, err := os.Stat(path); err == nil {
		return &ec2.AttachVolumeOutput{}, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	return &ec2.AttachVolumeOutput{}, os.WriteFile(path, make([]byte, 4096), 0o600)
}

func (a *account) ChangeResourceRecordSets(
	_ context.Context, in *route53.ChangeResourceRecordSetsInput, _ ...func(*route53.Options),
) (*route53.ChangeResourceRecordSetsOutput, error) {
	for _, change := range in.ChangeBatch.Changes {
		if _, there := a.names[*change.ResourceRecordSet.Name]; there && change.Action == route53types.ChangeActionCreate {
			return nil, &route53types.InvalidChangeBatch{Message: aws.String("it already exists")}
		}
	}
	for _, change := range in.ChangeBatch.Changes {
		a.names[*change.ResourceRecordSet.Name] = *change.ResourceRecordSet.ResourceRecords[0].Value
	}
	a.spreading = 2
	return &route53.ChangeResourceRecordSetsOutput{
		ChangeInfo: &route53types.ChangeInfo{Id: aws.String("C1"), Status: route53types.ChangeStatusPending},
	}, nil
}

func (a *account) GetChange(context.Context, *route53.GetChangeInput, ...func(*route53.Options)) (*route53.GetChangeOutput, error) {
	status := route53types.ChangeStatusInsync
	if a.spreading--; a.spreading > 0 {
		status = route53types.ChangeStatusPending
	}
	return &route53.GetChangeOutput{ChangeInfo: &route53types.ChangeInfo{Status: status}}, nil
}

// resolve answers as a resolver does: what was missing once is missing for long.
func (a *account) resolve(_ context.Context, name string) ([]string, error) {
	found, ok := a.names[name]
	if !ok || a.spreading > 0 {
		a.missing = append(a.missing, name)
	}
	if !slices.Contains(a.missing, name) {
		return []string{found}, nil
	}
	return nil, errors.New("no such host")
}

// machine is a simulated one that boots below a folder, with fakes of the programs that would
// change this one.
type machine struct {
	root    string
	account *account
	options nodeup.Options
	log     *bytes.Buffer
}

// The fakes record that they were called, and leave the files that the real programs would.
var programs = map[string]string{
	"modprobe":  ``,
	"sysctl":    `test -f "$2"`,
	"systemctl": ``,
	"blkid":     `head -c 4 "$5" | grep -q EXT4 && echo ext4 || exit 2`,
	"mkfs.ext4": `printf EXT4 > "$2"`,
	"mount":     `mkdir -p "$ROOT/proc/self"; echo "$1 $2 ext4 rw 0 0" >> "$ROOT/proc/self/mounts"`,
	"kubeadm": `k=$ROOT/etc/kubernetes
mkdir -p "$k/pki"
case "$1 $2 $3" in
"init phase certs") test ! -f "$k/pki/broken.key" && test -s "$k/pki/ca.key" && echo leaf > "$k/pki/apiserver.crt" ;;
"init phase kubeconfig") cp "$ADMIN_CONF" "$k/admin.conf" ;;
"join --config "*) (grep -q "token: ` + token + `" "$3" || grep -q "client-certificate-data: c2lnbmVk" "$k/join.conf") && echo conf > "$k/kubelet.conf" ;;
esac`,
}

// newMachine returns a machine and the account that it is in.
func newMachine(t *testing.T, b *bundle.Bundle) *machine {
	t.Helper()
	root, bin := t.TempDir(), t.TempDir()
	for name, script := range programs {
		text := "#!/bin/sh\necho \"" + name + " $*\" | sed \"s#$ROOT##g\" >> \"$CALLS\"\n" + script + "\n"
		if err := os.WriteFile(filepath.Join(bin, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Setenv("ROOT", root)
	t.Setenv("CALLS", filepath.Join(bin, "calls"))
	t.Setenv("ADMIN_CONF", filepath.Join(bin, "admin.conf"))
	if err := os.WriteFile(os.Getenv("ADMIN_CONF"), adminConf(t, slotsAPI()), 0o600); err != nil {
		t.Fatal(err)
	}
	zone := "eu-central-1a"
	a := &account{
		root: root, names: map[string]string{},
		objects: map[string][]byte{
			bundle.Key(b.Hash()): b.JSON(),
			"pki/ca.crt":         []byte("certificate"), "pki/ca.key": []byte("key"),
		},
		volumes: []ec2types.Volume{{
			VolumeId: aws.String(volume), AvailabilityZone: &zone,
			Tags: []ec2types.Tag{{Key: aws.String("slot"), Value: aws.String("1")}},
		}},
	}
	m := &machine{root: root, account: a, log: &bytes.Buffer{}}
	m.options = nodeup.Options{
		Bucket: "bucket", Region: "eu-central-1", BundleSHA256: b.Hash(), Root: root,
		AWS:  nodeup.AWS{Metadata: a, Objects: a, Parameters: a, Volumes: a, Zones: a},
		HTTP: http.DefaultClient, Resolve: a.resolve, Clock: impatient{},
		Log: slog.New(slog.NewTextHandler(m.log, nil)),
	}
	return m
}

// calls returns the programs that were called, one a line.
func (m *machine) calls(t *testing.T) string {
	t.Helper()
	calls, err := os.ReadFile(os.Getenv("CALLS"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(calls)
}

func (m *machine) read(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(m.root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// tree returns every file with its mode and content.
func (m *machine) tree(t *testing.T) string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(m.root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		content, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, m.root)] = fmt.Sprintf("%v\n%s", info.Mode(), strings.ReplaceAll(string(content), m.root, ""))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&all, "== %s %s\n", name, files[name])
	}
	return all.String()
}

// serve serves artifacts, and returns where.
func serve(t *testing.T, content map[string][]byte) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		found, ok := content[strings.TrimPrefix(r.URL.Path, "/")]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(found)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/"
}

// archive returns a tar.gz of files by name.
func archive(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	writer := tar.NewWriter(zipped)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		header := &tar.Header{Name: name, Mode: 0o755, Size: int64(len(files[name])), Typeflag: tar.TypeReg}
		if err := writer.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := writer.Write([]byte(files[name])); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(writer.Close(), zipped.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// newAPI returns a cluster's API that lets machines join once it has been asked for that some
// times, and knows the token.
func newAPI(refusals int) *httptest.Server {
	left := atomic.Int64{}
	left.Store(int64(refusals))
	return httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case left.Add(-1) >= 0:
			w.WriteHeader(http.StatusServiceUnavailable)
		case r.URL.Path == "/api/v1/namespaces/kube-public/configmaps/cluster-info" && r.Header.Get("Authorization") == "":
		case r.URL.Path == "/api/v1/namespaces/kube-system/configmaps/kubeadm-config" && r.Header.Get("Authorization") == "Bearer "+token:
		default:
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
}

// found returns an API as a bundle has it.
func found(server *httptest.Server) *bundle.API {
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return &bundle.API{Server: server.URL, CACertificate: string(certificate)}
}

// ready is an API that is there; it ends with the tests.
var ready = sync.OnceValue(func() *httptest.Server { return newAPI(0) })

// slotNodes are the nodes of the control plane that an API lists which is there for slots; it ends
// with the tests.
var (
	slotNodes atomic.Value
	slotsAPI  = sync.OnceValue(func() *httptest.Server {
		return httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/api/v1/nodes/"+ownName || r.URL.Query().Has("fieldSelector") {
				answerOwnNode(w, r)
				return
			}
			if r.URL.Path != "/api/v1/nodes" ||
				r.URL.Query().Get("labelSelector") != "cluster-operator.aws/slot,node-role.kubernetes.io/control-plane" ||
				len(r.TLS.PeerCertificates) > 1 {
				w.WriteHeader(http.StatusForbidden)
				return
			}
			nodes, _ := slotNodes.Load().(string)
			_, _ = w.Write([]byte(`{"kind":"NodeList","items":[` + nodes + `]}`))
		}))
	})
)

// ownName is the name of the machine's Node.
const ownName = "ip-10-0-1-2.eu-central-1.compute.internal"

// former are the UIDs of Nodes that machines before this one left under its name; the kubelet makes
// its own when there is none.
var former atomic.Value

// answerOwnNode shows, and deletes, what Node there is of the machine's name.
func answerOwnNode(w http.ResponseWriter, r *http.Request) {
	left, _ := former.Load().([]string)
	if r.Method == http.MethodDelete {
		var options struct {
			Preconditions struct{ UID string }
		}
		if err := json.NewDecoder(r.Body).Decode(&options); err != nil || len(left) == 0 || options.Preconditions.UID != left[0] {
			w.WriteHeader(http.StatusConflict)
			return
		}
		former.Store(left[1:])
		_, _ = w.Write([]byte(`{"kind":"Status","status":"Success"}`))
		return
	}
	if r.URL.Query().Get("fieldSelector") != "metadata.name="+ownName {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	uid, of := "own", instance
	if len(left) > 0 {
		uid, of = left[0], "i-terminated"
	}
	_, _ = fmt.Fprintf(
		w,
		`{"kind":"NodeList","items":[{"metadata":{"name":%q,"uid":%q},"spec":{"providerID":"aws:///eu-central-1a/%s"}}]}`,
		ownName,
		uid,
		of,
	)
}

// adminConf is what kubeadm writes for people, in form: it opens an API.
func adminConf(t *testing.T, server *httptest.Server) []byte {
	t.Helper()
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	der, err := x509.MarshalPKCS8PrivateKey(server.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	key := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	encoded := base64.StdEncoding.EncodeToString
	return fmt.Appendf(nil, `apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: %s
    server: %s
  name: demo
users:
- name: kubernetes-admin
  user:
    client-certificate-data: %s
    client-key-data: %s
`, encoded(certificate), server.URL, encoded(certificate), encoded(key))
}

func worker() *bundle.Bundle {
	return &bundle.Bundle{
		Version: bundle.Version, Cluster: "demo", Role: bundle.Worker, Kubernetes: "v1.36.3", Architecture: "amd64",
		Modules: []string{"overlay"}, Sysctls: map[string]string{"net.ipv4.ip_forward": "1"},
		Files:          []bundle.File{{Path: "/etc/containerd/config.toml", Mode: "0640", Content: "version = 3\n"}},
		Units:          []string{"containerd"},
		ExtraUserData:  "echo once >> \"$ROOT/extra\"\n",
		TokenParameter: "/demo/token",
		API:            found(ready()),
		Kubeadm:        bundle.Kubeadm{Config: "token: ${BOOTSTRAP_TOKEN}\nname: ${NODE_NAME}\n"},
		Kubelet: bundle.Kubelet{
			Path:   "/usr/bin/kubelet",
			Args:   map[string]string{"provider-id": "${PROVIDER_ID}", "hostname-override": "${NODE_NAME}", "node-ip": "${PRIVATE_IP}"},
			Labels: map[string]string{"topology.kubernetes.io/zone": "${ZONE}", "node.kubernetes.io/instance-type": "${INSTANCE_TYPE}"},
			Taints: []string{"a=b:NoSchedule"},
		},
	}
}

func slot() *bundle.Bundle {
	b := worker()
	b.Role, b.TokenParameter, b.API = bundle.ControlPlane, "", nil
	b.Kubeadm = bundle.Kubeadm{Config: "advertiseAddress: ${PRIVATE_IP}\n", Addons: []string{"coredns"}}
	b.PKI = []bundle.PKIFile{
		{Key: "pki/ca.crt", Path: "/etc/kubernetes/pki/ca.crt", Mode: "0644"},
		{Key: "pki/ca.key", Path: "/etc/kubernetes/pki/ca.key", Mode: "0600"},
	}
	b.Etcd = &bundle.Etcd{
		Slot: 1, VolumeTags: map[string]string{"slot": "1"}, Device: "/dev/sdf", MountPoint: "/var/lib/etcd",
		HostedZoneID: "Z1", DNSName: "etcd-1.demo.internal",
		Members: map[string]string{"etcd-0": "etcd-0.demo.internal", "etcd-1": "etcd-1.demo.internal"},
	}
	return b
}
