package fault

import (
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"time"
)

// Incident is something that happens to instances or zones without a call of a client. Kind decides
// which other fields are needed.
type Incident struct {
	// Kind is one of the kinds below.
	Kind IncidentKind `json:"kind"`
	// Account and Region are those of the instance. The default is the simulator's.
	Account string `json:"account,omitempty"`
	Region  string `json:"region,omitempty"`
	// Instance is the ID of the instance, for all kinds except Capacity.
	Instance string `json:"instance,omitempty"`
	// Zone and InstanceType have no capacity; an empty type is every type.
	Zone         string `json:"zone,omitempty"`
	InstanceType string `json:"instanceType,omitempty"`
	// Action is what a spot interruption does: "terminate", the default, or "stop".
	Action string `json:"action,omitempty"`
	// Check is the status check that fails: "system" or "instance".
	Check string `json:"check,omitempty"`
	// Event is the code of a scheduled event, for example "instance-retirement", and After the time until
	// it begins, such as "90s"; the default is two weeks.
	Event string `json:"event,omitempty"`
	After string `json:"after,omitempty"`
	// Resolved ends a lack of capacity, lets a status check pass again, or cancels scheduled events.
	Resolved bool `json:"resolved,omitempty"`
}

// IncidentKind is a kind of incident.
type IncidentKind string

// The kinds of incidents.
const (
	// Capacity makes launches in a zone fail with InsufficientInstanceCapacity.
	// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/troubleshooting-launch.html#troubleshooting-launch-capacity
	Capacity IncidentKind = "Capacity"
	// SpotInterruption gives an instance its notice, in instance metadata and as an event, and
	// interrupts it two minutes later.
	// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-instance-termination-notices.html
	SpotInterruption IncidentKind = "SpotInterruption"
	// RebalanceRecommendation gives an instance the recommendation, in instance metadata and as an event.
	// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/rebalance-recommendations.html
	RebalanceRecommendation IncidentKind = "RebalanceRecommendation"
	// StatusCheck makes a status check of an instance fail.
	// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/monitoring-system-instance-status-check.html
	StatusCheck IncidentKind = "StatusCheck"
	// ScheduledEvent schedules an event for an instance: EC2 reports it, and later reboots or stops the
	// instance.
	// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/monitoring-instances-status-check_sched.html
	ScheduledEvent IncidentKind = "ScheduledEvent"
)

// Compute is the simulated EC2.
type Compute interface {
	SetCapacity(zone, instanceType string, available bool)
	InterruptSpot(account, region, instance, action string) error
	RecommendRebalance(account, region, instance string) error
	SetCheck(account, region, instance, check string, passes bool) error
	SetEvent(account, region, instance, code string, after time.Duration, canceled bool) error
}

// Apply makes the incident happen. It returns an error if the incident is incomplete or the instance is
// not in a state for it.
func (i *Incident) Apply(to Compute) error {
	if i.Kind == Capacity {
		if i.Zone == "" {
			return fmt.Errorf("%s needs a zone", i.Kind)
		}
		to.SetCapacity(i.Zone, i.InstanceType, i.Resolved)
		return nil
	}
	if i.Instance == "" {
		return fmt.Errorf("%q needs an instance", i.Kind)
	}
	switch i.Kind {
	case SpotInterruption:
		action := i.Action
		if action == "" {
			action = "terminate"
		}
		if action != "terminate" && action != "stop" {
			return fmt.Errorf("the action of %s is terminate or stop, not %q", i.Kind, action)
		}
		return to.InterruptSpot(i.Account, i.Region, i.Instance, action)
	case RebalanceRecommendation:
		return to.RecommendRebalance(i.Account, i.Region, i.Instance)
	case StatusCheck:
		if i.Check != "system" && i.Check != "instance" {
			return fmt.Errorf("the check of %s is system or instance, not %q", i.Kind, i.Check)
		}
		return to.SetCheck(i.Account, i.Region, i.Instance, i.Check, i.Resolved)
	case ScheduledEvent:
		return i.schedule(to)
	case Capacity:
	}
	return fmt.Errorf("unknown kind %q", i.Kind)
}

func (i *Incident) schedule(to Compute) error {
	var after time.Duration
	if i.After != "" {
		var err error
		if after, err = time.ParseDuration(i.After); err != nil || after <= 0 {
			return fmt.Errorf("after is a positive duration such as 90s, not %q", i.After)
		}
	}
	return to.SetEvent(i.Account, i.Region, i.Instance, i.Event, after, i.Resolved)
}

// IncidentPath is the path of the control endpoint. No bucket of S3 can have that name.
const IncidentPath = "/_simulator/incidents"

// mostIncident bounds the size of a request.
const mostIncident = 64 << 10

// IncidentHandler applies incidents that clients post as JSON. A response has the status 204, or 400
// and the error as text. Requests without the content type of JSON are refused, so that no web page can
// send them.
func IncidentHandler(apply func(Incident) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			http.Error(w, "Incidents are posted.", http.StatusMethodNotAllowed)
			return
		}
		if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
			http.Error(w, "The content type must be application/json.", http.StatusUnsupportedMediaType)
			return
		}
		var incident Incident
		decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, mostIncident))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&incident); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if err := apply(incident); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
}
