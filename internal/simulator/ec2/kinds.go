package ec2

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// kind is an instance type.
type kind struct {
	name       string
	vCPUs, MiB int32
	arm, burst bool
	interfaces int32 // network interfaces at most
	addresses  int32 // IPv4 addresses of each at most
	threads    int32 // of a core
}

// architecture returns the processor architecture in the form of instances and images.
func (k *kind) architecture() types.ArchitectureValues {
	if k.arm {
		return types.ArchitectureValuesArm64
	}
	return types.ArchitectureValuesX8664
}

// manufacturer returns who makes the processors of the family.
// https://docs.aws.amazon.com/ec2/latest/instancetypes/instance-type-names.html
func (k *kind) manufacturer() string {
	family, _, _ := strings.Cut(k.name, ".")
	switch {
	case k.arm:
		return "AWS"
	case strings.HasSuffix(family, "a"):
		return "AMD"
	default:
		return "Intel"
	}
}

// nitro reports whether instances run on the Nitro hypervisor.
func (k *kind) nitro() bool { return !strings.HasPrefix(k.name, "t2.") }

// sharedAttachments is how many volumes and network interfaces an instance can have together, on most
// types with the Nitro hypervisor up to the sixth generation. Later ones have limits that differ by type
// and are not checked.
// https://docs.aws.amazon.com/ebs/latest/userguide/volume_limits.html
const sharedAttachments = 28

// room returns an error if an instance cannot have so many volumes and network interfaces.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
func (k *kind) room(attachments int) error {
	at := strings.IndexAny(k.name, "0123456789")
	if !k.nitro() || at < 0 || k.name[at] > '6' || attachments <= sharedAttachments {
		return nil
	}
	return wire.Errorf(
		"AttachmentLimitExceeded",
		"You've reached the limit on the number of Amazon EBS volumes or network interfaces that can be attached to a single instance.",
	)
}

// family is what the instance types with the same name before the dot have in common.
type family struct {
	name    string
	perVCPU int32 // MiB of memory per vCPU
	sizes   string
	arm     bool
	// physical says that a vCPU is a core, not a thread.
	physical bool
}

const (
	compute, general, memory = 2048, 4096, 8192

	upTo16 = "medium large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge"
	upTo24 = "large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge 24xlarge"
	upTo32 = upTo24 + " 32xlarge"
	upTo48 = upTo32 + " 48xlarge"
	not32  = upTo24 + " 48xlarge"
	flex   = "large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge"
)

// families are the common general-purpose, compute-optimized and memory-optimized families.
// https://docs.aws.amazon.com/ec2/latest/instancetypes/gp.html,
// https://docs.aws.amazon.com/ec2/latest/instancetypes/co.html,
// https://docs.aws.amazon.com/ec2/latest/instancetypes/mo.html
var families = []family{
	{name: "m5", perVCPU: general, sizes: upTo24},
	{name: "m5a", perVCPU: general, sizes: upTo24},
	{name: "m5d", perVCPU: general, sizes: upTo24},
	{name: "m6a", perVCPU: general, sizes: upTo48},
	{name: "m6g", perVCPU: general, sizes: upTo16, arm: true, physical: true},
	{name: "m6i", perVCPU: general, sizes: upTo32},
	{name: "m6id", perVCPU: general, sizes: upTo32},
	{name: "m7a", perVCPU: general, sizes: "medium " + upTo48, physical: true},
	{name: "m7g", perVCPU: general, sizes: upTo16, arm: true, physical: true},
	{name: "m7i", perVCPU: general, sizes: not32},
	{name: "m7i-flex", perVCPU: general, sizes: flex},
	{name: "m8g", perVCPU: general, sizes: upTo16 + " 24xlarge 48xlarge", arm: true, physical: true},
	{name: "c5", perVCPU: compute, sizes: "large xlarge 2xlarge 4xlarge 9xlarge 12xlarge 18xlarge 24xlarge"},
	{name: "c5a", perVCPU: compute, sizes: upTo24},
	{name: "c6a", perVCPU: compute, sizes: upTo48},
	{name: "c6g", perVCPU: compute, sizes: upTo16, arm: true, physical: true},
	{name: "c6i", perVCPU: compute, sizes: upTo32},
	{name: "c7a", perVCPU: compute, sizes: "medium " + upTo48, physical: true},
	{name: "c7g", perVCPU: compute, sizes: upTo16, arm: true, physical: true},
	{name: "c7i", perVCPU: compute, sizes: not32},
	{name: "c7i-flex", perVCPU: compute, sizes: flex},
	{name: "c8g", perVCPU: compute, sizes: upTo16 + " 24xlarge 48xlarge", arm: true, physical: true},
	{name: "r5", perVCPU: memory, sizes: upTo24},
	{name: "r5a", perVCPU: memory, sizes: upTo24},
	{name: "r6a", perVCPU: memory, sizes: upTo48},
	{name: "r6g", perVCPU: memory, sizes: upTo16, arm: true, physical: true},
	{name: "r6i", perVCPU: memory, sizes: upTo32},
	{name: "r7a", perVCPU: memory, sizes: "medium " + upTo48, physical: true},
	{name: "r7g", perVCPU: memory, sizes: upTo16, arm: true, physical: true},
	{name: "r7i", perVCPU: memory, sizes: not32},
	{name: "r8g", perVCPU: memory, sizes: upTo16 + " 24xlarge 48xlarge", arm: true, physical: true},
}

// vCPUsOf are the vCPUs by size, which are the same in all families above.
var vCPUsOf = map[string]int32{
	"medium": 1, "large": 2, "xlarge": 4, "2xlarge": 8, "4xlarge": 16, "8xlarge": 32, "9xlarge": 36, "12xlarge": 48,
	"16xlarge": 64, "18xlarge": 72, "24xlarge": 96, "32xlarge": 128, "48xlarge": 192,
}

// burstable are the sizes of the T families: vCPUs, MiB of memory, network interfaces and addresses
// per interface. The families differ in a few places.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/burstable-performance-instances.html
var burstable = []struct {
	size                              string
	vCPUs, MiB, interfaces, addresses int32
}{
	{"nano", 2, 512, 2, 2},
	{"micro", 2, 1024, 2, 2},
	{"small", 2, 2048, 3, 4},
	{"medium", 2, 4096, 3, 6},
	{"large", 2, 8192, 3, 12},
	{"xlarge", 4, 16384, 4, 15},
	{"2xlarge", 8, 32768, 4, 15},
}

// kinds are the instance types by name.
var kinds = makeKinds()

func makeKinds() map[string]*kind {
	all := map[string]*kind{}
	for _, f := range families {
		for size := range strings.FieldsSeq(f.sizes) {
			k := &kind{name: f.name + "." + size, vCPUs: vCPUsOf[size], arm: f.arm, threads: 2}
			if f.physical {
				k.threads = 1
			}
			k.MiB = k.vCPUs * f.perVCPU
			k.interfaces, k.addresses = interfacesOf(k.vCPUs)
			all[k.name] = k
		}
	}
	for _, name := range []string{"t2", "t3", "t3a", "t4g"} {
		for _, b := range burstable {
			k := &kind{
				name: name + "." + b.size, vCPUs: b.vCPUs, MiB: b.MiB, arm: name == "t4g", burst: true,
				interfaces: b.interfaces, addresses: b.addresses, threads: 2,
			}
			if name == "t2" || name == "t4g" {
				k.threads = 1
			}
			switch {
			case name == "t2" && b.MiB < 4096:
				k.vCPUs = 1
			case name == "t2" && b.MiB > 8192:
				k.interfaces = 3
			case name == "t3a" && b.size == "small":
				k.interfaces = 2
			}
			all[k.name] = k
		}
	}
	return all
}

// interfacesOf returns the network interfaces, and the addresses per interface, of the sizes of the
// families above.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/AvailableIpPerENI.html
func interfacesOf(vCPUs int32) (interfaces, addresses int32) {
	switch {
	case vCPUs < 2:
		return 2, 4
	case vCPUs < 4:
		return 3, 10
	case vCPUs < 16:
		return 4, 15
	case vCPUs < 64:
		return 8, 30
	default:
		return 15, 50
	}
}

func kindNames() []string {
	names := make([]string, 0, len(kinds))
	for name := range kinds {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (k *kind) describe() types.InstanceTypeInfo {
	info := types.InstanceTypeInfo{
		InstanceType: types.InstanceType(k.name), CurrentGeneration: aws.Bool(!strings.HasPrefix(k.name, "t2.")),
		BareMetal:                     aws.Bool(false),
		BurstablePerformanceSupported: aws.Bool(k.burst), FreeTierEligible: aws.Bool(k.name == "t3.micro" || k.name == "t2.micro"),
		Hypervisor: types.InstanceTypeHypervisorNitro, InstanceStorageSupported: aws.Bool(false), HibernationSupported: aws.Bool(false),
		AutoRecoverySupported: aws.Bool(true), DedicatedHostsSupported: aws.Bool(!k.burst),
		SupportedRootDeviceTypes:     []types.RootDeviceType{types.RootDeviceTypeEbs},
		SupportedUsageClasses:        []types.UsageClassType{types.UsageClassTypeOnDemand, types.UsageClassTypeSpot},
		SupportedVirtualizationTypes: []types.VirtualizationType{types.VirtualizationTypeHvm},
		SupportedBootModes:           []types.BootModeType{types.BootModeTypeUefi},
		VCpuInfo: &types.VCpuInfo{
			DefaultVCpus: aws.Int32(k.vCPUs), DefaultThreadsPerCore: aws.Int32(k.threads),
			DefaultCores: aws.Int32(max(1, k.vCPUs/k.threads)),
		},
		MemoryInfo: &types.MemoryInfo{SizeInMiB: aws.Int64(int64(k.MiB))},
		ProcessorInfo: &types.ProcessorInfo{
			SupportedArchitectures: []types.ArchitectureType{types.ArchitectureType(k.architecture())},
			Manufacturer:           aws.String(k.manufacturer()),
		},
		EbsInfo: &types.EbsInfo{
			EbsOptimizedSupport: types.EbsOptimizedSupportDefault, EncryptionSupport: types.EbsEncryptionSupportSupported,
			NvmeSupport: types.EbsNvmeSupportRequired,
		},
		NetworkInfo: &types.NetworkInfo{
			MaximumNetworkInterfaces: aws.Int32(k.interfaces), Ipv4AddressesPerInterface: aws.Int32(k.addresses),
			Ipv6AddressesPerInterface: aws.Int32(k.addresses), Ipv6Supported: aws.Bool(true), EnaSupport: types.EnaSupportRequired,
			DefaultNetworkCardIndex: aws.Int32(0), MaximumNetworkCards: aws.Int32(1), EfaSupported: aws.Bool(false),
			NetworkCards: []types.NetworkCardInfo{
				{NetworkCardIndex: aws.Int32(0), MaximumNetworkInterfaces: aws.Int32(k.interfaces)},
			},
		},
		PlacementGroupInfo: &types.PlacementGroupInfo{SupportedStrategies: k.strategies()},
	}
	if !k.arm {
		info.SupportedBootModes = append(info.SupportedBootModes, types.BootModeTypeLegacyBios)
	}
	if !k.nitro() {
		info.Hypervisor = types.InstanceTypeHypervisorXen
		info.EbsInfo.NvmeSupport, info.EbsInfo.EbsOptimizedSupport = types.EbsNvmeSupportUnsupported, types.EbsOptimizedSupportUnsupported
		info.NetworkInfo.EnaSupport = types.EnaSupportUnsupported
		info.SupportedBootModes = []types.BootModeType{types.BootModeTypeLegacyBios}
	}
	return info
}

// strategies returns the strategies of placement groups for the instance type: all but burstable ones
// and M7i-flex can be close together.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/limitations-placement-groups.html
func (k *kind) strategies() []types.PlacementGroupStrategy {
	list := []types.PlacementGroupStrategy{types.PlacementGroupStrategyPartition, types.PlacementGroupStrategySpread}
	if !k.burst && !strings.HasPrefix(k.name, "m7i-flex.") {
		list = append([]types.PlacementGroupStrategy{types.PlacementGroupStrategyCluster}, list...)
	}
	return list
}
