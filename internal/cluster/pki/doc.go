// Package pki makes and keeps a cluster's authorities: the cluster's CA, etcd's,
// the front proxy's, and the key pair that signs service-account tokens.
//
// They are made once ([New]), kept in Secrets of the management cluster beside
// the Cluster ([Ensure]), and put in the cluster's bucket for its slots
// ([Authorities.Files]). kubeadm makes the leaf certificates on each machine,
// so a leaf's private key never leaves its machine. What is made here is
// ECDSA P-256: kubeadm makes leafs of the same kind (encryptionAlgorithm
// ECDSA-P256), and AWS STS takes tokens signed with ES256
// (https://docs.aws.amazon.com/sdk-for-kotlin/api/latest/sts/aws.sdk.kotlin.services.sts.model/-assume-role-with-web-identity-request/web-identity-token.html).
//
// Nothing is mended in silence: half a set, a key that does not go with its
// certificate or a certificate that no longer holds is an error that names the
// Secret, because a new CA under a running cluster locks out everybody in it.
// No error and no log line contains a private key or a token: the types that
// hold them print themselves as what they are.
package pki
