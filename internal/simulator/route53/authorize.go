package route53

import (
	"bytes"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/route53"
)

// recordKeys returns the condition keys of a change of records.
// https://docs.aws.amazon.com/Route53/latest/DeveloperGuide/specifying-rrset-conditions.html
func (s *Service) recordKeys(operation string, body []byte) map[string][]string {
	var in route53.ChangeResourceRecordSetsInput
	if operation != "ChangeResourceRecordSets" || s.wire.DecodeXML(bytes.NewReader(body), &in) != nil || in.ChangeBatch == nil {
		return nil
	}
	keys := map[string][]string{}
	add := func(key, value string) {
		if key = "route53:changeresourcerecordsets" + key; !slices.Contains(keys[key], value) {
			keys[key] = append(keys[key], value)
		}
	}
	for i := range in.ChangeBatch.Changes {
		change := &in.ChangeBatch.Changes[i]
		add("actions", string(change.Action))
		if set := change.ResourceRecordSet; set != nil && set.Name != nil {
			name := fqdn(*set.Name)
			add("normalizedrecordnames", name[:len(name)-1]) // without the final dot
			add("recordtypes", string(set.Type))
		}
	}
	return keys
}
