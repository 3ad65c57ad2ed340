package identity

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/identity/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/plural"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

const (
	// fieldOwner is the operator's field manager.
	fieldOwner = "aws-operator"
	// crdTimeout limits the wait until the API server serves the kind.
	crdTimeout = 2 * time.Minute
	// again is how often the operator reads the external ID and assumes the role, to notice changes
	// of the Secret and the trust policy.
	again = 5 * time.Minute
)

// SetupOptions configure the controller of AWSIdentities. STS is required.
type SetupOptions struct {
	// STS returns the client of STS for a target.
	STS func(awsapi.Target) awsapi.STS
	// Clock defaults to the real clock.
	Clock clock.PassiveClock
	// Metrics, if not nil, counts and measures reconciles.
	Metrics *operatorkit.Metrics
	// Shard is the part of the AWSIdentities that this process reconciles; the zero value is all.
	Shard operatorkit.Shard
	// KindExists is whether [EnsureKind] has been called, so that Setup need not.
	KindExists bool
}

// EnsureKind applies the CustomResourceDefinition of AWSIdentities, and waits until the API server serves it.
func EnsureKind(ctx context.Context, config *rest.Config) error {
	crd, err := v1alpha1.CustomResourceDefinition()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, crdTimeout)
	defer cancel()
	if err := operatorkit.EnsureCRDs(ctx, config, fieldOwner, crd); err != nil {
		return fmt.Errorf("apply the kind AWSIdentity: %w", err)
	}
	return nil
}

// Setup applies the CustomResourceDefinition of AWSIdentities and adds their controller to the
// manager, and their type to its scheme. Call it before the manager starts, and before the
// controllers that use the identities are added.
func (i *Identities) Setup(ctx context.Context, mgr ctrl.Manager, options SetupOptions) error {
	if !options.KindExists {
		if err := EnsureKind(ctx, mgr.GetConfig()); err != nil {
			return err
		}
	}
	if err := v1alpha1.AddToScheme(mgr.GetScheme()); err != nil {
		return fmt.Errorf("register types: %w", err)
	}
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	role := step{identities: i, sts: options.STS, secrets: mgr.GetAPIReader()}
	reconciler, err := operatorkit.NewReconciler(operatorkit.Options[*v1alpha1.AWSIdentity]{
		Client: mgr.GetClient(), Finalizer: v1alpha1.Finalizer,
		Pipelines: operatorkit.NewPipeline[*v1alpha1.AWSIdentity](role),
		Metrics:   options.Metrics, Clock: options.Clock,
		Owns: func(key types.NamespacedName) bool { return options.Shard.Has(key.Name) }, Follow: role.follow,
	})
	if err != nil {
		return fmt.Errorf("create the controller of AWSIdentities: %w", err)
	}
	if err := reconciler.SetupWithManager(mgr); err != nil {
		return fmt.Errorf("add the controller of AWSIdentities: %w", err)
	}
	return i.watch(ctx, mgr)
}

// watch tells subscribers when an identity or what a Namespace names changes.
func (i *Identities) watch(ctx context.Context, mgr ctrl.Manager) error {
	for obj, tell := range map[client.Object]func(was, is client.Object){
		&v1alpha1.AWSIdentity{}: func(was, is client.Object) {
			if was == nil || was.GetGeneration() != is.GetGeneration() {
				i.tell(ctx, Change{Identity: is.GetName()})
			}
		},
		&corev1.Namespace{}: func(was, is client.Object) {
			if was == nil || !maps.Equal(was.GetLabels(), is.GetLabels()) || !maps.Equal(was.GetAnnotations(), is.GetAnnotations()) {
				i.tell(ctx, Change{Namespace: is.GetName()})
			}
		},
	} {
		informer, err := mgr.GetCache().GetInformer(ctx, obj, cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("watch %T: %w", obj, err)
		}
		_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc: func(is any) {
				if one, ok := is.(client.Object); ok {
					tell(nil, one)
				}
			},
			UpdateFunc: func(was, is any) {
				before, ok := was.(client.Object)
				if one, isObject := is.(client.Object); ok && isObject {
					tell(before, one)
				}
			},
		})
		if err != nil {
			return fmt.Errorf("watch %T: %w", obj, err)
		}
	}
	return nil
}

// step reads the external ID and assumes the role.
type step struct {
	identities *Identities
	sts        func(awsapi.Target) awsapi.STS
	secrets    client.Reader
}

// Name returns the step's name.
func (s step) Name() string { return "role" }

// EnsureCreated reports whether the operator can assume the role.
func (s step) EnsureCreated(ctx context.Context, obj *v1alpha1.AWSIdentity) operatorkit.Outcome {
	target := awsapi.Target{RoleARN: obj.Spec.RoleARN, SessionTags: awsapi.EncodeTags(obj.Spec.SessionTags)}
	if len(obj.Spec.Regions) > 0 {
		target.Region = obj.Spec.Regions[0]
	}
	obj.Status.Account = target.Place(awsapi.Place{}).Account
	if secret := obj.Spec.ExternalIDSecret; secret != nil {
		value, outcome := s.learn(ctx, obj.Name, *secret)
		if !outcome.IsDone() {
			return outcome
		}
		target.ExternalID = value
	}
	out, err := s.sts(target).GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		failure := awsapi.Explain(err)
		return operatorkit.Fail(err).Explain("RoleNotAssumable", fmt.Sprintf(
			"The operator cannot assume %s: %s Let the role's trust policy allow the operator's role%s.",
			obj.Spec.RoleARN, awsapi.Sentence(failure.Message), s.hint(obj)))
	}
	if account := aws.ToString(out.Account); account != obj.Status.Account {
		return operatorkit.Stall("AccountMismatch", fmt.Sprintf(
			"%s is a role of account %s, but AWS says that its session is in account %s.", obj.Spec.RoleARN, obj.Status.Account, account))
	}
	return operatorkit.Done().RequeueAfter(again)
}

// follow learns the external ID of an identity that another process reconciles: objects of this one may use it.
func (s step) follow(ctx context.Context, key types.NamespacedName, obj *v1alpha1.AWSIdentity, exists bool) (time.Duration, error) {
	if !exists {
		s.identities.forget(key.Name)
		return 0, nil
	}
	if obj.Spec.ExternalIDSecret == nil {
		return 0, nil
	}
	_, outcome := s.learn(ctx, key.Name, *obj.Spec.ExternalIDSecret)
	if !outcome.IsDone() {
		return outcome.After(), outcome.Err()
	}
	return again, nil
}

// learn reads the external ID of an identity, and tells subscribers if it changed.
func (s step) learn(ctx context.Context, name string, from v1alpha1.SecretKey) (string, operatorkit.Outcome) {
	value, outcome := s.externalID(ctx, from)
	if outcome.IsDone() && s.identities.learn(name, from, value) {
		s.identities.tell(ctx, Change{Identity: name})
	}
	return value, outcome
}

// hint names what else the trust policy must allow.
func (s step) hint(obj *v1alpha1.AWSIdentity) string {
	var also []string
	if len(obj.Spec.SessionTags) > 0 {
		also = append(also, "sts:TagSession")
	}
	if obj.Spec.ExternalIDSecret != nil {
		also = append(also, "the external ID")
	}
	if len(also) == 0 {
		return ""
	}
	return ", with " + strings.Join(also, " and ")
}

func (s step) externalID(ctx context.Context, from v1alpha1.SecretKey) (string, operatorkit.Outcome) {
	secret := &corev1.Secret{}
	err := s.secrets.Get(ctx, types.NamespacedName{Namespace: from.Namespace, Name: from.Name}, secret)
	if apierrors.IsNotFound(err) {
		return "", operatorkit.Wait(time.Minute, "SecretNotFound", fmt.Sprintf(
			"There is no Secret %s in namespace %s, which spec.externalIDSecret names; create it.", from.Name, from.Namespace)).Degraded()
	}
	if err != nil {
		return "", operatorkit.Fail(fmt.Errorf("read Secret %s/%s: %w", from.Namespace, from.Name, err))
	}
	value := strings.TrimSpace(string(secret.Data[from.Key]))
	if value == "" {
		return "", operatorkit.Wait(time.Minute, "SecretIncomplete", fmt.Sprintf(
			"Secret %s in namespace %s has no value with key %s; add it.", from.Name, from.Namespace, from.Key)).Degraded()
	}
	return value, operatorkit.Done()
}

// EnsureDeleted waits until no object uses the identity: without it, the operator could not delete
// their stacks.
func (s step) EnsureDeleted(ctx context.Context, obj *v1alpha1.AWSIdentity) operatorkit.Outcome {
	var users []string
	for _, list := range s.identities.users {
		found, err := list(ctx, obj.Name)
		if err != nil {
			return operatorkit.Fail(err)
		}
		users = append(users, found...)
	}
	if len(users) > 0 {
		return operatorkit.Wait(10*time.Second, "InUse", fmt.Sprintf(
			"%s still use the identity, for example %s. Delete them, or name another identity of the same account for them.",
			plural.Count(len(users), "object"), users[0])).Degraded()
	}
	s.identities.forget(obj.Name)
	return operatorkit.Done()
}
