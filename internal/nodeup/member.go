package nodeup

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// The values of etcd's --initial-cluster-state.
const (
	// stateNew makes a new cluster together with the other members of the list.
	stateNew = "new"
	// stateExisting joins the cluster that the other members of the list run. etcd ignores the
	// argument when it finds its own data.
	stateExisting = "existing"
)

const (
	// memberStateFile keeps the decision, so that later boots write the same configuration.
	memberStateFile = stateFolder + "/etcd-cluster-state"
	// memberListFile has the members that the slot's joined, with its own, as etcd's
	// --initial-cluster takes them. It does not exist on slots that started a new cluster.
	memberListFile = stateFolder + "/etcd-initial-cluster"
	// etcdClientPort and etcdPeerPort are etcd's.
	etcdClientPort, etcdPeerPort = "2379", "2380"
	// memberTimeout limits one request to another member.
	memberTimeout = 3 * time.Second
	// maxErrorLength is how much of an error of etcd is read.
	maxErrorLength = 1 << 16
)

// errNoQuorum says that there is no cluster of other members that could be joined.
var errNoQuorum = errors.New("no other member of etcd is in a quorum")

// etcdMember is a member as etcd's JSON gateway lists it: numbers of 64 bits are strings.
// https://etcd.io/docs/v3.6/dev-guide/api_grpc_gateway/
type etcdMember struct {
	ID         string   `json:"ID"` //nolint:tagliatelle // the names are etcd's
	Name       string   `json:"name"`
	PeerURLs   []string `json:"peerURLs"`   //nolint:tagliatelle // as above
	ClientURLs []string `json:"clientURLs"` //nolint:tagliatelle // as above
	IsLearner  bool     `json:"isLearner"`
	// Cluster is the ID of the member's cluster.
	Cluster string `json:"-"`
}

// decideMember decides whether the slot's member of etcd makes a new cluster or joins one, and has
// the other members expect it. It fails, and is tried again, as long as neither is safe:
//
//   - A volume with data holds a member. etcd goes on with it, unless a quorum of the others says that the
//     slot has no member any more, or another one, as when the slot moved to another zone and returns: then
//     etcd would refuse to start, and the slot joins like a blank one.
//   - A blank volume, and other members in a quorum: the slot joins them. A member of the slot that has
//     run before has lost its data, and with it what it has promised to the others, so it must not come
//     back under its old ID: it is removed, and a new one is added, if all other members are healthy.
//     A slot that the control plane grows by is added in the same way.
//   - A blank volume, no quorum, and etcd has formed before: another slot is down, or its data is lost,
//     too. The slot waits. A new cluster in its place would destroy the remaining data.
//   - A blank volume, no quorum, and etcd has never formed: the cluster is new. All slots start alike.
func (b *boot) decideMember(ctx context.Context) (string, error) {
	if b.bundle.Etcd.FormedKey == "" || b.done() {
		return "nothing, it was decided before", nil
	}
	state, did, err := b.memberState(ctx)
	if err != nil {
		return "", err
	}
	if _, err := b.files.write(memberStateFile, []byte(state), 0o644); err != nil {
		return "", err
	}
	_, err = b.writeKubeadmConfig(ctx)
	return did, err
}

// memberState returns the value of --initial-cluster-state, and why.
func (b *boot) memberState(ctx context.Context) (state, did string, err error) {
	if b.hasMember() && !b.isRemoved(ctx) {
		return stateExisting, "nothing, the volume holds a member", nil
	}
	if err := b.setAside(); err != nil {
		return "", "", err
	}
	did, err = b.joinMembers(ctx)
	if !errors.Is(err, errNoQuorum) {
		return stateExisting, did, err
	}
	formed, formedErr := b.formed(ctx)
	switch {
	case formedErr != nil:
		return "", "", formedErr
	case formed:
		return "", "", fmt.Errorf(
			"the etcd volume of slot %d is blank, but the cluster has run before: %w; the slot joins when a majority of "+
				"the other slots is available; if their data is lost, too, restore a snapshot with spec.controlPlane.restoreSnapshot",
			b.bundle.Etcd.Slot,
			err,
		)
	default:
		return stateNew, "the cluster is new", b.files.remove(memberListFile)
	}
}

// hasMember reports whether the volume holds a member's write-ahead log, by which etcd itself
// decides whether it starts with what is there.
func (b *boot) hasMember() bool { return b.files.exists(b.bundle.Etcd.MountPoint + "/member/wal") }

// isRemoved reports whether a quorum of the other members does not know the member on the volume. What
// cannot be asked or read is no reason to give up data.
func (b *boot) isRemoved(ctx context.Context) bool {
	client, err := b.etcdClient()
	if err != nil {
		return false
	}
	defer client.CloseIdleConnections()
	_, members, err := b.listMembers(ctx, client, b.otherMembers())
	id, cluster, unreadable := memberID(b.files.path(b.bundle.Etcd.MountPoint + "/member/wal"))
	return err == nil && !slices.ContainsFunc(members, func(m etcdMember) bool {
		return b.isOwn(m) && (m.ID == id || m.Cluster != cluster || unreadable != nil)
	})
}

// setAside keeps the data of a removed member where etcd does not find it. Only the last is kept.
func (b *boot) setAside() error {
	if !b.hasMember() {
		return nil
	}
	data := b.files.path(b.bundle.Etcd.MountPoint + "/member")
	if err := os.RemoveAll(data + ".removed"); err != nil {
		return fmt.Errorf("remove the data of a former member: %w", err)
	}
	if err := os.Rename(data, data+".removed"); err != nil {
		return fmt.Errorf("move the data of the removed member aside: %w", err)
	}
	return nil
}

// formed reports whether the cluster's etcd has had a quorum before. It lists, because S3 reports
// a missing object as forbidden to clients that may not list:
// https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetObject.html
func (b *boot) formed(ctx context.Context) (bool, error) {
	key := b.bundle.Etcd.FormedKey
	found, err := b.AWS.Objects.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: &b.Bucket, Prefix: &key})
	if err != nil {
		return false, fmt.Errorf("find %s in the bucket %s: %w", key, b.Bucket, err)
	}
	return slices.ContainsFunc(found.Contents, func(o types.Object) bool { return aws.ToString(o.Key) == key }), nil
}

// noteFormed notes that the cluster's etcd has a quorum: the API has answered. No key encrypts the
// object: it says nothing.
func (b *boot) noteFormed(ctx context.Context) (string, error) {
	key := b.bundle.Etcd.FormedKey
	if key == "" || b.done() {
		return "nothing, it was recorded before", nil
	}
	_, err := b.AWS.Objects.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &b.Bucket, Key: &key, Body: strings.NewReader(""), ServerSideEncryption: types.ServerSideEncryptionAes256,
	})
	if err != nil {
		return "", fmt.Errorf("store %s in the bucket %s: %w", key, b.Bucket, err)
	}
	return key, nil
}

// joinMembers makes the slot's member one that the others expect. It returns errNoQuorum if there
// are no others to join.
func (b *boot) joinMembers(ctx context.Context) (did string, err error) {
	client, err := b.etcdClient()
	if err != nil {
		return "", err
	}
	defer client.CloseIdleConnections()
	others := b.otherMembers()
	through, members, err := b.listMembers(ctx, client, others)
	if err != nil {
		return "", err
	}
	own := slices.IndexFunc(members, b.isOwn)
	if own >= 0 && len(members[own].ClientURLs) == 0 {
		return "join the other members, which expect it", b.writeMembers(members)
	}
	// etcd checks the quorum itself as well, since its --strict-reconfig-check is on:
	// https://etcd.io/docs/v3.6/op-guide/runtime-configuration/#strict-reconfiguration-check-mode---strict-reconfig-check
	if err := b.askHealthOfOthers(ctx, client, members); err != nil {
		return "", fmt.Errorf("the etcd volume of slot %d is blank; its member is added when all others are healthy: %w", b.bundle.Etcd.Slot, err)
	}
	did = "added the member"
	if own >= 0 {
		did = "removed the member " + members[own].ID + ", whose data is lost, and added another"
		if err := b.askEtcd(ctx, client, through, "/v3/cluster/member/remove", map[string]any{"ID": members[own].ID}, nil); err != nil {
			return "", fmt.Errorf("remove the member of slot %d: %w", b.bundle.Etcd.Slot, err)
		}
	}
	// As a learner, which does not count for the quorum until it has all data: a second voter that does
	// not start would stop a single one. etcd allows one learner at a time, so slots that boot at once
	// join one after another: https://etcd.io/docs/v3.6/learning/design-learner/
	add := map[string]any{"peerURLs": []string{b.peerURL()}, "isLearner": true}
	var added struct {
		Members []etcdMember `json:"members"`
	}
	if err := b.askEtcd(ctx, client, through, "/v3/cluster/member/add", add, &added); err != nil {
		return "", fmt.Errorf("add a member for slot %d: %w", b.bundle.Etcd.Slot, err)
	}
	return did, b.writeMembers(added.Members)
}

// promoteMember gives the slot's new member a vote when it has all data. Until then, it serves no reads,
// so the slot's API server does not either.
func (b *boot) promoteMember(ctx context.Context) (string, error) {
	if b.done() || b.bundle.Etcd.FormedKey == "" || b.clusterState() == stateNew || len(b.otherMembers()) == 0 {
		return "nothing, the member is not new", nil
	}
	client, err := b.etcdClient()
	if err != nil {
		return "", err
	}
	defer client.CloseIdleConnections()
	var status struct {
		IsLearner bool `json:"isLearner"`
	}
	if err := b.askEtcd(ctx, client, b.bundle.Etcd.DNSName, "/v3/maintenance/status", map[string]any{}, &status); err != nil {
		return "", err
	}
	if !status.IsLearner {
		return "the member has a vote", nil
	}
	through, members, err := b.listMembers(ctx, client, b.otherMembers())
	if err != nil {
		return "", err
	}
	own := slices.IndexFunc(members, b.isOwn)
	if own < 0 {
		return "", fmt.Errorf("the other members know none of slot %d", b.bundle.Etcd.Slot)
	}
	if err := b.askEtcd(ctx, client, through, "/v3/cluster/member/promote", map[string]any{"ID": members[own].ID}, nil); err != nil {
		return "", fmt.Errorf("promote the member of slot %d: %w", b.bundle.Etcd.Slot, err)
	}
	if err := b.askHealth(ctx, client, b.bundle.Etcd.DNSName); err != nil {
		return "", err
	}
	return "gave the member " + members[own].ID + " a vote", nil
}

// writeMembers keeps the list of members, with the slot's own, with which etcd starts. etcd compares it
// with what the other members know: https://etcd.io/docs/v3.6/op-guide/runtime-configuration/#add-a-new-member
func (b *boot) writeMembers(members []etcdMember) error {
	peers := make([]string, 0, len(members))
	for _, member := range members {
		for _, peer := range member.PeerURLs {
			name, err := b.nameOf(peer)
			if err != nil {
				return err
			}
			peers = append(peers, name+"="+peer)
		}
	}
	slices.Sort(peers)
	_, err := b.files.write(memberListFile, []byte(strings.Join(peers, ",")), 0o644)
	return err
}

// nameOf returns the name of the member with a peer URL. etcd does not know that of a member that
// has not started, but all are named after their slots, as their hosts are.
func (b *boot) nameOf(peer string) (string, error) {
	host, err := hostOf(peer)
	if err != nil {
		return "", err
	}
	name, zone, _ := strings.Cut(host, ".")
	if _, own, _ := strings.Cut(b.bundle.Etcd.DNSName, "."); zone != own {
		return "", fmt.Errorf("etcd has a member at %s, which is no slot of the cluster: remove it", peer)
	}
	return name, nil
}

// hostOf returns the host of a member's URL.
func hostOf(peer string) (string, error) {
	parsed, err := url.Parse(peer)
	if err != nil || parsed.Hostname() == "" {
		return "", fmt.Errorf("etcd has a member with the URL %q", peer)
	}
	return parsed.Hostname(), nil
}

// withMembers puts the members that the slot's joined into kubeadm's configuration, in place of those of a
// new cluster, which the bundle lists.
func (b *boot) withMembers(config string) (string, error) {
	joined, err := b.files.read(memberListFile)
	if errors.Is(err, fs.ErrNotExist) {
		return config, nil
	}
	if err != nil {
		return "", err
	}
	peers := make([]string, 0, len(b.bundle.Etcd.Members))
	for _, name := range slices.Sorted(maps.Keys(b.bundle.Etcd.Members)) {
		peers = append(peers, name+"=https://"+net.JoinHostPort(b.bundle.Etcd.Members[name], etcdPeerPort))
	}
	before, after, found := strings.Cut(config, strings.Join(peers, ","))
	if !found {
		return "", permanent("kubeadm's configuration does not have etcd's members of the bundle")
	}
	return before + string(joined) + after, nil
}

// askHealthOfOthers returns an error unless all members but the slot's are healthy.
func (b *boot) askHealthOfOthers(ctx context.Context, client *http.Client, members []etcdMember) error {
	for _, member := range members {
		if b.isOwn(member) {
			continue
		}
		for _, peer := range member.PeerURLs {
			host, err := hostOf(peer)
			if err != nil {
				return err
			}
			if err := b.askHealth(ctx, client, host); err != nil {
				return err
			}
		}
	}
	return nil
}

// isOwn reports whether a member is the slot's.
func (b *boot) isOwn(m etcdMember) bool { return slices.Contains(m.PeerURLs, b.peerURL()) }

func (b *boot) peerURL() string {
	return "https://" + net.JoinHostPort(b.bundle.Etcd.DNSName, etcdPeerPort)
}

// otherMembers returns the DNS names of the other slots' members.
func (b *boot) otherMembers() []string {
	var others []string
	for _, name := range slices.Sorted(maps.Values(b.bundle.Etcd.Members)) {
		if name != b.bundle.Etcd.DNSName {
			others = append(others, name)
		}
	}
	return others
}

// listMembers returns the members as a quorum knows them, and through which of the others. It
// returns errNoQuorum if none of the others is in a quorum.
func (b *boot) listMembers(ctx context.Context, client *http.Client, others []string) (through string, members []etcdMember, err error) {
	problems := []error{errNoQuorum}
	for _, other := range others {
		var list struct {
			Header struct {
				Cluster string `json:"cluster_id"` //nolint:tagliatelle // the name is etcd's
			} `json:"header"`
			Members []etcdMember `json:"members"`
		}
		if err := b.askEtcd(ctx, client, other, "/v3/cluster/member/list", map[string]any{"linearizable": true}, &list); err != nil {
			problems = append(problems, err)
			continue
		}
		for i := range list.Members {
			list.Members[i].Cluster = list.Header.Cluster
		}
		if len(list.Members) > 0 {
			return other, list.Members, nil
		}
	}
	return "", nil, oneLine(problems)
}

// askHealth returns an error unless a member is healthy: it reads with quorum.
func (b *boot) askHealth(ctx context.Context, client *http.Client, member string) error {
	var answer struct {
		Health string `json:"health"`
		Reason string `json:"reason"`
	}
	if err := b.askEtcd(ctx, client, member, "/health", nil, &answer); err != nil {
		return err
	}
	if healthy, err := strconv.ParseBool(answer.Health); err != nil || !healthy {
		return fmt.Errorf("%s is unhealthy: %s", member, answer.Reason)
	}
	return nil
}

// askEtcd sends a request to a member. A request with nothing to send is a GET.
func (b *boot) askEtcd(ctx context.Context, client *http.Client, member, path string, send map[string]any, into any) error {
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	response, err := b.openEtcd(ctx, client, member, path, send)
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // It was only read.
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("read the answer of %s: %w", member, err)
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return fmt.Errorf("read the answer of %s: %w", member, err)
	}
	return nil
}

// openEtcd sends a request to a member and returns its answer, which the caller closes.
func (b *boot) openEtcd(
	ctx context.Context, client *http.Client, member, path string, send map[string]any,
) (*http.Response, error) {
	addresses, err := b.Resolve(ctx, member)
	if err != nil {
		return nil, err
	}
	if slices.Equal(addresses, []string{unpublished}) {
		return nil, fmt.Errorf("%s has not started yet", member)
	}
	method, body := http.MethodGet, []byte(nil)
	if send != nil {
		method = http.MethodPost
		if body, err = json.Marshal(send); err != nil {
			return nil, fmt.Errorf("write a request to etcd: %w", err)
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, "https://"+net.JoinHostPort(member, etcdClientPort)+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", member, err)
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err //nolint:wrapcheck // it names the method and the address
	}
	if response.StatusCode == http.StatusOK {
		return response, nil
	}
	defer response.Body.Close()                                              //nolint:errcheck // It was only read.
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxErrorLength)) // An error is short.
	if err != nil {
		return nil, fmt.Errorf("read the answer of %s: %w", member, err)
	}
	return nil, fmt.Errorf("%s answers %s to %s: %s", member, response.Status, path, bytes.TrimSpace(answer))
}

// etcdClient returns a client with the certificate that kubeadm makes for health checks, which
// etcd's CA signs for any client.
func (b *boot) etcdClient() (*http.Client, error) {
	read := map[string][]byte{"ca.crt": nil, "healthcheck-client.crt": nil, "healthcheck-client.key": nil}
	for name := range read {
		content, err := b.files.read(pkiFolder + "/etcd/" + name)
		if err != nil {
			return nil, err
		}
		read[name] = content
	}
	trusted := x509.NewCertPool()
	if !trusted.AppendCertsFromPEM(read["ca.crt"]) {
		return nil, errors.New("etcd's CA certificate cannot be read")
	}
	own, err := tls.X509KeyPair(read["healthcheck-client.crt"], read["healthcheck-client.key"])
	if err != nil {
		return nil, fmt.Errorf("read the certificate of a client of etcd: %w", err)
	}
	return &http.Client{Transport: &http.Transport{
		DialContext:     b.Dial,
		TLSClientConfig: &tls.Config{RootCAs: trusted, Certificates: []tls.Certificate{own}, MinVersion: tls.VersionTLS12},
	}}, nil
}

// clusterState returns what stands for the placeholder in kubeadm's configuration. Until it is
// decided, it is the value with which etcd makes no cluster.
func (b *boot) clusterState() string {
	if state, err := b.files.read(memberStateFile); err == nil {
		return string(state)
	}
	return stateExisting
}

// oneLine joins errors in one line, so that each matches.
func oneLine(problems []error) error {
	format, values := strings.TrimSuffix(strings.Repeat("%w; ", len(problems)), "; "), make([]any, len(problems))
	for i, problem := range problems {
		values[i] = problem
	}
	return fmt.Errorf(format, values...)
}
