package diagnose

import (
	"fmt"
	"strings"
	"time"

	"github.com/aws-operator/aws-operator/internal/cluster/consoles"
	"github.com/aws-operator/aws-operator/internal/cluster/diagnosis"
	"github.com/aws-operator/aws-operator/internal/cluster/live"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

// cause is the most likely cause of a cluster's problems.
type cause struct {
	diagnosis.Cause

	// Evidence is the fact that the cause is concluded from.
	Evidence string `json:"evidence"`
}

// Reasons of causes in addition to those of package diagnosis.
const (
	reasonUnreachable   = "APIUnreachableFromHere"
	reasonNotForwarding = "TargetsUnhealthy"
	reasonBooting       = "Booting"
)

// longLived is the age from which a console may have lost the lines of the boot.
const longLived = time.Hour

// causeOf returns the most likely cause of the problems: the failure that the others follow from.
func (f *findings) causeOf() *cause {
	for _, find := range []func() *cause{f.stackCause, f.reachCause, f.bootCause, f.targetCause, f.waitCause, f.problemCause} {
		if found := find(); found != nil {
			return found
		}
	}
	return nil
}

// stackCause concludes from a stack that failed: without it, instances are missing.
func (f *findings) stackCause() *cause {
	if len(f.stacks) == 0 {
		return nil
	}
	first := &f.stacks[0]
	return &cause{diagnosis.OfStack(first.Reason), fmt.Sprintf("Stack %s (%s): %s", first.Name, first.Status, first.Reason)}
}

// reachCause concludes from an API that serves its load balancer, but not this computer.
func (f *findings) reachCause() *cause {
	api := f.observed.API
	if api == nil || api.Problem == "" || !f.serves() {
		return nil
	}
	return &cause{
		diagnosis.Cause{
			Reason: reasonUnreachable, Text: "The API serves, but this computer cannot reach it.",
			Remedy: fmt.Sprintf(
				"Check that spec.api.allowedCIDRs contains your address, that your network allows connections to port %d, and that the API's name resolves.",
				model.PortAPI,
			),
		},
		fmt.Sprintf("The load balancer reports a healthy target, but %s does not respond: %s.", f.observed.AWS.Server(), sentence(api.Problem)),
	}
}

// bootCause concludes from the console of a stalled instance.
func (f *findings) bootCause() *cause {
	worst := consoles.Stalled(f.reports, f.now)
	if worst == nil {
		return nil
	}
	found := f.ofReport(worst)
	if boot := &worst.Boot; worst.Unreadable == "" && boot.Stage == diagnosis.UserData && boot.Error == "" &&
		f.now.Sub(worst.Launched) > longLived {
		found.Text = "The console has no lines of a boot. It loses them when the instance writes much or reboots. If the instance never joined: " +
			found.Text
	}
	return found
}

func (f *findings) ofReport(r *consoles.Report) *cause {
	if r.Unreadable != "" {
		return &cause{
			diagnosis.Cause{
				Reason: diagnosis.ReasonUnknown, Text: "The console cannot be read.",
				Remedy: "Allow ec2:GetConsoleOutput, or read the log of nodeup on the instance.",
			},
			fmt.Sprintf("%s has not joined: %s", r.String(), r.Unreadable),
		}
	}
	return &cause{r.Boot.Cause, r.Boot.Summary(r.String(), r.Launched, f.now)}
}

// targetCause concludes from instances that have joined and that the load balancer considers
// unhealthy.
func (f *findings) targetCause() *cause {
	for i := range f.reports {
		target, known := f.targets[f.reports[i].ID]
		if !f.reports[i].Boot.Joined || !known {
			continue
		}
		return &cause{
			diagnosis.Cause{
				Reason: reasonNotForwarding, Text: "The load balancer does not reach the API server of the instance, or it is not ready.",
				Remedy: fmt.Sprintf(
					"Check that the security groups let the load balancer reach port %d, and on the instance that kube-apiserver is ready (crictl ps -a).",
					model.PortAPI,
				),
			},
			fmt.Sprintf(
				"%s has joined, but the load balancer reports it as %s (%s).",
				f.reports[i].String(), target.State, strings.TrimSuffix(target.Description, "."),
			),
		}
	}
	return nil
}

// waitCause concludes from instances that boot and may still succeed.
func (f *findings) waitCause() *cause {
	next := consoles.NextDue(f.reports, f.now)
	if next == 0 {
		return nil
	}
	for i := range f.reports {
		r := &f.reports[i]
		if in, ever := r.DueIn(f.now); !ever || in != next {
			continue
		}
		summary := f.ofReport(r)
		summary.Cause = diagnosis.Cause{
			Reason: reasonBooting, Text: "The instance is still booting.",
			Remedy: fmt.Sprintf("Wait: this stage may take until %s.", f.now.Add(next).UTC().Format("15:04:05 MST")),
		}
		if r.Boot.Error != "" {
			summary.Text = "The instance is still booting. If the error persists: " + r.Boot.Cause.Text
			summary.Remedy += " " + r.Boot.Cause.Remedy
		}
		return summary
	}
	return nil
}

// problemCause concludes from the first problem.
func (f *findings) problemCause() *cause {
	if len(f.problems) == 0 {
		return nil
	}
	first := &f.problems[0]
	return &cause{
		diagnosis.Cause{Reason: first.Reason, Text: "No instance is stalled at boot, and no stack failed.", Remedy: remedyOf(first)},
		fmt.Sprintf("%s %s: %s", first.Kind, first.Name, first.Message),
	}
}

// remedyOf returns what to do about a problem whose message may not say it.
func remedyOf(p *live.Problem) string {
	if p.Reason == live.ReasonMachinesMissing {
		return "Check the activities of the Auto Scaling group, which have the reason of each launch that failed."
	}
	return "The problem says what to do."
}

// sentence removes the full stop of a problem.
func sentence(text string) string { return strings.TrimSuffix(text, ".") }
