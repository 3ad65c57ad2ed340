package simulator_test

import (
	"fmt"
	"net/http/httptest"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	classic "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	classictypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/aws-operator/aws-operator/internal/simulator"
	simulatedec2 "github.com/aws-operator/aws-operator/internal/simulator/ec2"
	simulatedelb "github.com/aws-operator/aws-operator/internal/simulator/elb"
	"github.com/aws-operator/aws-operator/internal/simulator/elbv2"
	"github.com/aws-operator/aws-operator/internal/simulator/vpc"
)

const (
	quotasOfTemplates = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/launch-template-restrictions.html"
	quotasOfNetwork   = "https://docs.aws.amazon.com/elasticloadbalancing/latest/network/load-balancer-limits.html"
	quotasOfClassic   = "https://docs.aws.amazon.com/elasticloadbalancing/latest/classic/elb-limits.html"
)

// quotas are limits that AWS raises on request. Because their defaults are too high to exceed in a test,
// the test lowers each to three.
var quotas = []struct {
	what  string
	quota vpc.Quota
	code  string
	page  string
	call  func(l *limited, n int) error
}{
	// Neither codes nor words of the first two are on record; the codes are made as those of EC2's other
	// limits. The defaults are 10,000 and 5,000.
	{"versions of a launch template", simulatedec2.VersionsOfTemplate, "LaunchTemplateVersionLimitExceeded", quotasOfTemplates, func(l *limited, n int) error {
		if err := createTemplate(l, "t"); err != nil {
			return err
		}
		return each(n-1, func(int) error {
			_, err := l.ec2.CreateLaunchTemplateVersion(l.ctx, &ec2.CreateLaunchTemplateVersionInput{
				LaunchTemplateName: aws.String("t00"), LaunchTemplateData: &ec2types.RequestLaunchTemplateData{InstanceType: ec2types.InstanceTypeT3Micro},
			})
			return err
		})
	}},
	{"launch templates", simulatedec2.Templates, "LaunchTemplateLimitExceeded", quotasOfTemplates, func(l *limited, n int) error {
		return each(n, func(i int) error { return createTemplate(l, fmt.Sprint("t", i)) })
	}},
	{"target groups", elbv2.TargetGroups, "TooManyTargetGroups", quotasOfNetwork, func(l *limited, n int) error {
		return each(n, func(i int) error { _, err := targetGroup(l, i); return err })
	}},
	{"targets of a target group", elbv2.TargetsOfGroup, "TooManyTargets", quotasOfNetwork, func(l *limited, n int) error {
		group, err := targetGroup(l, 0)
		if err != nil {
			return err
		}
		if err := register(l, group, 0, 1); err != nil {
			return err
		}
		return register(l, group, 0, n)
	}},
	{"targets of a network load balancer in a zone", elbv2.TargetsOfNetwork, "TooManyTargets", quotasOfNetwork, func(l *limited, n int) error {
		return targetsOfTwoGroups(l, n, false)
	}},
	{"targets of a new listener", elbv2.TargetsOfNetwork, "TooManyTargets", quotasOfNetwork, func(l *limited, n int) error {
		return targetsOfTwoGroups(l, n, true)
	}},
	{"classic load balancers", simulatedelb.Balancers, "TooManyLoadBalancers", quotasOfClassic, func(l *limited, n int) error {
		return each(n, func(i int) error { return classicBalancer(l, fmt.Sprint("b", i), 1) })
	}},
	// Neither the codes of the following two nor any words are on record. The defaults are 100 and 1,000.
	{"listeners of a new classic load balancer", simulatedelb.ListenersOfBalancer, "InvalidConfigurationRequest", quotasOfClassic, func(l *limited, n int) error {
		return classicBalancer(l, "b", n)
	}},
	{"listeners of a classic load balancer", simulatedelb.ListenersOfBalancer, "InvalidConfigurationRequest", quotasOfClassic, func(l *limited, n int) error {
		if err := classicBalancer(l, "b", 1); err != nil {
			return err
		}
		_, err := classic.NewFromConfig(l.Config).CreateLoadBalancerListeners(l.ctx, &classic.CreateLoadBalancerListenersInput{
			LoadBalancerName: aws.String("b"), Listeners: classicListeners(n),
		})
		return err
	}},
	{"instances of a classic load balancer", simulatedelb.InstancesOfBalancer, "ValidationError", quotasOfClassic, func(l *limited, n int) error {
		if err := classicBalancer(l, "b", 1); err != nil {
			return err
		}
		run, err := l.ec2.RunInstances(l.ctx, &ec2.RunInstancesInput{
			MinCount: aws.Int32(int32(n)), MaxCount: aws.Int32(int32(n)), InstanceType: "t3.micro", SubnetId: l.subnet, ImageId: imageOf(l),
		})
		if err != nil {
			return err
		}
		in := &classic.RegisterInstancesWithLoadBalancerInput{LoadBalancerName: aws.String("b")}
		for _, i := range run.Instances {
			in.Instances = append(in.Instances, classictypes.Instance{InstanceId: i.InstanceId})
		}
		_, err = classic.NewFromConfig(l.Config).RegisterInstancesWithLoadBalancer(l.ctx, in)
		return err
	}},
}

func TestQuotasAreExceeded(t *testing.T) {
	const most = 3
	for _, q := range quotas {
		t.Run(q.what, func(t *testing.T) {
			for n, want := range map[int]string{most: "", most + 1: q.code} {
				sim := simulator.New(simulator.Options{Lag: simulator.NoLag, Quotas: map[vpc.Quota]int{q.quota: most}})
				server := httptest.NewServer(sim.Handler())
				t.Cleanup(func() {
					sim.Close()
					server.Close()
				})
				err := q.call(newLimitedAt(t, server.URL), n)
				if codeOf(err) != want || want == "" && err != nil {
					t.Errorf("%d: got %v, want %q (%s)", n, err, want, q.page)
				}
			}
		})
	}
}

func createTemplate(l *limited, name string) error {
	_, err := l.ec2.CreateLaunchTemplate(l.ctx, &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: aws.String(name + "00"), LaunchTemplateData: &ec2types.RequestLaunchTemplateData{InstanceType: ec2types.InstanceTypeT3Micro},
	})
	return err
}

func targetGroup(l *limited, i int) (arn string, err error) {
	made, err := l.elb.CreateTargetGroup(l.ctx, &elb.CreateTargetGroupInput{
		Name: named("group", i), Protocol: elbtypes.ProtocolEnumTcp, Port: aws.Int32(443), VpcId: l.vpc, TargetType: elbtypes.TargetTypeEnumIp,
	})
	if err != nil {
		return "", err
	}
	return *made.TargetGroups[0].TargetGroupArn, nil
}

// register registers the addresses from one number to before another.
func register(l *limited, group string, from, to int) error {
	in := &elb.RegisterTargetsInput{TargetGroupArn: &group}
	for i := from; i < to; i++ {
		in.Targets = append(in.Targets, elbtypes.TargetDescription{Id: aws.String(fmt.Sprintf("10.0.0.%d", 10+i))})
	}
	_, err := l.elb.RegisterTargets(l.ctx, in)
	return err
}

// targetsOfTwoGroups registers so many targets in two groups of a load balancer. The listener of the
// second comes last, or its targets.
func targetsOfTwoGroups(l *limited, n int, listenerLast bool) error {
	balancer, err := l.elb.CreateLoadBalancer(l.ctx, &elb.CreateLoadBalancerInput{
		Name: aws.String("b"), Type: elbtypes.LoadBalancerTypeEnumNetwork, Scheme: elbtypes.LoadBalancerSchemeEnumInternal,
		Subnets: []string{*l.subnet},
	})
	if err != nil {
		return err
	}
	for i, count := range []int{1, n - 1} {
		group, err := targetGroup(l, i)
		if err != nil {
			return err
		}
		steps := []func() error{
			func() error {
				_, err := l.elb.CreateListener(l.ctx, &elb.CreateListenerInput{
					LoadBalancerArn: balancer.LoadBalancers[0].LoadBalancerArn, Port: aws.Int32(int32(1000 + i)),
					Protocol:       elbtypes.ProtocolEnumTcp,
					DefaultActions: []elbtypes.Action{{Type: elbtypes.ActionTypeEnumForward, TargetGroupArn: &group}},
				})
				return err
			},
			func() error { return register(l, group, 0, count) },
		}
		if listenerLast {
			steps[0], steps[1] = steps[1], steps[0]
		}
		for _, step := range steps {
			if err := step(); err != nil {
				return err
			}
		}
	}
	return nil
}

func classicListeners(n int) []classictypes.Listener {
	list := make([]classictypes.Listener, n)
	for i := range list {
		list[i] = classictypes.Listener{Protocol: aws.String("TCP"), LoadBalancerPort: int32(80 + i), InstancePort: aws.Int32(80)}
	}
	return list
}

func classicBalancer(l *limited, name string, listeners int) error {
	_, err := classic.NewFromConfig(l.Config).CreateLoadBalancer(l.ctx, &classic.CreateLoadBalancerInput{
		LoadBalancerName: &name, Scheme: aws.String("internal"), Subnets: []string{*l.subnet}, Listeners: classicListeners(listeners),
	})
	return err
}
