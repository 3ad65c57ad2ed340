// Package agent plays the kubelet of a simulated machine.
//
// It is called as a kubelet is, by the command line that nodeup wrote, and does
// towards the API server what a kubelet does:
//
//   - It gets a client certificate through a bootstrap token and a
//     CertificateSigningRequest, and writes the kubeconfig that uses it.
//   - It registers its Node, with labels, taints, capacity and addresses, keeps
//     its status and its Lease, and answers /healthz on 127.0.0.1:10248.
//   - It runs static pods as processes: the first container's command, if that is
//     a program of the kube binary, with its arguments and environment, started
//     again when it ends, and shows them as mirror pods. Their startup and
//     readiness probes are asked; a failing liveness probe does nothing.
//   - It acts out the other pods of its node: Pending, then Running and Ready with
//     an address of the node's pod CIDR. Nothing runs in them. Pods of Jobs stay
//     Running. A deleted pod is gone at once, whatever its grace period.
//
// On control-plane nodes, which have /etc/kubernetes/admin.conf, it also plays the
// cloud controller manager's part for nodes, where none is installed: it takes the
// taint node.cloudprovider.kubernetes.io/uninitialized away, sets labels of zone,
// region and instance type that are missing, and deletes Nodes whose instance EC2
// says is terminated or does not know. It asks EC2 with the machine's own role
// (ec2:DescribeInstances).
//
// It differs from a kubelet in what nothing here needs: no port 10250 (no logs, no
// exec), no renewal of its certificate, which lasts a year, no container runtime, no volumes, no image pulls, no eviction; a Node is
// Ready without a network plugin. Of the kubelet's configuration file only what
// says where things are counts.
package agent
