package awsapi

import (
	"errors"
	"fmt"
	"testing"

	"github.com/aws/smithy-go"
)

// FuzzExplain explains any error of AWS without a panic, with a sentence. The same error is explained
// the same way, however it is wrapped.
func FuzzExplain(f *testing.F) {
	f.Add("AccessDenied", "User: arn:aws:iam::1:user/x is not authorized to perform: sqs:CreateQueue on resource: arn:aws:sqs:a with an explicit deny")
	f.Add("UnauthorizedOperation", "You are not authorized to perform this operation. Encoded authorization failure message: abc")
	f.Add("ValidationError", "Stack with id a does not exist")
	f.Add("Throttling", "Rate exceeded")
	f.Add("ExpiredToken", "")
	f.Add("", " \n ")
	f.Fuzz(func(t *testing.T, code, message string) {
		err := &smithy.OperationError{
			ServiceID: "SQS", OperationName: "CreateQueue", Err: &smithy.GenericAPIError{Code: code, Message: message},
		}
		failure := Explain(err)
		if failure == nil || failure.Error() == "" || failure.Reason == "" || !errors.Is(failure, err) {
			t.Errorf("it is explained as %+v", failure)
		}
		if again := Explain(fmt.Errorf("reconcile: %w", err)); again.Error() != failure.Error() {
			t.Errorf("it is explained as %q, and wrapped as %q", failure, again)
		}
		if principal, action, resource := MissingAction(message); action == "" && principal+resource != "" {
			t.Errorf("%q: principal %q, resource %q, and no action", message, principal, resource)
		}
	})
}

// FuzzBudgets parses any value of the flag without a panic. A budget that is accepted has a rate.
func FuzzBudgets(f *testing.F) {
	f.Add("cloudformation=5/20,sqs=unlimited,*=50/100")
	f.Add("unlimited")
	f.Add("a=NaN/1,b=Inf/9999999999999999999,c=-1/0,d=1e400/1")
	f.Fuzz(func(t *testing.T, text string) {
		budgets, err := ParseBudgets(text)
		if err != nil && budgets != nil {
			t.Errorf("it is refused (%v) and gives %v", err, budgets)
		}
		for service, budget := range budgets {
			if service == "" || budget != Unlimited && !(budget.PerSecond > 0 && budget.PerSecond <= 1e300 && budget.Burst > 0) {
				t.Errorf("%q has the budget %+v", service, budget)
			}
		}
	})
}
