// Package machines holds what the instances of the simulated EC2 run on, for local mode, the
// simulator command and tests.
//
// Its packages are on the operator's side of the simulator: they boot this project's clusters, and
// they implement the interface Host of package internal/simulator/machine, which is all that the
// simulator knows of them.
//
//   - Package fake simulates what a cluster observes of its nodes.
//   - Package process boots instances as Linux processes. Package guest runs inside them, with
//     package agent as the kubelet.
package machines
