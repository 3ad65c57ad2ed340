package awsapi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"time"
)

// ResolverVariable is the environment variable with the host:port of a DNS server for the names of
// clusters' APIs that this machine's resolver does not know: the simulator's, or the resolver of a
// VPC for names that exist only there.
const ResolverVariable = "AWS_OPERATOR_RESOLVER"

// resolveTimeout limits the lookup of one name.
const resolveTimeout = 5 * time.Second

// Resolver looks up the IPv4 addresses of a name. For a name that does not exist it returns a
// [net.DNSError] with IsNotFound.
type Resolver func(ctx context.Context, name string) ([]netip.Addr, error)

// ResolverAt returns a resolver that queries the DNS server at host:port.
func ResolverAt(server string) Resolver {
	resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, server)
	}}
	return func(ctx context.Context, name string) ([]netip.Addr, error) {
		return resolver.LookupNetIP(ctx, "ip4", name+".") // as it is, without this machine's search domains
	}
}

// EnvironmentResolver returns the resolver of [ResolverVariable], or nil.
func EnvironmentResolver() Resolver {
	if server := os.Getenv(ResolverVariable); server != "" {
		return ResolverAt(server)
	}
	return nil
}

// Dial returns the host to dial for the API of a name. Without a resolver that is the name.
// Otherwise host is the first of the name's addresses, so that programs which use this machine's
// resolver reach it too, and serverName is the name for which to verify its certificate. A name
// that the resolver does not know is returned unchanged. Dial returns an error if the resolver does
// not answer.
func (r Resolver) Dial(ctx context.Context, name string) (host, serverName string, err error) {
	if _, err := netip.ParseAddr(name); err == nil || r == nil || name == "" {
		return name, "", nil
	}
	ctx, cancel := context.WithTimeout(ctx, resolveTimeout)
	defer cancel()
	found, err := r(ctx, name)
	var unknown *net.DNSError
	switch {
	case errors.As(err, &unknown) && unknown.IsNotFound || err == nil && len(found) == 0:
		return name, "", nil
	case err != nil:
		return "", "", fmt.Errorf("look up %s at the resolver that %s names: %w", name, ResolverVariable, err)
	}
	return slices.MinFunc(found, netip.Addr.Compare).Unmap().String(), name, nil
}

// Resolver returns the resolver for the names of APIs; nil means this machine's resolver.
func (c *Clients) Resolver() Resolver { return c.options.Resolver }
