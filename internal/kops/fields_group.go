package kops

// groupFields are those of InstanceGroupSpec.
var groupFields = fields{
	"additionalSecurityGroups":     taken,
	"additionalUserData":           taken,
	"associatePublicIp":            taken,
	"autoscale":                    taken,
	"autoscalePriority":            warning("set priorities in the values of cluster-autoscaler in spec.addons"),
	"capacityRebalance":            info("machines are drained when they are interrupted"),
	"cloudLabels":                  taken,
	"compressUserData":             info("user data are small: machines fetch what they need"),
	"containerd":                   warning(ownRuntime + ": its settings, such as mirrors, have no counterpart"),
	"cpuCredits":                   warning("burstable machines have their family's default credits"),
	"detailedInstanceMonitoring":   warning("machines have basic monitoring", "false"),
	"externalLoadBalancers":        warning("groups are not attached to load balancers of yours: use Services of type LoadBalancer"),
	"fileAssets":                   warning(ownFiles),
	"gcpProvisioningModel":         info("it is of another cloud"),
	"guestAccelerators":            info("it is of another cloud"),
	"hooks":                        warning(ownFiles),
	"hostedComponents":             warning("the control plane's components run on its slots"),
	"iam":                          taken,
	"image":                        taken,
	"instanceInterruptionBehavior": warning("interrupted spot instances are ended", "terminate"),
	"instanceMetadata":             taken,
	"instanceProtection":           warning("instances are not protected from scaling in", "false"),
	"kubelet":                      taken,
	"machineType":                  taken,
	"manager": danger(
		"groups of Karpenter cannot be translated: leave the group out, and install Karpenter by spec.addons", "CloudGroup",
	),
	"maxInstanceLifetime":           warning("instances are not replaced by age"),
	"maxPrice":                      taken,
	"maxSize":                       taken,
	"minSize":                       taken,
	"mixedInstancesPolicy":          taken,
	"nodeLabels":                    taken,
	"packages":                      warning(ownFiles),
	"role":                          taken,
	"rollingUpdate":                 taken,
	"rootVolumeDeleteOnTermination": warning("a machine's disk goes with it", "true"),
	"rootVolumeEncryption":          info("volumes are encrypted in any case", "true"),
	"rootVolumeEncryptionKey":       danger(keyOfYours),
	"rootVolumeIops":                taken,
	"rootVolumeOptimization":        info("instance types of today are optimized for EBS in any case"),
	"rootVolumeSize":                taken,
	"rootVolumeThroughput":          taken,
	"rootVolumeType":                taken,
	"securityGroupOverride":         danger("who reaches the machines would change: give the group in additionalSecurityGroups"),
	"servesWellKnownServices":       warning("the API is served by the slots"),
	"spotDurationInMinutes":         warning("AWS has no spot blocks any more"),
	"subnets":                       taken,
	"suspendProcesses":              warning("processes of Auto Scaling are only suspended while the group rolls"),
	"sysctlParameters":              warning(ownFiles),
	"taints":                        taken,
	"tenancy":                       danger("machines would share their hardware with other accounts: leave it out if they may", "default"),
	"updatePolicy":                  info("machines do not update themselves: a new release or image does", "external"),
	"volumeMounts":                  warning("mount further volumes in extraUserData"),
	"volumes":                       taken,
	"warmPool":                      warning("there are no warm pools"),
	"zones":                         info("subnets say where machines stand"),
}

// Sections of InstanceGroupSpec.
var (
	profileFields = fields{
		"profile": danger("what machines may do would change: give policies in the cluster's externalPolicies, and leave it out"),
	}
	metadataFields = fields{
		"httpPutResponseHopLimit": warning("machines answer metadata requests to themselves only, not to pods", "1"),
		"httpTokens":              warning("metadata requests need a token", "required"),
	}
	mixedFields = fields{
		"instanceRequirements":       taken,
		"instances":                  taken,
		"onDemandAboveBase":          taken,
		"onDemandAllocationStrategy": warning("on-demand machines are of the first type that there is", "prioritized"),
		"onDemandBase":               taken,
		"spotAllocationStrategy":     taken,
		"spotInstancePools":          info("the strategy chooses among all types"),
	}
	volumeFields = fields{
		"deleteOnTermination": warning("a machine's disks go with it", "true"),
		"device":              taken,
		"encrypted":           info("volumes are encrypted in any case", "true"),
		"iops":                taken,
		"key":                 danger(keyOfYours),
		"size":                taken,
		"throughput":          taken,
		"type":                taken,
	}
	userDataFields = fields{"content": taken, "name": taken, "type": taken}
)
