// Package diagnosis finds out from an instance's console how far its boot has come and what it most
// likely waits for. It takes the text of the console and returns a [Boot]; it makes no requests.
//
// docs/design/boot.md describes the boot. User data writes curl's errors, and nodeup writes one line
// per completed task and per failed attempt. A stage is "user data" or one of nodeup's tasks. Each
// stage has a deadline, after which a boot counts as stalled.
//
// A user of an instance can write anything to its console. So the package bounds what it reads and
// what it returns, and removes control characters. Callers must use the result for messages only.
package diagnosis
