package elbv2_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscfn "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfntypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	testclock "k8s.io/utils/clock/testing"

	"github.com/aws-operator/aws-operator/internal/simulator/elbv2"
)

func TestLoadBalancerForwardsToHealthyTargets(t *testing.T) {
	w := start(t, true)
	ctx := t.Context()
	b := w.balancer("api")
	group := w.targetGroup("api", nil)
	w.listener(*b.LoadBalancerArn, group, 6443)
	one, two := w.launch(0), w.launch(1)
	w.host.listen(t, one)
	w.host.listen(t, two)
	w.register(group, one, two)
	w.becomes(group, one, "healthy")
	w.becomes(group, two, "healthy")

	seen := map[string]bool{}
	for range 4 {
		c, id, err := w.visit(*b.DNSName, 6443)
		if err != nil {
			t.Fatal(err)
		}
		seen[id] = true
		_ = c.Close()
	}
	if len(seen) != 2 {
		t.Errorf("only %v were visited", seen)
	}

	t.Run("one half of a connection may end before the other", func(t *testing.T) {
		c, _, err := w.visit(*b.DNSName, 6443)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		if _, err := io.WriteString(c, "hello "); err != nil {
			t.Fatal(err)
		}
		if err := c.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if said, err := io.ReadAll(c); err != nil || string(said) != "hello bye" {
			t.Errorf("the answer is %q, %v", said, err)
		}
	})
	t.Run("from within a machine", func(t *testing.T) {
		// The name of an internal load balancer resolves to the private addresses of its zones:
		// https://docs.aws.amazon.com/elasticloadbalancing/latest/network/network-load-balancers.html
		addresses := w.balancers.Resolve(w.vpcID, *b.DNSName)
		if len(addresses) != len(w.subnets) || !netip.MustParsePrefix("10.0.0.0/16").Contains(addresses[0]) {
			t.Fatalf("in its VPC, it has the addresses %v", addresses)
		}
		w.host.mu.Lock()
		serve := w.host.served[netip.AddrPortFrom(addresses[2], 6443)]
		w.host.mu.Unlock()
		if serve == nil {
			t.Fatal("machines cannot reach it")
		}
		inside, outside := net.Pipe()
		serve(outside)
		var first [2]byte
		if _, err := io.ReadFull(inside, first[:]); err != nil || string(first[:]) != "i-" {
			t.Errorf("the answer is %q, %v", first, err)
		}
		_ = inside.Close()
	})

	w.host.shut(one)
	if _, id, err := w.visit(*b.DNSName, 6443); err != nil || id != two {
		t.Errorf("with a dead target, before a check: %s, %v", id, err)
	}
	w.becomes(group, one, "unhealthy Target.FailedHealthChecks")
	w.host.listen(t, one)
	w.becomes(group, one, "healthy")

	if _, err := w.DeleteLoadBalancer(ctx, &awselb.DeleteLoadBalancerInput{LoadBalancerArn: b.LoadBalancerArn}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.visit(*b.DNSName, 6443); err == nil {
		t.Error("a deleted load balancer answers")
	}
	w.becomes(group, one, "unused Target.NotInUse")
}

func TestDeregisteredTargetKeepsItsConnections(t *testing.T) {
	w := start(t, true)
	ctx := t.Context()
	b := w.balancer("api")
	group := w.targetGroup("api", nil)
	w.listener(*b.LoadBalancerArn, group, 6443)
	one := w.launch(0)
	w.host.listen(t, one)
	w.register(group, one)
	w.becomes(group, one, "healthy")
	c, _, err := w.visit(*b.DNSName, 6443)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.DeregisterTargets(ctx, &awselb.DeregisterTargetsInput{
		TargetGroupArn: &group, Targets: []types.TargetDescription{{Id: &one}},
	}); err != nil {
		t.Fatal(err)
	}
	w.becomes(group, one, "unused Target.NotRegistered")
	var echo [2]byte
	if _, err := io.WriteString(c, "ok"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, echo[:]); err != nil || string(echo[:]) != "ok" {
		t.Errorf("the connection is broken: %v", err)
	}
	_ = c.Close()
	if _, _, err := w.visit(*b.DNSName, 6443); err == nil {
		t.Error("a load balancer without targets answers")
	}
}

func TestHealthChecksOverHTTPS(t *testing.T) {
	w := start(t, true)
	b := w.balancer("api")
	group := w.targetGroup("api", func(in *awselb.CreateTargetGroupInput) {
		in.HealthCheckProtocol, in.HealthCheckPath = types.ProtocolEnumHttps, aws.String("/readyz")
	})
	w.listener(*b.LoadBalancerArn, group, 6443)
	one := w.launch(0)
	ready := make(chan struct{})
	server := httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		select {
		case <-ready:
			if req.URL.Path == "/readyz" {
				return
			}
		default:
		}
		rw.WriteHeader(http.StatusServiceUnavailable)
	}))
	t.Cleanup(server.Close)
	w.host.mu.Lock()
	w.host.open[one] = server.Listener
	w.host.mu.Unlock()
	w.register(group, one)
	w.becomes(group, one, "unhealthy Target.ResponseCodeMismatch")
	close(ready)
	w.becomes(group, one, "healthy")
}

const balancerStack = `
Parameters:
  Subnets: {Type: CommaDelimitedList}
  Vpc: {Type: String}
  Path: {Type: String, Default: /readyz}
Resources:
  Balancer:
    Type: AWS::ElasticLoadBalancingV2::LoadBalancer
    Properties:
      Type: network
      Scheme: internal
      Subnets: !Ref Subnets
      LoadBalancerAttributes: [{Key: load_balancing.cross_zone.enabled, Value: "true"}]
  Targets:
    Type: AWS::ElasticLoadBalancingV2::TargetGroup
    Properties:
      Protocol: TCP
      Port: 6443
      VpcId: !Ref Vpc
      TargetType: instance
      HealthCheckProtocol: HTTPS
      HealthCheckPath: !Ref Path
      HealthCheckIntervalSeconds: 10
      TargetGroupAttributes: [{Key: deregistration_delay.timeout_seconds, Value: "30"}]
  Listener:
    Type: AWS::ElasticLoadBalancingV2::Listener
    Properties:
      LoadBalancerArn: !Ref Balancer
      Port: 6443
      Protocol: TCP
      DefaultActions: [{Type: forward, TargetGroupArn: !Ref Targets}]
Outputs:
  Name: {Value: !GetAtt Balancer.DNSName}
  Zone: {Value: !GetAtt Balancer.CanonicalHostedZoneID}
  Full: {Value: !GetAtt Targets.TargetGroupFullName}
  Group: {Value: !Ref Targets}
`

// In AWS the DNSName keeps the case of the load balancer's name, although DNS is case-insensitive.
// CloudFormation generates names in mixed case from the stack's name, the logical ID and random
// characters.
func TestLoadBalancerNameResolvesInAnyCase(t *testing.T) {
	w := start(t, true)
	b := w.balancer("demo-APILo-aB3dE5gH7iJ9")
	name := *b.DNSName
	if !regexp.MustCompile(`^demo-APILo-aB3dE5gH7iJ9-[0-9a-f]{16}\.elb\.eu-central-1\.amazonaws\.com$`).MatchString(name) {
		t.Errorf("the name is %s", name)
	}
	for _, spelled := range []string{name, strings.ToLower(name), strings.ToUpper(name) + "."} {
		if found := w.balancers.Resolve("", spelled); len(found) != 1 || !found[0].IsLoopback() {
			t.Errorf("%s has the addresses %v", spelled, found)
		}
	}
	if _, err := w.DeleteLoadBalancer(t.Context(), &awselb.DeleteLoadBalancerInput{LoadBalancerArn: b.LoadBalancerArn}); err != nil {
		t.Fatal(err)
	}
	if found := w.balancers.Resolve("", name); found != nil {
		t.Errorf("a load balancer that is deleted has the addresses %v", found)
	}
}

func TestLoadBalancerStack(t *testing.T) {
	w := start(t, false)
	ctx := t.Context()
	parameters := func(path string) []cfntypes.Parameter {
		return []cfntypes.Parameter{
			{ParameterKey: aws.String("Subnets"), ParameterValue: aws.String(strings.Join(w.subnets, ","))},
			{ParameterKey: aws.String("Vpc"), ParameterValue: &w.vpcID},
			{ParameterKey: aws.String("Path"), ParameterValue: &path},
		}
	}
	settled := func(name string, want cfntypes.StackStatus) cfntypes.Stack {
		w.eventually("stack "+name, func() bool { return !strings.HasSuffix(string(w.stack(name).StackStatus), "IN_PROGRESS") })
		s := w.stack(name)
		if s.StackStatus != want {
			t.Fatalf("the stack is %s: %s", s.StackStatus, aws.ToString(s.StackStatusReason))
		}
		return s
	}
	if _, err := w.cfn.CreateStack(ctx, &awscfn.CreateStackInput{
		StackName: aws.String("demo"), TemplateBody: aws.String(balancerStack), Parameters: parameters("/readyz"),
		Tags: []cfntypes.Tag{{Key: aws.String("cluster"), Value: aws.String("demo")}},
	}); err != nil {
		t.Fatal(err)
	}
	s := settled("demo", cfntypes.StackStatusCreateComplete)
	outputs := map[string]string{}
	for _, o := range s.Outputs {
		outputs[*o.OutputKey] = *o.OutputValue
	}
	if !strings.HasPrefix(outputs["Name"], "demo-Balanc") || !strings.HasSuffix(outputs["Name"], ".elb.eu-central-1.amazonaws.com") ||
		outputs["Zone"] != "Z3F0SRJ5LGBH90" ||
		!strings.HasPrefix(outputs["Full"], "targetgroup/demo-") {
		t.Errorf("outputs: %v", outputs)
	}
	if _, err := w.cfn.UpdateStack(ctx, &awscfn.UpdateStackInput{StackName: aws.String("demo"), UsePreviousTemplate: aws.Bool(true), Parameters: parameters("/livez")}); err != nil {
		t.Fatal(err)
	}
	settled("demo", cfntypes.StackStatusUpdateComplete)
	groups, err := w.DescribeTargetGroups(ctx, &awselb.DescribeTargetGroupsInput{TargetGroupArns: []string{outputs["Group"]}})
	if g := must(t, groups, err).TargetGroups[0]; *g.HealthCheckPath != "/livez" || len(g.LoadBalancerArns) != 1 {
		t.Errorf("the target group is %+v", g)
	}
	if _, err := w.cfn.DeleteStack(ctx, &awscfn.DeleteStackInput{StackName: s.StackId}); err != nil {
		t.Fatal(err)
	}
	settled(*s.StackId, cfntypes.StackStatusDeleteComplete)
	if cards := w.interfaces(); len(cards) != 0 {
		t.Errorf("interfaces are left: %v", cards)
	}
}

func TestHealthyTargetsAreCheckedLessOften(t *testing.T) {
	const interval, long = time.Second, 20
	h, clk := newHost(), testclock.NewFakeClock(time.Now())
	w := startAt(t, clk, elbv2.Options{Host: h, Patience: interval})
	w.host = h
	b := w.balancer("api")
	group := w.targetGroup("api", nil)
	w.listener(*b.LoadBalancerArn, group, 6443)
	one := w.launch(0)
	w.host.listen(t, one)
	w.register(group, one)
	// step passes an interval, once the last check has ended and the next is scheduled.
	step := func() {
		w.eventually("a check is scheduled", clk.HasWaiters)
		clk.Step(interval)
	}

	// Some checks run at AWS's interval, shortened; then there is a pause.
	for passed, checks := 0, 0; passed < long; {
		if checks > 20 {
			t.Fatal("it is asked as often as ever")
		}
		step()
		passed++
		w.eventually("the check has ended", clk.HasWaiters)
		select {
		case <-h.asked:
			passed, checks = 0, checks+1
		default:
		}
	}
	if got := w.health(group, one); got != "healthy" {
		t.Fatalf("it is %s", got)
	}

	// The target stops. The next connection attempt triggers a check.
	w.host.shut(one)
	if _, _, err := w.visit(*b.DNSName, 6443); err == nil {
		t.Fatal("a dead target answers")
	}
	for passed := 0; w.health(group, one) != "unhealthy Target.FailedHealthChecks"; passed++ {
		if passed == 5 {
			t.Fatal("a target that refused a connection is not unhealthy after five intervals")
		}
		step()
		w.eventually("the check has ended", clk.HasWaiters)
	}
}
