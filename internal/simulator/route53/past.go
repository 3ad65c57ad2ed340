package route53

import "time"

// pastRecord is a record set before a change; nil means that there was none.
type pastRecord struct {
	*record

	until time.Time
}

// remember keeps the record sets that differ from the new ones, because resolvers answer from their
// caches for the TTL of what they have cached, and changes take time to reach all name servers.
// https://docs.aws.amazon.com/Route53/latest/DeveloperGuide/route-53-concepts.html#route-53-concepts-time-to-live
func (s *Service) remember(z *zone, records map[key]*record) {
	now := s.env.Clock.Now()
	for k, p := range z.past {
		if !now.Before(p.until) {
			delete(z.past, k)
		}
	}
	keep := func(k key) {
		lag := s.env.Lag.Draw()
		old := z.records[k]
		if old != nil && old.alias == nil {
			lag = min(lag, time.Duration(old.ttl)*time.Second)
		}
		if _, ok := z.past[k]; ok || lag == 0 {
			return
		}
		if z.past == nil {
			z.past = map[key]pastRecord{}
		}
		z.past[k] = pastRecord{old, now.Add(lag)}
	}
	for k, x := range records {
		if z.records[k] != x {
			keep(k)
		}
	}
	for k := range z.records {
		if records[k] == nil {
			keep(k)
		}
	}
}

// answer returns what a resolver has for a record set: the zone's, or the one before the last change.
func (s *Service) answer(z *zone, name, kind string) *record {
	if p, ok := z.past[key{name, kind}]; ok && s.env.Clock.Now().Before(p.until) {
		return p.record
	}
	return z.lookup(name, kind)
}
