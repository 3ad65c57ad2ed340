package machine

import (
	"context"
	"net"
	"net/http"
	"net/netip"
)

// Spec is an instance that is to boot.
type Spec struct {
	// InstanceID, Account, Region and Zone say which instance it is, and where.
	InstanceID, Account, Region, Zone string
	// VPCID and SubnetID are its network; VPCRange is the VPC's CIDR block.
	VPCID, SubnetID string
	VPCRange        netip.Prefix
	// PrivateIP is its address in the subnet, PrivateDNSName the name of that.
	PrivateIP      netip.Addr
	PrivateDNSName string
	// InstanceType, ImageID and Architecture (amd64, arm64) are what it is made of.
	InstanceType, ImageID, Architecture string
	// UserData is what the instance finds in its metadata, decoded.
	UserData []byte
	// Metadata serves the instance metadata service, as at 169.254.169.254.
	Metadata http.Handler
}

// Services are what a machine reaches.
type Services struct {
	// AWS serves every API call.
	AWS http.Handler
	// Resolve answers a name for a machine of a VPC, as the VPC's resolver does;
	// nothing for a name that no zone of the VPC has.
	Resolve func(vpcID, name string) []netip.Addr
}

// Host runs machines. Its methods may be called by many goroutines at once.
type Host interface { //nolint:interfacebloat // a machine has a power switch, disks and a network: what runs it does all of it
	// Connect tells the host what its machines reach, before the first boots.
	Connect(services Services)
	// Boot starts a machine and returns at once; what the machine does from
	// there on is its own affair. It errs when the machine cannot be made.
	Boot(spec Spec) error
	// Terminate ends a machine, as if its power were cut, and returns when it is
	// gone. A machine that is unknown is gone.
	Terminate(instanceID string)
	// Attach makes a volume show up in a machine, as /dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_vol…;
	// Detach takes it away.
	Attach(instanceID, volumeID, device string) error
	Detach(instanceID, volumeID string)
	// DeleteVolume forgets a volume's data. CopyVolume gives a new volume or snapshot the
	// data of a volume or snapshot.
	DeleteVolume(volumeID string)
	CopyVolume(fromID, toID string) error
	// Dial connects to a port of a machine, for load balancers.
	Dial(ctx context.Context, instanceID string, port int) (net.Conn, error)
	// Serve makes an address reachable from within machines: serve gets each connection. It is how load
	// balancers, which listen on loopback, are reached. The function it returns ends that.
	Serve(address netip.AddrPort, serve func(net.Conn)) (stop func())
	// Close ends all machines and removes what they left.
	Close()
}

// Absent is a host without machines: instances are only entries in a table.
type Absent struct{}

var _ Host = Absent{}

// Connect does nothing.
func (Absent) Connect(Services) {}

// Boot does nothing.
func (Absent) Boot(Spec) error { return nil }

// Terminate does nothing.
func (Absent) Terminate(string) {}

// Attach does nothing.
func (Absent) Attach(string, string, string) error { return nil }

// Detach does nothing.
func (Absent) Detach(string, string) {}

// DeleteVolume does nothing.
func (Absent) DeleteVolume(string) {}

// CopyVolume does nothing.
func (Absent) CopyVolume(string, string) error { return nil }

// Dial is refused: nothing listens.
func (Absent) Dial(context.Context, string, int) (net.Conn, error) {
	return nil, &net.OpError{Op: "dial", Net: "tcp", Err: net.ErrClosed}
}

// Serve does nothing.
func (Absent) Serve(netip.AddrPort, func(net.Conn)) (stop func()) { return func() {} }

// Close does nothing.
func (Absent) Close() {}
