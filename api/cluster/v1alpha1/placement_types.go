package v1alpha1

// PlacementStrategy is how a placement group places instances.
//
// +kubebuilder:validation:Enum=cluster;spread;partition
type PlacementStrategy string

// Placement strategies.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/placement-strategies.html
const (
	// PlacementCluster places instances close together in one zone, for low network latency.
	PlacementCluster PlacementStrategy = "cluster"
	// PlacementSpread places each instance on hardware of its own, at most 7 in a zone.
	PlacementSpread PlacementStrategy = "spread"
	// PlacementPartition divides instances into partitions that share no hardware.
	PlacementPartition PlacementStrategy = "partition"
)

// Placement puts the instances of a group into a placement group.
//
// +kubebuilder:validation:XValidation:rule="has(self.group) != has(self.strategy)",message="set either group, for an existing placement group, or strategy, for one of this group's own"
// +kubebuilder:validation:XValidation:rule="has(self.partitions) == (has(self.strategy) && self.strategy == 'partition')",message="set partitions with the strategy partition, and only with it"
type Placement struct {
	// Group is the name of an existing placement group of the account and region. The operator
	// neither changes nor deletes it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self.matches('^[ -~]+$')",message="the name of a placement group has ASCII characters only"
	Group string `json:"group,omitempty"`

	// Strategy is the strategy of a placement group that the group's stack creates: cluster (one
	// zone only), spread (at most 7 nodes in a zone) or partition. It cannot change.
	// +optional
	Strategy PlacementStrategy `json:"strategy,omitempty"`

	// Partitions is the number of partitions in each zone, 1 to 7, with the strategy partition. It
	// cannot change.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=7
	Partitions int32 `json:"partitions,omitempty"`
}

// CapacityPreference is how instances use capacity reservations.
//
// +kubebuilder:validation:Enum=open;none;capacity-reservations-only
type CapacityPreference string

// Preferences for capacity reservations.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CapacityReservationSpecification.html
const (
	// CapacityOpen uses open capacity reservations that match, and otherwise runs on demand.
	CapacityOpen CapacityPreference = "open"
	// CapacityNone uses no capacity reservation.
	CapacityNone CapacityPreference = "none"
	// CapacityOnly launches no instance outside of a capacity reservation.
	CapacityOnly CapacityPreference = "capacity-reservations-only"
)

// CapacityReservationType is the type of a capacity reservation.
//
// +kubebuilder:validation:Enum=OnDemand;CapacityBlock
type CapacityReservationType string

// Types of capacity reservations.
const (
	// CapacityOnDemand is an On-Demand Capacity Reservation.
	CapacityOnDemand CapacityReservationType = "OnDemand"
	// CapacityBlock is a Capacity Block for ML: accelerated instances for a limited time.
	CapacityBlock CapacityReservationType = "CapacityBlock"
)

// CapacityReservation determines which reserved capacity of EC2 instances use.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.id) && has(self.resourceGroup))",message="set either id or resourceGroup"
// +kubebuilder:validation:XValidation:rule="has(self.id) || has(self.resourceGroup) || has(self.preference)",message="set preference, id or resourceGroup"
// +kubebuilder:validation:XValidation:rule="!has(self.preference) || self.preference == 'capacity-reservations-only' || !has(self.id) && !has(self.resourceGroup)",message="with id or resourceGroup, the only preference is capacity-reservations-only: leave preference out, or set it to that"
// +kubebuilder:validation:XValidation:rule="!has(self.type) || self.type != 'CapacityBlock' || has(self.id)",message="a Capacity Block is named by its reservation: set id"
type CapacityReservation struct {
	// Preference is open (the default without id and resourceGroup), none or
	// capacity-reservations-only. With the last, instances do not launch without reserved capacity.
	// +optional
	Preference CapacityPreference `json:"preference,omitempty"`

	// ID is the ID of a capacity reservation, for example cr-0123456789abcdef0. Instances do not launch
	// without capacity in it. It requires one instance type and one zone, those of the reservation.
	// +optional
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:XValidation:rule="self.matches('^cr-([0-9a-f]{8}|[0-9a-f]{17})$')",message="write the ID of a capacity reservation, for example cr-0123456789abcdef0"
	ID string `json:"id,omitempty"`

	// ResourceGroup is the ARN of a resource group of capacity reservations. Without capacity in the
	// group, instances run on demand, unless preference is capacity-reservations-only.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.matches('^arn:aws[a-z-]*:resource-groups:[a-z0-9-]+:[0-9]{12}:group/[A-Za-z0-9._/-]+$')",message="write the ARN of a resource group, for example arn:aws:resource-groups:eu-central-1:123456789012:group/reserved"
	ResourceGroup string `json:"resourceGroup,omitempty"`

	// Type is the type of the reservation in id: OnDemand (the default) or CapacityBlock. EC2
	// terminates the instances of a Capacity Block 30 minutes before it ends.
	// +optional
	Type CapacityReservationType `json:"type,omitempty"`
}
