package awsapi

// Budget is a token bucket: how many calls a second one account, region and service may get from this operator.
type Budget struct {
	// PerSecond is the sustained rate; 0 or less is unlimited.
	PerSecond float64
	// Burst is how many calls may be made at once after a rest.
	Burst int
}
