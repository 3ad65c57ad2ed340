package route53

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// recordPage is the maximum number of record sets in a page.
const recordPage = 300

// invalidBatch returns the error for an invalid change; AWS puts the reason in brackets.
func invalidBatch(format string, args ...any) *wire.Error {
	return wire.Errorf("InvalidChangeBatch", "[%s]", fmt.Sprintf(format, args...))
}

func (k key) String() string { return fmt.Sprintf("[name='%s', type='%s']", k.name, k.kind) }

// routed returns a member of a record set that configures a routing policy or a health check, if
// any.
func routed(set *types.ResourceRecordSet) string {
	for member, given := range map[string]bool{
		"SetIdentifier": set.SetIdentifier != nil, "Weight": set.Weight != nil, "Failover": set.Failover != "", "Region": set.Region != "",
		"GeoLocation": set.GeoLocation != nil, "GeoProximityLocation": set.GeoProximityLocation != nil,
		"MultiValueAnswer": set.MultiValueAnswer != nil,
		"HealthCheckId":    set.HealthCheckId != nil, "CidrRoutingConfig": set.CidrRoutingConfig != nil,
		"TrafficPolicyInstanceId": set.TrafficPolicyInstanceId != nil,
	} {
		if given {
			return member
		}
	}
	return ""
}

// recordOf validates a record set by the rules for its kind and converts it.
func recordOf(set *types.ResourceRecordSet, action string) (*record, error) {
	if member := routed(set); member != "" {
		return nil, unsupported(member)
	}
	x := &record{key: key{fqdn(aws.ToString(set.Name)), string(set.Type)}, ttl: aws.ToInt64(set.TTL), alias: set.AliasTarget}
	plain := set.TTL != nil && len(set.ResourceRecords) > 0
	if (x.alias != nil) == plain || x.alias != nil && (set.TTL != nil || len(set.ResourceRecords) > 0) {
		found := "none"
		if x.alias != nil {
			found = "more than one"
		}
		return nil, invalidInput(
			"Invalid request: Expected exactly one of [AliasTarget, all of [TTL, and ResourceRecords], or TrafficPolicyInstanceId], but found %s in Change with [Action=%s, Name=%s, Type=%s, SetIdentifier=null]",
			found,
			action,
			aws.ToString(set.Name),
			set.Type,
		)
	}
	if problem := checkDomain(x.name); problem != "" {
		return nil, invalidBatch("FATAL problem: %s encountered with '%s'", problem, aws.ToString(set.Name))
	}
	if !slices.Contains(types.RRType("").Values(), set.Type) {
		return nil, invalidInput("Invalid record type %q", set.Type)
	}
	for _, r := range set.ResourceRecords {
		x.values = append(x.values, aws.ToString(r.Value))
	}
	for _, value := range x.values {
		if err := checkValue(x.kind, value); err != nil {
			return nil, err
		}
	}
	if x.kind == "CNAME" && len(x.values) > 1 {
		return nil, invalidBatch("RRSet of type CNAME with DNS name %s contains more than one resource record", x.name)
	}
	return x, nil
}

func checkValue(kind, value string) error {
	a, err := netip.ParseAddr(value)
	switch {
	case kind == "A" && (err != nil || !a.Is4()):
		return invalidBatch(
			"Invalid Resource Record: 'FATAL problem: ARRDATAIllegalIPv4Address (Value is not a valid IPv4 address) encountered with '%s''",
			value,
		)
	case kind == "AAAA" && (err != nil || !a.Is6()):
		return invalidBatch(
			"Invalid Resource Record: 'FATAL problem: AAAARRDATAIllegalIPv6Address (Value is not a valid IPv6 address) encountered with '%s''",
			value,
		)
	case (kind == "TXT" || kind == "SPF") && !strings.HasPrefix(value, `"`):
		return invalidBatch(
			"Invalid Resource Record: 'FATAL problem: InvalidCharacterString (Value should be enclosed in quotation marks) encountered with '%s''",
			value,
		)
	case (kind == "TXT" || kind == "SPF") && longString(value):
		return invalidBatch(
			"Invalid Resource Record: 'FATAL problem: CharacterStringTooLong (Value is too long) encountered with '%s''", value,
		)
	case value == "":
		return invalidInput("A resource record has no value")
	case utf8.RuneCountInString(value) > maxValue:
		return invalidInput(
			"1 validation error detected: Value at 'changeBatch.changes.1.member.resourceRecordSet.resourceRecords.1.member.value' failed to satisfy constraint: Member must have length less than or equal to %d",
			maxValue,
		)
	}
	return nil
}

// longString reports whether one of the quoted strings of a TXT record is too long.
// https://github.com/aws/aws-cdk/issues/8244
func longString(value string) bool {
	for i, part := range strings.Split(strings.ReplaceAll(value, `\"`, "_"), `"`) {
		if i%2 == 1 && len(part) > maxTXT {
			return true
		}
	}
	return false
}

// change applies one change to a copy of a zone's records.
func (s *Service) change(z *zone, records map[key]*record, c *types.Change) error {
	if c.ResourceRecordSet == nil {
		return invalidInput("ResourceRecordSet is required")
	}
	x, err := recordOf(c.ResourceRecordSet, string(c.Action))
	if err != nil {
		return err
	}
	if x.name != z.name && !strings.HasSuffix(x.name, "."+z.name) {
		return invalidBatch("RRSet with DNS name %s is not permitted in zone %s", x.name, z.name)
	}
	old, exists := records[x.key]
	switch c.Action {
	case types.ChangeActionDelete:
		switch {
		case !exists:
			return invalidBatch("Tried to delete resource record set %s but it was not found", x.key)
		case !old.same(x):
			return invalidBatch("Tried to delete resource record set %s but the values provided do not match the current values", x.key)
		case x.name == z.name && x.kind == "SOA":
			return invalidBatch("A HostedZone must contain exactly one SOA record.")
		case x.name == z.name && x.kind == "NS":
			return invalidBatch("A HostedZone must contain at least one NS record for the zone itself.")
		}
		delete(records, x.key)
		return nil
	case types.ChangeActionCreate:
		if exists {
			return invalidBatch("Tried to create resource record set %s but it already exists", x.key)
		}
	case types.ChangeActionUpsert:
	default:
		return invalidInput("Invalid action %q", c.Action)
	}
	if err := s.permitted(z, records, x); err != nil {
		return err
	}
	records[x.key] = x
	return nil
}

// permitted validates a record set against the others of its zone.
func (s *Service) permitted(z *zone, records map[key]*record, x *record) error {
	if x.kind == "CNAME" && x.name == z.name {
		return invalidBatch("RRSet of type CNAME with DNS name %s is not permitted at apex in zone %s", x.name, z.name)
	}
	for k := range records {
		if k.name == x.name && k.kind != x.kind && (k.kind == "CNAME" || x.kind == "CNAME") {
			return invalidBatch(
				"RRSet of type %s with DNS name %s is not permitted as it conflicts with other records with the same DNS name in zone %s",
				x.kind,
				x.name,
				z.name,
			)
		}
	}
	if x.alias == nil {
		return nil
	}
	target := fqdn(aws.ToString(x.alias.DNSName))
	if trimID(x.alias.HostedZoneId) == "" {
		return invalidInput("The alias target of %s names no hosted zone", x.name)
	}
	if trimID(x.alias.HostedZoneId) != z.id {
		return nil
	}
	if target != z.name && !strings.HasSuffix(target, "."+z.name) {
		return invalidBatch(
			"Tried to create an alias that targets %s, type %s in zone %s, but the alias target name does not lie within the target zone",
			target,
			x.kind,
			z.id,
		)
	}
	if _, ok := records[key{target, x.kind}]; !ok {
		return invalidBatch(
			"Tried to create an alias that targets %s, type %s in zone %s, but that target was not found", target, x.kind, z.id,
		)
	}
	return nil
}

// same reports whether two record sets have the same values.
func (x *record) same(o *record) bool {
	if (x.alias == nil) != (o.alias == nil) {
		return false
	}
	if x.alias != nil {
		return fqdn(aws.ToString(x.alias.DNSName)) == fqdn(aws.ToString(o.alias.DNSName)) &&
			trimID(x.alias.HostedZoneId) == trimID(o.alias.HostedZoneId)
	}
	return x.ttl == o.ttl && slices.Equal(slices.Sorted(slices.Values(x.values)), slices.Sorted(slices.Values(o.values)))
}

// The limits of a request that changes records, and of a record.
// https://docs.aws.amazon.com/Route53/latest/DeveloperGuide/DNSLimitations.html#limits-api-requests-changeresourcerecordsets
// https://docs.aws.amazon.com/Route53/latest/APIReference/API_ResourceRecord.html
// https://docs.aws.amazon.com/Route53/latest/DeveloperGuide/DomainNameFormat.html
const (
	maxElements   = 1000
	maxCharacters = 32000
	maxValue      = 4000
	maxTXT        = 255
	maxName       = 255
	maxLabel      = 63
)

// checkBatch returns an error if a batch has too many records or characters. UPSERT counts twice. The
// words are on record.
// https://github.com/DNSControl/dnscontrol/issues/1114, https://github.com/DNSControl/dnscontrol/issues/908
func checkBatch(changes []types.Change) error {
	elements, characters := 0, 0
	for _, c := range changes {
		if c.ResourceRecordSet == nil {
			continue
		}
		weight := 1
		if c.Action == types.ChangeActionUpsert {
			weight = 2
		}
		elements += weight * max(len(c.ResourceRecordSet.ResourceRecords), 1)
		for _, r := range c.ResourceRecordSet.ResourceRecords {
			characters += weight * utf8.RuneCountInString(aws.ToString(r.Value))
		}
	}
	switch {
	case elements > maxElements:
		return invalidBatch("Number of records limit of %d exceeded.", maxElements)
	case characters > maxCharacters:
		return invalidBatch("RDATA character limit of %d exceeded.", maxCharacters)
	}
	return nil
}

// checkDomain returns why a name is not a domain name, or "".
func checkDomain(name string) string {
	if len(name) > maxName {
		return "DomainNameTooLong (Domain name is too long)"
	}
	for label := range strings.SplitSeq(strings.TrimSuffix(name, "."), ".") {
		switch {
		case label == "":
			return "DomainLabelEmpty (Domain label is empty)"
		case len(label) > maxLabel:
			return "DomainLabelTooLong (Domain label is too long)"
		}
	}
	return ""
}

// apply applies changes, all or none.
// https://docs.aws.amazon.com/Route53/latest/APIReference/API_ChangeResourceRecordSets.html
func (s *Service) apply(z *zone, changes []types.Change) error {
	if len(changes) == 0 {
		return invalidInput("The change batch has no changes")
	}
	if err := checkBatch(changes); err != nil {
		return err
	}
	records := maps.Clone(z.records)
	for i := range changes {
		if err := s.change(z, records, &changes[i]); err != nil {
			return err
		}
	}
	s.remember(z, records)
	z.records = records
	return nil
}

func (s *Service) changeRecords(
	account string, in *route53.ChangeResourceRecordSetsInput,
) (*route53.ChangeResourceRecordSetsOutput, error) {
	z, err := s.find(account, in.HostedZoneId)
	if err != nil {
		return nil, err
	}
	if in.ChangeBatch == nil {
		return nil, invalidInput("ChangeBatch is required")
	}
	if err := s.apply(z, in.ChangeBatch.Changes); err != nil {
		return nil, err
	}
	return &route53.ChangeResourceRecordSetsOutput{ChangeInfo: s.submit(account, aws.ToString(in.ChangeBatch.Comment))}, nil
}

func (x *record) describe() types.ResourceRecordSet {
	d := types.ResourceRecordSet{Name: aws.String(x.name), Type: types.RRType(x.kind), AliasTarget: x.alias}
	if x.alias != nil {
		return d
	}
	d.TTL = aws.Int64(x.ttl)
	for _, value := range x.values {
		d.ResourceRecords = append(d.ResourceRecords, types.ResourceRecord{Value: aws.String(value)})
	}
	return d
}

// compareNames orders names as Route 53 does: by their labels from the last to the first.
func compareNames(a, b string) int {
	return slices.Compare(labels(a), labels(b))
}

func labels(name string) []string {
	list := strings.Split(strings.TrimSuffix(name, "."), ".")
	slices.Reverse(list)
	return list
}

func compareKeys(a, b key) int {
	return cmp.Or(compareNames(a.name, b.name), cmp.Compare(a.kind, b.kind))
}

func (s *Service) listRecords(account string, in *route53.ListResourceRecordSetsInput) (*route53.ListResourceRecordSetsOutput, error) {
	z, err := s.find(account, in.HostedZoneId)
	if err != nil {
		return nil, err
	}
	keys := slices.SortedFunc(maps.Keys(z.records), compareKeys)
	if in.StartRecordName != nil {
		start := key{fqdn(*in.StartRecordName), string(in.StartRecordType)}
		keys = slices.DeleteFunc(keys, func(k key) bool { return compareKeys(k, start) < 0 })
	}
	n := size(in.MaxItems, recordPage)
	out := &route53.ListResourceRecordSetsOutput{ResourceRecordSets: []types.ResourceRecordSet{}, MaxItems: aws.Int32(n)}
	if len(keys) > int(n) {
		out.IsTruncated, out.NextRecordName, out.NextRecordType = true, aws.String(keys[n].name), types.RRType(keys[n].kind)
		keys = keys[:n]
	}
	for _, k := range keys {
		out.ResourceRecordSets = append(out.ResourceRecordSets, z.records[k].describe())
	}
	return out, nil
}

// parseTTL parses a TTL, which templates contain as text.
func parseTTL(text string) (int64, error) {
	ttl, err := strconv.ParseInt(text, 10, 64)
	if err != nil || ttl < 0 || ttl > 2147483647 {
		return 0, invalidInput("Invalid TTL %q", text)
	}
	return ttl, nil
}

func ttlText(ttl int64) string { return strconv.FormatInt(ttl, 10) }
