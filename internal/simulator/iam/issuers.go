package iam

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/aws-operator/aws-operator/internal/simulator/property"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// issuerProperties are the properties of AWS::IAM::OIDCProvider.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-iam-oidcprovider.html
type issuerProperties struct {
	Url                          string   //nolint:revive // the name of the property
	ClientIdList, ThumbprintList []string //nolint:revive // as above
	Tags                         []property.Tag
}

// issuerProvider makes the providers of tokens that STS consults.
type issuerProvider struct{ s *Service }

// Create creates a provider.
func (p issuerProvider) Create(_ context.Context, r resource.Request) (resource.Result, error) {
	var props issuerProperties
	if err := property.Decode(r.Properties, &props); err != nil {
		return resource.Result{}, err
	}
	a, unlock := p.s.lock(r.Account)
	defer unlock()
	made, err := p.s.addProvider(a, &iam.CreateOpenIDConnectProviderInput{
		Url: &props.Url, ClientIDList: props.ClientIdList, ThumbprintList: props.ThumbprintList,
	})
	if err != nil {
		return resource.Result{}, handled(err)
	}
	made.tags = property.Tags(r.Tags, props.Tags)
	return resource.Result{PhysicalID: made.arn, Attributes: map[string]any{"Arn": made.arn}}, nil
}

// live runs fn on the provider.
func (p issuerProvider) live(r resource.Request, fn func(*account, *provider)) error {
	a, unlock := p.s.lock(r.Account)
	defer unlock()
	found, ok := a.providers[r.PhysicalID]
	if !ok {
		return property.Missing(issuerType, r.PhysicalID)
	}
	fn(a, found)
	return nil
}

// Update changes the audiences, the thumbprints and the tags of a provider.
func (p issuerProvider) Update(_ context.Context, r resource.Request) (result resource.Result, err error) {
	var props issuerProperties
	if err := property.Decode(r.Properties, &props); err != nil {
		return result, err
	}
	err = p.live(r, func(_ *account, found *provider) {
		found.clients, found.thumbprints, found.tags = props.ClientIdList, props.ThumbprintList, property.Tags(r.Tags, props.Tags)
		result = resource.Result{PhysicalID: found.arn, Attributes: map[string]any{"Arn": found.arn}}
	})
	return result, err
}

// Delete deletes a provider.
func (p issuerProvider) Delete(_ context.Context, r resource.Request) error {
	return p.live(r, func(a *account, found *provider) { delete(a.providers, found.arn) })
}

// List returns the ARNs of the providers.
func (p issuerProvider) List(_ context.Context, at wire.Target) ([]string, error) {
	a, unlock := p.s.lock(at.Account)
	defer unlock()
	return slices.Collect(maps.Keys(a.providers)), nil
}

// Read returns a provider's properties.
func (p issuerProvider) Read(_ context.Context, r resource.Request) (props map[string]any, err error) {
	err = p.live(r, func(_ *account, found *provider) {
		props = map[string]any{
			"Arn": found.arn, "Url": "https://" + found.url, "Tags": property.TagList(found.tags),
			"ClientIdList": texts(found.clients), "ThumbprintList": texts(found.thumbprints),
		}
	})
	return props, err
}

// addProvider adds a provider to an account, whose lock the caller holds.
func (s *Service) addProvider(a *account, in *iam.CreateOpenIDConnectProviderInput) (*provider, error) {
	host, ok := strings.CutPrefix(aws.ToString(in.Url), "https://")
	if !ok || host == "" {
		return nil, wire.Errorf("InvalidInput", "Invalid Open ID Connect Provider URL")
	}
	p := &provider{
		arn: s.arn(a, "oidc-provider/", "", strings.TrimSuffix(host, "/")), url: host, clients: in.ClientIDList,
		thumbprints: in.ThumbprintList,
		created:     s.env.Clock.Now(), tags: tagMap(in.Tags),
	}
	if _, ok := a.providers[p.arn]; ok {
		return nil, exists("Provider with url %s already exists.", *in.Url)
	}
	a.providers[p.arn] = p
	return p, nil
}
