package model

// ComponentNodeCache is the name of node-local-dns in the components of a release: the tag of the
// image k8s-dns-node-cache.
const ComponentNodeCache = "node-cache"

// checkNodeLocalDNS refuses the DNS caches of nodes if the release does not say which.
func (c *Cluster) checkNodeLocalDNS(problems *Problems) {
	if c.Spec.Network.NodeLocalDNS != nil && c.Release.Name != "" && c.Release.Spec.Components[ComponentNodeCache] == "" {
		problems.add("spec.network.nodeLocalDNS", "move to a release that has it, or leave it out",
			"release %s has no component %s, the version of the DNS cache", c.Release.Name, ComponentNodeCache)
	}
}
