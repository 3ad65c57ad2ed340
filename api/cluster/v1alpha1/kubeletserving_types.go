package v1alpha1

// KubeletServing is who issues the certificates that kubelets serve with, and whether the API servers
// verify them.
//
// +kubebuilder:validation:Enum=SelfSigned;Issued;Verified
type KubeletServing string

// Serving certificates of kubelets.
const (
	// KubeletsSelfSigned lets each kubelet sign its own serving certificate, which nothing verifies.
	KubeletsSelfSigned KubeletServing = "SelfSigned"
	// KubeletsIssued makes kubelets request their serving certificates from the cluster's CA.
	KubeletsIssued KubeletServing = "Issued"
	// KubeletsVerified also makes API servers and metrics-server verify the certificates.
	KubeletsVerified KubeletServing = "Verified"
)

// ServesIssued reports whether the cluster's CA issues the serving certificates of kubelets.
func (c *Certificates) ServesIssued() bool {
	return c != nil && (c.KubeletServing == KubeletsIssued || c.KubeletServing == KubeletsVerified)
}

// VerifiesKubelets reports whether the API servers verify the serving certificates of kubelets.
func (c *Certificates) VerifiesKubelets() bool {
	return c != nil && c.KubeletServing == KubeletsVerified
}
