package outcomes

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// Aggregate aggregates the outcomes of stacks that do not depend on each other. It returns the
// first failure unchanged, since it is retried. A stall is requeued only when the object changes.
func Aggregate(outcomes []operatorkit.Outcome) operatorkit.Outcome {
	if i := slices.IndexFunc(outcomes, func(o operatorkit.Outcome) bool { return o.Kind() == operatorkit.KindFail }); i >= 0 {
		return outcomes[i]
	}
	whole := operatorkit.Aggregate(outcomes...)
	if whole.Kind() == operatorkit.KindStall {
		return whole.RequeueAfter(0)
	}
	return whole
}

// Capital upper-cases the first letter.
func Capital(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:]
}

// StackSubject is the subject of outcomes about a stack. Their messages start with "Stack <name>:
// ".
func StackSubject(name string) operatorkit.Subject {
	return operatorkit.Subject{Kind: "Stack", Name: name}
}

// Failed returns the outcome of a failed call to AWS or to an API server.
func Failed(err error) operatorkit.Outcome {
	if foreign, ok := errors.AsType[*stack.ForeignError](err); ok {
		return operatorkit.Stall(foreign.Reason, foreign.Message)
	}
	if errors.Is(err, ErrOutputsCorrected) {
		return operatorkit.Wait(Promptly, "OutputsCorrected", Capital(ErrOutputsCorrected.Error())+".").Degraded()
	}
	if awsapi.Code(err) != "" {
		explained := awsapi.Explain(err)
		return operatorkit.Fail(err).Explain(explained.Reason, explained.Message)
	}
	if request, ok := errors.AsType[*url.Error](err); ok {
		host := request.URL
		if at, err := url.Parse(request.URL); err == nil {
			host = at.Host
		}
		return operatorkit.Fail(err).
			Explain("APIUnreachable", fmt.Sprintf("The Kubernetes API at %s did not respond. The request will be retried.", host))
	}
	if errors.Is(err, io.ErrUnexpectedEOF) { // For example, when the slot behind the load balancer stops or has just started.
		return operatorkit.Fail(err).
			Explain("APIUnreachable", "The cluster's Kubernetes API aborted its response. The request will be retried.")
	}
	return operatorkit.Fail(err)
}

// RequeueAfterMin requeues the object no later than after a delay.
func RequeueAfterMin(outcome operatorkit.Outcome, after time.Duration) operatorkit.Outcome {
	if after > 0 && (outcome.After() == 0 || after < outcome.After()) {
		return outcome.RequeueAfter(after)
	}
	return outcome
}

// Join adds another error to an outcome, which is retried.
func Join(outcome operatorkit.Outcome, problem error) operatorkit.Outcome {
	if outcome.Kind() == operatorkit.KindFail {
		return operatorkit.Fail(errors.Join(outcome.Err(), problem)).Explain(outcome.Reason(), outcome.Message())
	}
	message := Failed(problem).Message()
	if message == "" {
		message = problem.Error() + "."
	}
	return RequeueAfterMin(
		outcome.Explain(outcome.Reason(), outcome.Message()+" In addition, this failed and will be retried: "+message),
		joinedRetry,
	)
}

// ErrOutputsCorrected reports that the status had other outputs than the base stack.
var ErrOutputsCorrected = errors.New("the outputs in the Cluster's status differed from the base stack's and were corrected")

// Promptly is the requeue delay after a change was started: the follow-up happens once the change
// is recorded.
const Promptly = 10 * time.Millisecond

// EventPoll is the polling interval for changes that events normally report.
const EventPoll = time.Minute

// joinedRetry is the delay before an additional error is retried.
const joinedRetry = 2 * time.Second

// Unresolved returns the outcome for an invalid spec or for a failure to read its inputs.
func Unresolved(err error) operatorkit.Outcome {
	if problems, ok := model.AsProblems(err); ok {
		return operatorkit.Stall("InvalidSpec", "The spec must be corrected: "+problems.Error()+".")
	}
	return Failed(err)
}
