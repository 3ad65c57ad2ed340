package ec2

import (
	"cmp"
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/iam"
	"github.com/aws-operator/aws-operator/internal/simulator/kms"
	"github.com/aws-operator/aws-operator/internal/simulator/machine"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// Options are what instances need from elsewhere, and how long they take.
type Options struct {
	// Host runs the machines; [machine.Absent] unless set.
	Host machine.Host
	// Profiles has the instance profiles, Ciphers the keys of encrypted volumes.
	Profiles *iam.Service
	Ciphers  *kms.Service
	// Keys are where credentials of instances are issued.
	Keys *wire.Keys
	// Publish emits an event on the default bus; none unless set.
	Publish func(ctx context.Context, account, region, source, detailType string, resources []string, detail any)
	// Latency is how long a change of state takes on top of what the host takes:
	// "pending", "stopping", "shutting-down"; no time unless set.
	Latency func(state string) time.Duration
}

// Service is the simulated EC2 of all accounts and regions.
type Service struct {
	env     *resource.Env
	options Options
}

func (s *Service) partition() string { return cmp.Or(s.env.Partition, "aws") }

// Launch launches one instance, which is pending when it returns, and errs as
// RunInstances does.
func (s *Service) Launch(r LaunchRequest) (Instance, error) {
	return Instance{}, wire.Errorf("Unavailable", "the simulator cannot launch %s yet", r.LaunchTemplateID)
}

// Terminate ends an instance. It errs when there is none, or when it is protected.
func (s *Service) Terminate(account, region, id string) error {
	return wire.Errorf("InvalidInstanceID.NotFound", "The instance ID '%s' does not exist", id)
}

// Instance returns an instance; terminated ones can be seen for an hour.
func (s *Service) Instance(account, region, id string) (Instance, bool) { return Instance{}, false }

// Watch calls fn, in order, after every change of an instance's state. fn may call
// the service. It is to be called before the first launch.
func (s *Service) Watch(fn func(Instance)) {}

// LaunchTemplate resolves a version of a launch template, named by its id or its
// name: a number, $Latest or $Default. It errs as AWS does.
func (s *Service) LaunchTemplate(account, region, idOrName, version string) (TemplateVersion, error) {
	return TemplateVersion{}, wire.Errorf("InvalidLaunchTemplateId.NotFound", "The specified launch template, with template ID %s, does not exist.", idOrName)
}

// ByAddress returns the instance that a private address of a VPC belongs to.
func (s *Service) ByAddress(vpcID, address string) (Instance, bool) { return Instance{}, false }

// InterruptSpot announces to a spot instance that it will be interrupted in two
// minutes, and does it then: "terminate" or "stop".
func (s *Service) InterruptSpot(account, region, id, action string) error { return nil }

// RecommendRebalance tells a spot instance that it is at elevated risk.
func (s *Service) RecommendRebalance(account, region, id string) error { return nil }

// SetQuota sets how many vCPUs of the standard families an account may run in a
// region, on demand or spot.
func (s *Service) SetQuota(account, region string, spot bool, vCPUs int) {}

// SetCapacity says whether a zone has capacity for an instance type; "" is every type.
func (s *Service) SetCapacity(zone, instanceType string, available bool) {}

// SetImpaired makes an instance's status checks fail, or pass again.
func (s *Service) SetImpaired(account, region, id string, impaired bool) error { return nil }

// AddImage adds a public image to a region; RemoveImage makes it go.
func (s *Service) AddImage(region string, image types.Image) {}

// RemoveImage makes an image go: launches fail with InvalidAMIID.NotFound.
func (s *Service) RemoveImage(region, imageID string) {}

// Close ends what waits, and then all machines.
func (s *Service) Close() {}
