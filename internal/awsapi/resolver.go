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

// ResolverVariable is the environment variable that names the DNS server, as host:port, which knows the names of the APIs of clusters
// where this machine's resolver does not: the simulator's, or the resolver of a VPC for names that only the VPC knows.
const ResolverVariable = "AWS_OPERATOR_RESOLVER"

// resolveTimeout bounds looking up one name.
const resolveTimeout = 5 * time.Second

// Resolver finds the IPv4 addresses of a name. Its error for a name that does not exist is a [net.DNSError] that says so.
type Resolver func(ctx context.Context, name string) ([]netip.Addr, error)

// ResolverAt returns a resolver that asks the DNS server at host:port.
func ResolverAt(server string) Resolver {
	resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, server)
	}}
	return func(ctx context.Context, name string) ([]netip.Addr, error) {
		return resolver.LookupNetIP(ctx, "ip4", name+".") // As it is, without the search domains of this machine.
	}
}

// EnvironmentResolver returns the resolver that [ResolverVariable] names, nil if it names none.
func EnvironmentResolver() Resolver {
	if server := os.Getenv(ResolverVariable); server != "" {
		return ResolverAt(server)
	}
	return nil
}

// Dial returns what the API of a name is dialed as. Without a resolver that is the name. Otherwise host is the first of the name's
// addresses, so that programs which ask this machine's resolver reach it too, and serverName the name that its certificate is verified
// for; a name that the resolver does not know stays as it is. It errs when the resolver does not answer.
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

// Resolver returns how names of APIs are looked up; nil leaves it to this machine's resolver.
func (c *Clients) Resolver() Resolver { return c.options.Resolver }
