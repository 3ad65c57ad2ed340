package rollout

// Encode and Decode are how memories are written and read.
var (
	Encode = (*Memory).encode
	Decode = decode
)
