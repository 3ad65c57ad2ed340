package fake

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	route53types "github.com/aws/aws-sdk-go-v2/service/route53/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/go-logr/logr"

	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap"
	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
	"github.com/aws-operator/aws-operator/internal/kubeapi"
	"github.com/aws-operator/aws-operator/internal/simulator/machine"
)

const (
	// apiPort is the port of the API on a slot.
	apiPort = 6443
	// startOver is the first delay before a machine retries.
	startOver = time.Second
	// longestWait is the longest delay.
	longestWait = 30 * time.Second
)

// fakeMachine is a machine.
type fakeMachine struct {
	host *Host
	spec machine.Spec
	stop context.CancelFunc
	log  logr.Logger

	mu     sync.Mutex
	ended  bool
	joined *cluster // its slots share it; nil on EKS
	// api is the API of the cluster that it has joined, and node its Node.
	api    *kubeapi.Server
	node   string
	isSlot bool
	// silent says that its kubelet is down.
	silent bool
	// console is what it has written to its console, task the one of nodeup's tasks that it is at.
	console []byte
	task    string
}

// boot retries the steps of a real machine's boot until the machine has joined.
func (m *fakeMachine) boot(ctx context.Context) {
	behaviour := m.host.behaviour(m.spec.ImageID)
	if !m.sleep(ctx, m.host.options.BootTime+behaviour.BootTime) {
		return
	}
	m.write([]byte(behaviour.Console))
	if behaviour.NeverJoins {
		m.log.Info("This machine's image is broken; it does nothing.", "image", m.spec.ImageID)
		return
	}
	if isForEKS(m.spec.UserData) {
		m.joinEKS(ctx)
		return
	}
	in, err := bootstrap.ParseUserData(string(m.spec.UserData))
	if err != nil {
		m.log.Info("This machine belongs to no cluster; it does nothing.", "why", err.Error())
		return
	}
	var fetched *bundle.Bundle // kept on the disk
	for wait := startOver; ; wait = min(2*wait, longestWait) {
		keeps, err := m.join(ctx, in, &fetched)
		if err == nil {
			m.log.Info("joined", "bundle", in.BundleSHA256)
			m.report(ctx, slog.LevelInfo, "this machine is a node of its cluster")
			if keeps != nil {
				m.keepToken(ctx, keeps)
			}
			return
		}
		m.log.Info("retrying", "why", err.Error())
		m.report(ctx, slog.LevelWarn, m.task, slog.String("error", err.Error()), slog.String("again in", wait.String()))
		if errors.Is(err, errNoCluster) {
			wait = startOver
		}
		if !m.sleep(ctx, wait) {
			return
		}
	}
}

// sleep waits; it returns false if the machine ends meanwhile.
func (m *fakeMachine) sleep(ctx context.Context, length time.Duration) bool {
	if length <= 0 {
		return ctx.Err() == nil
	}
	timer := m.host.options.Clock.NewTimer(length)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C():
		return true
	}
}

// join makes the machine a node of its cluster. It returns the token that the machine must
// maintain, or nil. It stores the bundle in fetched, so that retries do not fetch it again.
func (m *fakeMachine) join(ctx context.Context, in bootstrap.UserDataInput, fetched **bundle.Bundle) (*keptToken, error) {
	m.task = "metadata"
	config, err := m.config(ctx)
	if err != nil {
		return nil, err
	}
	store := s3.NewFromConfig(config)
	m.task = "bundle"
	if *fetched == nil {
		if *fetched, err = fetchBundle(ctx, store, in); err != nil {
			return nil, err
		}
	}
	if b := *fetched; b.Role == bundle.ControlPlane {
		return m.joinSlot(ctx, config, store, in.Bucket, b)
	}
	return nil, m.joinWorker(ctx, config, store, in.Bucket, *fetched)
}

// fetchBundle finds nodeup and reads the bundle that the user data names.
func fetchBundle(ctx context.Context, store *s3.Client, in bootstrap.UserDataInput) (*bundle.Bundle, error) {
	nodeup := bundle.NodeupKey(in.NodeupSHA256, in.Architecture)
	if _, err := store.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &in.Bucket, Key: &nodeup}); err != nil {
		return nil, fmt.Errorf("find nodeup: %w", err)
	}
	document, err := fetch(ctx, store, in.Bucket, bundle.Key(in.BundleSHA256))
	if err != nil {
		return nil, err
	}
	if hash := bundle.HashOf(document); hash != in.BundleSHA256 {
		return nil, fmt.Errorf("the bundle's hash is %s, and the user data's %s", hash, in.BundleSHA256)
	}
	return bundle.Parse(document) //nolint:wrapcheck // has enough context
}

func (m *fakeMachine) joinSlot(
	ctx context.Context, config aws.Config, store *s3.Client, bucket string, b *bundle.Bundle,
) (*keptToken, error) {
	m.task = "etcd volume"
	volume, err := m.attach(ctx, ec2.NewFromConfig(config), b.Etcd)
	if err != nil {
		return nil, err
	}
	m.task = "etcd name"
	if err := m.publish(ctx, route53.NewFromConfig(config), b.Etcd); err != nil {
		return nil, err
	}
	m.task = "authorities"
	files := map[string][]byte{}
	for _, file := range b.PKI {
		if files[file.Path], err = fetch(ctx, store, bucket, file.Key); err != nil {
			return nil, err
		}
	}
	m.task = "encryption at rest"
	if err := useKey(ctx, config, b.Encryption); err != nil {
		return nil, err
	}
	c, err := m.host.cluster(bucket, func() (*cluster, error) { return newCluster(&m.host.options, bucket, b, files) })
	if err != nil {
		return nil, err
	}
	if err := c.encrypts(b.Etcd.Slot, b.Encryption); err != nil {
		return nil, err
	}
	if err := c.renew(m.host.options.Clock.Now(), b, files); err != nil {
		return nil, err
	}
	c.addVolume(volume)
	if err := m.enter(c, b, true); err != nil || b.TokenKey == "" {
		return nil, err
	}
	return &keptToken{cluster: c, config: config, bucket: bucket, key: b.TokenKey, group: groupOf(b)}, nil
}

// attach attaches the slot's volume, which it finds in its zone by its tags.
func (m *fakeMachine) attach(ctx context.Context, compute *ec2.Client, etcd *bundle.Etcd) (string, error) {
	filters := []types.Filter{{Name: aws.String("availability-zone"), Values: []string{m.spec.Zone}}}
	for key, value := range etcd.VolumeTags {
		filters = append(filters, types.Filter{Name: aws.String("tag:" + key), Values: []string{value}})
	}
	found, err := compute.DescribeVolumes(ctx, &ec2.DescribeVolumesInput{Filters: filters})
	if err != nil {
		return "", fmt.Errorf("find the etcd volume: %w", err)
	}
	if len(found.Volumes) != 1 {
		return "", fmt.Errorf("there are %d volumes for etcd's slot %d in %s", len(found.Volumes), etcd.Slot, m.spec.Zone)
	}
	volume := found.Volumes[0]
	for _, a := range volume.Attachments {
		if aws.ToString(a.InstanceId) == m.spec.InstanceID {
			return *volume.VolumeId, nil
		}
	}
	_, err = compute.AttachVolume(
		ctx, &ec2.AttachVolumeInput{VolumeId: volume.VolumeId, InstanceId: &m.spec.InstanceID, Device: &etcd.Device},
	)
	if err != nil {
		return "", fmt.Errorf("attach the etcd volume: %w", err)
	}
	return *volume.VolumeId, nil
}

// publish sets the address of the member's name to this machine's address.
func (m *fakeMachine) publish(ctx context.Context, zones *route53.Client, etcd *bundle.Etcd) error {
	_, err := zones.ChangeResourceRecordSets(ctx, &route53.ChangeResourceRecordSetsInput{
		HostedZoneId: &etcd.HostedZoneID,
		ChangeBatch: &route53types.ChangeBatch{Changes: []route53types.Change{{
			Action: route53types.ChangeActionUpsert,
			ResourceRecordSet: &route53types.ResourceRecordSet{
				Name: &etcd.DNSName, Type: route53types.RRTypeA, TTL: aws.Int64(10),
				ResourceRecords: []route53types.ResourceRecord{{Value: aws.String(m.spec.PrivateIP.String())}},
			},
		}}},
	})
	if err != nil {
		return fmt.Errorf("publish %s: %w", etcd.DNSName, err)
	}
	return nil
}

func (m *fakeMachine) joinWorker(ctx context.Context, config aws.Config, store *s3.Client, bucket string, b *bundle.Bundle) error {
	m.task = "API"
	c, err := m.host.cluster(bucket, nil)
	if err != nil {
		return err
	}
	if !c.hasQuorum() {
		return errNoCluster
	}
	m.task = "join"
	token, err := readToken(ctx, config, store, bucket, b)
	if err != nil {
		return err
	}
	if !c.api.KnowsToken(token) {
		return errors.New("the API does not know the bootstrap token")
	}
	return m.enter(c, b, false)
}

// enter adds the machine's Node to the cluster.
func (m *fakeMachine) enter(c *cluster, b *bundle.Bundle, slot bool) error {
	node, err := m.nodeOf(b)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ended {
		return nil
	}
	if slot {
		if err := c.up(b.Etcd.Slot, m.spec.InstanceID, node.Name); err != nil {
			return err
		}
		m.isSlot = true
	}
	m.joined, m.api, m.node = c, c.api, node.Name
	if err := c.api.Put(node); err != nil || !slot {
		return err //nolint:wrapcheck // has enough context
	}
	return m.mirror(c, b)
}

// serves returns the cluster whose API the machine serves, or nil.
func (m *fakeMachine) serves() *cluster {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.isSlot || m.ended {
		return nil
	}
	return m.joined
}

// end cuts the power.
func (m *fakeMachine) end() {
	m.stop()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ended = true
	if m.joined != nil {
		m.joined.down(m.spec.InstanceID)
	}
	m.leaveAPI()
}

// leaveAPI deletes the Node. The caller holds the lock.
func (m *fakeMachine) leaveAPI() {
	if m.api == nil {
		return
	}
	if err := m.api.Delete(named(m.node)); err != nil {
		m.log.Error(err, "The node cannot be removed.")
	}
}
