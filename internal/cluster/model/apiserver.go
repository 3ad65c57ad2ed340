package model

import (
	"maps"
	"slices"

	"github.com/aws-operator/aws-operator/internal/cluster/apiserver"
)

// resolveAPIServer determines the configuration of the API servers. It refuses extra arguments that
// fields of spec.api set, or that exclude them.
func (c *Cluster) resolveAPIServer(problems *Problems) {
	config, found := apiserver.New(&c.Spec.API, c.Issuer, c.Keys.Encryption)
	for _, p := range found {
		problems.add(p.Field, p.Remedy, "%s", p.Message)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Spec.ControlPlane.ExtraArgs.APIServer)) {
		const field = "spec.controlPlane.extraArgs.apiServer."
		if _, ok := config.Args[name]; ok {
			problems.add(field+name, "leave it out", "spec.api sets the argument")
		}
		if by, ok := config.Refused[name]; ok {
			problems.add(field+name, "move it to "+by, "the API server does not start with this argument beside %s", by)
		}
	}
	c.APIServer = config
	c.checkAuditShipping(problems)
	c.checkEncryption(problems)
}
