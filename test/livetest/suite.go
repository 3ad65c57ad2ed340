// Package livetest creates whole clusters on the simulator, with simulated instances, for tests of
// code that observes clusters and rolls them: created by CloudFormation, or like those of
// Terraform, whose groups no stack owns.
package livetest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	astypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfntypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap"
	"github.com/aws-operator/aws-operator/internal/cluster/live"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/pki"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/internal/cluster/render"
	"github.com/aws-operator/aws-operator/internal/cluster/stacks"
	"github.com/aws-operator/aws-operator/internal/machines/fake"
	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
)

const (
	// Region is the region of the clusters.
	Region = "eu-central-1"
	// Account is their account.
	Account = "123456789012"
	// Secret is the secret key of its credentials, whose access key is the account.
	Secret = "secret"
)

// Options describe the cluster.
type Options struct {
	// Slots is the number of slots, 3 by default.
	Slots int32
	// Groups are its instance groups; New sets their cluster.
	Groups []*v1alpha1.InstanceGroup
	// Bastion adds a bastion.
	Bastion bool
	// EKS makes EKS run the control plane, without slots.
	EKS bool
	// Terraform makes no stack own the groups of slots and workers.
	Terraform bool
	// Machines configure the simulated instances.
	Machines fake.Options
}

// Suite is a cluster in a simulated account.
type Suite struct {
	t *testing.T
	// Cluster, Groups and Secrets are the cluster's definition and its keys.
	Cluster *v1alpha1.Cluster
	Groups  []*v1alpha1.InstanceGroup
	Secrets []*corev1.Secret
	// Clients reach the account, Endpoint is where it is.
	Clients  *awsapi.Clients
	Endpoint string
	// Host runs the simulated instances.
	Host *fake.Host
	// Scaling and EC2 are unrestricted clients.
	Scaling *autoscaling.Client
	EC2     *ec2.Client

	simulator *simulator.Simulator

	config   aws.Config
	options  Options
	resolved *model.Cluster
	outputs  map[string]string
	nodeup   string
	keys     *pki.CAs
}

// New creates a cluster and waits until its nodes are Ready and workers can join.
func New(t *testing.T, options Options) *Suite {
	t.Helper()
	if options.Slots == 0 && !options.EKS {
		options.Slots = 3
	}
	w := &Suite{t: t, options: options, Host: fake.New(options.Machines), Groups: options.Groups}
	sim, endpoint := simulatortest.Start(t, simulator.Options{Region: Region, Machines: w.Host, Patience: 300 * time.Millisecond})
	w.Endpoint, w.simulator = endpoint, sim
	provider := credentials.NewStaticCredentialsProvider(Account, Secret, "")
	var err error
	w.Clients, err = awsapi.New(t.Context(), awsapi.Options{
		Region: Region, EndpointURL: endpoint, Credentials: provider,
		Budgets:  map[string]awsapi.Budget{awsapi.AnyService: awsapi.Unlimited},
		Resolver: sim.Lookup,
	})
	w.must(err)
	w.config = aws.Config{Region: Region, BaseEndpoint: &endpoint, Credentials: provider}
	w.Scaling, w.EC2 = autoscaling.NewFromConfig(w.config), ec2.NewFromConfig(w.config)
	w.define()
	w.base()
	w.machines()
	return w
}

func (w *Suite) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// Eventually waits until a condition holds.
func (w *Suite) Eventually(what string, holds func() error) {
	w.t.Helper()
	patience.Until(w.t, what, holds)
}

// define creates the cluster's definition and its keys.
func (w *Suite) define() {
	w.t.Helper()
	builtin, err := release.Builtin()
	w.must(err)
	w.Cluster = &v1alpha1.Cluster{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Cluster"},
		ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "default", UID: "demo"},
		Spec: v1alpha1.ClusterSpec{
			Release: builtin[len(builtin)-1].Name, Region: Region,
			Network: v1alpha1.Network{
				CIDR:     "10.0.0.0/16",
				Zones:    []string{Region + "a", Region + "b", Region + "c"},
				Topology: v1alpha1.TopologyPublic,
			},
			ControlPlane: v1alpha1.ControlPlane{Replicas: w.options.Slots, InstanceType: "m6i.large"},
		},
	}
	if w.options.EKS {
		w.Cluster.Spec.ControlPlane = v1alpha1.ControlPlane{EKS: &v1alpha1.EKS{}}
	}
	if w.options.Bastion {
		w.Cluster.Spec.Network.Topology = v1alpha1.TopologyPrivate
		w.Cluster.Spec.Bastion = &v1alpha1.Bastion{AllowedCIDRs: []string{"198.51.100.0/24"}}
	}
	for _, g := range w.Groups {
		g.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "InstanceGroup"}
		g.Namespace, g.Spec.Cluster = w.Cluster.Namespace, w.Cluster.Name
		if len(g.Spec.InstanceTypes) == 0 {
			g.Spec.InstanceTypes = []string{"m6i.large"}
		}
	}
	w.keys, err = pki.New(clock.RealClock{})
	w.must(err)
	w.Secrets = w.keys.Secrets(w.Cluster)
	partition, suffix := "aws", "amazonaws.com"
	w.resolved, err = model.Resolve(model.Input{
		Cluster: w.Cluster, Release: builtin[len(builtin)-1], Operator: "aws-operator", AccountID: Account, Partition: partition,
		DNSSuffix: suffix,
	})
	w.must(err)
}

// base creates the base stack, and stores the instances' files in the bucket.
func (w *Suite) base() {
	w.t.Helper()
	stack, err := render.Base(w.resolved)
	w.must(err)
	w.outputs = w.stack(stack, nil)
	if w.options.EKS {
		return
	}
	nodeup := []byte("nodeup")
	sum := sha256.Sum256(nodeup)
	w.nodeup = hex.EncodeToString(sum[:])
	w.put(model.NodeupKey(w.nodeup, v1alpha1.AMD64), nodeup)
	for key, contents := range w.keys.Files() {
		w.put(key, contents)
	}
}

func (w *Suite) put(key string, contents []byte) {
	w.t.Helper()
	_, err := s3.NewFromConfig(w.config, func(o *s3.Options) { o.UsePathStyle = true }).PutObject(w.t.Context(), &s3.PutObjectInput{
		Bucket: aws.String(w.outputs[model.OutputBucket]), Key: &key, Body: bytes.NewReader(contents),
	})
	w.must(err)
}

// stack creates or updates a stack, and returns its outputs.
func (w *Suite) stack(s *render.Stack, edit func(string) string) map[string]string {
	w.t.Helper()
	api := cloudformation.NewFromConfig(w.config)
	body := string(s.Template.CanonicalJSON())
	if edit != nil {
		body = edit(body)
	}
	in := &cloudformation.CreateStackInput{StackName: &s.Name, TemplateBody: &body}
	for key, value := range s.Parameters {
		in.Parameters = append(in.Parameters, cfntypes.Parameter{ParameterKey: &key, ParameterValue: &value})
	}
	for key, value := range s.Tags {
		in.Tags = append(in.Tags, cfntypes.Tag{Key: &key, Value: &value})
	}
	for _, one := range s.Capabilities {
		in.Capabilities = append(in.Capabilities, cfntypes.Capability(one))
	}
	_, err := api.CreateStack(w.t.Context(), in)
	if awsapi.Code(err) == "AlreadyExistsException" {
		_, err = api.UpdateStack(w.t.Context(), &cloudformation.UpdateStackInput{
			StackName: in.StackName, TemplateBody: in.TemplateBody, Parameters: in.Parameters, Tags: in.Tags, Capabilities: in.Capabilities,
		})
	}
	w.must(err)
	outputs := map[string]string{}
	w.Eventually("stack "+s.Name+" is created", func() error {
		out, err := api.DescribeStacks(w.t.Context(), &cloudformation.DescribeStacksInput{StackName: &s.Name})
		w.must(err)
		status := string(out.Stacks[0].StackStatus)
		if strings.Contains(status, "ROLLBACK") {
			w.t.Fatalf("stack %s is %s: %s", s.Name, status, aws.ToString(out.Stacks[0].StackStatusReason))
		}
		if !slices.Contains([]string{"CREATE_COMPLETE", "UPDATE_COMPLETE"}, status) {
			return fmt.Errorf("it is %s", status)
		}
		for _, one := range out.Stacks[0].Outputs {
			outputs[aws.ToString(one.OutputKey)] = aws.ToString(one.OutputValue)
		}
		return nil
	})
	return outputs
}

// machines creates the slots and the instance groups, and waits for their nodes.
func (w *Suite) machines() {
	w.t.Helper()
	find := func(v1alpha1.Architecture) (string, error) { return w.nodeup, nil }
	for _, slot := range w.resolved.Slots {
		made, err := stacks.Slot(w.resolved, slot.Index, w.outputs, &record.Stack{}, find)
		w.must(err)
		w.make(made.Stack, made.Bundle, 1, 1)
	}
	if !w.options.EKS {
		w.join()
	}
	for _, g := range w.Groups {
		group, err := model.ResolveGroup(w.resolved, g)
		w.must(err)
		made, err := stacks.Group(w.resolved, group, w.outputs, w.keys.CACertificate(), &record.Stack{}, find)
		w.must(err)
		w.make(made.Stack, made.Bundle, g.Spec.MinSize, g.Spec.MaxSize)
	}
	w.WaitValid()
}

// make creates the instances of a stack. Their group belongs to the stack or, with Terraform, to
// none.
func (w *Suite) make(s *render.Stack, boots *bootstrap.Bundle, least, most int32) {
	w.t.Helper()
	if boots != nil {
		w.put(model.BundleKey(boots.Hash()), boots.JSON())
	}
	if !w.options.Terraform {
		w.stack(s, nil)
		return
	}
	none := strings.NewReplacer(fmt.Sprintf(`"MinSize":"%d"`, least), `"MinSize":"0"`, fmt.Sprintf(`"MaxSize":"%d"`, most), `"MaxSize":"0"`)
	name := w.stack(s, none.Replace)["AutoScalingGroup"]
	from := w.Describe(name)
	if aws.ToInt32(from.MaxSize) != 0 {
		w.t.Fatalf("the template of %s has its sizes in another form", s.Name)
	}
	_, err := w.Scaling.DeleteAutoScalingGroup(w.t.Context(), &autoscaling.DeleteAutoScalingGroupInput{AutoScalingGroupName: &name})
	w.must(err)
	in := &autoscaling.CreateAutoScalingGroupInput{
		AutoScalingGroupName: aws.String("terraform-" + s.Name), MinSize: &least, MaxSize: &most, VPCZoneIdentifier: from.VPCZoneIdentifier,
		LaunchTemplate: &astypes.LaunchTemplateSpecification{
			LaunchTemplateId: from.LaunchTemplate.LaunchTemplateId,
			Version:          from.LaunchTemplate.Version,
		},
		TargetGroupARNs: from.TargetGroupARNs,
		LifecycleHookSpecificationList: []astypes.LifecycleHookSpecification{{
			LifecycleHookName: aws.String("drain"), LifecycleTransition: aws.String("autoscaling:EC2_INSTANCE_TERMINATING"),
			HeartbeatTimeout: aws.Int32(600), DefaultResult: aws.String("CONTINUE"),
		}},
	}
	for _, tag := range from.Tags {
		if !strings.HasPrefix(aws.ToString(tag.Key), "aws:") {
			in.Tags = append(in.Tags, astypes.Tag{
				Key: tag.Key, Value: tag.Value, PropagateAtLaunch: tag.PropagateAtLaunch, ResourceId: in.AutoScalingGroupName,
				ResourceType: tag.ResourceType,
			})
		}
	}
	_, err = w.Scaling.CreateAutoScalingGroup(w.t.Context(), in)
	w.must(err)
}

// join creates a token so that workers can join.
func (w *Suite) join() {
	w.t.Helper()
	token, err := pki.NewToken()
	w.must(err)
	s := w.Session()
	defer s.Close()
	w.Eventually("the API takes a token", func() error {
		found, err := s.Find(w.t.Context())
		w.must(err)
		connection, problem := s.Connect(w.t.Context(), found)
		if connection == nil {
			return fmt.Errorf("no connection: %s", problem)
		}
		ctx, cancel := context.WithTimeout(w.t.Context(), time.Second)
		defer cancel()
		_, err = connection.Core().Secrets(metav1.NamespaceSystem).Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: bootstrapapi.BootstrapTokenSecretPrefix + token.ID(), Namespace: metav1.NamespaceSystem},
			Type:       bootstrapapi.SecretTypeBootstrapToken,
			StringData: map[string]string{
				bootstrapapi.BootstrapTokenIDKey: token.ID(), bootstrapapi.BootstrapTokenSecretKey: token.Secret(),
				bootstrapapi.BootstrapTokenExpirationKey:       clock.RealClock{}.Now().Add(time.Hour).UTC().Format(time.RFC3339),
				bootstrapapi.BootstrapTokenUsageAuthentication: "true",
			},
		}, metav1.CreateOptions{})
		return err
	})
	_, err = ssm.NewFromConfig(w.config).PutParameter(w.t.Context(), &ssm.PutParameterInput{
		Name: aws.String(model.TokenParameterName(w.Cluster.Name)), Value: aws.String(token.Value()),
		Type: ssmtypes.ParameterTypeSecureString,
	})
	w.must(err)
}

// Session starts a session for the cluster, which ends with the test.
func (w *Suite) Session() *live.Session {
	s := live.Open(live.Options{Clients: w.Clients, Cluster: w.Cluster, Groups: w.Groups, Secrets: w.Secrets, Patience: 3 * time.Second})
	w.t.Cleanup(s.Close)
	return s
}

// WaitValid waits until the cluster has no problems.
func (w *Suite) WaitValid() {
	w.t.Helper()
	s := w.Session()
	defer s.Close()
	w.Eventually("the cluster is healthy", func() error {
		observed, err := s.Observe(w.t.Context())
		w.must(err)
		if problems := live.Check(observed); len(problems) > 0 {
			return fmt.Errorf("%+v", problems)
		}
		return nil
	})
}

// Describe returns an Auto Scaling group by its name in AWS.
func (w *Suite) Describe(group string) *astypes.AutoScalingGroup {
	w.t.Helper()
	out, err := w.Scaling.DescribeAutoScalingGroups(
		w.t.Context(), &autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: []string{group}},
	)
	w.must(err)
	if len(out.AutoScalingGroups) != 1 {
		w.t.Fatalf("there are %d groups named %s", len(out.AutoScalingGroups), group)
	}
	return &out.AutoScalingGroups[0]
}

// Group returns the observed state of a group by its name.
func (w *Suite) Group(name string) *live.Group {
	w.t.Helper()
	found, err := live.Find(w.t.Context(), w.Clients, w.Cluster)
	w.must(err)
	group := found.Group(name)
	if group == nil {
		w.t.Fatalf("there is no group %s", name)
	}
	return group
}

// Older returns an error while an instance was launched within a duration.
func (w *Suite) Older(than time.Duration) error {
	w.t.Helper()
	out, err := w.EC2.DescribeInstances(w.t.Context(), &ec2.DescribeInstancesInput{})
	w.must(err)
	for _, reservation := range out.Reservations {
		for i := range reservation.Instances {
			since := clock.RealClock{}.Since(aws.ToTime(reservation.Instances[i].LaunchTime))
			if since <= than {
				return fmt.Errorf("%s is %s old", aws.ToString(reservation.Instances[i].InstanceId), since)
			}
		}
	}
	return nil
}

// MoveOn makes groups launch from a new version of their launch template, like Terraform.
func (w *Suite) MoveOn(names ...string) {
	w.t.Helper()
	for _, name := range names {
		group := w.Describe(w.Group(name).AutoScalingGroup)
		from := group.LaunchTemplate
		made, err := w.EC2.CreateLaunchTemplateVersion(w.t.Context(), &ec2.CreateLaunchTemplateVersionInput{
			LaunchTemplateId: from.LaunchTemplateId, SourceVersion: from.Version, LaunchTemplateData: newShape(),
		})
		w.must(err)
		_, err = w.Scaling.UpdateAutoScalingGroup(w.t.Context(), &autoscaling.UpdateAutoScalingGroupInput{
			AutoScalingGroupName: group.AutoScalingGroupName, LaunchTemplate: &astypes.LaunchTemplateSpecification{
				LaunchTemplateId: from.LaunchTemplateId,
				Version:          aws.String(fmt.Sprint(aws.ToInt64(made.LaunchTemplateVersion.VersionNumber))),
			},
		})
		w.must(err)
	}
}
