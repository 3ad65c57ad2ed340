package ec2

import (
	"context"
	"encoding/base64"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// consoleKept is how much of a console EC2 keeps: the most recent 64 KiB.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/troubleshoot-unreachable-instance.html#instance-console-console-output
const consoleKept = 64 << 10

// getConsoleOutput returns the console output of an instance: that of the last change of state, or,
// with Latest and only on Nitro, the current output.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_GetConsoleOutput.html
func (s *Service) getConsoleOutput(ctx context.Context, in *ec2.GetConsoleOutputInput) (*ec2.GetConsoleOutputOutput, error) {
	if aws.ToString(in.InstanceId) == "" {
		return nil, missing("InstanceId")
	}
	r := s.here(ctx)
	i, err := r.instance(*in.InstanceId)
	if err == nil {
		err = dry(in.DryRun)
	}
	if err == nil && aws.ToBool(in.Latest) && !i.kind.nitro() {
		err = wire.Errorf("UnsupportedOperation", "This instance type does not support retrieving the latest console logs.")
	}
	if err != nil {
		r.mu.Unlock()
		return nil, err
	}
	output, at, latest := i.posted, i.postedAt, aws.ToBool(in.Latest) && i.State == running
	r.mu.Unlock()
	if latest {
		output, at = s.console(*in.InstanceId), s.env.Clock.Now()
	}
	out := &ec2.GetConsoleOutputOutput{InstanceId: in.InstanceId, Timestamp: timeOrNil(at)}
	if len(output) > 0 {
		out.Output = aws.String(base64.StdEncoding.EncodeToString(output))
	}
	return out, nil
}

func timeOrNil(at time.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	return &at
}

// console returns the end of a machine's console, nothing if there is no such machine.
func (s *Service) console(id string) []byte {
	output, err := s.options.Host.Console(id)
	if err != nil {
		return nil
	}
	return output[max(0, len(output)-consoleKept):]
}

// postConsole keeps the console output of an instance whose machine is about to end.
func (s *Service) postConsole(r *region, i *instance) {
	output := s.console(i.ID)
	r.mu.Lock()
	defer r.mu.Unlock()
	i.posted, i.postedAt = output, s.env.Clock.Now()
}
