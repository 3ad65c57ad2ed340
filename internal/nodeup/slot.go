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

// nameTTL is how long, in seconds, others may remember the slot's address: a replaced machine has
// another one.
const nameTTL = 10

// nobody is the address of a member that has not published its own yet: one of those that are never
// anybody's (https://www.rfc-editor.org/rfc/rfc5737).
const unpublished = "192.0.2.1"

// publishName gives the slot's name the machine's address, and waits until it can be seen. A name
// that is asked for before it is there is held for missing for a quarter of an hour, here and by
// the VPC's resolver
// (https://docs.aws.amazon.com/Route53/latest/DeveloperGuide/SOA-NSrecords.html). So nothing is
// asked for before Route 53 says that all its servers have it, and the other members' names are
// made as well.
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
		return "", fmt.Errorf("see how far %s is published: %w", name, err)
	}
	if found.ChangeInfo.Status != types.ChangeStatusInsync {
		return "", fmt.Errorf("%s is on its way to the name servers", name)
	}
	if err := b.seen(ctx); err != nil {
		return "", err
	}
	return name + " is " + b.machine.PrivateIP, nil
}

// seen returns an error unless the slot's name leads to this machine.
func (b *boot) seen(ctx context.Context) error {
	name := b.bundle.Etcd.DNSName
	addresses, err := b.Resolve(ctx, name)
	if err != nil {
		return err
	}
	if !slices.Equal(addresses, []string{b.machine.PrivateIP}) {
		return fmt.Errorf("%s is published as %s and seen as %v yet", name, b.machine.PrivateIP, addresses)
	}
	return nil
}

// changeNames publishes the machine's address and, at a cluster's first start, makes the other
// names. The first slot makes all, so when one is there, none is missing.
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
		return "", err //nolint:wrapcheck // publishName says what it was.
	}
	return aws.ToString(out.ChangeInfo.Id), nil
}

func record(action types.ChangeAction, name, address string) types.Change {
	return types.Change{Action: action, ResourceRecordSet: &types.ResourceRecordSet{
		Name: &name, Type: types.RRTypeA, TTL: aws.Int64(nameTTL), ResourceRecords: []types.ResourceRecord{{Value: &address}},
	}}
}

// fetchPKI fetches the authorities, from which kubeadm makes the rest.
func (b *boot) fetchPKI(ctx context.Context) (string, error) {
	fetched := 0
	for _, file := range b.bundle.PKI {
		if b.files.exists(file.Path) {
			continue // Written whole or not at all, and the same for the cluster's life.
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
