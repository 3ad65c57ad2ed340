package awsapi

import "context"

// call is one call of a client. Clients are handed out as structs of calls, never as the SDK's own clients: the linker keeps
// every method of a type that is in an interface as soon as a program looks for methods by name, as templates do, and EC2's
// client has 800, a quarter of the program.
type call[I, O, Options any] func(context.Context, *I, ...func(*Options)) (*O, error)
