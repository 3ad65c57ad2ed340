package machine

// ControlPlanes is a [Host] that serves the Kubernetes APIs of EKS clusters. Those of other hosts are
// in AWS's API only: nothing listens at their endpoints.
type ControlPlanes interface {
	Host
	// StartControlPlane serves the API of a cluster, and returns where. It returns an error if it cannot.
	StartControlPlane(spec ControlPlaneSpec) (ControlPlaneEndpoint, error)
	// UpgradeControlPlane lets the API of a cluster report another version of Kubernetes. Its objects and
	// its endpoint stay.
	UpgradeControlPlane(key ControlPlaneKey, version string) error
	// StopControlPlane ends the API of a cluster, and removes its objects. It ignores unknown clusters.
	StopControlPlane(key ControlPlaneKey)
}

// ControlPlaneKey identifies an EKS cluster.
type ControlPlaneKey struct {
	// Account, Region and Cluster are where the cluster is, and its name.
	Account, Region, Cluster string
}

// ControlPlaneSpec describes the control plane of an EKS cluster.
type ControlPlaneSpec struct {
	ControlPlaneKey

	// Version is the version of Kubernetes, for example 1.36.
	Version string
	// Authenticate returns whose token it is. It returns an error that names why a token is refused.
	Authenticate func(token string) (KubernetesUser, error)
	// Authorize reports whether the access policies of a user permit something. The host's RBAC may permit
	// more, and decides what nodes and system:masters may do.
	Authorize func(user KubernetesUser, request KubernetesRequest) bool
}

// KubernetesUser is who a token is of.
type KubernetesUser struct {
	// Name is the user name, PrincipalARN the principal of AWS.
	Name, PrincipalARN string
	// Groups are the groups of the access entry, and system:authenticated.
	Groups []string
}

// KubernetesRequest is what a user asks of an API.
type KubernetesRequest struct {
	// Verb is that of Kubernetes, for example list.
	Verb string
	// Namespace, Group and Resource are what the request is for. A subresource follows its resource, as in
	// pods/eviction. All are empty for a path that is no resource.
	Namespace, Group, Resource string
}

// ControlPlaneEndpoint is where an API is.
type ControlPlaneEndpoint struct {
	// URL is the address, https://host:port.
	URL string
	// CertificateAuthority is the CA of its certificate, in PEM.
	CertificateAuthority []byte
}
