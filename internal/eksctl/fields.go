package eksctl

import (
	"maps"

	"github.com/aws-operator/aws-operator/internal/translation"
)

// taken marks a field that code translates.
var taken = translation.Taken

func info(why string, unless ...string) translation.Rule { return translation.Inform(why, unless...) }

func warning(why string, unless ...string) translation.Rule { return translation.Warn(why, unless...) }

func danger(why string, unless ...string) translation.Rule { return translation.Refuse(why, unless...) }

// Reasons that several fields have.
const (
	ownChart    = "it is not installed: add its Helm chart to spec.addons"
	ownIdentity = "its pods get no role of their own: add podIdentities to spec.controlPlane.eks"
	ownRole     = "the operator creates the roles of the control plane and of the nodes"
	onlyIPv4    = "pods and services have IPv4 addresses"
	ofGroups    = "an InstanceGroup has no such setting"
	ownIssuer   = "add podIdentities to spec.controlPlane.eks, with the add-on eks-pod-identity-agent, or create roles that trust the cluster's IAM identity provider"
	noOutposts  = "the cluster would run in a region and not on the outpost: leave it out if that is acceptable"
)

// clusterFields are those of ClusterConfig.
var clusterFields = translation.Fields{
	"accessConfig": taken, "addons": taken, "addonsConfig": taken, "apiVersion": taken, "autoModeConfig": taken,
	"availabilityZones":           taken,
	"capabilities":                warning("EKS capabilities are not enabled: add the Helm charts of the controllers to spec.addons"),
	"cloudWatch":                  taken,
	"controlPlaneScalingConfig":   taken,
	"fargateProfiles":             danger("pods would run on nodes, together with others: leave the profiles out if that is acceptable"),
	"gitops":                      warning(ownChart),
	"iam":                         taken,
	"iamIdentityMappings":         taken,
	"identityProviders":           warning("users of these providers cannot log in: give roles access entries"),
	"karpenter":                   warning(ownChart),
	"kind":                        taken,
	"kubeAPIServerConfig":         warning("EKS's defaults apply"),
	"kubeControllerManagerConfig": warning("EKS's defaults apply"),
	"kubeSchedulerConfig":         warning("EKS's defaults apply"),
	"kubernetesNetworkConfig":     taken,
	"localZones":                  danger("nodes would run in the region's zones and not in local zones: leave it out if that is acceptable"),
	"managedNodeGroups":           taken, "metadata": taken, "nodeGroups": taken,
	"outpost":             danger(noOutposts),
	"privateCluster":      taken,
	"remoteNetworkConfig": danger("hybrid nodes could not join: leave it out if there are none"),
	"secretsEncryption":   taken, "upgradePolicy": taken, "vpc": taken, "zonalShiftConfig": taken,
}

// metaFields are those of ClusterMeta.
var metaFields = translation.Fields{
	"annotations": info("they are for eksctl"), "forceUpdateVersion": info("it is for upgrades by eksctl"),
	"rollbackConfig": info("it is for upgrades by eksctl"),
	"name":           taken, "region": taken, "tags": taken, "version": taken,
}

// Those of the sections of ClusterConfig.
var (
	accessFields = translation.Fields{
		"accessEntries": taken, "authenticationMode": taken,
		"bootstrapClusterCreatorAdminPermissions": info("the principal that creates the cluster is its administrator", "true"),
	}
	entryFields = translation.Fields{
		"accessPolicies": taken, "kubernetesGroups": taken, "principalARN": taken, "type": taken,
		"kubernetesUsername": warning("the user name is the one that EKS chooses: bind groups to roles, not this name"),
	}
	policyFields  = translation.Fields{"accessScope": taken, "policyARN": taken}
	scopeFields   = translation.Fields{"namespaces": taken, "type": taken}
	mappingFields = translation.Fields{
		"account": warning("all principals of an account cannot be mapped: add access entries for them"), "arn": taken, "groups": taken,
		"namespace":       warning("services cannot be mapped: add access entries for their roles"),
		"noDuplicateARNs": info("a principal has one entry"),
		"serviceName":     warning("services cannot be mapped: add access entries for their roles"),
		"username":        warning("the user name is the one that EKS chooses: bind groups to roles, not this name"),
	}
	addonFields = translation.Fields{
		"attachPolicy": warning(ownIdentity), "attachPolicyARNs": warning(ownIdentity), "configurationValues": taken, "name": taken,
		"namespaceConfig": warning("EKS's default namespace applies"), "owners": info("it only selects the add-on"),
		"permissionsBoundary":               info("all roles have the boundary of the cluster"),
		"podIdentityAssociations":           taken,
		"publishers":                        info("it only selects the add-on"),
		"resolveConflicts":                  info("the add-on replaces what EKS has installed itself"),
		"serviceAccountRoleARN":             warning(ownIdentity),
		"tags":                              info("it has the tags of the cluster"),
		"types":                             info("it only selects the add-on"),
		"useDefaultPodIdentityAssociations": warning(ownIdentity, "false"),
		"version":                           taken,
		"wellKnownPolicies":                 warning(ownIdentity),
	}
	podIdentityFields = translation.Fields{
		"createServiceAccount": warning("the operator creates no service accounts: let the application's manifests do it", "false"),
		"disableSessionTags":   warning("sessions have EKS's tags", "false"), "namespace": taken,
		"permissionPolicy": warning("make a managed policy of it, and name that in policies"), "permissionPolicyARNs": taken,
		"permissionsBoundaryARN": info("all roles have the boundary of the cluster"), "roleARN": taken,
		"roleName": info("CloudFormation names the role"), "serviceAccountName": taken, "tags": info("it has the tags of the cluster"),
		"targetRoleARN":     warning("pods have no roles of other accounts: let the role assume it"),
		"wellKnownPolicies": warning("name managed policies in policies"),
	}
	addonsFields = translation.Fields{
		"autoApplyPodIdentityAssociations": warning(ownIdentity, "false"),
		"disableDefaultAddons":             danger("EKS would install its network, DNS and proxy anyway: leave it out, and remove them afterwards", "false"),
	}
	autoModeFields = translation.Fields{
		"enabled": taken, "nodePools": taken, "nodeRoleARN": warning(ownRole),
		"permissionsBoundaryARN": info("all roles have the boundary of the cluster"),
	}
	watchFields   = translation.Fields{"clusterLogging": taken}
	loggingFields = translation.Fields{
		"enableTypes": taken, "logRetentionInDays": warning("set the retention of the log group /aws/eks/<cluster>/cluster yourself"),
	}
	endpointFields = translation.Fields{"privateAccess": taken, "publicAccess": taken}
	iamFields      = translation.Fields{
		"fargatePodExecutionRoleARN": info("there is no Fargate"), "fargatePodExecutionRolePermissionsBoundary": info("there is no Fargate"),
		"podIdentityAssociations": taken,
		"serviceAccounts":         warning(ownIssuer), "serviceRoleARN": warning(ownRole), "serviceRolePermissionsBoundary": taken,
		"vpcResourceControllerPolicy": info("pods have no security groups of their own"),
		"withOIDC":                    info("the cluster always has an IAM identity provider", "true"),
	}
	natFields     = translation.Fields{"gateway": taken}
	subnetsFields = translation.Fields{"private": taken, "public": taken}
	subnetFields  = translation.Fields{"az": taken, "cidr": info("the range of an existing subnet is its own"), "id": taken}
	scalingFields = translation.Fields{"tier": warning("the control plane has the standard tier", "standard")}
	networkFields = translation.Fields{
		"ipFamily": danger(onlyIPv4+": leave it out if that is acceptable", "IPv4", "ipv4"), "serviceIPv4CIDR": taken,
		"serviceIPv6CIDR": warning(onlyIPv4),
	}
	privateFields = translation.Fields{
		"additionalEndpointServices": info("no endpoints are made"),
		"enabled": danger(
			"nodes would reach the internet: use existing subnets with VPC endpoints, set clusterEndpoints, and leave privateCluster out", "false",
		),
		"skipEndpointCreation": info("no endpoints are made"),
	}
	encryptionFields = translation.Fields{"keyARN": taken}
	upgradeFields    = translation.Fields{"supportType": taken}
	zonalFields      = translation.Fields{"enabled": warning("zonal shift is not enabled", "false")}
)

// vpcFields are those of ClusterVPC.
var vpcFields = translation.Fields{
	"autoAllocateIPv6":                   info(onlyIPv4, "false"),
	"cidr":                               taken,
	"clusterEndpoints":                   taken,
	"controlPlaneEgressMode":             warning("the control plane has EKS's default egress"),
	"controlPlaneOnPrivateSubnets":       info("the control plane uses the subnets of the nodes"),
	"controlPlaneSecurityGroupIDs":       danger("other clients could reach the control plane, or could not any more: set them in spec.api.securityGroups, and leave them out"),
	"controlPlaneSubnetIDs":              warning("the control plane uses the subnets of the nodes"),
	"extraCIDRs":                         warning("these ranges cannot reach the API inside the VPC: permit them in a security group of spec.api.securityGroups"),
	"extraIPv6CIDRs":                     info(onlyIPv4),
	"hostnameType":                       warning("nodes are named after their addresses", "ip-name"),
	"id":                                 taken,
	"ipv6Cidr":                           info(onlyIPv4),
	"ipv6Pool":                           info(onlyIPv4),
	"manageSharedNodeSecurityGroupRules": info("all nodes have the cluster's security group"),
	"nat":                                taken,
	"publicAccessCIDRs":                  taken,
	"securityGroup":                      danger("other clients could reach the control plane, or could not any more: set it in spec.api.securityGroups, and leave it out"),
	"sharedNodeSecurityGroup":            danger("other clients could reach the nodes, or could not any more: set it in securityGroups.attachIDs of the groups, and leave it out"),
	"subnets":                            taken,
}

// groupFields are those of both kinds of node groups.
var groupFields = translation.Fields{
	"additionalVolumes":        warning("nodes have a root volume only"),
	"ami":                      warning("nodes run EKS's newest image of their family: in a self-managed group, set image"),
	"amiFamily":                taken,
	"asgSuspendProcesses":      warning(ofGroups),
	"availabilityZones":        taken,
	"bottlerocket":             warning("the settings of Bottlerocket are those of EKS"),
	"capacityReservation":      taken,
	"desiredCapacity":          taken,
	"disableIMDSv1":            warning("version 1 of the instance metadata service is disabled", "true"),
	"disablePodIMDS":           info("pods with an own network do not reach the instance metadata service"),
	"ebsOptimized":             info("current instance types are always EBS-optimized"),
	"efaEnabled":               warning("nodes have no Elastic Fabric Adapter", "false"),
	"enableDetailedMonitoring": warning("instances have basic monitoring", "false"),
	"iam":                      taken,
	"instanceMarketOptions":    taken,
	"instanceName":             info("instances are named after their group"),
	"instancePrefix":           info("instances are named after their group"),
	"instanceSelector":         danger("instance types must be named: list them in instanceTypes"),
	"instanceType":             taken,
	"labels":                   taken,
	"maxPodsPerNode":           warning("EKS determines the number of pods by the instance type"),
	"maxSize":                  taken,
	"minSize":                  taken,
	"name":                     taken,
	"outpostARN":               danger(noOutposts),
	"overrideBootstrapCommand": danger("nodes boot as EKS's image does: leave it out if that is acceptable"),
	"placement":                taken,
	"preBootstrapCommands":     danger("nodes would lack what the commands do: use a DaemonSet for that, and leave them out"),
	"privateNetworking":        taken,
	"propagateASGTags":         info("tags of the group are on its instances"),
	"securityGroups":           taken,
	"ssh":                      taken,
	"subnets":                  taken,
	"tags":                     taken,
	"taints":                   taken,
	"updateConfig":             taken,
	"volumeEncrypted":          info("volumes are always encrypted", "true"),
	"volumeIOPS":               taken,
	"volumeKmsKeyID":           danger("volumes are encrypted with the account's default EBS key: make this key the default, and leave out the field"),
	"volumeName":               info("the root volume is the image's"),
	"volumeSize":               taken,
	"volumeThroughput":         taken,
	"volumeType":               taken,
}

// managedFields are those of ManagedNodeGroup, unmanagedFields those of NodeGroup.
var (
	managedFields = with(translation.Fields{
		"instanceTypes":    taken,
		"launchTemplate":   danger("the operator makes the launch template: move its settings to the group, and leave it out"),
		"nodeRepairConfig": taken,
		"releaseVersion":   info("EKS chooses the version of its image"),
		"spot":             taken,
	})
	unmanagedFields = with(translation.Fields{
		"asgMetricsCollection":     warning(ofGroups),
		"classicLoadBalancerNames": warning("groups cannot be attached to load balancers: use Services of type LoadBalancer"),
		"clusterDNS":               danger("pods use the cluster's own DNS: leave it out if that is acceptable"),
		"containerRuntime":         info("the container runtime is containerd", "containerd"),
		"cpuCredits":               warning("burstable instances have the default credits of their family"),
		"enclaveEnabled":           warning("nodes have no enclaves", "false"),
		"instancesDistribution":    taken,
		"kubeletExtraConfig":       warning("EKS determines the configuration of kubelets"),
		"localZones":               danger("nodes would run in the region's zones and not in local zones: leave it out if that is acceptable"),
		"maxInstanceLifetime":      warning("instances are not replaced by age"),
		"targetGroupARNs":          warning("groups cannot be attached to load balancers: use Services of type LoadBalancer"),
	})
)

// with adds the fields of both kinds of node groups.
func with(fields translation.Fields) translation.Fields {
	maps.Copy(fields, groupFields)
	return fields
}

// Those of the sections of node groups.
var (
	nodeIAMFields = translation.Fields{
		"attachPolicy":       warning("create a managed policy from it, and set its ARN in attachPolicyARNs"),
		"attachPolicyARNs":   taken,
		"instanceProfileARN": danger("nodes would lose the permissions of its role: name the role's policies in attachPolicyARNs, and leave it out"),
		"instanceRoleARN":    danger("nodes would lose the permissions of the role: name its policies in attachPolicyARNs, and leave it out"),
		"instanceRoleName":   info(ownRole), "instanceRolePermissionsBoundary": taken,
		"withAddonPolicies": warning("give the service accounts of the addons roles of their own"),
	}
	placementFields = translation.Fields{
		"groupName": taken, "spreadLevel": info("the spread level is that of the placement group"),
	}
	capacityFields = translation.Fields{"capacityReservationPreference": taken, "capacityReservationTarget": taken}
	targetFields   = translation.Fields{"capacityReservationID": taken, "capacityReservationResourceGroupARN": taken}
	marketFields   = translation.Fields{"marketType": taken}

	distributionFields = translation.Fields{
		"capacityRebalance": info("spot instances that are likely to be interrupted are replaced before"), "instanceTypes": taken,
		"maxPrice": taken, "onDemandBaseCapacity": taken, "onDemandPercentageAboveBaseCapacity": taken, "spotAllocationStrategy": taken,
		"spotInstancePools": info("EC2 chooses the pools"),
	}
	repairFields = translation.Fields{
		"enabled": taken, "maxParallelNodesRepairedCount": warning(ofRepair), "maxParallelNodesRepairedPercentage": warning(ofRepair),
		"maxUnhealthyNodeThresholdCount": warning(ofRepair), "maxUnhealthyNodeThresholdPercentage": warning(ofRepair),
		"nodeRepairConfigOverrides": warning(ofRepair),
	}
	securityFields = translation.Fields{
		"attachIDs": taken, "withLocal": info("all nodes have the cluster's security group", "true"),
		"withShared": info("all nodes have the cluster's security group", "true"),
	}
	sshFields = translation.Fields{
		"allow": taken, "enableSsm": info("the image has the agent of AWS Systems Manager"), "publicKey": info(noSSH),
		"publicKeyName": info(noSSH), "publicKeyPath": info(noSSH), "sourceSecurityGroupIds": info(noSSH),
	}
	taintFields  = translation.Fields{"effect": taken, "key": taken, "value": taken}
	updateFields = translation.Fields{"maxUnavailable": taken, "maxUnavailablePercentage": taken}
)

// Reasons of the sections of node groups.
const (
	noSSH    = "nodes accept no logins by SSH"
	ofRepair = "EKS's defaults for node repair apply"
)
