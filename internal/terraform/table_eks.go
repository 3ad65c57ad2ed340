package terraform

import (
	"errors"
	"strings"

	"github.com/aws-operator/aws-operator/internal/cfn/template"
)

// eksRows are of clusters whose control plane EKS runs.
var eksRows = map[string]*row{
	"AWS::EKS::Cluster": {
		to: "aws_eks_cluster", ref: "name", tagged: true,
		attributes: map[string]string{
			"Arn": "arn", "Endpoint": "endpoint", "CertificateAuthorityData": "certificate_authority[0].data",
			"ClusterSecurityGroupId": "vpc_config[0].cluster_security_group_id", "OpenIdConnectIssuerUrl": "identity[0].oidc[0].issuer",
		},
		properties: fields{
			"Name":    argument("name"),
			"Version": argument("version"),
			"RoleArn": argument("role_arn"),
			"AccessConfig": inner("access_config", fields{
				"AuthenticationMode":                      argument("authentication_mode"),
				"BootstrapClusterCreatorAdminPermissions": plainly("bootstrap_cluster_creator_admin_permissions"),
			}),
			"BootstrapSelfManagedAddons": plainly("bootstrap_self_managed_addons"),
			"ComputeConfig": inner("compute_config", fields{
				"Enabled":     plainly("enabled"),
				"NodePools":   argument("node_pools"),
				"NodeRoleArn": argument("node_role_arn"),
			}),
			"StorageConfig": inner("storage_config", fields{"BlockStorage": inner("block_storage", fields{"Enabled": plainly("enabled")})}),
			"KubernetesNetworkConfig": inner("kubernetes_network_config", fields{
				"ServiceIpv4Cidr":      argument("service_ipv4_cidr"),
				"ElasticLoadBalancing": inner("elastic_load_balancing", fields{"Enabled": plainly("enabled")}),
			}),
			"ResourcesVpcConfig": inner("vpc_config", fields{
				"EndpointPrivateAccess": plainly("endpoint_private_access"),
				"EndpointPublicAccess":  plainly("endpoint_public_access"),
				"PublicAccessCidrs":     argument("public_access_cidrs"),
				"SecurityGroupIds":      argument("security_group_ids"),
				"SubnetIds":             argument("subnet_ids"),
			}),
			"Logging": here(fields{"ClusterLogging": here(fields{"EnabledTypes": typesOf("enabled_cluster_log_types")})}),
			"EncryptionConfig": inner("encryption_config", fields{
				"Resources": argument("resources"),
				"Provider":  inner("provider", fields{"KeyArn": argument("key_arn")}),
			}),
			"UpgradePolicy": inner("upgrade_policy", fields{"SupportType": argument("support_type")}),
		},
	},
	"AWS::EKS::AccessEntry": {
		to: "aws_eks_access_entry", ref: "principal_arn", tagged: true, finally: afterBefore, attributes: map[string]string{"AccessEntryArn": "access_entry_arn"},
		properties: fields{
			"ClusterName":      argument("cluster_name"),
			"PrincipalArn":     argument("principal_arn"),
			"Type":             argument("type"),
			"KubernetesGroups": argument("kubernetes_groups"),
			"AccessPolicies":   accessPolicies,
		},
	},
	"AWS::EKS::PodIdentityAssociation": {
		to: "aws_eks_pod_identity_association", ref: "association_arn", tagged: true, attributes: map[string]string{"AssociationId": "association_id"},
		properties: fields{
			"ClusterName":    argument("cluster_name"),
			"Namespace":      argument("namespace"),
			"ServiceAccount": argument("service_account"),
			"RoleArn":        argument("role_arn"),
		},
	},
	"AWS::EKS::Addon": {
		to: "aws_eks_addon", ref: "addon_name", tagged: true, finally: afterBefore, attributes: map[string]string{"Arn": "arn"},
		properties: fields{
			"ClusterName":         argument("cluster_name"),
			"AddonName":           argument("addon_name"),
			"AddonVersion":        argument("addon_version"),
			"ConfigurationValues": argument("configuration_values"),
			"ResolveConflicts":    both("resolve_conflicts_on_create", "resolve_conflicts_on_update"),
		},
	},
	"AWS::EKS::Nodegroup": {
		// The name has a random end, so that another node group can be made before this one goes.
		to: "aws_eks_node_group", ref: "node_group_name", tagged: true, finally: nodeGroupName, attributes: map[string]string{"Arn": "arn"},
		properties: fields{
			"ClusterName":   argument("cluster_name"),
			"Version":       argument("version"),
			"NodeRole":      argument("node_role_arn"),
			"AmiType":       argument("ami_type"),
			"CapacityType":  argument("capacity_type"),
			"InstanceTypes": argument("instance_types"),
			"Subnets":       argument("subnet_ids"),
			"LaunchTemplate": inner("launch_template", fields{
				"Id": argument("id"), "Version": argument("version"),
			}),
			"ScalingConfig": inner("scaling_config", fields{
				"MinSize": plainly("min_size"), "MaxSize": plainly("max_size"), "DesiredSize": plainly("desired_size"),
			}),
			"UpdateConfig":       inner("update_config", fields{"MaxUnavailable": plainly("max_unavailable")}),
			"ForceUpdateEnabled": plainly("force_update_version"),
			"NodeRepairConfig":   inner("node_repair_config", fields{"Enabled": plainly("enabled")}),
			"Labels":             mapOf("labels"),
			"Tags":               mergedTags,
			"Taints": inner("taint", fields{
				"Key": argument("key"), "Value": argument("value"), "Effect": argument("effect"),
			}),
		},
	},
}

// both makes a value two arguments.
func both(one, other string) rule {
	return func(t *target, n *template.Node) error {
		return errors.Join(argument(one)(t, n), argument(other)(t, n))
	}
}

// afterBefore lets resources wait for what their stack comes after: add-ons for the nodes on which their pods run, the access
// entry of self-managed nodes for the cluster, which it names only.
func afterBefore(t *target) error {
	t.of.after = append(t.of.after, t.before...)
	return nil
}

// typesOf makes a list of objects with a Type a list of texts.
func typesOf(name string) rule {
	return func(t *target, n *template.Node) error {
		types := &template.Node{Kind: template.List}
		for _, item := range n.Items {
			one := item.Get("Type")
			if one == nil {
				return errors.New("one has no Type")
			}
			types.Items = append(types.Items, one)
		}
		return argument(name)(t, types)
	}
}

// mapOf makes a map an argument.
func mapOf(name string) rule {
	return func(t *target, n *template.Node) error {
		members, err := t.membersOf(n)
		if err != nil {
			return err
		}
		t.block.set(name, object(members))
		return nil
	}
}

// mergedTags makes a map of tags one with the stack's.
func mergedTags(t *target, n *template.Node) error {
	members, err := t.membersOf(n)
	if err != nil {
		return err
	}
	t.block.set("tags", call("merge", t.commonTags(), object(members)))
	return nil
}

// membersOf returns the members of a map.
func (s *scope) membersOf(n *template.Node) ([]member, error) {
	var members []member
	for _, field := range n.Fields {
		value, err := s.value(field.Value)
		if err != nil {
			return nil, at("."+field.Key, err)
		}
		members = append(members, member{field.Key, value})
	}
	return members, nil
}

// accessPolicies makes each policy of an access entry a resource of its own.
func accessPolicies(t *target, n *template.Node) error {
	return each(n, func(_ int, item *template.Node) error {
		arn, _ := item.Get("PolicyArn").Scalar()
		part, err := t.part("aws_eks_access_policy_association", snake(arn[strings.LastIndex(arn, "/")+1:]))
		if err != nil {
			return err
		}
		part.block.set("cluster_name", t.main("cluster_name"))
		part.block.set("principal_arn", t.main("principal_arn"))
		return fields{
			"PolicyArn":   argument("policy_arn"),
			"AccessScope": inner("access_scope", fields{"Type": argument("type"), "Namespaces": argument("namespaces")}),
		}.apply(part, item)
	})
}

// nodeGroupName names a node group after its stack, and lets Terraform make another one before it
// deletes this one. Names have at most 63 characters:
// https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateNodegroup.html
func nodeGroupName(t *target) error {
	const most = 36 // the provider appends 26
	name := t.stack.Name
	t.block.set("node_group_name_prefix", text(name[:min(len(name), most)]+"-"))
	t.block.one("lifecycle").set("create_before_destroy", raw("true"))
	return nil
}
