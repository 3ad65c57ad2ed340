// Package gitops tests how Argo CD and Flux read the health of the operator's objects: with Argo CD's
// own code for health checks in Lua, and with kstatus, which Flux uses. It also tests the examples of
// pipelines with actionlint. It is a module of its own, because Argo CD has many dependencies. make
// test-gitops runs it.
package gitops
