package nodeup_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
)

// noResponse is how long the test waits for a response that a dropped packet prevents.
const noResponse = 5 * time.Second

// TestMissingRuleBreaksTheCluster removes security group rules of a cluster of three slots and a
// worker, one at a time: what needs the rule fails without it and works with it. What nothing in
// simulated machines uses is in TestEverySecurityGroupRuleIsNeeded.
func TestMissingRuleBreaksTheCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes minutes")
	}
	l := newSuite(t, release.Set120, 3)
	if !l.host.FiltersPackets() {
		t.Skip("this kernel does not pass packets of bridges to nftables")
	}
	cas, api := l.newCAs()
	slots, balancer, workers := l.outputs["ControlPlaneSecurityGroup"], l.balancerGroup(), l.outputs["WorkerSecurityGroup"]

	etcd := l.revoke(slots, slots, 2379)
	l.startSlots()
	l.await("without the rule for etcd, members cannot reach their peers", func() error {
		return l.logged("etcd", ":2380: i/o timeout")
	})
	if err := apiReady(t.Context(), api); err == nil {
		t.Error("the API is ready without a quorum of etcd")
	}
	etcd()
	l.await("with the rule, the API is ready", func() error { return apiReady(t.Context(), api) })
	l.joinWorker(api, cas.CACertificate())
	l.await("three slots are nodes", func() error {
		for slot := range 3 {
			if _, err := l.namesOf(api, slot); err != nil {
				return err
			}
		}
		return nil
	})

	for name, c := range map[string]struct {
		to, from string
		port     int32
		works    func() error
	}{
		"the load balancer reaches slots":      {slots, balancer, model.PortAPI, func() error { return apiReady(t.Context(), l.connect(cas)) }},
		"clients reach the load balancer":      {balancer, "", model.PortAPI, func() error { return apiReady(t.Context(), l.connect(cas)) }},
		"an API server reaches other ones":     {slots, slots, model.PortAPI, func() error { return l.reachesSlots(api) }},
		"an API server reaches slots' kubelet": {slots, slots, 10250, func() error { return l.reachesKubelets(api, model.LabelSlot) }},
		"an API server reaches a worker's kubelet": {
			workers, slots, -1, func() error { return l.reachesKubelets(api, model.LabelInstanceGroup) },
		},
	} {
		restore := l.revoke(c.to, c.from, c.port)
		l.await("without its rule, not: "+name, func() error {
			if c.works() == nil {
				return errors.New("it works")
			}
			return nil
		})
		restore()
		l.await("with its rule: "+name, c.works)
	}
}

// balancerGroup returns the security group of the API's load balancer.
func (l *suite) balancerGroup() string {
	l.t.Helper()
	found, err := l.instances.DescribeSecurityGroups(l.t.Context(), &ec2.DescribeSecurityGroupsInput{Filters: []types.Filter{
		{Name: aws.String("tag:aws:cloudformation:logical-id"), Values: []string{"LoadBalancerSecurityGroup"}},
	}})
	if err != nil || len(found.SecurityGroups) != 1 {
		l.t.Fatalf("%d security groups of the load balancer, %v", len(found.SecurityGroups), err)
	}
	return *found.SecurityGroups[0].GroupId
}

// revoke removes the rule of a group for a first port, -1 for all traffic, from another group, or
// from ranges if that is "". The returned function adds it again.
func (l *suite) revoke(to, from string, port int32) (restore func()) {
	l.t.Helper()
	found, err := l.instances.DescribeSecurityGroups(l.t.Context(), &ec2.DescribeSecurityGroupsInput{GroupIds: []string{to}})
	if err != nil {
		l.t.Fatal(err)
	}
	var revoked []types.IpPermission
	for _, p := range found.SecurityGroups[0].IpPermissions {
		if aws.ToString(p.IpProtocol) == "-1" && port != -1 || aws.ToString(p.IpProtocol) != "-1" && aws.ToInt32(p.FromPort) != port {
			continue
		}
		one := types.IpPermission{IpProtocol: p.IpProtocol, FromPort: p.FromPort, ToPort: p.ToPort}
		if from == "" {
			one.IpRanges = p.IpRanges
		}
		for _, pair := range p.UserIdGroupPairs {
			if aws.ToString(pair.GroupId) == from {
				one.UserIdGroupPairs = append(one.UserIdGroupPairs, pair)
			}
		}
		if len(one.IpRanges)+len(one.UserIdGroupPairs) > 0 {
			revoked = append(revoked, one)
		}
	}
	if len(revoked) != 1 {
		l.t.Fatalf("%d rules of %s for %d from %q", len(revoked), to, port, from)
	}
	_, err = l.instances.RevokeSecurityGroupIngress(
		l.t.Context(),
		&ec2.RevokeSecurityGroupIngressInput{GroupId: &to, IpPermissions: revoked},
	)
	if err != nil {
		l.t.Fatal(err)
	}
	return func() {
		l.t.Helper()
		_, err := l.instances.AuthorizeSecurityGroupIngress(l.t.Context(), &ec2.AuthorizeSecurityGroupIngressInput{
			GroupId: &to, IpPermissions: revoked,
		})
		if err != nil {
			l.t.Fatal(err)
		}
	}
}

// logged returns an error unless a container's log in a machine has the text.
func (l *suite) logged(container, text string) error {
	paths, err := filepath.Glob(filepath.Join(l.host.Dir(), "machines", "*", "log", "pods", "*", "*"))
	if err != nil {
		return err
	}
	for _, path := range paths {
		if data, err := os.ReadFile(path); err == nil && strings.Contains(path, container) && strings.Contains(string(data), text) {
			return nil
		}
	}
	return fmt.Errorf("no log of %s has %q", container, text)
}

// apiReady requests the health of the API through the load balancer.
func apiReady(ctx context.Context, api kubernetes.Interface) error {
	ctx, cancel := context.WithTimeout(ctx, noResponse)
	defer cancel()
	answer, err := api.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
	if err == nil && string(answer) != "ok" {
		err = fmt.Errorf("it answers %q", answer)
	}
	return err
}

// reachesSlots requests the health of all slots' API servers through one of them.
func (l *suite) reachesSlots(api kubernetes.Interface) error {
	for slot := range 3 {
		names, err := l.namesOf(api, slot)
		if err != nil {
			return err
		}
		for _, name := range names {
			ctx, cancel := context.WithTimeout(l.t.Context(), noResponse)
			path := "/api/v1/namespaces/kube-system/pods/https:kube-apiserver-" + name + ":6443/proxy/readyz"
			_, err := api.CoreV1().RESTClient().Get().AbsPath(path).DoRaw(ctx)
			cancel()
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// reachesKubelets returns an error if packets of an API server to the kubelets of nodes with a label
// are dropped. The simulated kubelet does not serve its port, so it refuses the connection.
func (l *suite) reachesKubelets(api kubernetes.Interface, label string) error {
	nodes, err := api.CoreV1().Nodes().List(l.t.Context(), metav1.ListOptions{LabelSelector: label})
	if err != nil {
		return err
	}
	for i := range nodes.Items {
		ctx, cancel := context.WithTimeout(l.t.Context(), noResponse)
		path := "/api/v1/nodes/" + nodes.Items[i].Name + "/proxy/healthz"
		err := api.CoreV1().RESTClient().Verb(http.MethodGet).AbsPath(path).Do(ctx).Error()
		cancel()
		if err == nil || !strings.Contains(err.Error(), "connection refused") {
			return fmt.Errorf("%s: %w", nodes.Items[i].Name, err)
		}
	}
	return nil
}
