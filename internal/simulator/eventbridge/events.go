package eventbridge

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/google/uuid"

	"github.com/aws-operator/aws-operator/internal/simulator/fault"
	"github.com/aws-operator/aws-operator/internal/simulator/pattern"
	"github.com/aws-operator/aws-operator/internal/simulator/sqs"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// OpDeliver is the operation name of a delivery for faults.
const OpDeliver = "Deliver"

// event is an event in the form that targets receive.
// https://docs.aws.amazon.com/eventbridge/latest/ref/overiew-event-structure.html
type event struct {
	Version    string          `json:"version"`
	ID         string          `json:"id"`
	DetailType string          `json:"detail-type"`
	Source     string          `json:"source"`
	Account    string          `json:"account"`
	Time       string          `json:"time"`
	Region     string          `json:"region"`
	Resources  []string        `json:"resources"`
	Detail     json.RawMessage `json:"detail"`
}

// Publish emits an event on the default bus of an account and region, as AWS's
// own services do. An event whose detail cannot be encoded is dropped.
func (s *Service) Publish(ctx context.Context, account, region, source, detailType string, resources []string, detail any) {
	r := s.regions.At(wire.Target{Account: account, Region: region})
	if !r.awaited(s.env.Clock.Now(), map[string]any{"source": source, "detail-type": detailType, "account": account, "region": region}) {
		return
	}
	encoded, err := json.Marshal(detail)
	if err != nil {
		return
	}
	s.emit(ctx, r, defaultBus, &event{
		Version: "0", ID: uuid.NewString(), DetailType: detailType, Source: source, Account: account, Region: region,
		Time: formatTime(s.env.Clock.Now()), Resources: orEmpty(resources), Detail: encoded,
	}, 0)
}

// awaited reports whether a rule of the default bus may match an event with the known fields. No
// rule matches most of the events of AWS's services, which then need not be encoded.
func (r *region) awaited(now time.Time, known map[string]any) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, found := range r.buses[defaultBus].rules {
		if found.live(now) && found.pattern.MayMatch(known) {
			return true
		}
	}
	return false
}

// live reports whether a rule matches events. Some time passes before a new one does.
func (r *rule) live(now time.Time) bool { return r.enabled && r.pattern != nil && !now.Before(r.since) }

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

func formatTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }

// maxHops is the maximum number of buses that an event passes through.
const maxHops = 2

// emit passes an event to the targets of the matching rules of a bus.
func (s *Service) emit(ctx context.Context, r *region, busName string, e *event, hops int) {
	text, err := json.Marshal(e)
	if err != nil {
		return // strings and checked JSON always encode
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var document map[string]any
	if decoder.Decode(&document) != nil {
		return
	}
	type match struct {
		name, arn string
		targets   []types.Target
	}
	var matches []match
	now := s.env.Clock.Now()
	r.mu.RLock()
	if b, ok := r.buses[busName]; ok {
		for _, found := range b.rules {
			if found.live(now) && found.pattern.Match(document) {
				matches = append(matches, match{found.name, found.arn, found.targets})
			}
		}
	}
	r.mu.RUnlock()
	for _, m := range matches {
		for i := range m.targets {
			d := delivery{rule: m.name, ruleARN: m.arn, target: &m.targets[i], event: e, document: document, text: text, hops: hops}
			s.schedule(ctx, r, &d)
		}
	}
}

// delivery is a delivery of one event to one target.
type delivery struct {
	rule, ruleARN string
	target        *types.Target
	event         *event
	document      map[string]any
	text          []byte
	hops          int
}

// schedule delivers as the faults specify: now, late, twice or not at all.
func (s *Service) schedule(ctx context.Context, r *region, d *delivery) {
	effect := s.faults.Decide(fault.CallInfo{
		Account: r.Account, Region: r.Region, Service: "events", Operation: OpDeliver,
		ResourceType: ruleType, Name: d.rule, PhysicalID: d.ruleARN,
	})
	times := 1
	if effect.Fails() {
		times = 0
		if effect.AfterEffect {
			times = 2
		}
	}
	ctx = context.WithoutCancel(ctx) // the delivery outlives the call of the event's source
	for range times {
		s.after(effect.Latency+s.late(), func() { s.deliver(ctx, d) })
	}
	if times > 0 && s.env.Lag.OneIn(oneInTwice) {
		s.after(effect.Latency+s.env.Lag.Draw(), func() { s.deliver(ctx, d) })
	}
}

// One of so many deliveries is late, so that another one may overtake it, and one of so many happens
// twice: EventBridge delivers at least once, in any order.
// https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-rules-best-practices.html
const oneInLate, oneInTwice = 5, 10

// late returns how late a delivery is.
func (s *Service) late() time.Duration {
	if !s.env.Lag.OneIn(oneInLate) {
		return 0
	}
	return s.env.Lag.Draw()
}

// after runs fn at once or after a time.
func (s *Service) after(delay time.Duration, fn func()) {
	if delay <= 0 {
		fn()
		return
	}
	// A stepped clock holds its lock during the callback, and deliveries read the time.
	s.env.Clock.AfterFunc(delay, func() { go fn() })
}

// principal is the service as the policies of its targets name it.
const principal = "events.amazonaws.com"

func (s *Service) deliver(ctx context.Context, d *delivery) {
	body := d.input()
	arn := aws.ToString(d.target.Arn)
	parts := strings.SplitN(arn, ":", 6)
	if len(parts) != 6 {
		return
	}
	session, err := s.assume(aws.ToString(d.target.RoleArn), d.ruleARN)
	switch {
	case err != nil: // the target is not called
	case parts[2] == "sqs":
		message := sqs.Delivery{Body: body, Sender: "AIDAIRGEWTHU6JW4QEVBW", Service: principal, Source: d.ruleARN, Session: session}
		if p := d.target.SqsParameters; p != nil {
			message.Group = aws.ToString(p.MessageGroupId)
			message.Dedup = d.event.ID
		}
		err = s.queues.Deliver(arn, message)
	case parts[2] == "sns":
		if err = s.topics.MayPublish(principal, d.ruleARN, arn, session); err == nil {
			err = s.topics.Publish(ctx, arn, "", body)
		}
	case parts[2] == "events":
		if d.hops < maxHops {
			to := s.regions.At(wire.Target{Account: parts[4], Region: parts[3]})
			s.emit(ctx, to, strings.TrimPrefix(parts[5], "event-bus/"), d.event, d.hops+1)
		}
	}
	if err != nil && d.target.DeadLetterConfig != nil {
		// Without that queue the event is lost, as in AWS.
		_ = s.queues.Deliver(aws.ToString(d.target.DeadLetterConfig.Arn), sqs.Delivery{
			Body: string(d.text), Service: principal, Source: d.ruleARN,
		})
	}
}

// input returns the input of the target.
// https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-transform-target-input.html
func (d *delivery) input() string {
	switch t := d.target; {
	case t.Input != nil:
		return *t.Input
	case t.InputPath != nil:
		return encode(d.lookup(*t.InputPath))
	case t.InputTransformer != nil:
		return d.transform(t.InputTransformer)
	default:
		return string(d.text)
	}
}

// lookup follows a path of plain steps: $.detail.state.
func (d *delivery) lookup(path string) any {
	var at any = d.document
	for step := range strings.SplitSeq(strings.TrimPrefix(strings.TrimPrefix(path, "$"), "."), ".") {
		if step == "" {
			continue
		}
		name, index, _ := strings.Cut(step, "[")
		if object, ok := at.(map[string]any); ok && name != "" {
			at = object[name]
		} else if name != "" {
			return nil
		}
		if index == "" {
			continue
		}
		var n int
		list, ok := at.([]any)
		if _, err := fmt.Sscanf(index, "%d]", &n); err != nil || !ok || n < 0 || n >= len(list) {
			return nil
		}
		at = list[n]
	}
	return at
}

func encode(v any) string {
	var buf bytes.Buffer
	encoder := json.NewEncoder(&buf)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(v) != nil {
		return "null"
	}
	return strings.TrimSuffix(buf.String(), "\n")
}

// transform fills the template. It inserts a value in quotes as plain text, and any other as JSON.
func (d *delivery) transform(t *types.InputTransformer) string {
	values := map[string]any{
		"aws.events.rule-arn":             d.ruleARN,
		"aws.events.rule-name":            d.rule,
		"aws.events.event.ingestion-time": d.event.Time,
		"aws.events.event.json":           json.RawMessage(d.text),
		"aws.events.event":                json.RawMessage(d.text),
	}
	for name, path := range t.InputPathsMap {
		values[name] = d.lookup(path)
	}
	var out strings.Builder
	template := aws.ToString(t.InputTemplate)
	quoted := false
	for i := 0; i < len(template); i++ {
		c := template[i]
		if c == '"' && (i == 0 || template[i-1] != '\\') {
			quoted = !quoted
		}
		end := strings.IndexByte(template[i:], '>')
		if c != '<' || end < 0 {
			out.WriteByte(c)
			continue
		}
		value, ok := values[template[i+1:i+end]]
		if !ok {
			out.WriteByte(c)
			continue
		}
		out.WriteString(render(value, quoted))
		i += end
	}
	return out.String()
}

func render(value any, quoted bool) string {
	if value == nil {
		return ""
	}
	text, isText := value.(string)
	if !quoted || !isText {
		return encode(value)
	}
	inner := encode(text)
	return inner[1 : len(inner)-1]
}

func (s *Service) putEvents(ctx context.Context, in *eventbridge.PutEventsInput) (*eventbridge.PutEventsOutput, error) {
	if len(in.Entries) == 0 || len(in.Entries) > 10 {
		return nil, validation(
			"1 validation error detected: Value at 'entries' failed to satisfy constraint: Member must have length less than or equal to 10 and greater than or equal to 1",
		)
	}
	out := &eventbridge.PutEventsOutput{}
	for i := range in.Entries {
		id, err := s.putEvent(ctx, &in.Entries[i])
		if err != nil {
			out.FailedEntryCount++
			out.Entries = append(out.Entries, types.PutEventsResultEntry{ErrorCode: &err.Code, ErrorMessage: &err.Message})
			continue
		}
		out.Entries = append(out.Entries, types.PutEventsResultEntry{EventId: &id})
	}
	return out, nil
}

func (s *Service) putEvent(ctx context.Context, entry *types.PutEventsRequestEntry) (id string, refused *wire.Error) {
	source := aws.ToString(entry.Source)
	switch {
	case source == "":
		return "", wire.Errorf("InvalidArgument", "Parameter Source is not valid. Reason: Source is a required argument.")
	case aws.ToString(entry.DetailType) == "":
		return "", wire.Errorf("InvalidArgument", "Parameter DetailType is not valid. Reason: DetailType is a required argument.")
	case strings.HasPrefix(source, "aws."):
		return "", wire.Errorf("NotAuthorizedForSourceException", "Not authorized for the source.")
	}
	var detail map[string]any
	if json.Unmarshal([]byte(aws.ToString(entry.Detail)), &detail) != nil {
		return "", wire.Errorf("MalformedDetail", "Detail is malformed.")
	}
	at := s.env.Clock.Now()
	if entry.Time != nil {
		at = *entry.Time
	}
	id = uuid.NewString()
	where := wire.TargetFrom(ctx)
	e := &event{
		Version: "0", ID: id, DetailType: *entry.DetailType, Source: source, Account: where.Account, Region: where.Region,
		Time: formatTime(at), Resources: orEmpty(entry.Resources), Detail: json.RawMessage(*entry.Detail),
	}
	var to *region
	var name string
	// As in AWS, an event for a bus that does not exist is accepted and dropped.
	if s.withBus(where, entry.EventBusName, func(r *region, b *bus) error {
		to, name = r, b.name
		return nil
	}) == nil {
		s.emit(ctx, to, name, e, 0)
	}
	return id, nil
}

func (s *Service) testEventPattern(_ context.Context, in *eventbridge.TestEventPatternInput) (*eventbridge.TestEventPatternOutput, error) {
	p, err := pattern.Parse(aws.ToString(in.EventPattern))
	if err != nil {
		return nil, wire.Errorf("InvalidEventPatternException", "Event pattern is not valid. Reason: %s", err)
	}
	if !json.Valid([]byte(aws.ToString(in.Event))) {
		return nil, validation("Parameter Event is not valid.")
	}
	return &eventbridge.TestEventPatternOutput{Result: p.MatchJSON([]byte(*in.Event))}, nil
}
