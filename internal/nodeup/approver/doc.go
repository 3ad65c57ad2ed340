// Package approver approves the certificates that workers join with, and those that kubelets serve with,
// on the slots of a control plane.
//
// A worker asks for a client certificate of system:node:NAME in a CertificateSigningRequest, with
// the bootstrap token that all workers have, and with a proof of which instance it is as an
// annotation (package proof). [Approver.Run] approves a request if STS confirms that a session of
// the cluster's worker role signed the proof for the request's key, and EC2 confirms that the
// session's instance runs, is of an Auto Scaling group of the cluster and has that name. It denies
// other requests of the token's group, and leaves alone the requests of all others:
// kube-controller-manager approves those by which a kubelet renews its certificate. It also gives
// the Nodes of approved requests the role of a worker, which a kubelet cannot.
// https://kubernetes.io/docs/reference/access-authn-authz/kubelet-tls-bootstrapping/
//
// A kubelet of a slot or a worker then asks for a serving certificate, with its client certificate.
// [Approver.RunServing] approves a request if all DNS names and IP addresses in it are those that EC2
// reports of the one running instance of the cluster that has the name of the requester's Node. It never
// believes the Node, which the kubelet writes. It denies all other requests for that signer, which
// kube-controller-manager never approves.
// https://kubernetes.io/docs/reference/access-authn-authz/kubelet-tls-bootstrapping/#certificate-rotation
//
// Several approvers may run beside each other: the first decides. The package uses no client
// library, because nodeup has to stay small.
package approver
