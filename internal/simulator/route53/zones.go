package route53

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/aws-operator/aws-operator/internal/simulator/tagging"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// pageSize is the maximum number of entries in a page.
const pageSize = 100

func (s *Service) createHostedZone(account string, in *route53.CreateHostedZoneInput) (*route53.CreateHostedZoneOutput, error) {
	if in.DelegationSetId != nil {
		return nil, unsupported("DelegationSetId")
	}
	if aws.ToString(in.CallerReference) == "" {
		return nil, invalidInput("CallerReference is required")
	}
	z := &zone{account: account, name: aws.ToString(in.Name), reference: *in.CallerReference, tags: map[string]string{}}
	if in.HostedZoneConfig != nil {
		z.comment = aws.ToString(in.HostedZoneConfig.Comment)
		if in.HostedZoneConfig.PrivateZone && in.VPC == nil {
			return nil, invalidInput(
				"When you're creating a private hosted zone (when you specify true for PrivateZone), you must also specify values for VPCId and VPCRegion.",
			)
		}
	}
	if in.VPC != nil {
		z.vpcs = []types.VPC{*in.VPC}
	}
	if err := s.addZone(z); err != nil {
		return nil, err
	}
	out := &route53.CreateHostedZoneOutput{
		HostedZone: z.describe(), ChangeInfo: s.submit(account, ""),
		Location: aws.String("https://route53.amazonaws.com/2013-04-01/hostedzone/" + z.id),
	}
	if z.private {
		out.VPC = &z.vpcs[0]
	} else {
		out.DelegationSet = z.delegation()
	}
	return out, nil
}

// addZone creates a zone with the records that every zone has. A zone with VPCs is private.
func (s *Service) addZone(z *zone) error {
	if z.name = fqdn(z.name); z.name == "." || checkDomain(z.name) != "" {
		return wire.Errorf("InvalidDomainName", "The domain name %s is not valid", z.name)
	}
	for _, o := range s.zones {
		if o.account == z.account && o.reference == z.reference {
			return wire.Errorf("HostedZoneAlreadyExists", "A hosted zone has already been created with the specified caller reference.").
				WithStatus(http.StatusConflict)
		}
	}
	z.private = len(z.vpcs) > 0
	for _, v := range z.vpcs {
		if err := s.checkVPC(z, v); err != nil {
			return err
		}
	}
	z.id = "Z" + wire.RandomName(20)
	z.servers = nameServers(z.private)
	z.records = map[key]*record{}
	ns := &record{key: key{z.name, "NS"}, ttl: 172800}
	for _, server := range z.servers {
		ns.values = append(ns.values, server+".")
	}
	soa := &record{
		key:    key{z.name, "SOA"},
		ttl:    900,
		values: []string{z.servers[0] + ". awsdns-hostmaster.amazon.com. 1 7200 900 1209600 86400"},
	}
	z.records[ns.key], z.records[soa.key] = ns, soa
	s.zones[z.id] = z
	return nil
}

// nameServers returns the name servers of a new zone. All private zones have the same ones.
// https://docs.aws.amazon.com/Route53/latest/DeveloperGuide/SOA-NSrecords.html
func nameServers(private bool) []string {
	const perDomain, perServer = 512, 8
	servers := make([]string, 0, 4)
	for i, domain := range []string{"com", "net", "org", "co.uk"} {
		n := 0
		if !private {
			n = rand.IntN(perDomain) //nolint:gosec // a name, not a secret
		}
		servers = append(servers, fmt.Sprintf("ns-%d.awsdns-%02d.%s", i*perDomain+n, n/perServer, domain))
	}
	//nolint:gosec // not for security
	rand.Shuffle(len(servers), func(i, j int) { servers[i], servers[j] = servers[j], servers[i] })
	return servers
}

// checkVPC returns an error if a zone cannot be associated with a VPC, because the VPC does not
// exist or has another zone with the same name.
// https://docs.aws.amazon.com/Route53/latest/APIReference/API_AssociateVPCWithHostedZone.html
func (s *Service) checkVPC(z *zone, v types.VPC) error {
	if _, ok := s.vpcs.VPC(z.account, string(v.VPCRegion), aws.ToString(v.VPCId)); !ok {
		return wire.Errorf("InvalidVPCId", "The VPC: %s you provided is not authorized to make the association.", aws.ToString(v.VPCId))
	}
	for _, o := range s.zones {
		if o != z && o.name == z.name && o.has(aws.ToString(v.VPCId)) {
			return wire.Errorf(
				"ConflictingDomainExists",
				"The VPC %s in region %s has already been associated with the hosted zone %s with the same domain name.",
				aws.ToString(v.VPCId),
				v.VPCRegion,
				o.id,
			)
		}
	}
	return nil
}

// has reports whether a zone is associated with a VPC.
func (z *zone) has(vpcID string) bool {
	return slices.ContainsFunc(z.vpcs, func(v types.VPC) bool { return aws.ToString(v.VPCId) == vpcID })
}

func (z *zone) describe() *types.HostedZone {
	return &types.HostedZone{
		Id: aws.String("/hostedzone/" + z.id), Name: aws.String(z.name), CallerReference: aws.String(z.reference),
		Config:                 &types.HostedZoneConfig{Comment: wire.Optional(z.comment), PrivateZone: z.private},
		ResourceRecordSetCount: aws.Int64(int64(len(z.records))),
	}
}

func (z *zone) delegation() *types.DelegationSet {
	return &types.DelegationSet{NameServers: slices.Clone(z.servers)}
}

func (s *Service) getHostedZone(account string, in *route53.GetHostedZoneInput) (*route53.GetHostedZoneOutput, error) {
	z, err := s.find(account, in.Id)
	if err != nil {
		return nil, err
	}
	out := &route53.GetHostedZoneOutput{HostedZone: z.describe(), VPCs: slices.Clone(z.vpcs)}
	if !z.private {
		out.DelegationSet = z.delegation()
	}
	return out, nil
}

// getDNSSEC reports that a zone is not signed, because the simulator signs none. For private zones
// it returns AWS's error.
// https://docs.aws.amazon.com/Route53/latest/APIReference/API_GetDNSSEC.html and
// https://docs.aws.amazon.com/Route53/latest/DeveloperGuide/dns-configuring-dnssec.html
func (s *Service) getDNSSEC(account string, in *route53.GetDNSSECInput) (*route53.GetDNSSECOutput, error) {
	z, err := s.find(account, in.HostedZoneId)
	if err != nil {
		return nil, err
	}
	if z.private {
		return nil, wire.Errorf("InvalidArgument", "Operation is unsupported for private hosted zones.")
	}
	return &route53.GetDNSSECOutput{
		KeySigningKeys: []types.KeySigningKey{},
		Status:         &types.DNSSECStatus{ServeSignature: aws.String("NOT_SIGNING")},
	}, nil
}

// removeZone deletes a zone that only contains the records that every zone has.
// https://docs.aws.amazon.com/Route53/latest/APIReference/API_DeleteHostedZone.html
func (s *Service) removeZone(z *zone) error {
	if len(z.records) > 2 {
		return wire.Errorf(
			"HostedZoneNotEmpty", "The specified hosted zone contains non-required resource record sets and so cannot be deleted.",
		)
	}
	delete(s.zones, z.id)
	return nil
}

func (s *Service) deleteHostedZone(account string, in *route53.DeleteHostedZoneInput) (*route53.DeleteHostedZoneOutput, error) {
	z, err := s.find(account, in.Id)
	if err != nil {
		return nil, err
	}
	if err := s.removeZone(z); err != nil {
		return nil, err
	}
	return &route53.DeleteHostedZoneOutput{ChangeInfo: s.submit(account, "")}, nil
}

func (s *Service) updateComment(account string, in *route53.UpdateHostedZoneCommentInput) (*route53.UpdateHostedZoneCommentOutput, error) {
	z, err := s.find(account, in.Id)
	if err != nil {
		return nil, err
	}
	z.comment = aws.ToString(in.Comment)
	return &route53.UpdateHostedZoneCommentOutput{HostedZone: z.describe()}, nil
}

func (s *Service) getHostedZoneCount(account string, _ *route53.GetHostedZoneCountInput) (*route53.GetHostedZoneCountOutput, error) {
	return &route53.GetHostedZoneCountOutput{HostedZoneCount: aws.Int64(int64(len(s.sorted(account))))}, nil
}

func size(asked *int32, most int32) int32 {
	if asked == nil {
		return most
	}
	return min(*asked, most)
}

func (s *Service) listHostedZones(account string, in *route53.ListHostedZonesInput) (*route53.ListHostedZonesOutput, error) {
	list := slices.DeleteFunc(s.sorted(account), func(z *zone) bool { return z.id < trimID(in.Marker) })
	n := size(in.MaxItems, pageSize)
	out := &route53.ListHostedZonesOutput{HostedZones: []types.HostedZone{}, Marker: in.Marker, MaxItems: aws.Int32(n)}
	if len(list) > int(n) {
		out.IsTruncated, out.NextMarker = true, aws.String(list[n].id)
		list = list[:n]
	}
	for _, z := range list {
		out.HostedZones = append(out.HostedZones, *z.describe())
	}
	return out, nil
}

func (s *Service) listHostedZonesByName(
	account string, in *route53.ListHostedZonesByNameInput,
) (*route53.ListHostedZonesByNameOutput, error) {
	list := s.sorted(account)
	slices.SortStableFunc(list, func(a, b *zone) int { return cmp.Or(compareNames(a.name, b.name), cmp.Compare(a.id, b.id)) })
	if in.DNSName != nil {
		list = slices.DeleteFunc(list, func(z *zone) bool {
			order := compareNames(z.name, fqdn(*in.DNSName))
			return order < 0 || order == 0 && in.HostedZoneId != nil && z.id < trimID(in.HostedZoneId)
		})
	}
	n := size(in.MaxItems, pageSize)
	out := &route53.ListHostedZonesByNameOutput{
		HostedZones:  []types.HostedZone{},
		DNSName:      in.DNSName,
		HostedZoneId: in.HostedZoneId,
		MaxItems:     aws.Int32(n),
	}
	if len(list) > int(n) {
		out.IsTruncated, out.NextDNSName, out.NextHostedZoneId = true, aws.String(list[n].name), aws.String(list[n].id)
		list = list[:n]
	}
	for _, z := range list {
		out.HostedZones = append(out.HostedZones, *z.describe())
	}
	return out, nil
}

func (s *Service) listHostedZonesByVPC(account string, in *route53.ListHostedZonesByVPCInput) (*route53.ListHostedZonesByVPCOutput, error) {
	if _, ok := s.vpcs.VPC(account, string(in.VPCRegion), aws.ToString(in.VPCId)); !ok {
		return nil, wire.Errorf("InvalidVPCId", "The VPC: %s does not exist.", aws.ToString(in.VPCId))
	}
	out := &route53.ListHostedZonesByVPCOutput{HostedZoneSummaries: []types.HostedZoneSummary{}, MaxItems: aws.Int32(pageSize)}
	for _, z := range s.sorted(account) {
		if z.has(*in.VPCId) {
			out.HostedZoneSummaries = append(out.HostedZoneSummaries, types.HostedZoneSummary{
				HostedZoneId: aws.String(z.id), Name: aws.String(z.name), Owner: &types.HostedZoneOwner{OwningAccount: aws.String(account)},
			})
		}
	}
	return out, nil
}

func (s *Service) join(z *zone, v *types.VPC) error {
	switch {
	case v == nil:
		return invalidInput("VPC is required")
	case !z.private:
		return wire.Errorf(
			"PublicZoneVPCAssociation",
			"You're trying to associate a VPC with a public hosted zone. Amazon Route 53 doesn't support associating a VPC with a public hosted zone.",
		)
	case z.has(aws.ToString(v.VPCId)):
		return wire.Errorf("ConflictingDomainExists", "The VPC %s has already been associated with the hosted zone %s.", *v.VPCId, z.id)
	}
	if err := s.checkVPC(z, *v); err != nil {
		return err
	}
	z.vpcs = append(z.vpcs, *v)
	return nil
}

func (s *Service) part(z *zone, v *types.VPC) error {
	switch {
	case v == nil:
		return invalidInput("VPC is required")
	case !z.has(aws.ToString(v.VPCId)):
		return wire.Errorf("VPCAssociationNotFound", "The VPC %s is not associated with the hosted zone %s.", aws.ToString(v.VPCId), z.id).
			WithStatus(http.StatusNotFound)
	case len(z.vpcs) == 1:
		return wire.Errorf(
			"LastVPCAssociation",
			"The VPC that you're trying to disassociate from the private hosted zone is the last VPC that is associated with the hosted zone.",
		)
	}
	z.vpcs = slices.DeleteFunc(z.vpcs, func(o types.VPC) bool { return *o.VPCId == *v.VPCId })
	return nil
}

func (s *Service) associateVPC(
	account string, in *route53.AssociateVPCWithHostedZoneInput,
) (*route53.AssociateVPCWithHostedZoneOutput, error) {
	z, err := s.find(account, in.HostedZoneId)
	if err != nil {
		return nil, err
	}
	if err := s.join(z, in.VPC); err != nil {
		return nil, err
	}
	return &route53.AssociateVPCWithHostedZoneOutput{ChangeInfo: s.submit(account, aws.ToString(in.Comment))}, nil
}

func (s *Service) disassociateVPC(
	account string, in *route53.DisassociateVPCFromHostedZoneInput,
) (*route53.DisassociateVPCFromHostedZoneOutput, error) {
	z, err := s.find(account, in.HostedZoneId)
	if err != nil {
		return nil, err
	}
	if err := s.part(z, in.VPC); err != nil {
		return nil, err
	}
	return &route53.DisassociateVPCFromHostedZoneOutput{ChangeInfo: s.submit(account, aws.ToString(in.Comment))}, nil
}

func (s *Service) getChange(account string, in *route53.GetChangeInput) (*route53.GetChangeOutput, error) {
	c, ok := s.changes[trimID(in.Id)]
	if !ok || c.account != account {
		return nil, wire.Errorf("NoSuchChange", "A change with the specified change ID %s does not exist.", trimID(in.Id)).
			WithStatus(http.StatusNotFound)
	}
	return &route53.GetChangeOutput{ChangeInfo: s.describeChange(c)}, nil
}

// tagged returns the zone of a request about tags. There are no health checks.
func (s *Service) tagged(account string, kind types.TagResourceType, id *string) (*zone, error) {
	if kind == types.TagResourceTypeHealthcheck {
		return nil, wire.Errorf("NoSuchHealthCheck", "No health check found with ID: %s", trimID(id)).WithStatus(http.StatusNotFound)
	}
	if kind != types.TagResourceTypeHostedzone {
		return nil, invalidInput("Invalid resource type: %s", kind)
	}
	return s.find(account, id)
}

func (z *zone) tagSet() *types.ResourceTagSet {
	set := &types.ResourceTagSet{ResourceId: aws.String(z.id), ResourceType: types.TagResourceTypeHostedzone, Tags: []types.Tag{}}
	for _, k := range slices.Sorted(maps.Keys(z.tags)) {
		set.Tags = append(set.Tags, types.Tag{Key: aws.String(k), Value: aws.String(z.tags[k])})
	}
	return set
}

func (s *Service) listTags(account string, in *route53.ListTagsForResourceInput) (*route53.ListTagsForResourceOutput, error) {
	z, err := s.tagged(account, in.ResourceType, in.ResourceId)
	if err != nil {
		return nil, err
	}
	return &route53.ListTagsForResourceOutput{ResourceTagSet: z.tagSet()}, nil
}

func (s *Service) listTagsOfMany(account string, in *route53.ListTagsForResourcesInput) (*route53.ListTagsForResourcesOutput, error) {
	out := &route53.ListTagsForResourcesOutput{ResourceTagSets: []types.ResourceTagSet{}}
	for _, id := range in.ResourceIds {
		z, err := s.tagged(account, in.ResourceType, &id)
		if err != nil {
			return nil, err
		}
		out.ResourceTagSets = append(out.ResourceTagSets, *z.tagSet())
	}
	return out, nil
}

// maxAddedTags is the number of tags that a request can add.
// https://docs.aws.amazon.com/Route53/latest/APIReference/API_ChangeTagsForResource.html
const maxAddedTags = 10

// tagRules are the errors for tags; no words of AWS are on record.
// https://docs.aws.amazon.com/Route53/latest/APIReference/API_ChangeTagsForResource.html
var tagRules = tagging.Rules{
	Reserved: tagging.Refusal{Code: "InvalidInput", Message: "aws: prefixed tag key names are not allowed for external use."},
	Key:      tagging.Refusal{Code: "InvalidInput", Message: "A tag key must have 1 to 128 characters"},
	Value:    tagging.Refusal{Code: "InvalidInput", Message: "A tag value must have at most 256 characters"},
	TooMany:  tagging.Refusal{Code: "InvalidInput", Message: "Number of tags exceeds the maximum of 50"},
}

func (s *Service) changeTags(account string, in *route53.ChangeTagsForResourceInput) (*route53.ChangeTagsForResourceOutput, error) {
	z, err := s.tagged(account, in.ResourceType, in.ResourceId)
	if err != nil {
		return nil, err
	}
	tags := maps.Clone(z.tags)
	for _, k := range in.RemoveTagKeys {
		delete(tags, k)
	}
	if len(in.AddTags) > maxAddedTags {
		return nil, invalidInput(
			"1 validation error detected: Value at 'addTags' failed to satisfy constraint: Member must have length less than or equal to %d",
			maxAddedTags,
		)
	}
	added := map[string]string{}
	for _, t := range in.AddTags {
		added[aws.ToString(t.Key)] = aws.ToString(t.Value)
	}
	if err := tagRules.Check(tags, added); err != nil {
		return nil, err
	}
	maps.Copy(tags, added)
	z.tags = tags
	return &route53.ChangeTagsForResourceOutput{}, nil
}
