// Package identities tests one operator for tenants in several AWS accounts and regions: a real
// kube-apiserver, and the simulator, which evaluates IAM.
package identities
