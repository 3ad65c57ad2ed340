package ec2

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// StatusCheck is one of the two status checks that EC2 runs on every instance.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/monitoring-system-instance-status-check.html
type StatusCheck string

// Status checks.
const (
	// SystemCheck checks the hardware below the instance.
	SystemCheck StatusCheck = "system"
	// InstanceCheck checks the instance's own system and network.
	InstanceCheck StatusCheck = "instance"
)

// SetStatusCheck makes a status check of an instance fail or pass. It returns an error if the
// instance does not exist.
func (s *Service) SetStatusCheck(account, regionName, id string, check StatusCheck, passes bool) error {
	r := s.locked(wire.Target{Account: account, Region: regionName})
	defer r.mu.Unlock()
	i, err := r.instance(id)
	if err != nil {
		return err
	}
	if passes {
		delete(i.failing, check)
		i.Impaired = len(i.failing) > 0
	} else {
		i.fail(check, s.env.Clock.Now())
	}
	s.notify(i)
	return nil
}

// SetCheck is [Service.SetStatusCheck] with the check's name.
func (s *Service) SetCheck(account, regionName, id, check string, passes bool) error {
	return s.SetStatusCheck(account, regionName, id, StatusCheck(check), passes)
}

// SetImpaired makes an instance's status checks fail or pass. It returns an error if the instance
// does not exist.
func (s *Service) SetImpaired(account, regionName, id string, impaired bool) error {
	if err := s.SetStatusCheck(account, regionName, id, SystemCheck, !impaired); err != nil {
		return err
	}
	return s.SetStatusCheck(account, regionName, id, InstanceCheck, !impaired)
}

// fail records since when a check fails. The caller holds the lock.
func (i *instance) fail(check StatusCheck, since time.Time) {
	i.Impaired = true
	if _, fails := i.failing[check]; fails {
		return
	}
	if i.failing == nil {
		i.failing = map[StatusCheck]time.Time{}
	}
	i.failing[check] = since
}

// SetBootable sets whether machines of an image boot. Instances of an image that does not boot are
// running without a machine, and fail their instance status check.
func (s *Service) SetBootable(imageID string, boots bool) {
	s.scarce.mu.Lock()
	defer s.scarce.mu.Unlock()
	if s.scarce.unbootable == nil {
		s.scarce.unbootable = map[string]bool{}
	}
	s.scarce.unbootable[imageID] = !boots
}

func (c *scarcity) boots(imageID string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.unbootable[imageID]
}

// ShutDown terminates or stops an instance as "shutdown -h now" within it does, depending on its
// attribute instanceInitiatedShutdownBehavior. It returns an error if the instance does not exist
// or is not running.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/Using_ChangingInstanceInitiatedShutdownBehavior.html
func (s *Service) ShutDown(account, regionName, id string) error {
	r := s.locked(wire.Target{Account: account, Region: regionName})
	defer r.mu.Unlock()
	i, err := r.instance(id)
	if err != nil {
		return err
	}
	if i.State != running {
		return incorrectState("Instance '%s' is not 'running'.", id)
	}
	// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_StateReason.html
	why := reason("Client.InstanceInitiatedShutdown", "Instance initiated shutdown")
	if i.shutdown != types.ShutdownBehaviorTerminate {
		s.stop(r, i, why, "Client.InstanceInitiatedShutdown")
		return nil
	}
	s.setReason(i, why, "Client.InstanceInitiatedShutdown")
	s.end(r, i)
	return nil
}

// PoweredOff is ShutDown for an instance whose machine has powered itself off, perhaps before the
// instance is running.
func (s *Service) PoweredOff(account, regionName, id string) {
	r := s.locked(wire.Target{Account: account, Region: regionName})
	i, err := r.instance(id)
	r.mu.Unlock()
	if err == nil {
		s.runner.add(&i.work, func() { _ = s.ShutDown(account, regionName, id) }) // unless it has ended otherwise
	}
}

// status returns the result of a status check.
func (i *instance) status(check StatusCheck) (types.SummaryStatus, types.StatusType) {
	_, fails := i.failing[check]
	switch {
	case i.State != running:
		return types.SummaryStatusNotApplicable, ""
	case fails:
		return types.SummaryStatusImpaired, types.StatusTypeFailed
	default:
		return types.SummaryStatusOk, types.StatusTypePassed
	}
}

func (i *instance) describeStatus() types.InstanceStatus {
	part := func(check StatusCheck) *types.InstanceStatusSummary {
		summary, reachability := i.status(check)
		p := &types.InstanceStatusSummary{Status: summary, Details: []types.InstanceStatusDetails{}}
		if reachability == "" {
			return p
		}
		detail := types.InstanceStatusDetails{Name: types.StatusNameReachability, Status: reachability}
		if since, fails := i.failing[check]; fails {
			detail.ImpairedSince = &since
		}
		p.Details = append(p.Details, detail)
		return p
	}
	return types.InstanceStatus{
		InstanceId: &i.ID, AvailabilityZone: &i.Zone, InstanceState: stateOf(i.State),
		InstanceStatus: part(InstanceCheck), SystemStatus: part(SystemCheck), Events: i.events(),
	}
}
