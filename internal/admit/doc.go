// Package admit says of a Cluster, InstanceGroup or Release, and of a service, what the API server
// would say of it, where there is none: whether its values are those that the schema of its kind
// allows, and whether it may change so (the rules in CEL beside the types). It runs the API
// server's own code on the CustomResourceDefinitions that the operator installs.
package admit
