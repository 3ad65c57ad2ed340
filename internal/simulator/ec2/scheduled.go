package ec2

import (
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// scheduled is an event that EC2 schedules for an instance.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/monitoring-instances-status-check_sched.html
type scheduled struct {
	id     string
	code   types.EventCode
	before time.Time // NotBefore
	state  string    // active, completed, or canceled
}

// scheduledFor is how long an event lasts. scheduledAhead is by default how long before an event EC2
// reports it.
const (
	scheduledFor   = 2 * time.Hour
	scheduledAhead = 14 * 24 * time.Hour
)

// scheduledKinds are the descriptions of events and the types of AWS Health's events, by code. The type
// for a retirement is documented; the others and the texts have been seen by users only.
// https://docs.aws.amazon.com/health/latest/ug/automating-instance-actions.html
var scheduledKinds = map[types.EventCode]struct{ text, health string }{
	types.EventCodeInstanceReboot: {
		"The instance is scheduled for a reboot", "AWS_EC2_INSTANCE_REBOOT_MAINTENANCE_SCHEDULED",
	},
	types.EventCodeSystemReboot: {"The instance is scheduled for a reboot", "AWS_EC2_SYSTEM_REBOOT_MAINTENANCE_SCHEDULED"},
	types.EventCodeSystemMaintenance: {
		"The instance is scheduled for maintenance", "AWS_EC2_INSTANCE_NETWORK_MAINTENANCE_SCHEDULED",
	},
	types.EventCodeInstanceRetirement: {
		"The instance is running on degraded hardware", "AWS_EC2_PERSISTENT_INSTANCE_RETIREMENT_SCHEDULED",
	},
	types.EventCodeInstanceStop: {"The instance is running on degraded hardware", "AWS_EC2_INSTANCE_STOP_SCHEDULED"},
}

// ScheduleEvent schedules an event for a running instance: instance-reboot, system-reboot,
// system-maintenance, instance-retirement, or instance-stop. EC2 reports it at once, also in instance
// metadata and, through AWS Health, as an event. After a duration (zero means two weeks), the instance
// is rebooted or stopped, and an Auto Scaling group replaces it. It returns an error for an instance
// that is not running.
func (s *Service) ScheduleEvent(account, regionName, id, code string, after time.Duration) error {
	r := s.locked(wire.Target{Account: account, Region: regionName})
	defer r.mu.Unlock()
	i, err := r.instance(id)
	if err != nil {
		return err
	}
	kind, ok := scheduledKinds[types.EventCode(code)]
	if !ok {
		return invalid("The event code '%s' is not valid", code)
	}
	if i.State != running {
		return incorrectState("Instance '%s' is not 'running'.", id)
	}
	if after == 0 {
		after = scheduledAhead
	}
	e := &scheduled{
		id: newID("instance-event"), code: types.EventCode(code), before: s.env.Clock.Now().Add(after).Truncate(time.Second), state: "active",
	}
	i.scheduled = append(i.scheduled, e)
	p, from := r.Target, e.before
	s.runner.add(&s.notices, func() { s.publishHealth(p, id, kind.health, from) })
	s.runner.after(after, &line{}, func() { s.begin(r, i, e) })
	return nil
}

// SetEvent schedules an event for an instance or cancels those that are scheduled.
func (s *Service) SetEvent(account, regionName, id, code string, after time.Duration, canceled bool) error {
	if canceled {
		return s.CancelEvents(account, regionName, id, code)
	}
	return s.ScheduleEvent(account, regionName, id, code, after)
}

// CancelEvents cancels the scheduled events of an instance with a code, which have not begun yet.
func (s *Service) CancelEvents(account, regionName, id, code string) error {
	r := s.locked(wire.Target{Account: account, Region: regionName})
	defer r.mu.Unlock()
	i, err := r.instance(id)
	if err != nil {
		return err
	}
	for _, e := range i.scheduled {
		if e.code == types.EventCode(code) && e.state == "active" {
			e.state = "canceled"
		}
	}
	return nil
}

// begin makes a scheduled event happen.
func (s *Service) begin(r *region, i *instance, e *scheduled) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.state != "active" {
		return
	}
	e.state = "completed"
	if i.State != running {
		return
	}
	i.Due = true
	s.notify(i)
	switch e.code {
	case types.EventCodeInstanceReboot, types.EventCodeSystemReboot:
		s.reboot(r, i)
	case types.EventCodeInstanceStop, types.EventCodeInstanceRetirement:
		// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_StateReason.html
		why := "Server.ScheduledStop"
		s.stop(r, i, reason(why, "Stopped due to a scheduled retirement"), why)
	case types.EventCodeSystemMaintenance: // The instance runs on.
	}
}

// describe returns the text of an event. One that has ended begins with how.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_InstanceStatusEvent.html
func (e *scheduled) describe() string {
	prefix := map[string]string{"completed": "[Completed] ", "canceled": "[Canceled] "}[e.state]
	return prefix + scheduledKinds[e.code].text
}

// events returns the scheduled events of an instance.
func (i *instance) events() []types.InstanceStatusEvent {
	list := []types.InstanceStatusEvent{}
	for _, e := range i.scheduled {
		list = append(list, types.InstanceStatusEvent{
			InstanceEventId: aws.String(e.id), Code: e.code, Description: aws.String(e.describe()), NotBefore: aws.Time(e.before),
			NotAfter: aws.Time(e.before.Add(scheduledFor)),
		})
	}
	return list
}

// maintenance returns the scheduled events of an instance as its metadata has them: those that are
// active, or the others.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/viewing_scheduled_events.html
func (i *instance) maintenance(active bool) string {
	type entry struct {
		NotBefore, Code, Description string
		ID                           string `json:"EventId"`
		NotAfter, State              string
	}
	const layout = "2 Jan 2006 15:04:05 GMT"
	list := []entry{}
	for _, e := range i.scheduled {
		if (e.state == "active") == active {
			list = append(list, entry{
				e.before.UTC().Format(layout), string(e.code), e.describe(), e.id, e.before.Add(scheduledFor).UTC().Format(layout), e.state,
			})
		}
	}
	return encode(list)
}

// publishHealth emits the event of AWS Health about a scheduled event.
// https://docs.aws.amazon.com/health/latest/ug/aws-health-events-eventbridge-schema.html
func (s *Service) publishHealth(p wire.Target, id, code string, from time.Time) {
	if s.options.Publish == nil {
		return
	}
	type entity struct {
		Value string `json:"entityValue"`
	}
	arn := "arn:" + s.partition() + ":health:" + p.Region + "::event/EC2/" + code + "/" + code + "_" + id
	s.options.Publish(s.ctx, p.Account, p.Region, "aws.health", "AWS Health Event", []string{id}, struct {
		ARN      string   `json:"eventArn"`
		Service  string   `json:"service"`
		Code     string   `json:"eventTypeCode"`
		Category string   `json:"eventTypeCategory"`
		Start    string   `json:"startTime"`
		Affected []entity `json:"affectedEntities"`
	}{arn, "EC2", code, "scheduledChange", from.UTC().Format(time.RFC1123), []entity{{id}}})
}

// eventFields are the filters of DescribeInstanceStatus on scheduled events.
func eventFields(value func(*scheduled) string) func(*instance) []string {
	return func(i *instance) []string {
		var values []string
		for _, e := range i.scheduled {
			values = append(values, value(e))
		}
		return slices.Compact(values)
	}
}
