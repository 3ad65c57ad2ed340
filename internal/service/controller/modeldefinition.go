package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	cfntemplate "github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/service/model"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// establishTimeout bounds the wait for the API server to serve a new kind, which takes it well
// under a second.
const establishTimeout = 10 * time.Second

// definitionStep makes the kind that a ModelDefinition defines.
type definitionStep struct{ service *service }

// Name returns the step's name.
func (s definitionStep) Name() string { return "kind" }

// EnsureCreated compiles the definition, makes the CustomResourceDefinition and serves the kind.
func (s definitionStep) EnsureCreated(ctx context.Context, definition *v1alpha1.ModelDefinition) operatorkit.Outcome {
	m, err := model.Compile(definition.Name, &definition.Spec, s.service.options.Registry)
	if err != nil {
		return operatorkit.Stall("InvalidModel", sentence("The ModelDefinition must be corrected", err))
	}
	if owner, message, err := s.taken(ctx, definition, m); err != nil {
		return operatorkit.Fail(err)
	} else if message != "" {
		return operatorkit.Stall(owner, message)
	}
	known := s.service.served(m.Kind)
	if known != nil && known.serves(definition) {
		return served(m)
	}
	crdCtx, cancel := context.WithTimeout(ctx, establishTimeout)
	defer cancel()
	if err := operatorkit.EnsureCRDs(crdCtx, s.service.manager.GetConfig(), fieldOwner, m.CRD()); err != nil {
		if apierrors.IsInvalid(err) {
			return operatorkit.Stall("InvalidModel", sentence("The API server does not accept the kind", err))
		}
		return operatorkit.Fail(err)
	}
	if err := s.service.serve(ctx, m, definition.Name); err != nil {
		if errors.Is(err, errNotLeading) {
			return operatorkit.Wait(time.Second, "Starting", "The operator is starting.")
		}
		return operatorkit.Fail(err)
	}
	if known = s.service.served(m.Kind); known != nil {
		known.definition.Store(&definitionVersion{uid: definition.UID, generation: definition.Generation})
	}
	return served(m)
}

func served(m *model.Model) operatorkit.Outcome {
	return operatorkit.Done().Explain("Served", fmt.Sprintf("Objects of kind %s (%s.%s) are served.", m.Kind, m.Plural, v1alpha1.Group))
}

// taken says whether the kind or its plural is somebody else's.
func (s definitionStep) taken(ctx context.Context, definition *v1alpha1.ModelDefinition, m *model.Model) (reason, message string, err error) {
	if m.Kind == templateKind || m.Kind == "ModelDefinition" {
		return "KindTaken", fmt.Sprintf("Kind %s is built in; choose another kind.", m.Kind), nil
	}
	if owner, ok := s.service.definition(m.Kind); ok && owner != definition.Name {
		if owner == "" {
			return "KindTaken", fmt.Sprintf("Kind %s is built in; choose another kind.", m.Kind), nil
		}
		return "KindTaken", fmt.Sprintf("Kind %s is defined by ModelDefinition %s; choose another kind, or change that one.", m.Kind, owner), nil
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	err = s.service.direct.Get(ctx, client.ObjectKey{Name: m.CRD().Name}, crd)
	switch {
	case apierrors.IsNotFound(err):
		return "", "", nil
	case err != nil:
		return "", "", fmt.Errorf("read CustomResourceDefinition %s: %w", m.CRD().Name, err)
	case crd.Spec.Names.Kind != m.Kind:
		return "PluralTaken", fmt.Sprintf("The plural %s is kind %s's; give another spec.plural.", m.Plural, crd.Spec.Names.Kind), nil
	}
	return "", "", nil
}

// EnsureDeleted withdraws the kind once it has no objects any more.
func (s definitionStep) EnsureDeleted(ctx context.Context, definition *v1alpha1.ModelDefinition) operatorkit.Outcome {
	m, err := model.Compile(definition.Name, &definition.Spec, s.service.options.Registry)
	if err != nil {
		return s.deletedUncompiled(definition, err)
	}
	if owner, ok := s.service.definition(m.Kind); ok && owner != definition.Name {
		return operatorkit.Done()
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	err = s.service.direct.Get(ctx, client.ObjectKey{Name: m.CRD().Name}, crd)
	if apierrors.IsNotFound(err) || err == nil && crd.Spec.Names.Kind != m.Kind {
		s.service.withdraw(m.Kind)
		return operatorkit.Done()
	}
	if err != nil {
		return operatorkit.Fail(fmt.Errorf("read CustomResourceDefinition %s: %w", m.CRD().Name, err))
	}
	if s.service.served(m.Kind) == nil {
		if err := s.service.serve(ctx, m, definition.Name); err != nil {
			return operatorkit.Fail(err)
		}
	}
	return s.removeWhenEmpty(ctx, m, crd)
}

// deletedUncompiled lets a definition go that never could be served; a kind that an earlier, sound
// version of it defined is served on.
func (s definitionStep) deletedUncompiled(definition *v1alpha1.ModelDefinition, err error) operatorkit.Outcome {
	if owner, ok := s.service.definition(definition.Spec.Kind); ok && owner == definition.Name {
		return operatorkit.Stall("InvalidModel", sentence("The ModelDefinition must be corrected before its kind can be removed", err))
	}
	if _, ok := errors.AsType[cfntemplate.Problems](err); !ok {
		return operatorkit.Fail(err)
	}
	return operatorkit.Done()
}

// removeWhenEmpty deletes the CustomResourceDefinition when no object is left: deleting it earlier
// would delete the objects, and with them what they stand for in AWS.
func (s definitionStep) removeWhenEmpty(ctx context.Context, m *model.Model, crd *apiextensionsv1.CustomResourceDefinition) operatorkit.Outcome {
	left := &metav1.PartialObjectMetadataList{}
	left.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(m.Kind + "List"))
	if err := s.service.direct.List(ctx, left); err != nil {
		return operatorkit.Fail(fmt.Errorf("list %s: %w", m.Plural, err))
	}
	if n := len(left.Items); n > 0 {
		first := left.Items[0]
		return operatorkit.Wait(time.Minute, "ObjectsExist", fmt.Sprintf(
			"%d objects of kind %s still exist, %s/%s among them; delete them first, and this ModelDefinition goes by itself.",
			n, m.Kind, first.Namespace, first.Name))
	}
	s.service.withdraw(m.Kind)
	if err := s.service.direct.Delete(ctx, crd); err != nil && !apierrors.IsNotFound(err) {
		return operatorkit.Fail(fmt.Errorf("delete CustomResourceDefinition %s: %w", crd.Name, err))
	}
	return operatorkit.Done()
}
