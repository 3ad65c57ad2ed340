package trial

import (
	"context"
	"crypto/x509"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/consoles"
	"github.com/aws-operator/aws-operator/internal/cluster/live"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

// instances returns the cluster's instances that EC2 still lists, those that are terminated, too, the
// oldest first.
func (r *runner) instances(ctx context.Context) (found []ec2types.Instance, err error) {
	in := &ec2.DescribeInstancesInput{Filters: []ec2types.Filter{
		{Name: aws.String("tag:" + model.TagCluster), Values: []string{clusterName}}, {Name: aws.String("tag-key"), Values: []string{tagName}},
	}}
	for {
		out, err := r.clients.EC2(awsapi.Target{}).DescribeInstances(ctx, in)
		if err != nil {
			return nil, err
		}
		for i := range out.Reservations {
			found = append(found, out.Reservations[i].Instances...)
		}
		if in.NextToken = out.NextToken; aws.ToString(in.NextToken) == "" {
			slices.SortFunc(found, func(a, b ec2types.Instance) int { return aws.ToTime(a.LaunchTime).Compare(aws.ToTime(b.LaunchTime)) })
			return found, nil
		}
	}
}

// launched returns the instances that this trial launched: EC2 lists those of an earlier trial for an
// hour after their termination.
func (c *hourChecks) launched(ctx context.Context) ([]ec2types.Instance, error) {
	all, err := c.instances(ctx)
	return slices.DeleteFunc(all, func(instance ec2types.Instance) bool { return aws.ToTime(instance.LaunchTime).Before(c.since) }), err
}

func tagsOf(instance *ec2types.Instance) map[string]string {
	found := map[string]string{}
	for _, tag := range instance.Tags {
		found[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
	}
	return found
}

// machines checks the first instances and how they booted.
func (c *hourChecks) machines(ctx context.Context) error {
	all, err := c.launched(ctx)
	if err != nil {
		return err
	}
	c.first = map[string]bool{}
	joined, tokens, tagged, groups, named := 0, 0, 0, 0, 0
	var consolesSeen, dnsNames []string
	for i := range all {
		instance := &all[i]
		id := aws.ToString(instance.InstanceId)
		c.first[id] = true
		carried := tagsOf(instance)
		report := consoles.Read(ctx, c.clients.EC2(awsapi.Target{}), consoles.Instance{
			ID: id, Slot: carried[model.TagSlot], Group: carried[model.TagInstanceGroup],
		})
		switch {
		case report.Unreadable != "":
			consolesSeen = append(consolesSeen, id+": "+report.Unreadable)
		case report.Boot.Joined:
			joined++
			consolesSeen = append(consolesSeen, id+" joined the cluster")
		default:
			consolesSeen = append(consolesSeen, fmt.Sprintf("%s is at %q", id, report.Boot.Stage))
		}
		if instance.MetadataOptions != nil && instance.MetadataOptions.HttpTokens == ec2types.HttpTokensStateRequired {
			tokens++
		}
		if c.seen.group[id] != "" && carried["aws:autoscaling:groupName"] == c.seen.group[id] {
			groups++
		}
		if isNamedAfter(instance) {
			named++
		}
		dnsNames = append(dnsNames, id+" is "+aws.ToString(instance.PrivateDnsName))
		if ok, err := c.disksTagged(ctx, id); err != nil {
			c.failed("ec2-launch-template-tags", err)
		} else if ok {
			tagged++
		}
	}
	n := len(all)
	launched := n == workers+1
	c.expect("iam-eventual", launched && joined == n,
		"Of %d instances that were launched right after their profiles were created, %d joined; the groups launched no others: %t.",
		n, joined, launched)
	c.expect("ec2-console", joined == n, "The console shows: %s.", strings.Join(consolesSeen, "; "))
	c.expect("ec2-user-data", joined == n, "The user data of %d of %d instances installed the programs with which they joined.", joined, n)
	c.expect("ec2-imdsv2", tokens == n && joined == n,
		"%d of %d instances require session tokens, and %d got credentials with one.", tokens, n, joined)
	c.expect("s3-signed-get", joined == n, "%d of %d instances fetched their files from the bucket with the credentials of their role.", joined, n)
	c.expect("asg-group-name-tag", groups == n, "%d of %d instances have the tag with the name of their group.", groups, n)
	c.expect("ec2-private-dns-name", named == n, "Private DNS names: %s.", strings.Join(dnsNames, "; "))
	if _, known := c.findings["ec2-launch-template-tags"]; !known {
		c.expect("ec2-launch-template-tags", tagged == n, "The volumes and interfaces of %d of %d instances have the trial's tag.", tagged, n)
	}
	return c.images(ctx, all)
}

// isNamedAfter reports whether the private DNS name begins with the instance's address or its ID.
func isNamedAfter(instance *ec2types.Instance) bool {
	label, _, _ := strings.Cut(aws.ToString(instance.PrivateDnsName), ".")
	return label == "ip-"+strings.ReplaceAll(aws.ToString(instance.PrivateIpAddress), ".", "-") || label == aws.ToString(instance.InstanceId)
}

// disksTagged reports whether the volumes that were launched with an instance, and its network
// interfaces, have the trial's tag.
func (c *hourChecks) disksTagged(ctx context.Context, id string) (bool, error) {
	api := c.clients.Leftovers(awsapi.Target{})
	volumes, err := api.DescribeVolumes(ctx, &ec2.DescribeVolumesInput{Filters: []ec2types.Filter{
		{Name: aws.String("attachment.instance-id"), Values: []string{id}},
	}})
	if err != nil {
		return false, err
	}
	interfaces, err := api.DescribeNetworkInterfaces(ctx, &ec2.DescribeNetworkInterfacesInput{Filters: []ec2types.Filter{
		{Name: aws.String("attachment.instance-id"), Values: []string{id}},
	}})
	if err != nil {
		return false, err
	}
	all := len(volumes.Volumes) > 0 && len(interfaces.NetworkInterfaces) > 0
	for i := range volumes.Volumes {
		all = all && hasTag(volumes.Volumes[i].Tags)
	}
	for i := range interfaces.NetworkInterfaces {
		all = all && hasTag(interfaces.NetworkInterfaces[i].TagSet)
	}
	return all, nil
}

// hasTag reports whether tags of EC2 have the trial's.
func hasTag(tags []ec2types.Tag) bool {
	return slices.ContainsFunc(tags, func(tag ec2types.Tag) bool { return aws.ToString(tag.Key) == tagName })
}

// images checks that the instances have the image to which CloudFormation resolved the parameter of
// their stack.
func (c *hourChecks) images(ctx context.Context, all []ec2types.Instance) error {
	for _, name := range []string{groupStack, slotStack} {
		stack, err := c.stack(ctx, name)
		if err != nil || stack == nil {
			return err
		}
		for _, parameter := range stack.Parameters {
			image, of := aws.ToString(parameter.ResolvedValue), aws.ToString(parameter.ParameterValue)
			if image == "" {
				continue
			}
			used := slices.ContainsFunc(all, func(instance ec2types.Instance) bool { return aws.ToString(instance.ImageId) == image })
			c.expect("cfn-ssm-parameter-type", used, "%s resolved to %s, from which an instance was launched: %t.", of, image, used)
			c.expect("ec2-image-serial", used, "%s exists in region %s and names an image that can be launched.", of, c.region)
		}
	}
	return nil
}

// api checks the cluster's API at its load balancer.
func (c *hourChecks) api(ctx context.Context) error {
	objects, err := c.clusterOf(ctx, c.state)
	if err != nil {
		return err
	}
	session := live.Open(live.Options{Clients: c.clients, Cluster: objects.Cluster, Groups: objects.Groups, Secrets: objects.Secrets})
	defer session.Close()
	observed, err := session.Observe(ctx)
	if err != nil {
		return err
	}
	if observed.AWS.LoadBalancer == nil || observed.API == nil {
		return nil
	}
	name, problem := observed.AWS.LoadBalancer.DNSName, observed.API.Problem
	c.expect("elb-mixed-case-name", name != strings.ToLower(name) && problem == "",
		"The load balancer's DNS name is %s. The API answers at the name in lower case: %t. %s", name, problem == "", problem)
	healthy, err := c.awaitHealthy(ctx, true)
	if err != nil {
		return err
	}
	c.expect("elb-health-https", healthy, "The health check of the slot's target by HTTPS succeeds: %t.", healthy)
	if observed.API.Certificate == nil {
		c.found("elb-health-ecdsa", notChecked, "The API server's certificate could not be read.")
		return nil
	}
	if algorithm := observed.API.Certificate.PublicKeyAlgorithm; algorithm != x509.ECDSA {
		c.found("elb-health-ecdsa", notChecked, "The API server's certificate has a key of type %s.", algorithm)
		return nil
	}
	c.expect("elb-health-ecdsa", healthy, "The API server's certificate has an ECDSA key, and the health check succeeds: %t.", healthy)
	return nil
}
