package fake

import (
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/machine"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
)

// nodes is a simulator with an EKS cluster whose nodes have the role nodes.
type nodes struct {
	t        *testing.T
	host     *Host
	handler  http.Handler
	config   aws.Config
	endpoint machine.ControlPlaneEndpoint
	// known says that EKS knows the role of the nodes.
	known atomic.Bool
}

func newNodes(t *testing.T) *nodes {
	t.Helper()
	n := &nodes{t: t, host: New(Options{})}
	simulated, endpoint := simulatortest.Start(t, simulator.Options{Region: demo.Region, Lag: simulator.NoLag, Machines: n.host})
	n.handler, n.config = simulated.Handler(), simulatortest.Root(endpoint, demo.Account, demo.Region)
	spec := control(demo)
	spec.Authenticate = n.authenticate
	var err error
	if n.endpoint, err = n.host.StartControlPlane(spec); err != nil {
		t.Fatal(err)
	}
	return n
}

// authenticate sends the presigned request of a token to STS, as EKS does.
func (n *nodes) authenticate(token string) (machine.KubernetesUser, error) {
	if user, ok := users[token]; ok {
		return user, nil
	}
	url, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(token, "k8s-aws-v1."))
	if err != nil {
		return machine.KubernetesUser{}, err
	}
	request, err := http.NewRequestWithContext(n.t.Context(), http.MethodGet, string(url), http.NoBody)
	if err != nil {
		return machine.KubernetesUser{}, err
	}
	if request.URL.Scheme != "https" || request.URL.Host != "sts."+demo.Region+".amazonaws.com" {
		return machine.KubernetesUser{}, fmt.Errorf("the token is for %s", request.URL.Host)
	}
	request.Header.Set("X-K8s-Aws-Id", demo.Cluster)
	response, err := within{n.handler}.Do(request)
	if err != nil {
		return machine.KubernetesUser{}, err
	}
	defer func() { _ = response.Body.Close() }()
	var caller struct {
		ARN string `xml:"GetCallerIdentityResult>Arn"`
	}
	if err := xml.NewDecoder(response.Body).Decode(&caller); err != nil || response.StatusCode != http.StatusOK {
		return machine.KubernetesUser{}, fmt.Errorf("STS answers %d: %w", response.StatusCode, err)
	}
	instance, ok := strings.CutPrefix(caller.ARN, "arn:aws:sts::"+demo.Account+":assumed-role/nodes/")
	if !ok || !n.known.Load() {
		return machine.KubernetesUser{}, errors.New("there is no access entry for " + caller.ARN)
	}
	return machine.KubernetesUser{Name: "system:node:" + instance, Groups: []string{"system:nodes", "system:authenticated"}}, nil
}

// launch starts an instance and returns its ID and private DNS name.
func (n *nodes) launch(userData string) (id, name string) {
	n.t.Helper()
	simulatortest.Stack(n.t, n.config, "nodes", fmt.Sprintf(`Resources:
  VPC: {Type: AWS::EC2::VPC, Properties: {CidrBlock: 10.0.0.0/16}}
  Subnet: {Type: AWS::EC2::Subnet, Properties: {VpcId: !Ref VPC, CidrBlock: 10.0.0.0/24, AvailabilityZone: eu-central-1a}}
  Role:
    Type: AWS::IAM::Role
    Properties:
      RoleName: nodes
      AssumeRolePolicyDocument: {Version: "2012-10-17", Statement: [{Effect: Allow, Principal: {Service: ec2.amazonaws.com}, Action: sts:AssumeRole}]}
  Profile: {Type: AWS::IAM::InstanceProfile, Properties: {Roles: [!Ref Role]}}
  Node:
    Type: AWS::EC2::Instance
    Properties:
      ImageId: "{{resolve:ssm:/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/standard/recommended/image_id}}"
      InstanceType: m5.large
      SubnetId: !Ref Subnet
      IamInstanceProfile: !Ref Profile
      UserData: %q
`, base64.StdEncoding.EncodeToString([]byte(userData))))
	made, err := cloudformation.NewFromConfig(n.config).DescribeStackResource(n.t.Context(), &cloudformation.DescribeStackResourceInput{
		StackName: aws.String("nodes"), LogicalResourceId: aws.String("Node"),
	})
	if err != nil {
		n.t.Fatal(err)
	}
	id = *made.StackResourceDetail.PhysicalResourceId
	found, err := ec2.NewFromConfig(n.config).DescribeInstances(n.t.Context(), &ec2.DescribeInstancesInput{InstanceIds: []string{id}})
	if err != nil {
		n.t.Fatal(err)
	}
	return id, *found.Reservations[0].Instances[0].PrivateDnsName
}

// nodeConfigFor returns the NodeConfig for the cluster.
func (n *nodes) nodeConfigFor(ca []byte, flags string) string {
	return mimed(fmt.Sprintf(`apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  cluster: {name: demo, apiServerEndpoint: %q, certificateAuthority: %s, cidr: 10.100.0.0/16}
  kubelet: {flags: [%s]}
`, n.endpoint.URL, base64.StdEncoding.EncodeToString(ca), flags))
}

// says waits until the console of an instance has a text.
func (n *nodes) says(id, text string) {
	n.t.Helper()
	patience.Until(n.t, "the console says "+text, func() error {
		console, err := n.host.Console(id)
		if err != nil || !strings.Contains(string(console), text) {
			return fmt.Errorf("console %s, %w", console, err)
		}
		return nil
	})
}

func TestInstanceJoinsEKSClusterAndLeavesIt(t *testing.T) {
	n := newNodes(t)
	n.known.Store(true)
	id, name := n.launch(n.nodeConfigFor(n.endpoint.CertificateAuthority,
		`"--node-labels=eks.amazonaws.com/nodegroup=workers,team=a", "--register-with-taints=dedicated=gpu:NoSchedule"`))
	client := clientOf(n.endpoint, "admin")
	var node *corev1.Node
	patience.Until(t, "the instance is a node", func() (err error) {
		node, err = client.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
		return err
	})
	if want := "aws:///eu-central-1a/" + id; node.Spec.ProviderID != want {
		t.Errorf("provider ID %s, want %s", node.Spec.ProviderID, want)
	}
	for key, want := range map[string]string{
		"eks.amazonaws.com/nodegroup": "workers", "team": "a", "topology.kubernetes.io/zone": "eu-central-1a",
		"topology.kubernetes.io/region": "eu-central-1", "node.kubernetes.io/instance-type": "m5.large",
		"kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux", "kubernetes.io/hostname": name,
	} {
		if node.Labels[key] != want {
			t.Errorf("label %s is %q, want %q", key, node.Labels[key], want)
		}
	}
	if len(node.Spec.Taints) != 1 || node.Spec.Taints[0].ToString() != "dedicated=gpu:NoSchedule" {
		t.Errorf("taints %v", node.Spec.Taints)
	}
	if version := node.Status.NodeInfo.KubeletVersion; !strings.HasPrefix(version, "v1.36.") {
		t.Errorf("the kubelet has version %s", version)
	}
	if node.Status.Conditions[0].Status != corev1.ConditionTrue {
		t.Errorf("the node is not Ready: %v", node.Status.Conditions)
	}
	n.says(id, "Successfully registered node")
	patience.Until(t, "aws-node runs on the node", func() error {
		pods, err := client.CoreV1().Pods("kube-system").List(t.Context(), metav1.ListOptions{LabelSelector: "k8s-app=aws-node"})
		if err != nil || len(pods.Items) != 1 || pods.Items[0].Spec.NodeName != name {
			return fmt.Errorf("pods %v, %w", pods, err)
		}
		return nil
	})
	if err := n.host.SetKubelet(id, false); err != nil {
		t.Fatal(err)
	}
	node, err := client.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil || node.Status.Conditions[0].Status != corev1.ConditionUnknown {
		t.Errorf("without a kubelet: %v, %v", node.Status.Conditions, err)
	}
	terminated := &ec2.TerminateInstancesInput{InstanceIds: []string{id}}
	if _, err := ec2.NewFromConfig(n.config).TerminateInstances(t.Context(), terminated); err != nil {
		t.Fatal(err)
	}
	patience.Until(t, "the node of a terminated instance is deleted", func() error {
		if _, err := client.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there: %w", err)
		}
		return nil
	})
}

// An access entry may be created after the instance.
func TestRefusedInstanceTriesAgain(t *testing.T) {
	n := newNodes(t)
	id, name := n.launch(n.nodeConfigFor(n.endpoint.CertificateAuthority, ""))
	n.says(id, "the API server answers 401: Unauthorized")
	n.known.Store(true)
	patience.Until(t, "the instance is a node", func() error {
		_, err := clientOf(n.endpoint, "admin").CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
		return err
	})
}

func TestInstanceVerifiesTheCertificateOfEKS(t *testing.T) {
	n := newNodes(t)
	n.known.Store(true)
	other, _ := certificate(t, nil, nil)
	id, _ := n.launch(n.nodeConfigFor(other, ""))
	n.says(id, "certificate signed by unknown authority")
}

func TestInstanceReportsInvalidNodeConfig(t *testing.T) {
	n := newNodes(t)
	id, _ := n.launch(mimed("apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: {cluster: {name: demo}}\n"))
	n.says(id, "spec.cluster.apiServerEndpoint is missing")
}
