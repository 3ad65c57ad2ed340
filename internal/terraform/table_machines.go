package terraform

import (
	"errors"
	"maps"
	"slices"

	"github.com/aws-operator/aws-operator/internal/cfn/template"
)

// templateSpecification names a launch template and its version.
func templateSpecification(id string) fields {
	return fields{"LaunchTemplateId": argument(id), "Version": argument("version")}
}

// machineRows are of slots, instance groups and bastions.
var machineRows = map[string]*row{
	"AWS::EC2::LaunchTemplate": {
		// CloudFormation's type has no property for tags of its own, so none of the stack's are on
		// it.
		to: "aws_launch_template", ref: "id", named: 99,
		attributes: map[string]string{
			"LaunchTemplateId":     "id",
			"LatestVersionNumber":  "latest_version",
			"DefaultVersionNumber": "default_version",
		},
		properties: fields{"LaunchTemplateData": here(launchTemplateData)},
	},
	"AWS::EC2::PlacementGroup": {
		to: "aws_placement_group", ref: "name", attributes: map[string]string{"GroupName": "name"}, tagged: true, finally: namedLikeStack,
		properties: fields{"Strategy": argument("strategy"), "PartitionCount": plainly("partition_count"), "Tags": stackTags},
	},
	"AWS::AutoScaling::AutoScalingGroup": {
		to: "aws_autoscaling_group", ref: "name", tagged: true, named: 229, finally: ownRolling,
		attributes: map[string]string{"AutoScalingGroupARN": "arn"},
		properties: fields{
			"MinSize":           plainly("min_size"),
			"MaxSize":           plainly("max_size"),
			"DesiredCapacity":   plainly("desired_capacity"),
			"VPCZoneIdentifier": argument("vpc_zone_identifier"),
			"HealthCheckType":   argument("health_check_type"),
			"TargetGroupARNs":   argument("target_group_arns"),
			"CapacityRebalance": plainly("capacity_rebalance"),
			"LaunchTemplate":    inner("launch_template", templateSpecification("id")),
			"MixedInstancesPolicy": inner("mixed_instances_policy", fields{
				"InstancesDistribution": inner("instances_distribution", fields{
					"OnDemandAllocationStrategy":          argument("on_demand_allocation_strategy"),
					"OnDemandBaseCapacity":                plainly("on_demand_base_capacity"),
					"OnDemandPercentageAboveBaseCapacity": plainly("on_demand_percentage_above_base_capacity"),
					"SpotAllocationStrategy":              argument("spot_allocation_strategy"),
					"SpotMaxPrice":                        argument("spot_max_price"),
				}),
				"LaunchTemplate": inner("launch_template", fields{
					"LaunchTemplateSpecification": inner("launch_template_specification", templateSpecification("launch_template_id")),
					"Overrides":                   inner("override", fields{"InstanceType": argument("instance_type")}),
				}),
			}),
			"LifecycleHookSpecificationList": split(
				"aws_autoscaling_lifecycle_hook",
				"autoscaling_group_name",
				"name",
				"LifecycleHookName",
				fields{
					"LifecycleHookName":   argument("name"),
					"LifecycleTransition": argument("lifecycle_transition"),
					"HeartbeatTimeout":    plainly("heartbeat_timeout"),
					"DefaultResult":       argument("default_result"),
				},
			),
			"InstanceLifecyclePolicy": dropped("Version 5 of the provider has no argument for it. It keeps a machine whose hook was " +
				"abandoned; our own engine, which replaces the machines here, does not end one that it could not drain."),
			"Tags": inner("tag", fields{
				"Key":               argument("key"),
				"Value":             argument("value"),
				"PropagateAtLaunch": plainly("propagate_at_launch"),
			}),
		},
	},
}

var launchTemplateData = fields{
	"ImageId":            argument("image_id"),
	"InstanceType":       argument("instance_type"),
	"IamInstanceProfile": inner("iam_instance_profile", fields{"Name": argument("name")}),
	"MetadataOptions": inner("metadata_options", fields{
		"HttpEndpoint":            argument("http_endpoint"),
		"HttpTokens":              argument("http_tokens"),
		"HttpPutResponseHopLimit": plainly("http_put_response_hop_limit"),
	}),
	"NetworkInterfaces": inner("network_interfaces", fields{
		"DeviceIndex":              plainly("device_index"),
		"AssociatePublicIpAddress": plainly("associate_public_ip_address"),
		"DeleteOnTermination":      plainly("delete_on_termination"),
		"Groups":                   argument("security_groups"),
	}),
	"BlockDeviceMappings": inner("block_device_mappings", fields{
		"DeviceName": argument("device_name"),
		"Ebs": inner("ebs", fields{
			"DeleteOnTermination": plainly("delete_on_termination"),
			"Encrypted":           plainly("encrypted"),
			"VolumeType":          argument("volume_type"),
			"VolumeSize":          plainly("volume_size"),
			"Iops":                plainly("iops"),
			"Throughput":          plainly("throughput"),
		}),
	}),
	"CapacityReservationSpecification": inner("capacity_reservation_specification", fields{
		"CapacityReservationPreference": argument("capacity_reservation_preference"),
		"CapacityReservationTarget": inner("capacity_reservation_target", fields{
			"CapacityReservationId":               argument("capacity_reservation_id"),
			"CapacityReservationResourceGroupArn": argument("capacity_reservation_resource_group_arn"),
		}),
	}),
	"InstanceMarketOptions": inner("instance_market_options", fields{"MarketType": argument("market_type")}),
	"Placement":             inner("placement", fields{"GroupName": argument("group_name")}),
	"TagSpecifications":     inner("tag_specifications", fields{"ResourceType": argument("resource_type"), "Tags": tags("tags")}),
	"UserData":              userData,
}

// userData makes the script that a machine boots with a file of data, in which the bundle's hash is
// replaced.
func userData(t *target, n *template.Node) error {
	if n.Func != "Fn::Base64" || n.Arg.Kind != template.String {
		return errors.New("it must be Fn::Base64 of a text")
	}
	file := t.file(t.of.address, "user_data")
	t.module.files[file] = []byte(n.Arg.Text)
	contents := t.module.fill(call("file", t.module.path(file)), n.Arg.Text)
	if t.bundle != nil {
		contents = call("replace", contents, text(t.bundle.hash), call("sha256", t.bundle.document))
	}
	t.block.set("user_data", call("base64encode", contents))
	return nil
}

// namedLikeStack gives a resource the name of its stack, where the provider does not make one up.
func namedLikeStack(t *target) error {
	t.block.set("name", text(t.stack.Name))
	return nil
}

// ownRolling makes the group one whose machines our own engine replaces, and puts those of the
// stack's tags on it that the group has not.
func ownRolling(t *target) error {
	has := map[string]bool{}
	for _, b := range t.block.blocks {
		for _, a := range b.arguments {
			if key, ok := a.value.literal(); ok && b.kind == "tag" && a.name == "key" {
				has[key] = true
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(t.stack.Tags)) {
		if has[key] {
			continue
		}
		b := t.block.add("tag")
		b.set("key", text(key))
		b.set("value", text(t.stack.Tags[key]))
		b.set("propagate_at_launch", raw("true"))
	}
	// CloudFormation's default, where the provider's is 300:
	// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-autoscaling-autoscalinggroup.html
	t.block.set("health_check_grace_period", raw("0"))
	// Machines are waited for by their nodes, as with CloudFormation, not by Terraform.
	t.block.set("wait_for_capacity_timeout", text("0"))
	if !slices.ContainsFunc(t.block.arguments, func(a member) bool { return a.name == "desired_capacity" }) {
		t.block.one("lifecycle").set("ignore_changes", raw("[desired_capacity]"))
	}
	t.of.after = append(t.of.after, t.before...)
	return nil
}
