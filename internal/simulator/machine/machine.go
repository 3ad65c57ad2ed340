package machine

import (
	"context"
	"net"
	"net/http"
	"net/netip"

	"github.com/aws-operator/aws-operator/internal/simulator/firewall"
)

// Spec describes an instance to boot.
type Spec struct {
	// InstanceID, Account, Region and Zone identify the instance and its location.
	InstanceID, Account, Region, Zone string
	// VPCID and SubnetID are its network; VPCRange is the CIDR block of the VPC.
	VPCID, SubnetID string
	VPCRange        netip.Prefix
	// PrivateIP is its address in the subnet, PrivateDNSName the DNS name of that address.
	PrivateIP      netip.Addr
	PrivateDNSName string
	// MAC is the hardware address of its network interface, as in its metadata.
	MAC string
	// InstanceType, ImageID and Architecture (amd64 or arm64) are the instance's hardware and
	// image.
	InstanceType, ImageID, Architecture string
	// RootVolumeID is the root volume. A host whose machines power themselves off keeps their files in
	// it, and starts a machine with the files in its root volume.
	RootVolumeID string
	// UserData is the decoded user data in the instance's metadata.
	UserData []byte
	// Metadata serves the instance metadata service that an instance reaches at 169.254.169.254.
	Metadata http.Handler
}

// Frontend is a port of a load balancer in its VPC.
type Frontend struct {
	// VPCID is the VPC, VPCRange its CIDR block.
	VPCID    string
	VPCRange netip.Prefix
	// Addresses are the addresses of the load balancer: those of its interfaces in subnets, and their
	// public ones.
	Addresses []netip.Addr
	Port      uint16
}

// Services are the services that a machine reaches.
type Services struct {
	// AWS serves every API call.
	AWS http.Handler
	// Resolve returns the addresses of a name as the resolver of a VPC does. It returns nothing for
	// a name that no zone of the VPC has.
	Resolve func(vpcID, name string) []netip.Addr
	// Firewall returns what determines which packets a VPC carries; false if there is no such VPC. If
	// it is nil, VPCs carry all packets.
	Firewall func(vpcID string) (*firewall.Network, bool)
	// Watch calls a function after each change that may affect Firewall, with no lock held. The
	// function must return at once.
	Watch func(changed func())
	// PoweredOff is called when a machine has powered itself off. It returns at once.
	PoweredOff func(account, region, instanceID string)
	// EndpointAddress returns the address to which a machine of a VPC sends packets for a service of
	// AWS.
	EndpointAddress func(vpcID, name string) netip.Addr
}

// Filtering is a [Host] whose machines exchange packets as their VPC's firewall allows. For such a
// host, load balancers evaluate the same rules for their connections.
type Filtering interface {
	Host
	// FiltersPackets reports whether the host filters packets.
	FiltersPackets() bool
}

// Client is a connection that a load balancer accepts from within a machine.
type Client interface {
	net.Conn
	// InstanceID is the instance of the machine.
	InstanceID() string
}

// Host runs machines. Its methods may be called by many goroutines at once.
type Host interface { //nolint:interfacebloat // a machine has a power switch, disks and a network: what runs it does all of it
	// Connect sets the services that machines reach. It is called before the first Boot.
	Connect(services Services)
	// Boot starts a machine and returns at once. It returns an error if the machine cannot be
	// created; what happens in the machine afterwards is not reported.
	Boot(spec Spec) error
	// Terminate ends a machine, as if its power were cut, and returns when it has ended. It ignores
	// unknown machines.
	Terminate(instanceID string)
	// Console returns what a machine has written to its serial console. It returns an error for a
	// machine that does not exist.
	Console(instanceID string) ([]byte, error)
	// Attach shows a volume to a machine as /dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_vol…;
	// Detach removes it.
	Attach(instanceID, volumeID, device string) error
	Detach(instanceID, volumeID string)
	// DeleteVolume deletes a volume's data. CopyVolume copies the data of a volume or snapshot to a
	// new volume or snapshot.
	DeleteVolume(volumeID string)
	CopyVolume(fromID, toID string) error
	// Dial connects to a port of a machine, for load balancers.
	Dial(ctx context.Context, instanceID string, port int) (net.Conn, error)
	// Serve makes a load balancer's port reachable from within machines and calls serve with each
	// connection. The returned function stops it.
	Serve(at Frontend, serve func(net.Conn)) (stop func())
	// Close ends all machines and removes their files.
	Close()
}

// Absent is a host that runs no machines: instances exist only in the simulated API.
type Absent struct{}

var _ Host = Absent{}

// Connect does nothing.
func (Absent) Connect(Services) {}

// Boot does nothing.
func (Absent) Boot(Spec) error { return nil }

// Terminate does nothing.
func (Absent) Terminate(string) {}

// Console returns nothing.
func (Absent) Console(string) ([]byte, error) { return nil, nil }

// Attach does nothing.
func (Absent) Attach(string, string, string) error { return nil }

// Detach does nothing.
func (Absent) Detach(string, string) {}

// DeleteVolume does nothing.
func (Absent) DeleteVolume(string) {}

// CopyVolume does nothing.
func (Absent) CopyVolume(string, string) error { return nil }

// Dial returns an error, because nothing listens.
func (Absent) Dial(context.Context, string, int) (net.Conn, error) {
	return nil, &net.OpError{Op: "dial", Net: "tcp", Err: net.ErrClosed}
}

// Serve does nothing.
func (Absent) Serve(Frontend, func(net.Conn)) (stop func()) { return func() {} }

// Close does nothing.
func (Absent) Close() {}
