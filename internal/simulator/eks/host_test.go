package eks_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awseks "github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"
	awssts "github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/simulator/machine"
)

// planes is a host that records what EKS asks of it.
type planes struct {
	machine.Absent

	mu      sync.Mutex
	calls   []string
	spec    machine.ControlPlaneSpec
	failure error
	ready   bool // whether instances are nodes
}

func (p *planes) record(call string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls = append(p.calls, call)
}

func (p *planes) StartControlPlane(spec machine.ControlPlaneSpec) (machine.ControlPlaneEndpoint, error) {
	p.record("start " + spec.Cluster + " " + spec.Version)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spec = spec
	return machine.ControlPlaneEndpoint{URL: "https://127.0.0.1:1", CertificateAuthority: []byte("CA")}, p.failure
}

func (p *planes) UpgradeControlPlane(key machine.ControlPlaneKey, version string) error {
	p.record("upgrade " + key.Cluster + " " + version)
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failure
}

func (p *planes) StopControlPlane(key machine.ControlPlaneKey) { p.record("stop " + key.Cluster) }

func (p *planes) NodeReady(machine.ControlPlaneKey, string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ready
}

func TestControlPlanesRunOnTheHost(t *testing.T) {
	host := &planes{}
	w := startWith(t, host, 0)
	in := w.input("one")
	in.Version = aws.String("1.34")
	if c := w.made(in); *c.Endpoint != "https://127.0.0.1:1" || *c.CertificateAuthority.Data != "Q0E=" {
		t.Errorf("the endpoint is %s with %s", *c.Endpoint, *c.CertificateAuthority.Data)
	}
	user, err := host.spec.Authenticate(w.token("one", w.config.Credentials))
	if err != nil || user.PrincipalARN != "arn:aws:iam::123456789012:root" || !host.spec.Authorize(user,
		machine.KubernetesRequest{Verb: "delete", Resource: "nodes"}) {
		t.Errorf("the creator is %+v (%v)", user, err)
	}

	// A node group is active when its instances are nodes.
	if _, err := w.CreateNodegroup(t.Context(), w.nodegroupInput("workers")); err != nil {
		t.Fatal(err)
	}
	patience.UntilTrue(t, "the instances", func() bool {
		return w.nodegroup("workers") != nil && len(w.instances(&types.Nodegroup{NodegroupName: aws.String("workers")})) == 2
	})
	if n := w.nodegroup("workers"); n.Status != types.NodegroupStatusCreating {
		t.Errorf("before its nodes are ready, it is %s", n.Status)
	}
	host.mu.Lock()
	host.ready = true
	host.mu.Unlock()
	n := w.untilNodegroup("workers", types.NodegroupStatusActive)

	// A node's user has the name of its instance.
	// https://docs.aws.amazon.com/eks/latest/userguide/creating-access-entries.html
	for id, i := range w.instances(n) {
		session, err := w.sessionOf(id)
		if err != nil {
			t.Fatal(err)
		}
		node, err := w.service.Authenticate(one, w.token("one", session))
		if err != nil || node.Name != "system:node:"+*i.PrivateDnsName || !slices.Contains(node.Groups, "system:nodes") {
			t.Errorf("the node is %+v (%v)", node, err)
		}
	}

	out, err := w.UpdateClusterVersion(t.Context(), &awseks.UpdateClusterVersionInput{Name: in.Name, Version: aws.String("1.35")})
	w.ended(&awseks.DescribeUpdateInput{Name: in.Name, UpdateId: must(t, out, err).Update.Id})
	host.mu.Lock()
	host.failure = errors.New("no more")
	host.mu.Unlock()
	out, err = w.UpdateClusterVersion(t.Context(), &awseks.UpdateClusterVersionInput{Name: in.Name, Version: aws.String("1.36")})
	if u := w.ended(&awseks.DescribeUpdateInput{
		Name:     in.Name,
		UpdateId: must(t, out, err).Update.Id,
	}); u.Status != types.UpdateStatusFailed || *u.Errors[0].ErrorMessage != "no more" {
		t.Errorf("an upgrade that fails is %+v", u)
	}
	if c := w.get("one"); *c.Version != "1.35" || c.Status != types.ClusterStatusActive {
		t.Errorf("after it, the cluster is %s with version %s", c.Status, *c.Version)
	}

	// A cluster whose control plane does not start has failed.
	if _, err := w.CreateCluster(t.Context(), w.input("two")); err != nil {
		t.Fatal(err)
	}
	if c := w.until("two", types.ClusterStatusFailed); *c.Health.Issues[0].Message != "no more" {
		t.Errorf("its health is %+v", c.Health)
	}
	if _, err := w.DeleteCluster(t.Context(), &awseks.DeleteClusterInput{Name: aws.String("two")}); err != nil {
		t.Fatal(err)
	}
	w.deleted("two")
	if got := strings.Join(host.calls, ", "); got != "start one 1.34, upgrade one 1.35, upgrade one 1.36, start two 1.36, stop two" {
		t.Errorf("the host was asked to %s", got)
	}
}

// sessionOf returns the credentials of a session of the node role with a name, as instances have them.
func (w *suite) sessionOf(name string) (aws.CredentialsProvider, error) {
	_, key := w.user("as-" + name)
	trust := `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"sts:AssumeRole","Principal":` +
		`{"Service":"ec2.amazonaws.com","AWS":"arn:aws:iam::123456789012:user/as-` + name + `"}}]}`
	if err := w.trust("node", trust); err != nil {
		return nil, err
	}
	client := awssts.NewFromConfig(w.config, func(o *awssts.Options) { o.Credentials = key })
	out, err := client.AssumeRole(w.t.Context(), &awssts.AssumeRoleInput{RoleArn: &w.nodeRole, RoleSessionName: &name})
	if err != nil {
		return nil, err
	}
	return credentials.NewStaticCredentialsProvider(*out.Credentials.AccessKeyId, *out.Credentials.SecretAccessKey,
		*out.Credentials.SessionToken), nil
}
