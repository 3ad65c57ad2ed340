package autoscaling

import (
	"context"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/aws-operator/aws-operator/internal/simulator/property"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
)

// scheduledActionProvider implements AWS::AutoScaling::ScheduledAction.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-autoscaling-scheduledaction.html
type scheduledActionProvider struct{ s *Service }

type planProperties struct {
	AutoScalingGroupName, Recurrence, TimeZone string
	StartTime, EndTime                         *time.Time
	MinSize, MaxSize, DesiredCapacity          *int32
}

// on runs fn on the group of an action and enqueues the group.
func (p scheduledActionProvider) on(r resource.Request, fn func(*group) error) error {
	name, _ := property.Text(r.Properties["AutoScalingGroupName"])
	reg := p.s.regions.At(r.Target())
	reg.mu.Lock()
	defer reg.mu.Unlock()
	g, err := reg.find(&name)
	if err == nil {
		err = fn(g)
	}
	if err != nil {
		return property.HandlerError(handlerService, err)
	}
	p.s.queue.post(g)
	return nil
}

func (p scheduledActionProvider) put(r resource.Request, name string) (resource.Result, error) {
	var props planProperties
	if err := property.Decode(r.Properties, &props); err != nil {
		return resource.Result{}, err
	}
	err := p.on(r, func(g *group) error {
		return g.putScheduled(p.s.now(), p.s.partition(), types.ScheduledUpdateGroupActionRequest{
			ScheduledActionName: &name, Recurrence: optional(props.Recurrence), TimeZone: optional(props.TimeZone),
			StartTime: props.StartTime,
			EndTime:   props.EndTime, MinSize: props.MinSize, MaxSize: props.MaxSize, DesiredCapacity: props.DesiredCapacity,
		})
	})
	return resource.Result{PhysicalID: name, Attributes: map[string]any{"ScheduledActionName": name}}, err
}

func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// Create creates a scheduled action.
func (p scheduledActionProvider) Create(_ context.Context, r resource.Request) (resource.Result, error) {
	return p.put(r, property.Name(r, 255, ""))
}

// Update replaces a scheduled action with one of the same name.
func (p scheduledActionProvider) Update(_ context.Context, r resource.Request) (resource.Result, error) {
	return p.put(r, r.PhysicalID)
}

// Delete deletes a scheduled action. A single action that has run no longer exists.
func (p scheduledActionProvider) Delete(_ context.Context, r resource.Request) error {
	return p.on(r, func(g *group) error {
		if g.deleteScheduled(r.PhysicalID) != nil {
			return property.Missing(planType, r.PhysicalID)
		}
		return nil
	})
}

// Read returns a scheduled action's properties.
func (p scheduledActionProvider) Read(_ context.Context, r resource.Request) (map[string]any, error) {
	props := map[string]any{}
	err := p.on(r, func(g *group) error {
		i := slices.IndexFunc(g.scheduled, func(a *scheduled) bool { return a.name == r.PhysicalID })
		if i < 0 {
			return property.Missing(planType, r.PhysicalID)
		}
		a := g.scheduled[i]
		props["AutoScalingGroupName"], props["ScheduledActionName"] = g.name, a.name
		for name, text := range map[string]string{"Recurrence": a.recurrence, "TimeZone": a.zone} {
			if text != "" {
				props[name] = text
			}
		}
		for name, size := range map[string]*int32{"MinSize": a.min, "MaxSize": a.max, "DesiredCapacity": a.desired} {
			if size != nil {
				props[name] = *size
			}
		}
		return nil
	})
	return props, err
}
