package controller

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	cfntemplate "github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// templateStep checks a CloudFormationTemplate and enqueues the objects that use it.
type templateStep struct{ service *service }

// Name returns the step's name.
func (s templateStep) Name() string { return "template" }

// EnsureCreated checks the template.
func (s templateStep) EnsureCreated(_ context.Context, template *v1alpha1.CloudFormationTemplate) operatorkit.Outcome {
	s.enqueueUsers(client.ObjectKeyFromObject(template))
	template.Status.ResourceStatus, template.Status.ResourceStatusReason = "FAILED", ""
	template.Status.Output = nil
	if template.Data.Template == "" {
		return operatorkit.Stall("TemplateEmpty", "The template is empty; put a CloudFormation template into data.template.")
	}
	if err := s.check(template); err != nil {
		if outcome, ok := refused(err); ok {
			template.Status.ResourceStatusReason = err.Error()
			return outcome
		}
		template.Status.ResourceStatusReason = err.Error()
		return operatorkit.Stall("InvalidTemplate", sentence("The template is invalid", err))
	}
	template.Status.ResourceStatus = "COMPLETE"
	template.Status.Output = &v1alpha1.CloudFormationTemplateOutput{URL: fmt.Sprintf(
		"/apis/%s/namespaces/%s/cloudformationtemplates/%s", v1alpha1.GroupVersion, template.Namespace, template.Name)}
	return operatorkit.Done().Explain("Valid", "The template is valid.")
}

// check returns the template's problems, without calling AWS.
func (s templateStep) check(template *v1alpha1.CloudFormationTemplate) error {
	parsed, err := cfntemplate.Parse(templateFile(template), []byte(template.Data.Template))
	if err != nil {
		return fmt.Errorf("parse: %w", err)
	}
	problems := parsed.Check()
	problems = append(problems, s.service.options.Registry.Validate(parsed)...)
	if err := problems.Err(); err != nil {
		return err
	}
	limits := &s.service.options.Limits
	if err := limits.AllowsTemplates(template.Namespace, template.Namespace); err != nil {
		return err
	}
	return limits.CheckTemplate(parsed)
}

// EnsureDeleted does not block the deletion; the objects that use the template report that it is
// missing.
func (s templateStep) EnsureDeleted(_ context.Context, template *v1alpha1.CloudFormationTemplate) operatorkit.Outcome {
	s.enqueueUsers(client.ObjectKeyFromObject(template))
	return operatorkit.Done()
}

// follow enqueues the objects that use a template that another process owns.
func (s templateStep) follow(
	_ context.Context, key types.NamespacedName, _ *v1alpha1.CloudFormationTemplate, _ bool,
) (time.Duration, error) {
	s.enqueueUsers(key)
	return 0, nil
}

func (s templateStep) enqueueUsers(template types.NamespacedName) {
	s.service.enqueue(s.service.directory.dependents(objectKey{Kind: templateKind, NamespacedName: template})...)
}
