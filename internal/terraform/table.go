package terraform

import "maps"

// table has a row for each CloudFormation type that a cluster's stacks have. The arguments are
// those of hashicorp/aws 5.81 and later:
// https://registry.terraform.io/providers/hashicorp/aws/5.100.0/docs
var table = func() map[string]*row {
	all := map[string]*row{}
	for _, rows := range []map[string]*row{networkRows, securityRows, balancingRows, iamRows, storageRows, machineRows, eksRows} {
		maps.Copy(all, rows)
	}
	return all
}()

// networkRows are of a VPC and the ways out of it.
var networkRows = map[string]*row{
	"AWS::EC2::VPC": {
		to: "aws_vpc", ref: "id", attributes: map[string]string{"VpcId": "id"}, tagged: true,
		properties: fields{
			"CidrBlock":          argument("cidr_block"),
			"EnableDnsHostnames": plainly("enable_dns_hostnames"),
			"EnableDnsSupport":   plainly("enable_dns_support"),
			"Tags":               stackTags,
		},
	},
	"AWS::EC2::InternetGateway": {
		to: "aws_internet_gateway", ref: "id", attributes: map[string]string{"InternetGatewayId": "id"}, tagged: true,
		properties: fields{"Tags": stackTags},
	},
	"AWS::EC2::VPCGatewayAttachment": {
		to: "aws_internet_gateway_attachment", ref: "id",
		properties: fields{"InternetGatewayId": argument("internet_gateway_id"), "VpcId": argument("vpc_id")},
	},
	"AWS::EC2::Subnet": {
		to: "aws_subnet", ref: "id", attributes: map[string]string{"SubnetId": "id"}, tagged: true,
		properties: fields{
			"VpcId":            argument("vpc_id"),
			"AvailabilityZone": argument("availability_zone"),
			"CidrBlock":        argument("cidr_block"),
			"Tags":             stackTags,
		},
	},
	"AWS::EC2::RouteTable": {
		to: "aws_route_table", ref: "id", attributes: map[string]string{"RouteTableId": "id"}, tagged: true,
		properties: fields{"VpcId": argument("vpc_id"), "Tags": stackTags},
	},
	"AWS::EC2::SubnetRouteTableAssociation": {
		to: "aws_route_table_association", ref: "id",
		properties: fields{"SubnetId": argument("subnet_id"), "RouteTableId": argument("route_table_id")},
	},
	"AWS::EC2::Route": {
		to: "aws_route", ref: "id",
		properties: fields{
			"RouteTableId":         argument("route_table_id"),
			"DestinationCidrBlock": argument("destination_cidr_block"),
			"GatewayId":            argument("gateway_id"),
			"NatGatewayId":         argument("nat_gateway_id"),
			"TransitGatewayId":     argument("transit_gateway_id"),
		},
	},
	"AWS::EC2::VPCEndpoint": {
		to: "aws_vpc_endpoint", ref: "id", attributes: map[string]string{"Id": "id"}, tagged: true,
		properties: fields{
			"VpcId":           argument("vpc_id"),
			"VpcEndpointType": argument("vpc_endpoint_type"),
			"ServiceName":     argument("service_name"),
			"RouteTableIds":   argument("route_table_ids"),
		},
	},
	"AWS::EC2::EIP": {
		to: "aws_eip", ref: "public_ip", attributes: map[string]string{"AllocationId": "id", "PublicIp": "public_ip"}, tagged: true,
		properties: fields{"Domain": argument("domain"), "Tags": stackTags},
	},
	"AWS::EC2::NatGateway": {
		to: "aws_nat_gateway", ref: "id", attributes: map[string]string{"NatGatewayId": "id"}, tagged: true,
		properties: fields{"AllocationId": argument("allocation_id"), "SubnetId": argument("subnet_id"), "Tags": stackTags},
	},
	"AWS::Route53::HostedZone": {
		to: "aws_route53_zone", ref: "zone_id", attributes: map[string]string{"Id": "zone_id", "NameServers": "name_servers"}, tagged: true,
		finally: emptied,
		properties: fields{
			"Name":             argument("name"),
			"HostedZoneConfig": here(fields{"Comment": argument("comment")}),
			"VPCs":             inner("vpc", fields{"VPCId": argument("vpc_id"), "VPCRegion": argument("vpc_region")}),
		},
	},
	"AWS::Route53::RecordSet": {
		to: "aws_route53_record", ref: "name",
		properties: fields{
			"HostedZoneId": argument("zone_id"),
			"Name":         argument("name"),
			"Type":         argument("type"),
			"AliasTarget": inner("alias", fields{"DNSName": argument("name"), "HostedZoneId": argument("zone_id")},
				func(b *block) { b.set("evaluate_target_health", raw("false")) }), // CloudFormation's default; Terraform has none
		},
	},
}

// securityRows are of security groups.
var securityRows = map[string]*row{
	"AWS::EC2::SecurityGroup": {
		to: "aws_security_group", ref: "id", attributes: map[string]string{"GroupId": "id", "Id": "id"}, tagged: true, named: 100,
		finally: wayOut,
		properties: fields{
			"GroupDescription": argument("description"),
			"VpcId":            argument("vpc_id"),
			"Tags":             stackTags,
		},
	},
	"AWS::EC2::SecurityGroupIngress": {
		to: "aws_vpc_security_group_ingress_rule", ref: "id", attributes: map[string]string{"Id": "id"},
		properties: fields{
			"GroupId":               argument("security_group_id"),
			"Description":           argument("description"),
			"IpProtocol":            argument("ip_protocol"),
			"FromPort":              plainly("from_port"),
			"ToPort":                plainly("to_port"),
			"SourceSecurityGroupId": argument("referenced_security_group_id"),
			"CidrIp":                argument("cidr_ipv4"),
			"CidrIpv6":              argument("cidr_ipv6"),
		},
	},
}

// wayOut adds the rule that lets all traffic out. AWS makes it with each group, and Terraform's
// provider takes it away again:
// https://registry.terraform.io/providers/hashicorp/aws/5.100.0/docs/resources/security_group
func wayOut(t *target) error {
	part, err := t.part("aws_vpc_security_group_egress_rule", "")
	if err != nil {
		return err
	}
	part.block.set("security_group_id", t.main("id"))
	part.block.set("ip_protocol", text("-1"))
	part.block.set("cidr_ipv4", text("0.0.0.0/0"))
	return nil
}

// balancingRows are of the API's load balancer.
var balancingRows = map[string]*row{
	"AWS::ElasticLoadBalancingV2::LoadBalancer": {
		to: "aws_lb", ref: "arn", tagged: true,
		attributes: map[string]string{
			"LoadBalancerArn": "arn", "DNSName": "dns_name", "CanonicalHostedZoneID": "zone_id", "LoadBalancerFullName": "arn_suffix",
			"LoadBalancerName": "name",
		},
		properties: fields{
			"Type":           argument("load_balancer_type"),
			"Scheme":         oneOf("internal", map[string]string{"internal": "true", "internet-facing": "false"}),
			"IpAddressType":  argument("ip_address_type"),
			"Subnets":        argument("subnets"),
			"SecurityGroups": argument("security_groups"),
			"LoadBalancerAttributes": keyed(fields{
				"load_balancing.cross_zone.enabled": plainly("enable_cross_zone_load_balancing"),
			}),
			"Tags": stackTags,
		},
	},
	"AWS::ElasticLoadBalancingV2::TargetGroup": {
		to: "aws_lb_target_group", ref: "arn", tagged: true,
		attributes: map[string]string{"TargetGroupArn": "arn", "TargetGroupFullName": "arn_suffix", "TargetGroupName": "name"},
		properties: fields{
			"VpcId":                      argument("vpc_id"),
			"TargetType":                 argument("target_type"),
			"Protocol":                   argument("protocol"),
			"Port":                       plainly("port"),
			"HealthCheckProtocol":        within("health_check", argument("protocol")),
			"HealthCheckPath":            within("health_check", argument("path")),
			"HealthCheckPort":            within("health_check", argument("port")),
			"HealthCheckIntervalSeconds": within("health_check", plainly("interval")),
			"HealthCheckTimeoutSeconds":  within("health_check", plainly("timeout")),
			"HealthyThresholdCount":      within("health_check", plainly("healthy_threshold")),
			"UnhealthyThresholdCount":    within("health_check", plainly("unhealthy_threshold")),
			"Matcher":                    within("health_check", here(fields{"HttpCode": argument("matcher")})),
			"TargetGroupAttributes": keyed(fields{
				"deregistration_delay.timeout_seconds":                plainly("deregistration_delay"),
				"deregistration_delay.connection_termination.enabled": plainly("connection_termination"),
				"preserve_client_ip.enabled":                          plainly("preserve_client_ip"),
			}),
			"Tags": stackTags,
		},
	},
	"AWS::ElasticLoadBalancingV2::Listener": {
		to: "aws_lb_listener", ref: "arn", attributes: map[string]string{"ListenerArn": "arn"},
		properties: fields{
			"LoadBalancerArn": argument("load_balancer_arn"),
			"Port":            plainly("port"),
			"Protocol":        argument("protocol"),
			"DefaultActions":  inner("default_action", fields{"Type": argument("type"), "TargetGroupArn": argument("target_group_arn")}),
		},
	},
}
