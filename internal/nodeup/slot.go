package nodeup

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"
)

// nameTTL is how long, in seconds, others may remember the slot's address: a replaced machine has
// another one.
const nameTTL = 10

// publishName gives the slot's name the machine's address, and waits until it can be seen.
func (b *boot) publishName(ctx context.Context) (string, error) {
	etcd := b.bundle.Etcd
	if addresses, err := b.Resolve(ctx, etcd.DNSName); err == nil && slices.Equal(addresses, []string{b.machine.PrivateIP}) {
		return "nothing, " + etcd.DNSName + " is " + b.machine.PrivateIP, nil
	}
	_, err := b.AWS.Zones.ChangeResourceRecordSets(ctx, &route53.ChangeResourceRecordSetsInput{
		HostedZoneId: &etcd.HostedZoneID,
		ChangeBatch: &types.ChangeBatch{Changes: []types.Change{{
			Action: types.ChangeActionUpsert,
			ResourceRecordSet: &types.ResourceRecordSet{
				Name: &etcd.DNSName, Type: types.RRTypeA, TTL: aws.Int64(nameTTL),
				ResourceRecords: []types.ResourceRecord{{Value: &b.machine.PrivateIP}},
			},
		}}},
	})
	if err != nil {
		return "", fmt.Errorf("publish %s: %w", etcd.DNSName, err)
	}
	addresses, err := b.Resolve(ctx, etcd.DNSName)
	if err != nil {
		return "", err
	}
	if !slices.Equal(addresses, []string{b.machine.PrivateIP}) {
		return "", fmt.Errorf("%s is published as %s and seen as %v yet", etcd.DNSName, b.machine.PrivateIP, addresses)
	}
	return etcd.DNSName + " is " + b.machine.PrivateIP, nil
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
