package kops

import "github.com/aws-operator/aws-operator/internal/translation"

// fields are the rules of all fields of a type of kops, and part is a section of a manifest.
type (
	fields = translation.Fields
	part   = translation.Part
)

// taken marks a field that code translates.
var taken = translation.Taken

func info(why string, unless ...string) translation.Rule { return translation.Inform(why, unless...) }

func warning(why string, unless ...string) translation.Rule { return translation.Warn(why, unless...) }

func danger(why string, unless ...string) translation.Rule { return translation.Refuse(why, unless...) }

// Reasons that several fields have.
const (
	ownState   = "the operator keeps the state, or --state names it"
	ownChart   = "it is not installed: add its Helm chart to spec.addons"
	noPackages = "packages are not installed: install them in extraUserData of the group, or use an image that has them"
	ownRuntime = "the container runtime is the release's containerd"
	keyOfYours = "volumes are encrypted with the account's default EBS key: make this key the default, and leave out the field"
)

// clusterFields are those of ClusterSpec.
var clusterFields = fields{
	"DisableSubnetTags":      info("existing subnets are not tagged"),
	"additionalNetworkCIDRs": taken,
	"additionalPolicies":     taken,
	"additionalSans":         taken,
	"addons": warning(
		"manifests of addons have no counterpart: add their Helm charts to spec.addons, or apply them",
	),
	"api": taken,
	"assets": danger(
		"nodes would download from the internet, not from a mirror: leave it out if that is acceptable",
	),
	"authentication":            warning("users authenticate with their kubeconfig, or with OIDC through extraArgs.apiServer"),
	"authorization":             taken,
	"awsLoadBalancerController": taken,
	"certManager":               taken,
	"channel":                   info("Releases replace channels"),
	"cloudConfig":               taken,
	"cloudControllerManager":    warning("it is an addon of the release: set its values in spec.addons"),
	"cloudLabels":               taken,
	"cloudProvider":             danger("only clusters on AWS can be translated", "aws"),
	"clusterAutoscaler":         taken,
	"clusterDNSDomain": danger(
		"the domain of Services is cluster.local; clients that use another domain would not find them", "cluster.local", "cluster.local.",
	),
	"configBase":                info(ownState),
	"configStore":               info(ownState),
	"containerRuntime":          info(ownRuntime, "containerd"),
	"containerd":                warning(ownRuntime + ": its settings, such as mirrors, have no counterpart"),
	"dnsControllerGossipConfig": info("nodes find each other through a private zone, not by gossip"),
	"dnsZone":                   taken,
	"docker":                    info(ownRuntime),
	"egressProxy":               danger("traffic to the internet would not use the proxy: leave it out if that is acceptable"),
	"encryptionConfig": danger(
		"Secrets would be stored without encryption of their own; etcd's volumes are always encrypted: leave it out, and set "+
			"spec.api.encryption in the translated Cluster before you create it, which encrypts Secrets with a KMS key",
		"false",
	),
	"etcdClusters":          taken,
	"externalDns":           info("the API's record is created with the cluster; for others, add external-dns to spec.addons, and their zones to spec.iam.hostedZones"),
	"externalPolicies":      taken,
	"fileAssets":            taken,
	"gossipConfig":          info("nodes find each other through a private zone, not by gossip"),
	"hooks":                 taken,
	"iam":                   taken,
	"isolateMasters":        info("slots are part of the pod network", "false"),
	"karpenter":             warning(ownChart),
	"keyStore":              info(ownState),
	"kubeAPIServer":         taken,
	"kubeControllerManager": taken,
	"kubeDNS":               taken,
	"kubeProxy":             warning("kubeadm configures kube-proxy"),
	"kubeScheduler":         taken,
	"kubelet":               taken,
	"kubernetesApiAccess":   taken,
	"kubernetesVersion":     taken,
	"masterInternalName":    info("nodes reach the API under its load balancer's name"),
	"masterKubelet":         warning("kubelets of slots have no extra arguments"),
	"masterPublicName":      taken,
	"metricsServer":         taken,
	"networkCIDR":           taken,
	"networkID":             taken,
	"networking":            taken,
	"nodeAuthorization":     info("nodes join with a bootstrap token and the Node authorizer"),
	"nodePortAccess": warning(
		"node ports are reachable from the cluster's nodes only: attach a security group of your own to the nodes, or use a load balancer",
	),
	"nodeProblemDetector":           warning(ownChart),
	"nodeTerminationHandler":        info("the operator drains terminating instances, including interrupted spot instances"),
	"nonMasqueradeCIDR":             taken,
	"ntp":                           info("the image configures time synchronization"),
	"packages":                      warning(noPackages),
	"podCIDR":                       taken,
	"podIdentityWebhook":            warning(ownChart),
	"project":                       danger("only clusters on AWS can be translated"),
	"rollingUpdate":                 taken,
	"secretStore":                   info(ownState),
	"serviceAccountIssuerDiscovery": taken,
	"serviceClusterIPRange":         taken,
	"snapshotController":            warning(ownChart),
	"sshAccess":                     taken,
	"sshKeyName":                    warning("EC2 key pairs are not used: set the public keys in spec.ssh.authorizedKeys"),
	"subnets":                       taken,
	"sysctlParameters":              taken,
	"tagSubnets":                    info("existing subnets are not tagged", "false"),
	"target":                        info("configure providers in your own files next to the generated one"),
	"topology":                      taken,
	"updatePolicy":                  info("instances do not update themselves: change the release or the image", "external"),
	"useHostCertificates":           warning("components trust the CAs of their images"),
	"warmPool":                      warning("there are no warm pools"),
}

// Sections of ClusterSpec.
var (
	subnetFields = fields{
		"additionalRoutes": taken, "cidr": taken, "egress": taken, "id": taken, "ipv6CIDR": taken, "name": taken,
		"publicIP": taken, "region": taken, "type": taken, "zone": taken,
	}
	topologyFields = fields{"bastion": taken, "dns": taken, "masters": taken, "nodes": taken}
	bastionFields  = fields{
		"bastionPublicName":  warning("bastions have no DNS name: connect to their addresses"),
		"idleTimeoutSeconds": info("bastions have no load balancer"),
		"loadBalancer":       warning("bastions have no load balancer: connect to their addresses"),
	}
	apiFields      = fields{"dns": taken, "loadBalancer": taken}
	balancerFields = fields{
		"accessLog":                warning("the API's load balancer has no access log"),
		"additionalSecurityGroups": taken,
		"class":                    info("the API's load balancer is a network load balancer", "Network"),
		"crossZoneLoadBalancing":   info("the release determines whether the API's load balancer balances across zones"),
		"idleTimeoutSeconds":       info("a network load balancer closes idle connections after 350 seconds"),
		"securityGroupOverride": danger(
			"the clients that can reach the API would change: set the group in additionalSecurityGroups, and the ranges in kubernetesApiAccess",
		),
		"sslCertificate":    warning("the API has a certificate of the cluster's own CA, which the kubeconfig trusts"),
		"sslPolicy":         info("TLS ends at the API servers: see kubeAPIServer.tlsMinVersion"),
		"subnets":           warning("the load balancer is in all subnets of its role, with addresses that AWS assigns"),
		"type":              taken,
		"useForInternalApi": info("nodes reach the API through its load balancer", "true"),
	}
	iamFields = fields{
		"allowContainerRegistry": taken,
		"legacy":                 info("the operator sets the permissions of instances", "false"),
		"permissionsBoundary":    taken,
		"serviceAccountExternalPermissions": warning(
			"create the roles of service accounts yourself: they can trust spec.serviceAccountIssuer",
		),
		"useServiceAccountExternalPermissions": info("addons use the instances' roles", "false"),
	}
	issuerFields = fields{
		"additionalAudiences": warning("the identity provider accepts sts.amazonaws.com"),
		"discoveryStore": warning(
			"the issuer's documents are published in a bucket, at another URL: change roles that trust the old one",
		),
		"enableAWSOIDCProvider": taken,
	}
	etcdFields = fields{
		"backups":               info("the operator takes snapshots of etcd's volumes: see spec.backup"),
		"cpuRequest":            info("kubeadm sets etcd's resource requests"),
		"enableEtcdTLS":         info("etcd always uses TLS", "true"),
		"enableTLSAuth":         info("etcd always uses TLS", "true"),
		"etcdMembers":           taken,
		"heartbeatInterval":     taken,
		"image":                 info("the release has etcd"),
		"leaderElectionTimeout": taken,
		"manager":               info("there is no etcd-manager: each slot runs its member"),
		"memoryRequest":         info("kubeadm sets etcd's resource requests"),
		"name":                  taken,
		"provider":              info("there is no etcd-manager: each slot runs its member", "Manager"),
		"version":               info("the release has etcd"),
	}
	memberFields = fields{
		"encryptedVolume": info("volumes are always encrypted", "true"), "instanceGroup": taken, "kmsKeyId": danger(keyOfYours),
		"name": taken, "volumeIops": taken, "volumeSize": taken, "volumeThroughput": taken, "volumeType": taken,
	}
	dnsServiceFields = fields{
		"affinity": info("kubeadm configures CoreDNS"), "cacheMaxConcurrent": info("kubeadm configures CoreDNS"),
		"cacheMaxSize": info("kubeadm configures CoreDNS"), "coreDNSImage": info("the release has CoreDNS"),
		"cpaImage": info("kubeadm configures CoreDNS"), "cpuLimit": info("kubeadm configures CoreDNS"),
		"cpuRequest":          info("kubeadm configures CoreDNS"),
		"domain":              clusterFields["clusterDNSDomain"],
		"externalCoreFile":    warning("set it in the ConfigMap coredns of the new cluster"),
		"image":               info("the release has CoreDNS"),
		"memoryLimit":         info("kubeadm configures CoreDNS"),
		"memoryRequest":       info("kubeadm configures CoreDNS"),
		"nodeLocalDNS":        taken,
		"provider":            info("CoreDNS resolves names", "CoreDNS"),
		"replicas":            info("kubeadm configures CoreDNS"),
		"serverIP":            info("the address of CoreDNS is the tenth of the services' range"),
		"stubDomains":         warning("set them in the ConfigMap coredns of the new cluster"),
		"tolerations":         info("kubeadm configures CoreDNS"),
		"upstreamNameservers": warning("set them in the ConfigMap coredns of the new cluster"),
	}
	nodeLocalDNSFields = fields{
		"additionalConfig": warning("the caches of nodes have no other configuration: set it in the ConfigMap coredns, and forward to CoreDNS"),
		"cpuRequest":       info("the release determines the resources of the caches"),
		"enabled":          taken,
		"externalCoreFile": warning("the caches of nodes have no other configuration: set it in the ConfigMap coredns, and forward to CoreDNS"),
		"forwardToKubeDNS": taken,
		"image":            info("the release has the cache"),
		"localIP":          info("the address of the caches is 169.254.20.10", "169.254.20.10"),
		"memoryRequest":    info("the release determines the resources of the caches"),
		"podAnnotations":   warning("the pods of the caches have no annotations"),
	}
	addonFields = fields{"enabled": taken}
	cloudFields = fields{
		"awsEBSCSIDriver":             info("it is an addon of the release: set its values in spec.addons"),
		"disableSecurityGroupIngress": warning("set it in the values of aws-cloud-controller-manager in spec.addons"),
		"elbSecurityGroup":            warning("set it in the values of aws-cloud-controller-manager in spec.addons"),
		"gcpPDCSIDriver":              info("it is for another cloud"),
		"manageStorageClasses":        info("storage classes come with the values of aws-ebs-csi-driver in spec.addons"),
		"multizone":                   info("clusters use several zones"),
		"nodeIPFamilies":              warning("nodes have IPv4 addresses"),
		"nodeInstancePrefix":          info("it is for another cloud"),
		"nodeTags":                    info("it is for another cloud"),
		"openstack":                   info("it is for another cloud"),
		"spotinstOrientation":         warning("Auto Scaling launches instances"),
		"spotinstProduct":             warning("Auto Scaling launches instances"),
	}
	fileAssetFields = fields{"content": taken, "isBase64": taken, "mode": taken, "name": taken, "path": taken, "roles": taken}
	hookFields      = fields{
		"before": taken, "disabled": taken, "enabled": taken, "execContainer": taken, "manifest": taken, "name": taken, "requires": taken,
		"roles": taken, "useRawManifest": taken,
	}
	rollingFields = fields{
		"drainAndTerminate": warning("nodes are always drained and terminated", "true"), "maxSurge": taken, "maxUnavailable": taken,
	}
)
