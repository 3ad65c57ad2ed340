package nodeup

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"
)

// nameTTL is the TTL of the slot's DNS record in seconds. It is short because a replacement has
// another address.
const nameTTL = 10

// unpublished is the address of a member that has not published its own yet: an address for
// documentation, which no host has (https://www.rfc-editor.org/rfc/rfc5737).
const unpublished = "192.0.2.1"

// publishName points the slot's name at the machine's address, and waits until the name resolves.
// Resolvers, also the VPC's, cache for 15 minutes that a name does not exist
// (https://docs.aws.amazon.com/Route53/latest/DeveloperGuide/SOA-NSrecords.html). So no name is
// resolved before Route 53 reports that all its servers have it, and the names of the other members
// are created, too.
func (b *boot) publishName(ctx context.Context) (string, error) {
	name := b.bundle.Etcd.DNSName
	if b.done() && b.seen(ctx) == nil {
		return "nothing, " + name + " is " + b.machine.PrivateIP, nil
	}
	if b.nameChange == "" {
		id, err := b.changeNames(ctx)
		if err != nil {
			return "", fmt.Errorf("publish %s: %w", name, err)
		}
		b.nameChange = id
	}
	found, err := b.AWS.Zones.GetChange(ctx, &route53.GetChangeInput{Id: &b.nameChange})
	if err != nil {
		return "", fmt.Errorf("read the status of the DNS change of %s: %w", name, err)
	}
	if found.ChangeInfo.Status != types.ChangeStatusInsync {
		return "", fmt.Errorf("not all name servers have %s yet", name)
	}
	if err := b.seen(ctx); err != nil {
		return "", err
	}
	return name + " is " + b.machine.PrivateIP, nil
}

// seen returns an error unless the slot's name resolves to this machine.
func (b *boot) seen(ctx context.Context) error {
	name := b.bundle.Etcd.DNSName
	addresses, err := b.Resolve(ctx, name)
	if err != nil {
		return err
	}
	if !slices.Equal(addresses, []string{b.machine.PrivateIP}) {
		return fmt.Errorf("%s is published as %s but still resolves to %v", name, b.machine.PrivateIP, addresses)
	}
	return nil
}

// changeNames publishes the machine's address and, at a cluster's first start, creates the other
// names. The first slot creates all of them in one change, so if one exists, all do.
func (b *boot) changeNames(ctx context.Context) (id string, err error) {
	etcd := b.bundle.Etcd
	own := record(types.ChangeActionUpsert, etcd.DNSName, b.machine.PrivateIP)
	all := []types.Change{own}
	for _, member := range slices.Sorted(maps.Keys(etcd.Members)) {
		if other := etcd.Members[member]; other != etcd.DNSName {
			all = append(all, record(types.ChangeActionCreate, other, unpublished))
		}
	}
	id, err = b.change(ctx, all)
	if _, there := errors.AsType[*types.InvalidChangeBatch](err); there && len(all) > 1 {
		id, err = b.change(ctx, []types.Change{own})
	}
	return id, err
}

func (b *boot) change(ctx context.Context, changes []types.Change) (id string, err error) {
	out, err := b.AWS.Zones.ChangeResourceRecordSets(ctx, &route53.ChangeResourceRecordSetsInput{
		HostedZoneId: &b.bundle.Etcd.HostedZoneID, ChangeBatch: &types.ChangeBatch{Changes: changes},
	})
	if err != nil {
		return "", err //nolint:wrapcheck // publishName adds the context.
	}
	return aws.ToString(out.ChangeInfo.Id), nil
}

func record(action types.ChangeAction, name, address string) types.Change {
	return types.Change{Action: action, ResourceRecordSet: &types.ResourceRecordSet{
		Name: &name, Type: types.RRTypeA, TTL: aws.Int64(nameTTL), ResourceRecords: []types.ResourceRecord{{Value: &address}},
	}}
}

// fetchPKI fetches the CAs. kubeadm creates the other certificates from them.
func (b *boot) fetchPKI(ctx context.Context) (string, error) {
	fetched := 0
	for _, file := range b.bundle.PKI {
		if b.files.exists(file.Path) {
			continue // It was written atomically, and it never changes.
		}
		mode, err := parseMode(file.Mode)
		if err != nil {
			return "", err
		}
		content, err := b.getObject(ctx, file.Key)
		if err != nil {
			return "", err
		}
		if _, err := b.files.write(file.Path, content, mode); err != nil {
			return "", err
		}
		fetched++
	}
	return fmt.Sprintf("fetched %d of %d files", fetched, len(b.bundle.PKI)), nil
}
