package consoles

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/diagnosis"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

// EC2 contains the calls of EC2 that this package makes.
type EC2 interface {
	DescribeInstances(context.Context, *ec2.DescribeInstancesInput, ...func(*ec2.Options)) (*ec2.DescribeInstancesOutput, error)
	GetConsoleOutput(context.Context, *ec2.GetConsoleOutputInput, ...func(*ec2.Options)) (*ec2.GetConsoleOutputOutput, error)
}

// Instance is an instance of a slot or of an instance group.
type Instance struct {
	// ID is the instance's ID, Zone its zone.
	ID, Zone string
	// Slot is the number of its slot, empty for another instance. Group is its instance group.
	Slot, Group string
	// Launched is when it was launched.
	Launched time.Time
}

// String names the instance and what it belongs to, for the beginning of a sentence.
func (i *Instance) String() string {
	if i.Slot != "" {
		return fmt.Sprintf("Instance %s of slot %s", i.ID, i.Slot)
	}
	return fmt.Sprintf("Instance %s of instance group %s", i.ID, i.Group)
}

// Report is how far the boot of an instance has come.
type Report struct {
	Instance
	// Boot is what the console shows.
	Boot diagnosis.Boot
	// Unreadable is why the console could not be read, empty if it was.
	Unreadable string
}

// Running returns the pending and running instances that have all given tags, the oldest first.
func Running(ctx context.Context, api EC2, tags map[string]string) ([]Instance, error) {
	in := &ec2.DescribeInstancesInput{Filters: []types.Filter{
		{Name: aws.String("instance-state-name"), Values: []string{"pending", "running"}},
	}}
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		in.Filters = append(in.Filters, types.Filter{Name: aws.String("tag:" + key), Values: []string{tags[key]}})
	}
	var found []Instance
	for {
		out, err := api.DescribeInstances(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("describe instances: %w", err)
		}
		for i := range out.Reservations {
			for j := range out.Reservations[i].Instances {
				found = append(found, instanceOf(&out.Reservations[i].Instances[j]))
			}
		}
		if in.NextToken = out.NextToken; aws.ToString(in.NextToken) == "" {
			break
		}
	}
	slices.SortFunc(found, func(a, b Instance) int { return cmp.Or(a.Launched.Compare(b.Launched), cmp.Compare(a.ID, b.ID)) })
	return found, nil
}

func instanceOf(from *types.Instance) Instance {
	i := Instance{ID: aws.ToString(from.InstanceId), Launched: aws.ToTime(from.LaunchTime)}
	if from.Placement != nil {
		i.Zone = aws.ToString(from.Placement.AvailabilityZone)
	}
	for _, tag := range from.Tags {
		switch aws.ToString(tag.Key) {
		case model.TagSlot:
			i.Slot = aws.ToString(tag.Value)
		case model.TagInstanceGroup:
			i.Group = aws.ToString(tag.Value)
		}
	}
	return i
}

// Read reads how far the boot of an instance has come.
func Read(ctx context.Context, api EC2, of Instance) Report {
	text, err := console(ctx, api, of.ID)
	if err != nil {
		return Report{Instance: of, Unreadable: awsapi.Explain(err).Message}
	}
	return Report{Instance: of, Boot: diagnosis.Read(text, of.Slot != "")}
}

// console returns the console output of an instance. Instances that do not run on Nitro have only
// the output of their last change of state.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_GetConsoleOutput.html
func console(ctx context.Context, api EC2, id string) ([]byte, error) {
	out, err := api.GetConsoleOutput(ctx, &ec2.GetConsoleOutputInput{InstanceId: &id, Latest: aws.Bool(true)})
	if code := awsapi.Code(err); code == "UnsupportedOperation" {
		out, err = api.GetConsoleOutput(ctx, &ec2.GetConsoleOutputInput{InstanceId: &id})
	}
	if err != nil {
		return nil, fmt.Errorf("read the console of instance %s: %w", id, err)
	}
	text, err := base64.StdEncoding.DecodeString(aws.ToString(out.Output))
	if err != nil {
		return nil, fmt.Errorf("decode the console of instance %s: %w", id, err)
	}
	return text, nil
}

// Stalled returns the stalled boot that the others most likely wait for, nil if none is stalled: one
// that gave up, or else the one that has come least far. An instance whose console cannot be read
// counts as stalled after the first deadline.
func Stalled(reports []Report, now time.Time) *Report {
	var worst *Report
	for i := range reports {
		r := &reports[i]
		if in, ever := r.DueIn(now); ever && in <= 0 && (worst == nil || r.rank() < worst.rank()) {
			worst = r
		}
	}
	return worst
}

// NextDue returns in how long the next of the boots that are not stalled yet will be, zero for none.
func NextDue(reports []Report, now time.Time) time.Duration {
	next := time.Duration(0)
	for i := range reports {
		if in, ever := reports[i].DueIn(now); ever && in > 0 && (next == 0 || in < next) {
			next = in
		}
	}
	return next
}

// DueIn returns in how long the boot counts as stalled, zero or less if it does, and whether it ever
// will.
func (r *Report) DueIn(now time.Time) (time.Duration, bool) {
	if r.Unreadable != "" {
		return r.Launched.Add(diagnosis.FirstDeadline).Sub(now), true
	}
	return r.Boot.DueIn(r.Launched, now)
}

// rank orders stalled boots: those that gave up first, then by progress, unreadable ones last.
func (r *Report) rank() int {
	const unreadable = 1000
	switch {
	case r.Unreadable != "":
		return unreadable
	case r.Boot.Ended:
		return -1
	default:
		return diagnosis.Progress(r.Slot != "", r.Boot.Stage)
	}
}

// Describe describes the stalled boot in sentences, with its cause and what to do.
func (r *Report) Describe(now time.Time) string {
	if r.Unreadable != "" {
		return fmt.Sprintf("%s, launched at %s, has not joined, and its console cannot be read: %s",
			r.String(), r.Launched.UTC().Format("15:04:05 MST"), r.Unreadable)
	}
	return r.Boot.Describe(r.String(), r.Launched, now)
}
