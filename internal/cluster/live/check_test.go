package live_test

import (
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/live"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
	"github.com/aws-operator/aws-operator/test/livetest"
)

// copied returns an observation that can be changed without the other.
func copied(from *live.Observation) *live.Observation {
	observed, aws, api, balancer := *from, *from.AWS, *from.API, *from.AWS.LoadBalancer
	balancer.Targets = slices.Clone(balancer.Targets)
	aws.Groups = slices.Clone(aws.Groups)
	for i := range aws.Groups {
		aws.Groups[i].Instances = slices.Clone(aws.Groups[i].Instances)
	}
	api.Nodes, api.Slots = slices.Clone(api.Nodes), map[int]string{}
	observed.AWS, observed.API, aws.LoadBalancer = &aws, &api, &balancer
	return &observed
}

func TestProblemsAreReportedWithARemedy(t *testing.T) {
	t.Parallel() // It mostly waits.
	w := livetest.New(t, livetest.Options{Groups: []*v1alpha1.InstanceGroup{group("workers", 2, 3)}, Terraform: true})
	healthy, err := w.Session().Observe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if problems := live.Check(healthy); len(problems) > 0 {
		t.Fatalf("a healthy cluster has problems: %+v", problems)
	}
	node := func(l *live.Observation) string { return l.API.Nodes[0].Name }
	for name, test := range map[string]struct {
		breaks func(*live.Observation)
		// says are the kind, reason and words of each problem.
		says []string
	}{
		"a slot has no group": {func(l *live.Observation) {
			gone := l.AWS.Groups[1]
			l.AWS.Groups = slices.Delete(l.AWS.Groups, 1, 2)
			l.API.Nodes = slices.DeleteFunc(l.API.Nodes, func(n workload.Node) bool { return n.InstanceID == gone.Instances[0].ID })
			l.API.Slots[1] = "it has no node"
		}, []string{"Slot control-plane-1 GroupMissing: It has no Auto Scaling group in AWS. Apply the cluster's definition."}},
		"an instance group was added and not applied": {func(l *live.Observation) { l.Groups = append(slices.Clone(l.Groups), group("more", 1, 1)) }, []string{
			"InstanceGroup more GroupMissing: ",
		}},
		"a bastion was asked for and not applied": {func(l *live.Observation) {
			l.Cluster = l.Cluster.DeepCopy()
			l.Cluster.Spec.Bastion = &v1alpha1.Bastion{}
		}, []string{"InstanceGroup bastion GroupMissing: "}},
		"sizes are others": {func(l *live.Observation) { l.AWS.Group("workers").Max = 9 }, []string{
			"InstanceGroup workers GroupSize: It has 2 to 9 instances in AWS, but 2 to 3 in its definition. Apply the definition, or change it.",
		}},
		"a machine is lacking": {func(l *live.Observation) {
			l.AWS.Group("workers").Desired = 3
		}, []string{"InstanceGroup workers MachinesMissing: 2 of 3 instances are in service. If this persists, check the activities of Auto Scaling group terraform-demo-workers."}},
		"a slot's machine is starting": {func(l *live.Observation) {
			gone := l.AWS.Groups[2].Instances[0].ID
			l.AWS.Groups[2].Instances[0].State = "Pending"
			l.API.Slots[2] = "it has no node"
			l.API.Nodes = slices.DeleteFunc(l.API.Nodes, func(n workload.Node) bool { return n.InstanceID == gone })
		}, []string{"Slot control-plane-2 MachinesMissing: 0 of 1 instances are in service.", "Slot control-plane-2 SlotNotServing: It is unhealthy: it has no node."}},
		"a machine is not healthy": {func(l *live.Observation) { l.AWS.Group("workers").Instances[0].Healthy = false }, []string{"Machine i- MachineUnhealthy: "}},
		"a machine has not joined": {func(l *live.Observation) {
			l.AWS.Group("workers").Instances[0].ID = "i-00000000000000000"
			l.API.Nodes = slices.DeleteFunc(l.API.Nodes, func(n workload.Node) bool { return n.Group != "" })
			l.AWS.Group("workers").Instances = l.AWS.Group("workers").Instances[:1]
			l.AWS.Group("workers").Desired, l.AWS.Group("workers").Min, l.Groups = 1, 1, []*v1alpha1.InstanceGroup{group("workers", 1, 3)}
		}, []string{"Machine i-00000000000000000 NodeMissing: This instance of workers has not joined the cluster."}},
		"a node is not Ready": {func(l *live.Observation) {
			l.API.Nodes[0].Ready = false
			l.API.Pods = []corev1.Pod{pod(node(l))} // They are not Ready because the node is not.
		}, []string{"Node ip- NodeNotReady: It has not been Ready since "}},
		"a node's instance no longer exists": {func(l *live.Observation) {
			more := l.API.Nodes[0]
			more.Name, more.InstanceID = "ghost", "i-0dead000000000000"
			l.API.Nodes = append(l.API.Nodes, more)
		}, []string{"Node ghost NodeWithoutMachine: Its instance i-0dead000000000000 is in no group of the cluster."}},
		"a slot has lost etcd": {func(l *live.Observation) {
			l.API.Slots[1] = "the API server of its node a is not ready, etcd failed"
		}, []string{"Slot control-plane-1 SlotNotServing: It is unhealthy: the API server of its node a is not ready, etcd failed."}},
		"a slot does not ship the audit log": {func(l *live.Observation) {
			l.Cluster = l.Cluster.DeepCopy()
			l.Cluster.Spec.API.Audit = &v1alpha1.Audit{Ship: &v1alpha1.AuditShipping{}}
			slot := slices.IndexFunc(l.API.Nodes, func(n workload.Node) bool { return n.Slot == 1 })
			l.API.Nodes[slot].AuditLog = &workload.NodeReport{Status: corev1.ConditionFalse, Message: "The audit log is not shipped: AccessDenied."}
		}, []string{"Slot control-plane-1 AuditLogNotShipped: It reports: The audit log is not shipped: AccessDenied. See journalctl -u nodeup-audit on it."}},
		"a system pod is not Ready": {func(l *live.Observation) { l.API.Pods = []corev1.Pod{pod(node(l))} }, []string{
			"Pod kube-system/coredns PodNotReady: It is not Ready: container coredns is waiting with ImagePullBackOff. See kubectl -n kube-system describe pod coredns.",
		}},
		"there is no load balancer": {func(l *live.Observation) { l.AWS.LoadBalancer, l.API = nil, nil }, []string{"LoadBalancer demo-api NoLoadBalancer: "}},
		"a target is not healthy": {func(l *live.Observation) {
			target := &l.AWS.LoadBalancer.Targets[0]
			target.State, target.Description = elbtypes.TargetHealthStateEnumUnhealthy, "Health checks failed"
		}, []string{"LoadBalancer demo-API TargetUnhealthy: "}},
		"a slot is no target": {func(l *live.Observation) { l.AWS.LoadBalancer.Targets = l.AWS.LoadBalancer.Targets[1:] }, []string{"LoadBalancer demo-API TargetMissing: "}},
		"the API does not respond": {func(l *live.Observation) { l.API = &live.API{Problem: "connection refused"} }, []string{
			"Cluster demo APIUnreachable: The API at https://demo-api",
		}},
		"the name is not in its zone": {func(l *live.Observation) { l.AWS.Record = &live.Record{Name: "api.example.com", Zone: "Z1"} }, []string{
			"Cluster demo NoRecord: Hosted zone Z1 has no alias record api.example.com for the API's load balancer.",
		}},
		"the name stands for another": {func(l *live.Observation) {
			l.AWS.Record = &live.Record{Name: "api.example.com", Zone: "Z1", Alias: "old.elb"}
		}, []string{
			"Cluster demo NoRecord: The record api.example.com is an alias of old.elb, but the API's load balancer is demo-API",
		}},
		"the name is not resolved": {func(l *live.Observation) {
			l.AWS.Record = &live.Record{Name: "api.example.com", Zone: "Z1", Alias: l.AWS.LoadBalancer.DNSName}
			l.Resolves = "no such host"
		}, []string{"Cluster demo NameNotResolved: The API's name api.example.com cannot be resolved from here: no such host."}},
		"no node can join": {func(l *live.Observation) { l.API.TokenUntil = l.Now.Add(-time.Hour) }, []string{"Cluster demo NobodyCanJoin: "}},
		"the API's certificate expires": {func(l *live.Observation) {
			l.API.Certificate = &x509.Certificate{NotAfter: l.Now.Add(48 * time.Hour)}
		}, []string{"Certificate kube-apiserver CertificateEnds: It ends on "}},
		"the CAs expire": {func(l *live.Observation) {
			l.Now = l.Now.AddDate(9, 10, 0)
			l.API.TokenUntil, l.API.Certificate = l.Now.Add(time.Hour), nil
		}, []string{
			"Certificate demo-ca CertificateEnds: ", "Certificate demo-etcd-ca CertificateEnds: ",
			"Certificate demo-front-proxy-ca CertificateEnds: ",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			observed := copied(healthy)
			test.breaks(observed)
			problems := live.Check(observed)
			var reported []string
			for _, p := range problems {
				reported = append(reported, fmt.Sprintf("%s %s %s: %s", p.Kind, p.Name, p.Reason, p.Message))
			}
			if len(problems) != len(test.says) {
				t.Fatalf("got %d problems, want %d:\n%s", len(problems), len(test.says), strings.Join(reported, "\n"))
			}
			for i, want := range test.says {
				begin, rest, _ := strings.Cut(want, ": ")
				kind := strings.Fields(begin)
				p := problems[i]
				if p.Kind != kind[0] || !strings.HasPrefix(p.Name, kind[1]) || p.Reason != kind[2] || !strings.HasPrefix(p.Message, rest) ||
					!strings.HasSuffix(p.Message, ".") {
					t.Errorf("got  %s\nwant %s", reported[i], want)
				}
			}
		})
	}
}

func pod(node string) corev1.Pod {
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "coredns"}, Spec: corev1.PodSpec{NodeName: node},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
			Name: "coredns", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}},
		}}},
	}
}
