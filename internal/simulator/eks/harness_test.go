package eks_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awsas "github.com/aws/aws-sdk-go-v2/service/autoscaling"
	awscfn "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	awseks "github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"
	awsiam "github.com/aws/aws-sdk-go-v2/service/iam"
	awssts "github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	testclock "k8s.io/utils/clock/testing"

	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/simulator/access"
	"github.com/aws-operator/aws-operator/internal/simulator/autoscaling"
	"github.com/aws-operator/aws-operator/internal/simulator/cloudformation"
	"github.com/aws-operator/aws-operator/internal/simulator/ec2"
	"github.com/aws-operator/aws-operator/internal/simulator/eks"
	"github.com/aws-operator/aws-operator/internal/simulator/elbv2"
	"github.com/aws-operator/aws-operator/internal/simulator/fault"
	"github.com/aws-operator/aws-operator/internal/simulator/iam"
	"github.com/aws-operator/aws-operator/internal/simulator/kms"
	"github.com/aws-operator/aws-operator/internal/simulator/machine"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/sts"
	"github.com/aws-operator/aws-operator/internal/simulator/vpc"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
	"github.com/aws-operator/aws-operator/internal/simulator/wire/wiretest"
)

const (
	account = "123456789012"
	region  = "eu-central-1"
)

// suite is EKS with the services that it needs, and clients of the root user, in an account with a VPC,
// subnets in two zones and the roles of a cluster, of nodes and of pods.
type suite struct {
	*awseks.Client

	t       *testing.T
	service *eks.Service
	compute *ec2.Service
	clock   *testclock.FakeClock
	config  aws.Config
	ec2     *awsec2.Client
	groups  *awsas.Client
	iam     *awsiam.Client
	cfn     *awscfn.Client

	vpcID                          string
	subnets                        []string // of zones a, b and b
	clusterRole, nodeRole, podRole string
}

// start starts a suite in which changes take no time.
func start(t *testing.T) *suite {
	t.Helper()
	return startWith(t, machine.Absent{}, 0)
}

func startWith(t *testing.T, host machine.Host, provisioning time.Duration) *suite {
	t.Helper()
	clk := testclock.NewFakeClock(time.Now().Truncate(time.Second))
	w := &suite{t: t, clock: clk}
	keys := &wire.Keys{}
	control := &access.Control{Mode: access.Enforce, Now: clk.Now}
	env := &resource.Env{Clock: clk, Control: control}
	networks, identities, ciphers := vpc.New(env), iam.New(env, keys), kms.New(env)
	control.Principals = identities
	w.compute = ec2.New(env, networks, ec2.Options{Host: host, Profiles: identities, Ciphers: ciphers, Keys: keys})
	balancers := elbv2.New(env, elbv2.Options{Compute: w.compute, Networks: networks, Host: host})
	groups := autoscaling.New(env, autoscaling.Options{
		Compute: w.compute, Balancers: balancers,
		Zone: func(account, region, id string) (string, bool) {
			n, ok := networks.Subnet(account, region, id)
			return n.Zone, ok
		},
	})
	var router *wire.Router
	w.service = eks.New(env, eks.Options{
		Networks: networks, Instances: w.compute, EC2: w.compute.Service(), Groups: groups.Service(), IAM: identities.Service(), Ciphers: ciphers,
		AWS: func() http.Handler { return router }, Endpoint: func() string { return router.Endpoint() }, Host: host, Provisioning: provisioning,
	})
	providers := w.service.Providers()
	for _, more := range []map[string]resource.Provider{networks.Providers(), identities.Providers(), w.compute.Providers()} {
		maps.Copy(providers, more)
	}
	stacks := cloudformation.New(cloudformation.Options{Env: env, Providers: providers, Faults: fault.New()})
	router = wire.NewRouter([]*wire.Service{
		w.service.Service(), w.compute.Service(), groups.Service(), identities.Service(), ciphers.Service(), sts.New(env, keys).Service(),
		stacks.Service(),
	}, nil, clk, wire.WithKeys(keys), wire.WithControl(control))
	t.Cleanup(func() { w.service.Close(); groups.Close(); balancers.Close(); w.compute.Close() })
	w.config = wiretest.ServeRoot(t, router)
	w.Client, w.ec2, w.groups = awseks.NewFromConfig(w.config), awsec2.NewFromConfig(w.config), awsas.NewFromConfig(w.config)
	w.iam, w.cfn = awsiam.NewFromConfig(w.config), awscfn.NewFromConfig(w.config)
	w.vpcID, w.subnets = w.network("10.0")
	w.clusterRole, w.nodeRole = w.role("cluster", "eks.amazonaws.com", "sts:AssumeRole"), w.role("node", "ec2.amazonaws.com", "sts:AssumeRole")
	w.podRole = w.role("pod", "pods.eks.amazonaws.com", "sts:AssumeRole", "sts:TagSession")
	return w
}

func must[T any](t *testing.T, out T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// network creates a VPC with three subnets in two zones.
func (w *suite) network(prefix string) (vpcID string, subnets []string) {
	w.t.Helper()
	made, err := w.ec2.CreateVpc(w.t.Context(), &awsec2.CreateVpcInput{CidrBlock: aws.String(prefix + ".0.0/16")})
	vpcID = *must(w.t, made, err).Vpc.VpcId
	for i, zone := range []string{"a", "b", "b"} {
		subnet, err := w.ec2.CreateSubnet(w.t.Context(), &awsec2.CreateSubnetInput{
			VpcId: &vpcID, CidrBlock: aws.String(fmt.Sprintf("%s.%d.0/24", prefix, i)), AvailabilityZone: aws.String(region + zone),
		})
		subnets = append(subnets, *must(w.t, subnet, err).Subnet.SubnetId)
	}
	return vpcID, subnets
}

// role creates a role that a service may assume.
func (w *suite) role(name, service string, actions ...string) string {
	w.t.Helper()
	made, err := w.iam.CreateRole(w.t.Context(), &awsiam.CreateRoleInput{RoleName: &name, AssumeRolePolicyDocument: aws.String(fmt.Sprintf(
		`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":%q},"Action":["%s"]}]}`, service, strings.Join(actions, `","`),
	))})
	return *must(w.t, made, err).Role.Arn
}

// input returns the input for a cluster that has access entries.
func (w *suite) input(name string) *awseks.CreateClusterInput {
	return &awseks.CreateClusterInput{
		Name: &name, RoleArn: &w.clusterRole, ResourcesVpcConfig: &types.VpcConfigRequest{SubnetIds: w.subnets},
		AccessConfig: &types.CreateAccessConfigRequest{AuthenticationMode: types.AuthenticationModeApi},
	}
}

// cluster creates a cluster and waits until it is active.
func (w *suite) cluster(name string) *types.Cluster {
	w.t.Helper()
	return w.made(w.input(name))
}

func (w *suite) made(in *awseks.CreateClusterInput) *types.Cluster {
	w.t.Helper()
	if _, err := w.CreateCluster(w.t.Context(), in); err != nil {
		w.t.Fatal(err)
	}
	return w.until(*in.Name, types.ClusterStatusActive)
}

func (w *suite) get(name string) *types.Cluster {
	w.t.Helper()
	out, err := w.DescribeCluster(w.t.Context(), &awseks.DescribeClusterInput{Name: &name})
	return must(w.t, out, err).Cluster
}

// until waits until a cluster has a status.
func (w *suite) until(name string, status types.ClusterStatus) (c *types.Cluster) {
	w.t.Helper()
	patience.UntilTrue(w.t, "cluster "+name+" "+string(status), func() bool {
		c = w.get(name)
		return c.Status == status
	})
	return c
}

// gone waits until a cluster no longer exists.
func (w *suite) gone(name string) {
	w.t.Helper()
	patience.UntilTrue(w.t, "the end of cluster "+name, func() bool {
		_, err := w.DescribeCluster(w.t.Context(), &awseks.DescribeClusterInput{Name: &name})
		return err != nil
	})
}

// ended waits until an update has ended.
func (w *suite) ended(in *awseks.DescribeUpdateInput) (u *types.Update) {
	w.t.Helper()
	patience.UntilTrue(w.t, "the end of update "+*in.UpdateId, func() bool {
		out, err := w.DescribeUpdate(w.t.Context(), in)
		u = must(w.t, out, err).Update
		return u.Status != types.UpdateStatusInProgress
	})
	return u
}

// refused fails the test unless an error has a code and a message.
func refused(t *testing.T, err error, code, message string) {
	t.Helper()
	wiretest.WantCode(t, err, code)
	if err == nil || !strings.Contains(err.Error(), message) {
		t.Errorf("got %v, want %q", err, message)
	}
}

// token returns a token for a cluster, as `aws eks get-token` makes it.
func (w *suite) token(cluster string, of aws.CredentialsProvider, options ...func(*awssts.PresignOptions)) string {
	w.t.Helper()
	host := "https://sts." + region + ".amazonaws.com"
	client := awssts.New(awssts.Options{Region: region, Credentials: of, BaseEndpoint: &host})
	presigned, err := awssts.NewPresignClient(client).PresignGetCallerIdentity(w.t.Context(), &awssts.GetCallerIdentityInput{},
		append([]func(*awssts.PresignOptions){func(o *awssts.PresignOptions) {
			o.ClientOptions = append(o.ClientOptions, func(o *awssts.Options) {
				o.APIOptions = append(o.APIOptions, smithyhttp.SetHeaderValue("x-k8s-aws-id", cluster), smithyhttp.SetHeaderValue("X-Amz-Expires", "60"))
			})
		}}, options...)...)
	return "k8s-aws-v1." + base64.RawURLEncoding.EncodeToString([]byte(must(w.t, presigned, err).URL))
}

// user creates a user without permissions, and returns its ARN and its credentials.
func (w *suite) user(name string) (arn string, key aws.CredentialsProvider) {
	w.t.Helper()
	made, err := w.iam.CreateUser(w.t.Context(), &awsiam.CreateUserInput{UserName: &name})
	arn = *must(w.t, made, err).User.Arn
	issued, err := w.iam.CreateAccessKey(w.t.Context(), &awsiam.CreateAccessKeyInput{UserName: &name})
	k := must(w.t, issued, err).AccessKey
	return arn, credentials.NewStaticCredentialsProvider(*k.AccessKeyId, *k.SecretAccessKey, "")
}

var (
	_ smithy.APIError = nil
	_ context.Context
)
