package containers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/local/environment"
	"github.com/aws-operator/aws-operator/internal/patience"
)

// cloud is the simulated AWS of an environment.
type cloud struct {
	config   aws.Config
	resolver net.Resolver // of the simulator, for names of load balancers
}

// clouds returns clients of the simulated AWS.
func clouds(t *testing.T, env *environment.Environment) *cloud {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(env.Dir(), "aws.env"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(text), "export "+awsapi.ResolverVariable+"=")
	if !found {
		t.Fatalf("no resolver in aws.env:\n%s", text)
	}
	server, _, _ := strings.Cut(after, "\n")
	return &cloud{
		config: aws.Config{
			Region: "eu-central-1", BaseEndpoint: aws.String(env.State().AWS),
			Credentials: credentials.NewStaticCredentialsProvider(environment.Account, "secret", ""),
		},
		resolver: net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "udp", server)
		}},
	}
}

// checkNodesInitialized checks that the cloud controller manager of AWS has initialized the nodes:
// https://kubernetes.io/docs/concepts/architecture/cloud-controller/#node-controller
func (w *workload) checkNodesInitialized(t *testing.T) {
	t.Helper()
	patience.Until(t, "the cloud controller manager has initialized the nodes", func() error {
		nodes, err := w.client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
		errs := []error{err}
		for i := range nodes.Items {
			errs = append(errs, initialized(&nodes.Items[i]))
		}
		return errors.Join(errs...)
	})
	manager, err := w.client.AppsV1().DaemonSets("kube-system").Get(t.Context(), "aws-cloud-controller-manager", metav1.GetOptions{})
	if err != nil || manager.Status.NumberAvailable != 1 {
		t.Errorf("the cloud controller manager is %+v, %v", manager.Status, err)
	}
}

func initialized(node *corev1.Node) error {
	zone := node.Labels[corev1.LabelTopologyZone]
	if zone != "eu-central-1a" || node.Labels[corev1.LabelTopologyRegion] != "eu-central-1" ||
		node.Labels[corev1.LabelInstanceTypeStable] != "t3.medium" || !strings.HasPrefix(node.Spec.ProviderID, "aws:///"+zone+"/i-") {
		return fmt.Errorf("the node %s has the provider ID %q and the labels %v", node.Name, node.Spec.ProviderID, node.Labels)
	}
	// This label is set by AWS's controller alone.
	if node.Labels["topology.k8s.aws/zone-id"] == "" {
		return fmt.Errorf("the node %s has no ID of its zone: %v", node.Name, node.Labels)
	}
	for _, taint := range node.Spec.Taints {
		if taint.Key == "node.cloudprovider.kubernetes.io/uninitialized" {
			return fmt.Errorf("the node %s has the taint %s", node.Name, taint.Key)
		}
	}
	return nil
}

// expose creates Services of type LoadBalancer for the server.
func (w *workload) expose(t *testing.T) {
	t.Helper()
	for name, annotations := range map[string]map[string]string{
		"classic":          nil,
		"network":          {"service.beta.kubernetes.io/aws-load-balancer-type": "nlb"},
		"internal-network": {"service.beta.kubernetes.io/aws-load-balancer-type": "nlb", "service.beta.kubernetes.io/aws-load-balancer-internal": "true"},
	} {
		_, err := w.client.CoreV1().Services("default").Create(t.Context(), &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations},
			Spec: corev1.ServiceSpec{
				Type: corev1.ServiceTypeLoadBalancer, Selector: map[string]string{"app": "server"},
				Ports: []corev1.ServicePort{{Port: 8081, TargetPort: intstr.FromInt32(8080)}},
			},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// hostOf returns the host name of a Service's load balancer, once it has one.
func (w *workload) hostOf(t *testing.T, name string) (host string) {
	t.Helper()
	patience.Until(t, "the Service "+name+" has a load balancer", func() error {
		service, err := w.client.CoreV1().Services("default").Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, ingress := range service.Status.LoadBalancer.Ingress {
			host = ingress.Hostname
		}
		if host == "" {
			return fmt.Errorf("it has none: %s", w.lastEvent(t, "Service", name))
		}
		return nil
	})
	return host
}

// checkExposed checks that the load balancers of the Services lead to the server, from the host and
// from a pod.
func (w *workload) checkExposed(t *testing.T, c *cloud, server, visitor string) {
	t.Helper()
	for _, name := range []string{"classic", "network", "internal-network"} {
		host := w.hostOf(t, name)
		patience.Until(t, "an HTTP request from the host reaches a pod through "+host, func() error {
			said, err := c.get(t.Context(), host, "8081")
			if err == nil && said != server+"\n" {
				err = fmt.Errorf("it answers %q", said)
			}
			return err
		})
		addresses := w.exec(t, visitor, "/web", "lookup", host)
		if private := strings.HasPrefix(addresses, "[10.10."); private != (name == "internal-network") || strings.HasPrefix(addresses, "[127.") {
			t.Errorf("a pod resolves %s, of the Service %s, as %s", host, name, addresses)
		}
		if said := w.exec(t, visitor, "/web", "get", "http://"+host+":8081"); said != server+"\n" {
			t.Errorf("a pod gets %q from the load balancer of the Service %s, want %q", said, name, server)
		}
	}
}

// checkWrapped checks that pods of two nodes reach each other only while the nodes' security groups
// allow VXLAN: the VPC carries no packets with the addresses of pods.
func (w *workload) checkWrapped(t *testing.T, c *cloud, visitor, url string) {
	t.Helper()
	client := ec2.NewFromConfig(c.config)
	found, err := client.DescribeSecurityGroups(t.Context(), &ec2.DescribeSecurityGroupsInput{})
	if err != nil {
		t.Fatal(err)
	}
	rules := map[string][]types.IpPermission{}
	for _, group := range found.SecurityGroups {
		for _, rule := range group.IpPermissions {
			if aws.ToInt32(rule.FromPort) == 8472 {
				rules[*group.GroupId] = append(rules[*group.GroupId], rule)
			}
		}
	}
	if len(rules) == 0 {
		t.Fatal("no security group allows VXLAN")
	}
	for group, all := range rules {
		if _, err := client.RevokeSecurityGroupIngress(
			t.Context(), &ec2.RevokeSecurityGroupIngressInput{GroupId: &group, IpPermissions: all},
		); err != nil {
			t.Fatal(err)
		}
	}
	if said, err := w.tryExec(visitor, "/web", "get", url); err == nil {
		t.Errorf("without a rule for VXLAN, a pod gets %q from a pod of another node", said)
	}
	for group, all := range rules {
		if _, err := client.AuthorizeSecurityGroupIngress(
			t.Context(), &ec2.AuthorizeSecurityGroupIngressInput{GroupId: &group, IpPermissions: all},
		); err != nil {
			t.Fatal(err)
		}
	}
	patience.Until(t, "pods of two nodes reach each other again", func() error {
		_, err := w.tryExec(visitor, "/web", "get", url)
		return err
	})
}

// lastEvent returns the last event of an object.
func (w *workload) lastEvent(t *testing.T, kind, name string) string {
	t.Helper()
	events, err := w.client.CoreV1().Events("").List(t.Context(), metav1.ListOptions{
		FieldSelector: "involvedObject.kind=" + kind + ",involvedObject.name=" + name,
	})
	if err != nil || len(events.Items) == 0 {
		return fmt.Sprintf("no events (%v)", err)
	}
	last := events.Items[len(events.Items)-1]
	return last.Source.Component + ": " + last.Reason + ": " + last.Message
}

// get requests a load balancer from the host, whose resolver does not know the simulator's names.
func (c *cloud) get(ctx context.Context, host, port string) (string, error) {
	addresses, err := c.resolver.LookupHost(ctx, host)
	if err != nil {
		return "", err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(addresses[0], port), http.NoBody)
	if err != nil {
		return "", err
	}
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return string(text), err
}

// checkTop checks that metrics-server serves the usage of nodes and pods.
func (w *workload) checkTop(t *testing.T, kubeconfig []byte) {
	t.Helper()
	if _, err := exec.LookPath("kubectl"); err != nil {
		t.Skip(err)
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, kubeconfig, 0o600); err != nil {
		t.Fatal(err)
	}
	for what, row := range map[string]string{"nodes": "internal ", "pods": "server "} {
		patience.Until(t, "kubectl top "+what+" shows usage", func() error {
			out, err := exec.CommandContext(t.Context(), "kubectl", "--kubeconfig="+path, "top", what).CombinedOutput()
			if err != nil || !strings.Contains(string(out), row) {
				return fmt.Errorf("it prints %s, %w", out, errors.Join(err, errors.New("no usage")))
			}
			t.Logf("kubectl top %s:\n%s", what, out)
			return nil
		})
	}
}

// checkTerminated terminates the instance of the worker and checks that the cloud controller manager
// deletes its Node. The operator would be faster, and is stopped meanwhile.
func (w *workload) checkTerminated(t *testing.T, env *environment.Environment, c *cloud, server string) {
	t.Helper()
	operator := env.State().OperatorPID
	if err := syscall.Kill(operator, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := syscall.Kill(operator, syscall.SIGCONT); err != nil {
			t.Error(err)
		}
	}()
	node, err := w.client.CoreV1().Nodes().Get(t.Context(), w.pod(t, server).Spec.NodeName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = ec2.NewFromConfig(c.config).TerminateInstances(
		t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{path.Base(node.Spec.ProviderID)}},
	)
	if err != nil {
		t.Fatal(err)
	}
	patience.Until(t, "the cloud controller manager deletes the Node of a terminated instance", func() error {
		events, err := w.client.CoreV1().Events("").List(t.Context(), metav1.ListOptions{FieldSelector: "reason=DeletingNode"})
		if err != nil {
			return err
		}
		for _, event := range events.Items {
			if event.InvolvedObject.Name == node.Name {
				return nil
			}
		}
		return fmt.Errorf("no event says so for %s", node.Name)
	})
	patience.Until(t, "the Node is deleted", func() error {
		nodes, err := w.client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, other := range nodes.Items {
			if other.UID == node.UID {
				return fmt.Errorf("%s exists", node.Name)
			}
		}
		return nil
	})
}

// checkNoBalancers checks that no load balancer is left.
func (c *cloud) checkNoBalancers(t *testing.T) {
	t.Helper()
	classic, err := elasticloadbalancing.NewFromConfig(c.config).DescribeLoadBalancers(
		t.Context(), &elasticloadbalancing.DescribeLoadBalancersInput{},
	)
	if err != nil || len(classic.LoadBalancerDescriptions) > 0 {
		t.Errorf("classic load balancers are left: %+v, %v", classic, err)
	}
	network, err := elasticloadbalancingv2.NewFromConfig(c.config).DescribeLoadBalancers(
		t.Context(), &elasticloadbalancingv2.DescribeLoadBalancersInput{},
	)
	if err != nil || len(network.LoadBalancers) > 0 {
		t.Errorf("network load balancers are left: %+v, %v", network, err)
	}
}
