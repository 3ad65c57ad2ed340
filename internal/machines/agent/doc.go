// Package agent simulates the kubelet of a simulated machine.
//
// It takes a kubelet's command line, as nodeup writes it, and does the following with the API
// server:
//
//   - It gets a client certificate through a bootstrap token and a CertificateSigningRequest, and
//     writes the kubeconfig that uses it.
//   - It registers its Node with labels, taints, capacity and addresses, maintains its status and
//     its Lease, and serves /healthz on 127.0.0.1:10248.
//   - It runs static pods as processes: the first container's command, if that is a program of the
//     kube binary, with its arguments and environment. It restarts the process when that exits, and
//     shows the pods as mirror pods. It runs their startup and readiness probes; a failing liveness
//     probe has no effect.
//   - It simulates the other pods of its node: they are Pending, then Running and Ready with an
//     address from the node's pod CIDR. No process runs in them. Pods of Jobs stay Running. A
//     deleted pod is removed at once, regardless of its grace period.
//
// On control-plane nodes, which have /etc/kubernetes/admin.conf, it also simulates the cloud
// controller manager's part for nodes, if none is installed. It removes the taint
// node.cloudprovider.kubernetes.io/uninitialized, sets missing labels of zone, region and instance
// type, and deletes Nodes whose instance is terminated or unknown to EC2. It calls EC2 with the
// machine's own role (ec2:DescribeInstances).
//
// With serverTLSBootstrap, it gets a serving certificate from the cluster for the addresses of its Node,
// and serves /healthz on port 10250, to clients with a certificate of the kubelet's client CA.
//
// It omits the parts of a kubelet that the simulation does not need: logs and exec, and without
// serverTLSBootstrap all of port 10250, renewal of its certificates, which are valid for a year, a
// container runtime, volumes, image pulls and eviction. A Node is Ready without a network plugin. Of the
// kubelet's configuration file it reads only the manifest path, the provider ID, the health port, the
// taints, serverTLSBootstrap and the client CA.
//
// On machines with a real kubelet, the package only takes the place of the network addon:
// NetworkMain installs a DaemonSet, in whose pods PodNetworkMain configures the CNI plugins and the
// routes between nodes.
package agent
