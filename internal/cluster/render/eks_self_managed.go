package render

import (
	"fmt"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

// eksNode is the templates' data of the role of self-managed nodes.
type eksNode struct{ *model.Cluster }

// resolvedByEC2 is what comes before the name of a parameter that has the ID of an image. A parameter of the stack would have
// the newest image at each update, so that the launch template, and with it all nodes, would change with an update of anything.
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/using-systems-manager-parameters.html
const resolvedByEC2 = "resolve:ssm:"

// selfManagedStack renders the stack of a self-managed group of EKS: an Auto Scaling group as those of other clusters,
// with a role and an access entry of its own.
func selfManagedStack(c *model.Cluster, g *model.Group, base map[string]string, userData string) (*Stack, error) {
	h := &handover{outputs: base, values: map[string]string{}}
	imageType, imageValue := imageParameter(g.Image)
	if g.Image.ID == "" { // EC2 finds the image whenever it launches an instance.
		imageType, imageValue = typeString, resolvedByEC2+g.Image.Parameter
	}
	h.set(parameterImage, imageType, imageValue)
	h.take(parameterSecurityGroup, typeSecurityGroup, model.OutputClusterSecurityGroup)
	subnets, err := h.subnets(g.Subnets)
	if err != nil {
		return nil, err
	}
	more, err := expressions(g.Spec.SecurityGroups)
	if err != nil {
		return nil, err
	}
	m := machine{
		Profile: "!Ref InstanceProfile", SecurityGroups: append([]string{"!Ref " + parameterSecurityGroup}, more...), Subnets: subnets,
		PublicAddress: len(g.Subnets) > 0 && g.Subnets[0].Role == v1alpha1.SubnetPublic,
		Volumes:       eksDisks(g),
		EKSNode:       &eksNode{c},
	}
	if err := m.fill(c, g, userData); err != nil {
		return nil, err
	}
	stack, err := h.stack(
		g.StackName, fmt.Sprintf("Kubernetes cluster %s: instance group %s", c.Name, g.Name), m, "group.yaml", g.Tags, model.TagInstanceGroup,
	)
	if err != nil {
		return nil, err
	}
	stack.Capabilities = []string{"CAPABILITY_IAM"}
	return stack, nil
}
