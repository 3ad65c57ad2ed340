package terraform

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/aws-operator/aws-operator/internal/patience"
	mapping "github.com/aws-operator/aws-operator/internal/terraform"
)

// scaledByOthers changes a group's size, as an autoscaler does. Terraform must see no change.
func (c *cloud) scaledByOthers(p *terraform, group string, size int32) {
	c.t.Helper()
	ctx, api := c.t.Context(), autoscaling.NewFromConfig(c.config())
	name := aws.String(c.groupOf(group))
	if _, err := api.SetDesiredCapacity(ctx, &autoscaling.SetDesiredCapacityInput{
		AutoScalingGroupName: name, DesiredCapacity: &size,
	}); err != nil {
		c.t.Fatal(err)
	}
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, patience.Left(c.t), true, func(context.Context) (bool, error) {
		out, err := api.DescribeAutoScalingGroups(ctx, &autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: []string{*name}})
		if err != nil {
			return false, err
		}
		in := 0
		for _, instance := range out.AutoScalingGroups[0].Instances {
			if instance.LifecycleState == types.LifecycleStateInService {
				in++
			}
		}
		return in == int(size), nil
	})
	if err != nil {
		c.t.Fatalf("the size of %s does not become %d: %v", group, size, err)
	}
	p.unchanged()
}

// groupOf returns the name of an instance group's Auto Scaling group.
func (c *cloud) groupOf(group string) string {
	c.t.Helper()
	out, err := autoscaling.NewFromConfig(c.config()).DescribeAutoScalingGroups(c.t.Context(), &autoscaling.DescribeAutoScalingGroupsInput{
		Filters: []types.Filter{{Name: aws.String("tag:cluster-operator.aws/instance-group"), Values: []string{group}}},
	})
	if err != nil || len(out.AutoScalingGroups) != 1 {
		c.t.Fatalf("there are %v for %s: %v", out, group, err)
	}
	return aws.ToString(out.AutoScalingGroups[0].AutoScalingGroupName)
}

// next is a layer above the cluster: it knows only the outputs of the cluster's configuration.
const next = `data "terraform_remote_state" "cluster" {
  backend = "local"
  config  = { path = "STATE" }
}

output "read" {
  value = data.terraform_remote_state.cluster.outputs
}
`

// readByTheNextLayer reads the cluster's outputs from another configuration, and compares some with
// AWS.
func (c *cloud) readByTheNextLayer(p *terraform) {
	c.t.Helper()
	layer := &terraform{t: c.t, folder: c.t.TempDir(), env: p.env}
	write(c.t, filepath.Join(layer.folder, "main.tf"), strings.ReplaceAll(next, "STATE", filepath.Join(p.folder, "terraform.tfstate")))
	layer.run("init", "-input=false", "-no-color") // the reader of states is part of terraform
	layer.apply()
	var read struct {
		Cluster    string            `json:"cluster_name"`
		Region     string            `json:"region"`
		VPC        string            `json:"vpc_id"`
		API        string            `json:"api_address"`
		Worker     string            `json:"worker_security_group_id"`
		Private    []string          `json:"private_subnet_ids"`
		Slots      []string          `json:"control_plane_autoscaling_group_names"`
		Groups     map[string]string `json:"instance_group_autoscaling_group_names"`
		WorkerRole string            `json:"worker_role_arn"`
	}
	if err := json.Unmarshal([]byte(layer.run("output", "-json", "read")), &read); err != nil {
		c.t.Fatal(err)
	}
	if read.Cluster != "demo" || read.Region != region || len(read.Private) != 3 || len(read.Slots) != 3 ||
		!strings.HasPrefix(read.WorkerRole, "arn:aws:iam::"+account+":role/") {
		c.t.Errorf("the next layer reads %+v", read)
	}
	if diff := cmp.Diff(map[string]string{
		"demo-nodes": c.groupOf("demo-nodes"), "demo-spot": c.groupOf("demo-spot"),
	}, read.Groups); diff != "" {
		c.t.Errorf("Auto Scaling groups by instance group (-want +got):\n%s", diff)
	}
	balancers, err := elbv2.NewFromConfig(c.config()).DescribeLoadBalancers(c.t.Context(), &elbv2.DescribeLoadBalancersInput{})
	if err != nil || aws.ToString(balancers.LoadBalancers[0].DNSName) != read.API {
		c.t.Errorf("the API is at %s, the load balancer is %+v: %v", read.API, balancers, err)
	}
	groups, err := ec2.NewFromConfig(c.config()).
		DescribeSecurityGroups(c.t.Context(), &ec2.DescribeSecurityGroupsInput{GroupIds: []string{read.Worker}})
	if err != nil || aws.ToString(groups.SecurityGroups[0].VpcId) != read.VPC {
		c.t.Errorf("the workers' security group %s is not in %s: %v", read.Worker, read.VPC, err)
	}
}

// renamed gives some resources in Terraform's state names of another version, and checks that they
// are only moved.
func (c *cloud) renamed(p *terraform, state string) {
	c.t.Helper()
	renames := []mapping.Rename{
		{Type: "aws_iam_role", Former: "_masters", Now: "_control_plane"},
		{Type: "aws_iam_role", Former: "_nodes", Now: "_worker"},
		{Type: "aws_autoscaling_group", Former: "_master_1", Now: "_control_plane_1"},
		{Type: "aws_ebs_volume", Former: "_etcd_main_2", Now: "_etcd_volume_2"},
	}
	var former, now []string
	for _, r := range renames {
		was, is := r.Type+".demo"+r.Former, r.Type+".demo"+r.Now
		former, now = append(former, was), append(now, is)
		p.run("state", "mv", is, was)
	}
	text := string(configurationOf(c.t, state, "demo", renames...).Files["kubernetes.tf"])
	blocks := regexp.MustCompile(`(?m)^moved \{\n[^}]*\}\n`).FindAllString(text, -1)
	file := filepath.Join(p.folder, "moved.tf")
	write(c.t, file, strings.Join(blocks, "\n"))
	planned := filepath.Join(c.t.TempDir(), "plan")
	p.run("plan", "-input=false", "-no-color", "-parallelism=30", "-out="+planned)
	var shown struct {
		Changes []struct {
			Address  string
			Previous string `json:"previous_address"`
			Change   struct{ Actions []string }
		} `json:"resource_changes"`
	}
	if err := json.Unmarshal([]byte(p.run("show", "-json", planned)), &shown); err != nil {
		c.t.Fatal(err)
	}
	var from, to []string
	for _, change := range shown.Changes {
		if !slices.Equal(change.Change.Actions, []string{"no-op"}) {
			c.t.Errorf("%s is not only moved: %v", change.Address, change.Change.Actions)
		}
		if change.Previous != "" {
			from, to = append(from, change.Previous), append(to, change.Address)
		}
	}
	for _, names := range [][]string{former, now, from, to} {
		slices.Sort(names)
	}
	if diff := cmp.Diff([][]string{former, now}, [][]string{from, to}); diff != "" {
		c.t.Errorf("moved (-want +got):\n%s", diff)
	}
	p.run("apply", "-input=false", "-no-color", planned)
	if err := os.Remove(file); err != nil {
		c.t.Fatal(err)
	}
	p.unchanged()
}
