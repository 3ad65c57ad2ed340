package model

// kubeletCAArgument is the argument of kube-apiserver that spec.certificates.kubeletServing sets.
const kubeletCAArgument = "kubelet-certificate-authority"

// servingArguments are the arguments of kubelets that exclude certificates from the cluster's CA.
var servingArguments = []string{"rotate-server-certificates", "tls-cert-file", "tls-private-key-file"}

// checkKubeletServing refuses certificates of kubelets that slots could not judge, and an argument that
// would undo their verification.
func (c *Cluster) checkKubeletServing(problems *Problems) {
	certificates := c.Spec.Certificates
	if !certificates.ServesIssued() {
		return
	}
	// Without a proof of its instance, a client with the bootstrap token may have the identity of any
	// Node, and so its certificate.
	if !c.Features.ProvenJoin && c.Release.Name != "" {
		problems.add("spec.certificates.kubeletServing", "move to a release of resource set 1.2.0 or later first, or leave it out",
			"release %s has resource set %s, with which workers do not prove which instance they are", c.Release.Name, c.ResourceSet)
	}
	if _, set := c.Spec.ControlPlane.ExtraArgs.APIServer[kubeletCAArgument]; set && certificates.VerifiesKubelets() {
		problems.add("spec.controlPlane.extraArgs.apiServer."+kubeletCAArgument, "leave it out",
			"spec.certificates.kubeletServing sets the argument")
	}
}

// checkKubeletServing refuses arguments that would undo the certificates of the group's kubelets.
func (r *Group) checkKubeletServing(problems *Problems, c *Cluster) {
	if !c.Spec.Certificates.ServesIssued() {
		return
	}
	for _, name := range servingArguments {
		if _, set := r.Spec.KubeletExtraArgs[name]; set {
			problems.add("spec.kubeletExtraArgs."+name, "leave it out",
				"spec.certificates.kubeletServing of the Cluster determines the certificates with which kubelets serve")
		}
	}
}
