package approver

import (
	"context"
	"crypto/rsa"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// maxNodeName is the length of a Node's name:
// https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#dns-subdomain-names
const maxNodeName = 253

// servingCertificate is what a kubelet requests to serve with.
type servingCertificate struct {
	// node is the name of the requester's Node.
	node string
	// names and addresses are the subject alternative names.
	names     []string
	addresses []netip.Addr
}

// askedToServe returns what a request asks for. It returns a denial unless a kubelet asks for a serving
// certificate of its own identity, and for nothing else.
// https://kubernetes.io/docs/reference/access-authn-authz/certificate-signing-requests/#kubernetes-signers
func askedToServe(request *signingRequest) (*servingCertificate, error) {
	// Before the signature, because only kubelets may have slots verify one.
	user := request.Spec.Username
	node, isNode := strings.CutPrefix(user, userPrefix)
	if !isNode || len(node) > maxNodeName || !nodeName.MatchString(node) || !slices.Contains(request.Spec.Groups, organization) {
		return nil, denied("The requester %.100q is not a kubelet.", user)
	}
	parsed, err := request.parsed()
	if err != nil {
		return nil, err
	}
	_, isRSA := parsed.PublicKey.(*rsa.PublicKey)
	switch {
	case parsed.Subject.CommonName != user:
		return nil, denied("The common name %.100q is not that of the requester, %s.", parsed.Subject.CommonName, user)
	case !slices.Equal(parsed.Subject.Organization, []string{organization}) || len(parsed.Subject.Names) != 2:
		return nil, denied("The subject %.200q has more than the common name and the organization %s.", parsed.Subject, organization)
	case len(parsed.EmailAddresses)+len(parsed.URIs) > 0:
		return nil, denied("The request has email addresses or URIs, with which a kubelet does not serve.")
	case len(parsed.DNSNames)+len(parsed.IPAddresses) == 0:
		return nil, denied("The request has neither DNS names nor IP addresses.")
	case !areServingUsages(request.Spec.Usages, isRSA):
		return nil, denied("The usages are %.200q, not digital signature and server auth.", request.Spec.Usages)
	}
	asks := &servingCertificate{node: node, names: parsed.DNSNames}
	for _, ip := range parsed.IPAddresses {
		asks.addresses = append(asks.addresses, addressOf(ip))
	}
	return asks, nil
}

// areServingUsages reports whether usages are those of a server. Only keys of RSA encrypt others.
func areServingUsages(usages []string, isRSA bool) bool {
	usages = slices.Sorted(slices.Values(usages))
	return slices.Equal(usages, []string{"digital signature", "server auth"}) ||
		isRSA && slices.Equal(usages, []string{"digital signature", "key encipherment", "server auth"})
}

// addressOf returns an address in its shortest form, so that equal ones are equal.
func addressOf(ip net.IP) netip.Addr {
	address, _ := netip.AddrFromSlice(ip) // Certificates have addresses of 4 or 16 bytes only.
	return address.Unmap()
}

// servers returns the cluster's live instances with the names of requesters, by the first labels of their
// private DNS names.
func (s *servingApprover) servers(ctx context.Context, requested []servingRequest) (map[string][]*types.Instance, error) {
	if err := s.pause(ctx); err != nil {
		return nil, err
	}
	patterns := map[string]bool{}
	for _, one := range requested {
		patterns[firstLabel(one.asks.node)+".*"] = true // A Node's name has no wildcards.
	}
	in := &ec2.DescribeInstancesInput{Filters: []types.Filter{
		{Name: aws.String("private-dns-name"), Values: slices.Sorted(maps.Keys(patterns))},
		{Name: aws.String("instance-state-name"), Values: []string{"pending", "running"}},
	}}
	for _, key := range slices.Sorted(maps.Keys(s.Tags)) {
		in.Filters = append(in.Filters, types.Filter{Name: aws.String("tag:" + key), Values: []string{s.Tags[key]}})
	}
	found := map[string][]*types.Instance{}
	for {
		out, err := s.Instances.DescribeInstances(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("ask EC2 for the instances of %d kubelets: %w", len(requested), err)
		}
		for i := range out.Reservations {
			for j := range out.Reservations[i].Instances {
				one := &out.Reservations[i].Instances[j]
				if label := firstLabel(aws.ToString(one.PrivateDnsName)); label != "" && isLive(one) && s.isOurs(one) {
					found[label] = append(found[label], one)
				}
			}
		}
		if in.NextToken = out.NextToken; aws.ToString(in.NextToken) == "" {
			return found, nil
		}
	}
}

// isOurs reports whether an instance has the tags of the cluster.
func (s *servingApprover) isOurs(i *types.Instance) bool {
	tags := tagsOf(i)
	for key, value := range s.Tags {
		if tags[key] != value {
			return false
		}
	}
	return true
}

// pause waits until EC2 may be asked again.
func (s *servingApprover) pause(ctx context.Context) error {
	if left := servingPause - s.Clock.Since(s.asked); left > 0 {
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait before EC2 is asked again: %w", ctx.Err())
		case <-s.Clock.After(left):
		}
	}
	s.asked = s.Clock.Now()
	return nil
}

// confirmServing returns why a certificate may be issued. It returns a denial unless exactly one instance
// has the requester's name, and all names and addresses are that instance's.
func (s *servingApprover) confirmServing(ctx context.Context, asks *servingCertificate, named []*types.Instance) (string, error) {
	if len(named) != 1 {
		return "", denied("%d running instances of the cluster have the private DNS name of Node %s, not one.", len(named), asks.node)
	}
	by := named[0]
	id := aws.ToString(by.InstanceId)
	names, addresses := identities(by, asks.node)
	for _, name := range asks.names {
		if !names[name] {
			return "", denied("EC2 does not report the DNS name %.100q of instance %s, only %s.", name, id, sorted(names))
		}
	}
	for _, address := range asks.addresses {
		if !addresses[address.String()] {
			return "", denied("EC2 does not report the IP address %s of instance %s, only %.500s.", address, id, sorted(addresses))
		}
	}
	group, err := s.groupOf(ctx, id, tagsOf(by))
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("EC2 confirms that the names and addresses are those of instance %s of %s.", id, group), nil
}

// identities returns the DNS names and IP addresses of an instance: those that the cloud controller
// manager gives its Node, from which the kubelet takes them, and the Node's own name, whose first label
// is that of the instance.
// https://github.com/kubernetes/cloud-provider-aws/blob/master/pkg/providers/v1/aws.go (extractIPv4NodeAddresses),
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/certificate/kubelet.go
func identities(i *types.Instance, node string) (names, addresses map[string]bool) {
	names, addresses = map[string]bool{node: true}, map[string]bool{}
	for _, name := range []*string{i.PrivateDnsName, i.PublicDnsName} {
		if name := aws.ToString(name); name != "" {
			names[name] = true
		}
	}
	add := func(text *string) {
		if address, err := netip.ParseAddr(aws.ToString(text)); err == nil {
			addresses[address.Unmap().String()] = true
		}
	}
	add(i.PrivateIpAddress)
	add(i.PublicIpAddress)
	for j := range i.NetworkInterfaces {
		card := &i.NetworkInterfaces[j]
		if card.Status != types.NetworkInterfaceStatusInUse {
			continue
		}
		for k := range card.PrivateIpAddresses {
			add(card.PrivateIpAddresses[k].PrivateIpAddress)
		}
		for k := range card.Ipv6Addresses {
			add(card.Ipv6Addresses[k].Ipv6Address)
		}
	}
	return names, addresses
}

func sorted(set map[string]bool) string {
	return strings.Join(slices.Sorted(maps.Keys(set)), ", ")
}
