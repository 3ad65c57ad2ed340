// Package pki creates and stores a cluster's certificate authorities (CAs): the cluster's CA,
// etcd's, the front proxy's, and the key pair that signs service-account tokens.
//
// They are created once ([New]), stored in Secrets of the management cluster beside the Cluster
// ([Ensure]), and in the cluster's bucket for its slots ([CAs.Files]). kubeadm creates the leaf
// certificates on each instance, so a leaf's private key never leaves its instance. All keys are
// ECDSA P-256: kubeadm creates leaf certificates of the same kind (encryptionAlgorithm ECDSA-P256),
// and AWS STS accepts tokens signed with ES256
// (https://docs.aws.amazon.com/sdk-for-kotlin/api/latest/sts/aws.sdk.kotlin.services.sts.model/-assume-role-with-web-identity-request/web-identity-token.html).
//
// The package must never repair CAs silently: an incomplete set, a key that does not match its
// certificate, or an expired certificate is an error that names the Secret, because a new CA in a
// running cluster would lock out all its clients. No error and no log line may contain a private
// key or a token: the types that hold them do not print their content.
// hold them print themselves as what they are.
package pki
