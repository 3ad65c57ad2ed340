package kops

import (
	"maps"
	"slices"
)

// handling is how a field of kops is handled.
type handling int

const (
	translated handling = iota
	noted
	refused
)

// rule is how a field is handled, and why.
type rule struct {
	handling handling
	severity Severity
	why      string
	// unless are values for which no note is needed.
	unless []string
}

// fields are the rules of all fields of a type of kops, by their names.
type fields map[string]rule

func (f fields) names() []string { return slices.Sorted(maps.Keys(f)) }

// taken marks a field that code translates; the code decides how.
var taken = rule{handling: translated}

func info(why string, unless ...string) rule {
	return rule{handling: noted, severity: Info, why: why, unless: unless}
}

func warning(why string, unless ...string) rule {
	return rule{handling: noted, severity: Warning, why: why, unless: unless}
}

func danger(why string, unless ...string) rule {
	return rule{handling: refused, why: why, unless: unless}
}

// Reasons that several fields have.
const (
	ownState   = "the operator keeps the state, or --state names it"
	ownChart   = "it is not installed: add its Helm chart to spec.addons"
	ownFiles   = "files, units and kernel parameters have no counterpart: set them in extraUserData of the group, or in the image"
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
	"awsLoadBalancerController": warning(ownChart),
	"certManager":               warning(ownChart),
	"channel":                   info("Releases replace channels"),
	"cloudConfig":               taken,
	"cloudControllerManager":    warning("it is an addon of the release: set its values in spec.addons"),
	"cloudLabels":               taken,
	"cloudProvider":             danger("only clusters on AWS can be translated", "aws"),
	"clusterAutoscaler":         taken,
	"clusterDNSDomain": danger(
		"the domain of Services is cluster.local; clients that use another domain would not find them",
		"cluster.local",
		"cluster.local.",
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
		"Secrets would be stored without encryption of their own; etcd's volumes are encrypted in any case: leave it out if that is enough",
		"false",
	),
	"etcdClusters":          taken,
	"externalDns":           info("the API's record is made with the cluster; for others add external-dns to spec.addons"),
	"externalPolicies":      taken,
	"fileAssets":            warning(ownFiles),
	"gossipConfig":          info("nodes find each other through a private zone, not by gossip"),
	"hooks":                 warning(ownFiles),
	"iam":                   taken,
	"isolateMasters":        info("slots are on the pods' network", "false"),
	"karpenter":             warning(ownChart),
	"keyStore":              info(ownState),
	"kubeAPIServer":         taken,
	"kubeControllerManager": taken,
	"kubeDNS":               taken,
	"kubeProxy":             warning("kube-proxy runs as kubeadm sets it up"),
	"kubeScheduler":         taken,
	"kubelet":               taken,
	"kubernetesApiAccess":   taken,
	"kubernetesVersion":     taken,
	"masterInternalName":    info("nodes reach the API under its load balancer's name"),
	"masterKubelet":         warning("kubelets of slots take no further arguments"),
	"masterPublicName":      taken,
	"metricsServer":         taken,
	"networkCIDR":           taken,
	"networkID":             taken,
	"networking":            taken,
	"nodeAuthorization":     info("nodes join with a bootstrap token and the Node authorizer"),
	"nodePortAccess": warning(
		"node ports are reached from within the cluster's machines only: put a security group of yours on the nodes, or use a load balancer",
	),
	"nodeProblemDetector":           warning(ownChart),
	"nodeTerminationHandler":        info("the operator drains machines that go, also interrupted spot instances"),
	"nonMasqueradeCIDR":             taken,
	"ntp":                           info("the image keeps the time, as it is set up to"),
	"packages":                      warning(ownFiles),
	"podCIDR":                       taken,
	"podIdentityWebhook":            warning(ownChart),
	"project":                       danger("only clusters on AWS can be translated"),
	"rollingUpdate":                 taken,
	"secretStore":                   info(ownState),
	"serviceAccountIssuerDiscovery": taken,
	"serviceClusterIPRange":         taken,
	"snapshotController":            warning(ownChart),
	"sshAccess":                     taken,
	"sshKeyName":                    warning("key pairs of EC2 are not used: write the public keys into spec.ssh.authorizedKeys"),
	"subnets":                       taken,
	"sysctlParameters":              warning(ownFiles),
	"tagSubnets":                    info("existing subnets are not tagged", "false"),
	"target":                        info("providers are set in your own files beside the generated one"),
	"topology":                      taken,
	"updatePolicy":                  info("machines do not update themselves: a new release or image does", "external"),
	"useHostCertificates":           warning("components trust what their images trust"),
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
		"bastionPublicName":  warning("bastions have no name of their own: they are found by their addresses"),
		"idleTimeoutSeconds": info("bastions have no load balancer"),
		"loadBalancer":       warning("bastions have no load balancer: they are reached at their own addresses"),
	}
	apiFields      = fields{"dns": taken, "loadBalancer": taken}
	balancerFields = fields{
		"accessLog":                warning("the API's load balancer keeps no log"),
		"additionalSecurityGroups": taken,
		"class":                    info("the API's load balancer is a network load balancer", "Network"),
		"crossZoneLoadBalancing":   info("the release says whether the API's load balancer crosses zones"),
		"idleTimeoutSeconds":       info("a network load balancer ends idle connections after 350 seconds"),
		"securityGroupOverride": danger(
			"who reaches the API would change: give the group in additionalSecurityGroups, and the ranges in kubernetesApiAccess",
		),
		"sslCertificate":    warning("the API has a certificate of the cluster's own authority, which the kubeconfig trusts"),
		"sslPolicy":         info("TLS ends at the API servers: see kubeAPIServer.tlsMinVersion"),
		"subnets":           warning("the load balancer stands in all subnets of its role, with addresses of AWS's choice"),
		"type":              taken,
		"useForInternalApi": info("nodes reach the API through its load balancer", "true"),
	}
	iamFields = fields{
		"allowContainerRegistry": taken,
		"legacy":                 info("machines get the permissions that the operator gives", "false"),
		"permissionsBoundary":    taken,
		"serviceAccountExternalPermissions": warning(
			"roles of service accounts are yours to make: they can trust spec.serviceAccountIssuer",
		),
		"useServiceAccountExternalPermissions": info("addons act by the machines' roles", "false"),
	}
	issuerFields = fields{
		"additionalAudiences": warning("the identity provider takes sts.amazonaws.com"),
		"discoveryStore": warning(
			"the issuer's documents go to the cluster's bucket, under another address: roles that trust the old one must be changed",
		),
		"enableAWSOIDCProvider": taken,
	}
	etcdFields = fields{
		"backups":               info("etcd's volumes are snapshotted: see spec.backup"),
		"cpuRequest":            info("etcd asks for what kubeadm asks for"),
		"enableEtcdTLS":         info("etcd uses TLS in any case", "true"),
		"enableTLSAuth":         info("etcd uses TLS in any case", "true"),
		"etcdMembers":           taken,
		"heartbeatInterval":     taken,
		"image":                 info("the release brings etcd"),
		"leaderElectionTimeout": taken,
		"manager":               info("there is no etcd-manager: each slot runs its member"),
		"memoryRequest":         info("etcd asks for what kubeadm asks for"),
		"name":                  taken,
		"provider":              info("there is no etcd-manager: each slot runs its member", "Manager"),
		"version":               info("the release brings etcd"),
	}
	memberFields = fields{
		"encryptedVolume": info("volumes are encrypted in any case", "true"), "instanceGroup": taken, "kmsKeyId": danger(keyOfYours),
		"name": taken, "volumeIops": taken, "volumeSize": taken, "volumeThroughput": taken, "volumeType": taken,
	}
	dnsServiceFields = fields{
		"affinity": info("CoreDNS runs as kubeadm sets it up"), "cacheMaxConcurrent": info("CoreDNS runs as kubeadm sets it up"),
		"cacheMaxSize": info("CoreDNS runs as kubeadm sets it up"), "coreDNSImage": info("the release brings CoreDNS"),
		"cpaImage": info("CoreDNS runs as kubeadm sets it up"), "cpuLimit": info("CoreDNS runs as kubeadm sets it up"),
		"cpuRequest":          info("CoreDNS runs as kubeadm sets it up"),
		"domain":              clusterFields["clusterDNSDomain"],
		"externalCoreFile":    warning("put it into the ConfigMap coredns of the new cluster"),
		"image":               info("the release brings CoreDNS"),
		"memoryLimit":         info("CoreDNS runs as kubeadm sets it up"),
		"memoryRequest":       info("CoreDNS runs as kubeadm sets it up"),
		"nodeLocalDNS":        warning(ownChart),
		"provider":            info("CoreDNS is what resolves names", "CoreDNS"),
		"replicas":            info("CoreDNS runs as kubeadm sets it up"),
		"serverIP":            info("the address of CoreDNS is the tenth of the services' range"),
		"stubDomains":         warning("put them into the ConfigMap coredns of the new cluster"),
		"tolerations":         info("CoreDNS runs as kubeadm sets it up"),
		"upstreamNameservers": warning("put them into the ConfigMap coredns of the new cluster"),
	}
	addonFields = fields{"enabled": taken}
	cloudFields = fields{
		"awsEBSCSIDriver":             info("it is an addon of the release: set its values in spec.addons"),
		"disableSecurityGroupIngress": warning("set it in the values of aws-cloud-controller-manager in spec.addons"),
		"elbSecurityGroup":            warning("set it in the values of aws-cloud-controller-manager in spec.addons"),
		"gcpPDCSIDriver":              info("it is of another cloud"),
		"manageStorageClasses":        info("storage classes come with the values of aws-ebs-csi-driver in spec.addons"),
		"multizone":                   info("clusters stand in several zones"),
		"nodeIPFamilies":              warning("nodes have IPv4 addresses"),
		"nodeInstancePrefix":          info("it is of another cloud"),
		"nodeTags":                    info("it is of another cloud"),
		"openstack":                   info("it is of another cloud"),
		"spotinstOrientation":         warning("machines come from Auto Scaling"),
		"spotinstProduct":             warning("machines come from Auto Scaling"),
	}
	rollingFields = fields{
		"drainAndTerminate": warning("nodes are drained and ended in any case", "true"), "maxSurge": taken, "maxUnavailable": taken,
	}
)
