// Package replicas divides the shards of an operator's objects among its replicas, with Leases of the
// API server and without another store.
//
// Each replica has a Lease that says that it lives, and each shard has a Lease that says who serves
// it. Every replica reads all of these Leases once a second, and computes from them which shards are
// its own: the same result from the same Leases, in which as few shards move as possible. It acquires
// only the Leases of these shards, by client-go's leader election, and gives up others. What a replica
// believes about others decides only when it asks for a Lease: a shard is served only while its Lease
// is held.
//
// A replica that gives up a shard ends all work for it first, and then releases the Lease. A replica
// that cannot renew a Lease ends its calls to AWS before the Lease runs out. It may still write
// statuses then: such a write fails if the next replica has written first, and makes that one read
// again otherwise. The process ends if the work takes too long to end. So no two replicas call
// AWS for a shard at the same time, unless a process is frozen and continues after its Leases ran out.
// Then it is what two leaders would be: writes fail by their resourceVersion, and calls to AWS are
// idempotent by their tokens and tags.
//
// Replicas with another number of shards, and an operator with a single leader, divide the objects
// otherwise. A replica serves nothing while one of them lives.
package replicas
