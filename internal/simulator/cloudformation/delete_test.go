package cloudformation_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscfn "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/simulator/cloudformation"
	"github.com/aws-operator/aws-operator/internal/simulator/fault"
)

// https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_DeleteStack.html
func TestDeleteFailureAndRetain(t *testing.T) {
	w := newSuite(t, nil)
	id := *w.createAndWait("sticky", two("1", "1", "")).StackId
	w.faults.Add(
		fault.Rule{ResourceType: "AWS::SQS::Queue", Operation: "Delete", Name: "First", Code: "ResourceConflict", Message: "in use"},
	)
	w.delete("sticky")
	s := w.waitFor("sticky", types.StackStatusDeleteFailed)
	if got := aws.ToString(s.StackStatusReason); got != "The following resource(s) failed to delete: [First]. " {
		t.Errorf("reason %q", got)
	}
	if got := w.resource("sticky", "Second").ResourceStatus; got != types.ResourceStatusDeleteComplete {
		t.Errorf("Second, which needs First, is %s", got)
	}
	w.delete("sticky")
	w.waitFor("sticky", types.StackStatusDeleteFailed)
	_, err := w.DeleteStack(t.Context(), &awscfn.DeleteStackInput{StackName: aws.String("sticky"), RetainResources: []string{"First"}})
	if err != nil {
		t.Fatal(err)
	}
	w.waitFor(id, types.StackStatusDeleteComplete)
	if !strings.Contains(strings.Join(w.events(id), "\n"), "First DELETE_SKIPPED") {
		t.Error("the retained resource was not skipped")
	}
}

func TestRetainRequiresFailedDeletion(t *testing.T) {
	w := newSuite(t, nil)
	w.createAndWait("fine", two("1", "1", ""))
	_, err := w.DeleteStack(t.Context(), &awscfn.DeleteStackInput{StackName: aws.String("fine"), RetainResources: []string{"First"}})
	if err == nil {
		t.Fatal("resources were retained of a stack whose deletion has not failed")
	}
}

// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-cfn-protect-stacks.html
func TestTerminationProtection(t *testing.T) {
	w := newSuite(t, nil)
	w.createAndWait("safe", streamTemplate)
	protect := func(on bool) {
		if _, err := w.UpdateTerminationProtection(t.Context(), &awscfn.UpdateTerminationProtectionInput{
			StackName: aws.String("safe"), EnableTerminationProtection: aws.Bool(on),
		}); err != nil {
			t.Fatal(err)
		}
	}
	protect(true)
	_, err := w.DeleteStack(t.Context(), &awscfn.DeleteStackInput{StackName: aws.String("safe")})
	expectError(t, err, "ValidationError", "Stack [safe] cannot be deleted while TerminationProtection is enabled")
	protect(false)
	w.delete("safe")
}

func TestDeletionInterruptsCreation(t *testing.T) {
	w := newSuite(t, func(w *suite, o *cloudformation.Options) {
		fakeTime(w, o)
		o.Latency = func(string, string) time.Duration { return time.Minute }
	})
	id := w.create("short", streamTemplate)
	w.eventually(func() bool { return len(w.events(id)) == 3 }, func() string { return strings.Join(w.events(id), "\n") })
	w.delete("short")
	w.eventually(func() bool {
		w.clock.Step(time.Minute)
		return w.stack(id).StackStatus == types.StackStatusDeleteComplete
	}, func() string { return strings.Join(w.events(id), "\n") })
	expectEvents(t, w.events(id),
		"short CREATE_IN_PROGRESS User Initiated", "Stream CREATE_IN_PROGRESS", "Stream CREATE_IN_PROGRESS Resource creation Initiated",
		"short DELETE_IN_PROGRESS User Initiated", "Stream DELETE_IN_PROGRESS", "Stream DELETE_COMPLETE", "short DELETE_COMPLETE")
	if n := w.engine.Simulated().Len(account, region, "AWS::Kinesis::Stream"); n != 0 {
		t.Errorf("%d streams are left", n)
	}
}

func TestStackCannotBeDeletedDuringUpdate(t *testing.T) {
	w := newSuite(t, fakeTime)
	w.createAndWait("busy", two("1", "1", ""))
	w.faults.Add(fault.Rule{ResourceType: "AWS::SQS::Queue", Operation: "Update", Latency: time.Hour})
	if err := w.update("busy", two("2", "2", "")); err != nil {
		t.Fatal(err)
	}
	_, err := w.DeleteStack(t.Context(), &awscfn.DeleteStackInput{StackName: aws.String("busy")})
	expectError(t, err, "ValidationError", "cannot be deleted while in status UPDATE_IN_PROGRESS")
}

// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-cfn-stack-exports.html
func TestExports(t *testing.T) {
	w := newSuite(t, nil)
	exporter := func(name, delay string) string {
		return `{"Resources": {"Queue": {"Type": "AWS::SQS::Queue", "Properties": {"DelaySeconds": ` + delay + `}}},
			"Outputs": {"O": {"Value": "v` + delay + `", "Export": {"Name": "` + name + `"}}}}`
	}
	importer := `{"Resources": {"Queue": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": {"Fn::ImportValue": "shared"}}}}}`
	w.create("early", importer)
	s := w.waitFor("early", types.StackStatusRollbackComplete)
	if events := strings.Join(w.events("early"), "\n"); !strings.Contains(
		events, "ROLLBACK_IN_PROGRESS No export named shared found. Rollback requested by user.",
	) {
		t.Errorf("%s\n%s", aws.ToString(s.StackStatusReason), events)
	}
	w.createAndWait("exporter", exporter("shared", "1"))
	w.createAndWait("importer", importer)
	imports, err := w.ListImports(t.Context(), &awscfn.ListImportsInput{ExportName: aws.String("shared")})
	if err != nil || len(imports.Imports) != 1 || imports.Imports[0] != "importer" {
		t.Errorf("imports %v %v", imports, err)
	}
	_, err = w.DeleteStack(t.Context(), &awscfn.DeleteStackInput{StackName: aws.String("exporter")})
	expectError(t, err, "ValidationError", "Export shared cannot be deleted as it is in use by importer")
	if err := w.update("exporter", exporter("shared", "2")); err != nil {
		t.Fatal(err)
	}
	w.waitFor("exporter", types.StackStatusUpdateRollbackComplete)
	w.create("thief", exporter("shared", "1"))
	w.waitFor("thief", types.StackStatusRollbackComplete)
	id := *w.stack("importer").StackId
	w.delete("importer")
	w.waitFor(id, types.StackStatusDeleteComplete)
	id = *w.stack("exporter").StackId
	w.delete("exporter")
	w.waitFor(id, types.StackStatusDeleteComplete)
	if out, err := w.ListExports(t.Context(), &awscfn.ListExportsInput{}); err != nil || len(out.Exports) != 0 {
		t.Errorf("exports %v %v", out, err)
	}
}
