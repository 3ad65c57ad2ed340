package ec2

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/machine"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// The states of an instance and the transitions between them:
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-instance-lifecycle.html

const (
	pending      = types.InstanceStateNamePending
	running      = types.InstanceStateNameRunning
	stopping     = types.InstanceStateNameStopping
	stopped      = types.InstanceStateNameStopped
	shuttingDown = types.InstanceStateNameShuttingDown
	terminated   = types.InstanceStateNameTerminated
)

// terminatedRetention is how long a terminated instance stays visible.
const terminatedRetention = time.Hour

// sweep forgets instances that were terminated long ago. The caller holds the lock.
func (s *Service) sweep(r *region) {
	now := s.env.Clock.Now()
	r.expire(now)
	r.forgetDeregistered(now)
	for len(r.ended) > 0 && now.Sub(r.ended[0].ended) >= terminatedRetention {
		delete(r.instances, r.ended[0].ID)
		delete(r.launches, r.ended[0].token)
		s.tags(r.Target).Forget(r.ended[0].ID)
		r.ended = r.ended[1:]
	}
}

// enter moves an instance to a state and notifies the listeners. The caller holds the lock.
func (s *Service) enter(i *instance, state types.InstanceStateName) {
	i.State = state
	s.announce(i)
}

// setReason records why an instance stops or terminates.
func (s *Service) setReason(i *instance, why types.StateReason, who string) {
	i.Reason = why
	i.transition = who + " (" + s.env.Clock.Now().UTC().Format("2006-01-02 15:04:05") + " GMT)"
}

// spec returns the machine that a host boots for an instance. The caller holds the lock.
func (s *Service) spec(r *region, i *instance) machine.Spec {
	subnet, _ := s.network.Subnet(r.Account, r.Region, i.SubnetID)
	card, _ := s.network.Interface(r.Account, r.Region, i.InterfaceID)
	rootVolume := ""
	for _, v := range r.attached(i.ID) {
		if v.attachment.device == i.rootDevice {
			rootVolume = v.id
		}
	}
	return machine.Spec{
		RootVolumeID:   rootVolume,
		InstanceID:     i.ID,
		Account:        r.Account,
		Region:         r.Region,
		Zone:           i.Zone,
		VPCID:          i.VPCID,
		SubnetID:       i.SubnetID,
		VPCRange:       subnet.VPCRange,
		PrivateIP:      i.PrivateIP,
		PrivateDNSName: i.PrivateDNSName,
		MAC:            card.MAC,
		InstanceType:   i.Type,
		ImageID:        i.ImageID,
		Architecture:   i.Architecture,
		UserData:       i.userData,
		Metadata:       s.metadata(r.Target, i),
	}
}

// boot boots an instance's machine with its volumes. If the machine cannot boot, the instance is
// terminated, as EC2 does when a launch fails on its side.
func (s *Service) boot(r *region, i *instance) {
	r.mu.Lock()
	if i.State != pending {
		r.mu.Unlock()
		return
	}
	if i.launchFailure.Code != nil {
		defer r.mu.Unlock()
		s.setReason(i, i.launchFailure, *i.launchFailure.Code)
		s.end(r, i)
		return
	}
	spec := s.spec(r, i)
	volumes := r.attached(i.ID)
	r.mu.Unlock()

	var err error
	boots := s.scarce.boots(spec.ImageID)
	if boots {
		err = s.options.Host.Boot(spec)
	}
	for _, v := range volumes {
		r.mu.Lock()
		a := v.attachment
		root := a != nil && a.device == i.rootDevice
		r.mu.Unlock()
		if err == nil && boots && a != nil && !root {
			err = s.options.Host.Attach(i.ID, v.id, a.device)
		}
	}

	r.mu.Lock()
	defer r.mu.Unlock()
	if i.State != pending {
		return
	}
	if err != nil {
		s.setReason(i, reason("Server.InternalError", "Internal error on launch"), "Server.InternalError")
		s.end(r, i)
		return
	}
	for _, v := range volumes {
		if v.attachment != nil && v.attachment.state == types.VolumeAttachmentStateAttaching {
			v.attachment.state = types.VolumeAttachmentStateAttached
		}
	}
	if !boots {
		i.fail(InstanceCheck, i.Launched)
	}
	i.Reason = types.StateReason{}
	s.enter(i, running)
}

// end starts to terminate an instance. The caller holds the lock.
func (s *Service) end(r *region, i *instance) {
	s.enter(i, shuttingDown)
	s.runner.after(s.latency("shutting-down"), &i.work, func() {
		s.postConsole(r, i)
		s.options.Host.Terminate(i.ID)
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, v := range r.attached(i.ID) {
			goes := v.attachment.deleteToo
			r.unplug(v)
			if goes {
				s.forgetVolume(r, v)
			}
		}
		s.releaseCards(r, i)
		s.options.Keys.Revoke(i.session.keyID)
		i.ended, i.association = s.env.Clock.Now(), ""
		r.ended = append(r.ended, i)
		s.enter(i, terminated)
	})
}

// releaseCards deletes the interfaces that are deleted with an instance, and detaches the others.
func (s *Service) releaseCards(r *region, i *instance) {
	for _, card := range s.cards(r, i) {
		// The interface exists: it was just listed.
		if card.Attachment != nil && !card.Attachment.DeleteOnTermination {
			_ = s.network.DetachInterface(r.Account, r.Region, card.ID)
			continue
		}
		_ = s.network.DeleteInterface(r.Account, r.Region, card.ID)
	}
}

// terminate terminates an instance at its user's request. It does nothing for an instance that is
// already terminated. The caller holds the lock.
func (s *Service) terminate(r *region, i *instance) {
	if i.State == shuttingDown || i.State == terminated {
		return
	}
	s.setReason(i, reason("Client.UserInitiatedShutdown", "User initiated shutdown"), "User initiated")
	s.end(r, i)
}

// Terminate terminates an instance. It returns an error if the instance does not exist. It ignores
// termination protection, which only the API honors.
func (s *Service) Terminate(account, regionName, id string) error {
	r := s.locked(wire.Target{Account: account, Region: regionName})
	defer r.mu.Unlock()
	i, err := r.instance(id)
	if err != nil {
		return err
	}
	s.terminate(r, i)
	return nil
}

// Fail terminates an instance as if its hardware failed.
func (s *Service) Fail(account, regionName, id string) error {
	r := s.locked(wire.Target{Account: account, Region: regionName})
	defer r.mu.Unlock()
	i, err := r.instance(id)
	if err != nil || i.State == shuttingDown || i.State == terminated {
		return err
	}
	s.setReason(i, reason("Server.InternalError", "Internal error"), "Server.InternalError")
	s.end(r, i)
	return nil
}

// stop starts to stop an instance. The caller holds the lock.
func (s *Service) stop(r *region, i *instance, why types.StateReason, who string) {
	s.setReason(i, why, who)
	s.enter(i, stopping)
	s.runner.after(s.latency("stopping"), &i.work, func() {
		s.postConsole(r, i)
		s.options.Host.Terminate(i.ID)
		r.mu.Lock()
		defer r.mu.Unlock()
		if i.State == stopping {
			i.reserved = nil
			s.enter(i, stopped)
			if then := i.onStopped; then != nil {
				i.onStopped = nil
				then()
			}
		}
	})
}

// start starts a stopped instance. The caller holds the lock.
func (s *Service) start(r *region, i *instance) error {
	l := &launch{data: i.data, kind: i.kind, spot: i.Spot, placed: i.placed}
	var err error
	if l.capacity, err = r.wanted(i.data); err != nil {
		return err
	}
	if err := s.admit(r, l, i.Zone, 1); err != nil {
		return err
	}
	i.reserved = l.reserved[0]
	i.Launched, i.transition, i.Reason = s.env.Clock.Now(), "", types.StateReason{}
	s.enter(i, pending)
	s.runner.after(s.latency("pending"), &i.work, func() { s.boot(r, i) })
	return nil
}

// reboot restarts a machine in place. The caller holds the lock.
func (s *Service) reboot(r *region, i *instance) {
	s.runner.add(&i.work, func() {
		r.mu.Lock()
		if i.State != running {
			r.mu.Unlock()
			return
		}
		spec, volumes := s.spec(r, i), r.attached(i.ID)
		r.mu.Unlock()
		s.postConsole(r, i)
		s.options.Host.Terminate(i.ID)
		if s.options.Host.Boot(spec) != nil {
			return // it stays down, like an instance that does not come back from a reboot
		}
		for _, v := range volumes {
			r.mu.Lock()
			a := v.attachment
			r.mu.Unlock()
			if a != nil && a.device != i.rootDevice {
				_ = s.options.Host.Attach(i.ID, v.id, a.device) // a device that cannot be attached is missing in the machine
			}
		}
	})
}

// spotNotice is the time between the notice and the interruption of a spot instance.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-instance-termination-notices.html
const spotNotice = 2 * time.Minute

// InterruptSpot gives a spot instance an interruption notice and interrupts it two minutes later;
// the action is "terminate" or "stop". It returns an error for an instance that is not a running
// spot instance.
func (s *Service) InterruptSpot(account, regionName, id, action string) error {
	r := s.locked(wire.Target{Account: account, Region: regionName})
	defer r.mu.Unlock()
	i, err := r.spot(id)
	if err != nil {
		return err
	}
	if action != "terminate" && action != "stop" {
		return unsupported("InstanceInterruptionBehavior")
	}
	i.notice.action, i.notice.due = action, s.env.Clock.Now().Add(spotNotice)
	p, zone := r.Target, i.Zone
	s.runner.add(&s.notices, func() { s.publishInterruption(p, zone, id, action) })
	s.runner.after(spotNotice, &line{}, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		why := reason("Server.SpotInstanceTermination", "Spot instance termination")
		switch {
		case i.State != running:
		case action == "terminate":
			s.setReason(i, why, "Server.SpotInstanceTermination")
			s.end(r, i)
		default:
			s.stop(r, i, reason("Server.SpotInstanceShutdown", "Stopped due to capacity constraints"), "Server.SpotInstanceShutdown")
		}
	})
	return nil
}

// RecommendRebalance gives a spot instance a rebalance recommendation. It returns an error for an
// instance that is not a running spot instance.
func (s *Service) RecommendRebalance(account, regionName, id string) error {
	r := s.locked(wire.Target{Account: account, Region: regionName})
	defer r.mu.Unlock()
	i, err := r.spot(id)
	if err != nil {
		return err
	}
	i.notice.recommended, i.AtRisk = s.env.Clock.Now(), true
	p := r.Target
	s.runner.add(&s.notices, func() { s.publishRebalance(p, id) })
	s.notify(i)
	return nil
}

// spot returns a running spot instance.
func (r *region) spot(id string) (*instance, error) {
	i, err := r.instance(id)
	switch {
	case err != nil:
		return nil, err
	case !i.Spot:
		return nil, wire.Errorf("UnsupportedOperation", "The instance '%s' is not a Spot Instance.", id)
	case i.State != running:
		return nil, incorrectState("Instance '%s' is not 'running'.", id)
	}
	return i, nil
}

// metadataOptions sets the defaults in the options of an instance's metadata service.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_InstanceMetadataOptionsRequest.html
func metadataOptions(o *types.LaunchTemplateInstanceMetadataOptions) types.InstanceMetadataOptionsResponse {
	all := types.InstanceMetadataOptionsResponse{
		HttpEndpoint: types.InstanceMetadataEndpointStateEnabled, HttpProtocolIpv6: types.InstanceMetadataProtocolStateDisabled,
		HttpPutResponseHopLimit: aws.Int32(1), HttpTokens: types.HttpTokensStateOptional,
		InstanceMetadataTags: types.InstanceMetadataTagsStateDisabled, State: types.InstanceMetadataOptionsStateApplied,
	}
	if o == nil {
		return all
	}
	if own, err := recast[types.InstanceMetadataOptionsResponse](o); err == nil {
		own.State = "" // callers cannot set it
		overlay(&all, own)
	}
	return all
}
