// Package packetfilter loads the rules of package firewall into the kernel, for the bridges of
// simulated VPCs in one network namespace.
//
// [Load] replaces the whole configuration in one nftables transaction, so no packet sees half of a
// change. Packets on a bridge reach the rules through br_netfilter, which also tracks their
// connections; each VPC has a conntrack zone, because two VPCs may have the same addresses. The rules
// are in the namespace of the bridges, which machines do not share, so root in a machine can neither
// see nor change them.
package packetfilter
