// Package apiserver makes the configuration files of kube-apiserver: the audit policy, the
// authentication by OpenID Connect, and the defaults of the Pod Security Standards. Spec.api of a
// Cluster goes in; files, arguments and problems come out. A problem is reported before any node
// boots, since an API server does not start with an invalid file.
//
// Kubernetes' own code decodes and validates what users write. The package never reads or writes
// files.
package apiserver
