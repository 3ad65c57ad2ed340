// Package eksctl translates eksctl's ClusterConfig (eksctl.io/v1alpha5) to a Cluster of ours whose control
// plane EKS runs, and to an InstanceGroup for each of its node groups. It is pure: what it needs to know of
// the world is in its options.
//
// Each field is translated, noted or refused; see package translation. The translated cluster is a new one:
// nothing of a running cluster of eksctl is taken over. The fields, their meaning and their defaults are
// those of eksctl's schema: https://schema.eksctl.io/.
package eksctl
