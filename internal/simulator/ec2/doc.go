// Package ec2 simulates the compute half of Amazon EC2: instances, images, instance types, launch
// templates, volumes, snapshots, key pairs and the instance metadata service. Package vpc simulates
// networks, and both serve the one service "ec2".
//
// A [machine.Host] boots an instance from its user data when it reaches "running", and ends its
// machine when it leaves that state. Auto Scaling launches instances through [Service.Launch] and
// receives every change of state through [Service.Watch]; EventBridge receives the events that AWS
// emits.
//
// Tests make launches fail from Go: [Service.SetQuota] sets quotas, [Service.SetCapacity] exhausts
// zones, [Service.RemoveImage] removes images, and [Service.SetBootable] makes images unbootable.
// [Service.SetStatusCheck], [Service.Fail] and [Service.ShutDown] make instances fail.
// [Service.InterruptSpot] and [Service.RecommendRebalance] interrupt spot instances and recommend
// to rebalance them.
//
// The simulation is simpler than AWS:
//   - There are no quotas until a test sets them, and every zone offers every instance type except
//     those that a test removes.
//   - The public images are those of Ubuntu 22.04 and 24.04, one for each serial that a public
//     parameter is requested for, and those of Amazon that public parameters name.
//   - A volume is available as soon as it is created, and so is a snapshot, unless
//     [Service.SetSnapshotTime] sets a time.
//   - The request for a volume that cannot be encrypted fails, where EC2 creates the volume and
//     then loses it.
//   - A state changes as soon as the machine has booted or ended, unless [Options] set a latency.
//   - Stopping an instance ends its machine, and its root volume is empty when it starts again.
//   - The hop limit of the metadata service is stored but not enforced.
//   - A machine that exits leaves its instance running.
//   - Without the parameter Latest, GetConsoleOutput returns the console of the last stop, reboot or
//     termination. EC2 also posts the output of a launch, minutes later.
//   - EC2 finds hardware for a placement group as long as its rules permit, and an instance cannot
//     move between placement groups.
//   - Capacity reservations begin at once, and an instance does not move into one that begins later.
//   - IPv6, prices, dedicated hosts, fleets and Capacity Blocks are not supported.
package ec2
