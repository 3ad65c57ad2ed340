package awsapi

import "context"

// call is one call of a client. Clients are structs of calls, never the SDK's own clients: if a
// program looks up methods by name, as templates do, the linker keeps every method of the types in
// interfaces, and EC2's client has 800, a quarter of the program.
type call[I, O, Options any] func(context.Context, *I, ...func(*Options)) (*O, error)
