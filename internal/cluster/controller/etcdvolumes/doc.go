// Package etcdvolumes observes the etcd volumes of control planes, and frees them for a restore.
//
// A slot's etcd volume outlives its instances. CloudFormation does not notice when the volume
// itself is lost, and the slot's next instance waits for it in vain. So the operator has the base
// stack create a blank volume for the slot under another name, and nodeup makes the slot's etcd
// member join the others. A member can join only a majority: a cluster that has lost a majority of
// the volumes must be restored from a snapshot, which the user decides.
//
// A slot moves to another zone in the same way: its etcd member joins the others with a blank volume
// there. A volume that exists is never replaced by that, since EC2 says which zone it is in.
package etcdvolumes
