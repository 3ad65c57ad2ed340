package controller

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	cfntemplate "github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/plural"
	"github.com/aws-operator/aws-operator/internal/service/model"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// establishTimeout limits the wait until the API server serves a new kind, which usually takes well
// under a second.
const establishTimeout = 10 * time.Second

// definitionStep creates the kind that a ModelDefinition defines.
type definitionStep struct{ service *service }

// Name returns the step's name.
func (s definitionStep) Name() string { return "kind" }

// fieldsOfDefinition replaces the fields of a CustomResourceDefinition, in the API server's messages, by those of
// the ModelDefinition that they come from.
var fieldsOfDefinition = strings.NewReplacer(
	"spec.validation.openAPIV3Schema.properties[spec]", "spec.schema",
	"spec.validation.openAPIV3Schema.x-kubernetes-validations", "spec.validations",
)

// EnsureCreated compiles and checks the definition, applies the CustomResourceDefinition, serves the kind, and
// rolls the definition out to its objects.
func (s definitionStep) EnsureCreated(ctx context.Context, definition *v1alpha1.ModelDefinition) operatorkit.Outcome {
	definition.Status.Kind = definition.Spec.ObjectKind()
	if known := s.service.served(definition.Status.Kind); known != nil && known.serves(definition) {
		return s.rollOut(ctx, known, definition)
	}
	m, err := model.Compile(definition.Name, &definition.Spec, s.service.options.Registry)
	if err != nil {
		return operatorkit.Stall("InvalidModel", sentence("The ModelDefinition is invalid", err))
	}
	if owner, message, err := s.taken(ctx, definition, m); err != nil {
		return operatorkit.Fail(err)
	} else if message != "" {
		return operatorkit.Stall(owner, message)
	}
	if err := m.Check(s.service.options.Registry); err != nil {
		return operatorkit.Stall("InvalidModel", sentence("The ModelDefinition is invalid", err))
	}
	of, err := s.models(ctx, definition, m)
	if err != nil {
		return operatorkit.Fail(err)
	}
	address, documented := s.openAPI(m)
	if err := s.applyCRD(ctx, of, definition); err != nil {
		if apierrors.IsInvalid(err) {
			return operatorkit.Stall("InvalidModel", fieldsOfDefinition.Replace(sentence("The API server rejects the kind", err)))
		}
		return operatorkit.Fail(err)
	}
	if outcome := s.serve(ctx, of, definition); !outcome.IsDone() {
		return outcome
	}
	if !documented {
		s.awaitOpenAPI(ctx, m, address)
	}
	known := s.service.served(m.Kind)
	if known == nil {
		return served(m)
	}
	known.definition.Store(&definitionVersion{uid: definition.UID, generation: definition.Generation})
	return s.rollOut(ctx, known, definition)
}

// applyCRD applies the CustomResourceDefinition of the kind, with the fields of all its models.
func (s definitionStep) applyCRD(ctx context.Context, of *models, definition *v1alpha1.ModelDefinition) error {
	ctx, cancel := context.WithTimeout(ctx, establishTimeout)
	defer cancel()
	crd := of.current.CRDFor(slices.Collect(maps.Values(of.older)))
	crd.Annotations = map[string]string{definedBy: definition.Name}
	return operatorkit.EnsureCRDs(ctx, s.service.manager.GetConfig(), fieldOwner, crd) //nolint:wrapcheck // a sentence for the user
}

func (s definitionStep) serve(ctx context.Context, of *models, definition *v1alpha1.ModelDefinition) operatorkit.Outcome {
	err := s.service.serve(ctx, of, definition.Name)
	switch {
	case errors.Is(err, errNotLeading):
		return operatorkit.Wait(time.Second, "Starting", "The operator is starting.")
	case err != nil:
		return operatorkit.Fail(err)
	}
	return operatorkit.Done()
}

// openAPIInterval is how often OpenAPI is polled.
const openAPIInterval = 100 * time.Millisecond

// awaitOpenAPI waits until the API server's OpenAPI has the kind under another address than before,
// which has a hash of the content: kubectl keeps what an address returned, so "kubectl explain" fails
// until then. Everything else works without, so the wait has a limit.
func (s definitionStep) awaitOpenAPI(ctx context.Context, m *model.Model, before string) {
	ctx, cancel := context.WithTimeout(ctx, establishTimeout)
	defer cancel()
	_ = wait.PollUntilContextCancel(ctx, openAPIInterval, true, func(context.Context) (bool, error) {
		address, documented := s.openAPI(m)
		return documented && address != before, nil
	})
}

// openAPI returns the address of the OpenAPI document with the kinds of services, and whether it has
// the kind of a model.
func (s definitionStep) openAPI(m *model.Model) (address string, documented bool) {
	api, err := discovery.NewDiscoveryClientForConfig(s.service.manager.GetConfig())
	if err != nil {
		return "", false
	}
	paths, err := api.OpenAPIV3().Paths()
	if err != nil {
		return "", false
	}
	services, ok := paths["apis/"+v1alpha1.GroupVersion.String()]
	if !ok {
		return "", false
	}
	document, err := services.Schema("application/json")
	return services.ServerRelativeURL(), err == nil && bytes.Contains(document, []byte(`"kind":"`+m.Kind+`"`))
}

func served(m *model.Model) operatorkit.Outcome {
	return operatorkit.Done().Explain("Served", fmt.Sprintf("Objects of kind %s (%s.%s) are served.", m.Kind, m.Plural, v1alpha1.Group))
}

// ownKinds are the kinds that no ModelDefinition may define.
var ownKinds = []string{templateKind, "ModelDefinition", "ModelRevision"}

// taken reports whether the kind or its plural is in use already.
func (s definitionStep) taken(
	ctx context.Context, definition *v1alpha1.ModelDefinition, m *model.Model,
) (reason, message string, err error) {
	if slices.Contains(ownKinds, m.Kind) || s.service.isBuiltIn(m.Kind) {
		return "KindTaken", fmt.Sprintf("Kind %s is built in; choose another kind.", m.Kind), nil
	}
	if owner, ok := s.service.definition(m.Kind); ok && owner != definition.Name {
		return "KindTaken", fmt.Sprintf(
			"Kind %s is defined by ModelDefinition %s; choose another kind, or change that one.",
			m.Kind,
			owner,
		), nil
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	err = s.service.direct.Get(ctx, client.ObjectKey{Name: m.CRD().Name}, crd)
	switch {
	case apierrors.IsNotFound(err):
		return "", "", nil
	case err != nil:
		return "", "", fmt.Errorf("read CustomResourceDefinition %s: %w", m.CRD().Name, err)
	case crd.Spec.Names.Kind != m.Kind:
		return "PluralTaken", fmt.Sprintf("The plural %s belongs to kind %s; set another spec.plural.", m.Plural, crd.Spec.Names.Kind), nil
	}
	return s.madeFor(ctx, definition, crd)
}

// madeFor reports whether the CustomResourceDefinition belongs to another ModelDefinition, or to
// none. The first definition keeps the kind, also when the operator restarts.
func (s definitionStep) madeFor(
	ctx context.Context, definition *v1alpha1.ModelDefinition, crd *apiextensionsv1.CustomResourceDefinition,
) (reason, message string, err error) {
	owner := crd.Annotations[definedBy]
	switch owner {
	case definition.Name:
		return "", "", nil
	case "":
		return "KindTaken", fmt.Sprintf(
			"CustomResourceDefinition %s exists, but does not belong to a ModelDefinition; choose another kind, or delete it.",
			crd.Name,
		), nil
	}
	other := &v1alpha1.ModelDefinition{}
	err = s.service.manager.GetAPIReader().Get(ctx, client.ObjectKey{Name: owner}, other)
	switch {
	case apierrors.IsNotFound(err):
		return "", "", nil // its definition no longer exists
	case err != nil:
		return "", "", fmt.Errorf("read ModelDefinition %s: %w", owner, err)
	}
	return "KindTaken", fmt.Sprintf("Kind %s is defined by ModelDefinition %s; choose another kind, or change that one.", crd.Spec.Names.Kind, owner), nil
}

// definedBy is the annotation of a CustomResourceDefinition that names its ModelDefinition.
const definedBy = v1alpha1.Group + "/defined-by"

// EnsureDeleted stops serving the kind once it has no objects, and deletes the definition's revisions.
func (s definitionStep) EnsureDeleted(ctx context.Context, definition *v1alpha1.ModelDefinition) operatorkit.Outcome {
	outcome := s.deleteKind(ctx, definition)
	if !outcome.IsDone() {
		return outcome
	}
	if err := s.deleteRevisions(ctx, definition.Name, nil); err != nil {
		return operatorkit.Fail(err)
	}
	return outcome
}

func (s definitionStep) deleteKind(ctx context.Context, definition *v1alpha1.ModelDefinition) operatorkit.Outcome {
	m, err := model.Compile(definition.Name, &definition.Spec, s.service.options.Registry)
	if err != nil {
		return s.deletedUncompiled(ctx, definition, err)
	}
	if owner, ok := s.service.definition(m.Kind); ok && owner != definition.Name || s.service.isBuiltIn(m.Kind) {
		return operatorkit.Done()
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	err = s.service.direct.Get(ctx, client.ObjectKey{Name: m.CRD().Name}, crd)
	if apierrors.IsNotFound(err) || err == nil && crd.Annotations[definedBy] != definition.Name {
		s.service.withdraw(m.Kind)
		return operatorkit.Done()
	}
	if err != nil {
		return operatorkit.Fail(fmt.Errorf("read CustomResourceDefinition %s: %w", m.CRD().Name, err))
	}
	if s.service.served(m.Kind) == nil {
		of, err := s.models(ctx, definition, m)
		if err != nil {
			return operatorkit.Fail(err)
		}
		if outcome := s.serve(ctx, of, definition); !outcome.IsDone() {
			return outcome
		}
	}
	return s.removeWhenEmpty(ctx, m, definition, crd)
}

// deletedUncompiled does not block the deletion of a definition that never compiled. A kind that an
// earlier, valid version of it defined stays served.
func (s definitionStep) deletedUncompiled(ctx context.Context, definition *v1alpha1.ModelDefinition, err error) operatorkit.Outcome {
	var crds apiextensionsv1.CustomResourceDefinitionList
	if listErr := s.service.direct.List(ctx, &crds); listErr != nil {
		return operatorkit.Fail(fmt.Errorf("list CustomResourceDefinitions: %w", listErr))
	}
	if slices.ContainsFunc(crds.Items, func(crd apiextensionsv1.CustomResourceDefinition) bool {
		return crd.Annotations[definedBy] == definition.Name
	}) {
		return operatorkit.Stall("InvalidModel", sentence("The ModelDefinition is invalid, so that its kind cannot be deleted", err))
	}
	if _, ok := errors.AsType[cfntemplate.Problems](err); !ok {
		return operatorkit.Fail(err)
	}
	return operatorkit.Done()
}

// removeWhenEmpty deletes the CustomResourceDefinition once no object is left. Deleting it earlier
// would delete the objects, and with them their AWS resources.
func (s definitionStep) removeWhenEmpty(
	ctx context.Context, m *model.Model, definition *v1alpha1.ModelDefinition, crd *apiextensionsv1.CustomResourceDefinition,
) operatorkit.Outcome {
	if outcome := s.empty(ctx, m); !outcome.IsDone() {
		return outcome
	}
	s.service.withdraw(m.Kind)
	// An object that was created while the kind was still served may have a stack by now.
	if outcome := s.empty(ctx, m); !outcome.IsDone() {
		of, err := s.models(ctx, definition, m)
		if err != nil {
			return operatorkit.Fail(err)
		}
		if again := s.serve(ctx, of, definition); !again.IsDone() {
			return again
		}
		return outcome
	}
	if err := s.service.direct.Delete(ctx, crd, client.Preconditions{UID: new(crd.UID)}); err != nil && !apierrors.IsNotFound(err) {
		return operatorkit.Fail(fmt.Errorf("delete CustomResourceDefinition %s: %w", crd.Name, err))
	}
	return operatorkit.Done()
}

// empty is done when the kind has no objects.
func (s definitionStep) empty(ctx context.Context, m *model.Model) operatorkit.Outcome {
	left := &metav1.PartialObjectMetadataList{}
	left.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(m.Kind + "List"))
	if err := s.service.direct.List(ctx, left); err != nil {
		return operatorkit.Fail(fmt.Errorf("list %s: %w", m.Plural, err))
	}
	if n := len(left.Items); n > 0 {
		first := left.Items[0]
		return operatorkit.Wait(time.Minute, "ObjectsExist", fmt.Sprintf(
			"The kind %s still has %s, such as %s/%s. This ModelDefinition is deleted after they are deleted.",
			m.Kind, plural.Count(n, "object"), first.Namespace, first.Name))
	}
	return operatorkit.Done()
}
