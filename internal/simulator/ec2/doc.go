// Package ec2 simulates the compute half of Amazon EC2: instances, images,
// instance types, launch templates, volumes, snapshots, key pairs and the
// instance metadata service. Networks are package vpc's, and both answer as the
// one service "ec2".
//
// An instance that reaches "running" is booted by a [machine.Host] from its user
// data; one that leaves it is ended there. Auto Scaling launches through
// [Service.Launch] and hears of every change of state through [Service.Watch];
// EventBridge hears what AWS tells it.
//
// What makes launches fail is set from Go: quotas by [Service.SetQuota],
// exhausted zones by [Service.SetCapacity], images that go by
// [Service.RemoveImage], images that do not boot by [Service.SetBootable]. Instances
// fail by [Service.SetStatusCheck], [Service.Fail] and [Service.ShutDown]. Spot interruptions and rebalance recommendations come
// from [Service.InterruptSpot] and [Service.RecommendRebalance].
//
// Where it is simpler than AWS:
//   - no quota holds until one is set, and every zone has every instance type but
//     for what is taken from it;
//   - public images are those of Ubuntu 22.04 and 24.04, one for each serial that a
//     public parameter is asked for;
//   - a volume is complete as soon as it is made, and a snapshot, too, unless [Service.SetSnapshotTime] says otherwise;
//   - a volume that cannot be encrypted is refused, where EC2 makes and loses it;
//   - a state changes as soon as the machine has booted or ended, unless [Options]
//     ask for latency;
//   - stopping an instance ends its machine, and its root volume starts afresh
//     when it is started again;
//   - the hop limit of the metadata service is kept but not enforced;
//   - a machine that ends by itself leaves its instance running, and there is no
//     console output;
//   - IPv6, prices, placement groups, dedicated hosts, fleets and reserved capacity are
//     refused.
package ec2
