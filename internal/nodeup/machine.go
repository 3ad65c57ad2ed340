package nodeup

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"

	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
)

// Machine has the instance's metadata.
type Machine struct {
	// InstanceID and InstanceType are the instance's ID and type.
	InstanceID, InstanceType string
	// Zone is its availability zone.
	Zone string
	// PrivateIP is its address.
	PrivateIP string
	// NodeName is its private DNS name, which is the node's name.
	NodeName string
}

// readMetadata reads the instance's metadata.
func (b *boot) readMetadata(ctx context.Context) (string, error) {
	var m Machine
	for path, into := range map[string]*string{
		"instance-id":                 &m.InstanceID,
		"instance-type":               &m.InstanceType,
		"placement/availability-zone": &m.Zone,
		"local-ipv4":                  &m.PrivateIP,
		"local-hostname":              &m.NodeName,
	} {
		value, err := b.metadata(ctx, path)
		if err != nil {
			return "", err
		}
		*into = value
	}
	b.machine = m
	b.values = map[string]string{
		bundle.NodeName:     m.NodeName,
		bundle.PrivateIP:    m.PrivateIP,
		bundle.ProviderID:   "aws:///" + m.Zone + "/" + m.InstanceID,
		bundle.Region:       b.Region,
		bundle.Zone:         m.Zone,
		bundle.InstanceType: m.InstanceType,
	}
	return fmt.Sprintf("this is %s, a %s at %s in %s", m.InstanceID, m.InstanceType, m.PrivateIP, m.Zone), nil
}

// metadata returns the first word of an entry: a VPC whose DHCP options have several domains gives
// the name with all of them.
func (b *boot) metadata(ctx context.Context, path string) (string, error) {
	found, err := b.AWS.Metadata.GetMetadata(ctx, &imds.GetMetadataInput{Path: path})
	if err != nil {
		return "", fmt.Errorf("read the instance's metadata: %s: %w", path, err)
	}
	defer found.Content.Close() //nolint:errcheck // It was only read.
	content, err := io.ReadAll(found.Content)
	if err != nil {
		return "", fmt.Errorf("read the instance's metadata: %s: %w", path, err)
	}
	words := strings.Fields(string(content))
	if len(words) == 0 {
		return "", fmt.Errorf("the instance's metadata has no %s", path)
	}
	return words[0], nil
}

// readBundle fetches the bundle, once, and compares its hash each time.
func (b *boot) readBundle(ctx context.Context) (string, error) {
	did := "read"
	document, err := b.files.read(bundleFile)
	if err != nil || bundle.HashOf(document) != b.BundleSHA256 {
		did = "fetched"
		if document, err = b.getObject(ctx, bundle.Key(b.BundleSHA256)); err != nil {
			return "", err
		}
	}
	if hash := bundle.HashOf(document); hash != b.BundleSHA256 {
		return "", permanent("the bundle in the bucket has the SHA-256 %s; the user data expects %s", hash, b.BundleSHA256)
	}
	if b.bundle, err = bundle.Parse(document); err != nil {
		return "", permanent("%w", err)
	}
	if _, err := b.files.write(bundleFile, document, 0o600); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s %s: %s of the cluster %s, Kubernetes %s", did, b.BundleSHA256, b.bundle.Role, b.bundle.Cluster, b.bundle.Kubernetes), nil
}
