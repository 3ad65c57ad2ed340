package kops

// groupFields are those of InstanceGroupSpec.
var groupFields = fields{
	"additionalSecurityGroups":      taken,
	"additionalUserData":            taken,
	"associatePublicIp":             taken,
	"autoscale":                     taken,
	"autoscalePriority":             warning("set priorities in the values of cluster-autoscaler in spec.addons"),
	"capacityRebalance":             info("nodes are drained when their instances are interrupted"),
	"cloudLabels":                   taken,
	"compressUserData":              info("user data is small: instances download what they need"),
	"containerd":                    warning(ownRuntime + ": its settings, such as mirrors, have no counterpart"),
	"cpuCredits":                    warning("burstable instances have the default credits of their family"),
	"detailedInstanceMonitoring":    warning("instances have basic monitoring", "false"),
	"externalLoadBalancers":         warning("groups cannot be attached to other load balancers: use Services of type LoadBalancer"),
	"fileAssets":                    taken,
	"gcpProvisioningModel":          info("it is for another cloud"),
	"guestAccelerators":             info("it is for another cloud"),
	"hooks":                         taken,
	"hostedComponents":              warning("the control plane's components run on its slots"),
	"iam":                           taken,
	"image":                         taken,
	"instanceInterruptionBehavior":  warning("interrupted spot instances are terminated", "terminate"),
	"instanceMetadata":              taken,
	"instanceProtection":            warning("instances have no scale-in protection", "false"),
	"kubelet":                       taken,
	"machineType":                   taken,
	"manager":                       taken,
	"maxInstanceLifetime":           warning("instances are not replaced by age"),
	"maxPrice":                      taken,
	"maxSize":                       taken,
	"minSize":                       taken,
	"mixedInstancesPolicy":          taken,
	"nodeLabels":                    taken,
	"packages":                      warning(noPackages),
	"role":                          taken,
	"rollingUpdate":                 taken,
	"rootVolumeDeleteOnTermination": warning("root volumes are deleted with their instance", "true"),
	"rootVolumeEncryption":          info("volumes are always encrypted", "true"),
	"rootVolumeEncryptionKey":       danger(keyOfYours),
	"rootVolumeIops":                taken,
	"rootVolumeOptimization":        info("current instance types are always EBS-optimized"),
	"rootVolumeSize":                taken,
	"rootVolumeThroughput":          taken,
	"rootVolumeType":                taken,
	"securityGroupOverride":         danger("the clients that can reach the instances would change: set the group in additionalSecurityGroups"),
	"servesWellKnownServices":       warning("the API is served by the slots"),
	"spotDurationInMinutes":         warning("AWS no longer supports spot blocks"),
	"subnets":                       taken,
	"suspendProcesses":              warning("Auto Scaling processes are suspended only during a rollout"),
	"sysctlParameters":              taken,
	"taints":                        taken,
	"tenancy":                       danger("instances would share their hardware with other accounts: leave it out if that is acceptable", "default"),
	"updatePolicy":                  info("instances do not update themselves: change the release or the image", "external"),
	"volumeMounts":                  warning("mount further volumes with a .mount unit in hooks, or in extraUserData"),
	"volumes":                       taken,
	"warmPool":                      warning("there are no warm pools"),
	"zones":                         info("the subnets determine the zones"),
}

// Sections of InstanceGroupSpec.
var (
	profileFields = fields{
		"profile": danger("the permissions of instances would change: set policies in the cluster's externalPolicies, and leave it out"),
	}
	metadataFields = fields{
		"httpPutResponseHopLimit": warning("only the instance can read its metadata, not its pods", "1"),
		"httpTokens":              warning("metadata requests require a token", "required"),
	}
	mixedFields = fields{
		"instanceRequirements":       taken,
		"instances":                  taken,
		"onDemandAboveBase":          taken,
		"onDemandAllocationStrategy": warning("on-demand instances use the first available type", "prioritized"),
		"onDemandBase":               taken,
		"spotAllocationStrategy":     taken,
		"spotInstancePools":          info("the strategy uses all types"),
	}
	volumeFields = fields{
		"deleteOnTermination": warning("volumes are deleted with their instance", "true"),
		"device":              taken,
		"encrypted":           info("volumes are always encrypted", "true"),
		"iops":                taken,
		"key":                 danger(keyOfYours),
		"size":                taken,
		"throughput":          taken,
		"type":                taken,
	}
	userDataFields = fields{"content": taken, "name": taken, "type": taken}
)
