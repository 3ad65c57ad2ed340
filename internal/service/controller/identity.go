package controller

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"sigs.k8s.io/controller-runtime/pkg/client"

	identityv1alpha1 "github.com/aws-operator/aws-operator/api/identity/v1alpha1"
	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/identity"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// Identities says with which credentials, where, and with which limits the operator acts for an
// object; *identity.Identities implements it.
type Identities interface {
	Of(ctx context.Context, wish identity.Wish) (identity.Use, error)
	Concerns(ctx context.Context, change identity.Change, wish identity.Wish) bool
	Subscribe(fn func(context.Context, identity.Change))
	CountUsers(fn func(ctx context.Context, identity string) ([]string, error))
}

// own is how the operator acts with its own credentials.
func (s *service) own() identity.Use {
	return identity.Use{
		Target: s.options.Target, Place: awsapi.Place{Account: s.options.AccountID, Region: s.options.Region},
	}
}

// use returns how the operator acts for an object.
func (s *service) use(ctx context.Context, obj *v1alpha1.Object) (identity.Use, error) {
	wish := identity.WishOf(obj)
	wish.Tagged = obj.DeletionTimestamp.IsZero() // a mistake in a tag keeps no stack from being deleted
	if s.options.Identities == nil {
		use := s.own()
		var err error
		if wish.Tagged {
			use.Tags, err = identity.Tags(nil, nil, wish.Tags)
		}
		return use, err //nolint:wrapcheck // a sentence for the user
	}
	return s.options.Identities.Of(ctx, wish) //nolint:wrapcheck // a sentence for the user
}

// admit refuses an object without a usable identity before it gets a finalizer: nothing is made for
// it, so its deletion needs no identity either. Of others it notes where the stack is going to be.
func (k *kind) admit(ctx context.Context, obj *v1alpha1.Object) operatorkit.Outcome {
	use, err := k.service.use(ctx, obj)
	if err != nil {
		return identity.Outcome(err)
	}
	use.Note(obj)
	return operatorkit.Done()
}

// useNow returns how the operator acts for an object that has a finalizer, if that is where the
// object's stack is.
func (k *kind) useNow(ctx context.Context, obj *v1alpha1.Object) (identity.Use, operatorkit.Outcome) {
	use, err := k.service.use(ctx, obj)
	if err != nil {
		return use, identity.Outcome(err)
	}
	if was := createdIn(obj); was != "" && was != use.Place.String() {
		with := "the operator's own credentials are"
		if use.Identity != "" {
			with = "AWSIdentity " + use.Identity + " is"
		}
		return use, operatorkit.Stall("CreatedElsewhere", fmt.Sprintf(
			"The object's stack is in %s, but %s for %s. A stack cannot move: name the previous identity and region again by the annotations %s and %s. "+
				"If nothing of the object is in %[1]s, remove its annotation %[6]s.",
			was, with, use.Place, identityv1alpha1.IdentityAnnotation, identityv1alpha1.RegionAnnotation,
			identityv1alpha1.CreatedInAnnotation))
	}
	if events := k.service.options.Events; events != nil && use.Target != k.service.options.Target {
		events.Use(string(obj.UID), use.Target)
	}
	return use, operatorkit.Done()
}

// createdIn returns the account and region of an object's stack, empty if unknown.
func createdIn(obj *v1alpha1.Object) string {
	if noted := obj.Annotations[identityv1alpha1.CreatedInAnnotation]; noted != "" {
		return noted
	}
	id, err := arn.Parse(obj.Status.StackID)
	if err != nil {
		return "" // there is no stack yet, or the engine reports the value
	}
	return awsapi.Place{Account: id.AccountID, Region: id.Region}.String()
}

// identityChanged enqueues the objects that a change of an identity or a Namespace may concern. It
// omits kinds whose cache is not filled yet, for which it would wait: their first reconciles follow.
func (s *service) identityChanged(ctx context.Context, change identity.Change) {
	for _, k := range s.all() {
		if !k.recorded.Load() {
			continue
		}
		for _, obj := range k.concerned(ctx, change) {
			k.reconciler.Enqueue(client.ObjectKeyFromObject(obj))
		}
	}
}

// usersOf lists the objects that use an identity.
func (s *service) usersOf(ctx context.Context, name string) ([]string, error) {
	var users []string
	for _, k := range s.all() {
		for _, obj := range k.concerned(ctx, identity.Change{Identity: name}) {
			users = append(users, fmt.Sprintf("%s %s/%s", k.name, obj.Namespace, obj.Name))
		}
	}
	return users, nil
}

// concerned lists the objects that a change may concern. Callers must not modify them.
func (k *kind) concerned(ctx context.Context, change identity.Change) []*v1alpha1.Object {
	options := []client.ListOption{client.UnsafeDisableDeepCopy}
	if change.Namespace != "" {
		options = append(options, client.InNamespace(change.Namespace))
	}
	var objects v1alpha1.ObjectList
	if err := k.manager.cache.List(ctx, &objects, options...); err != nil {
		return nil // the kind is starting or stopping
	}
	var found []*v1alpha1.Object
	for i := range objects.Items {
		if obj := &objects.Items[i]; k.service.options.Identities.Concerns(ctx, change, identity.WishOf(obj)) {
			found = append(found, obj)
		}
	}
	return found
}

// leftBehind completes the outcome of a deletion that may not act in AWS.
func leftBehind(outcome operatorkit.Outcome) operatorkit.Outcome {
	if outcome.Kind() != operatorkit.KindStall {
		return outcome
	}
	return operatorkit.Stall(outcome.Reason(), strings.TrimSpace(outcome.Text())+fmt.Sprintf(
		" The object stays until the operator can delete its stack. To leave the stack in AWS, annotate the object with %s=%s.",
		v1alpha1.DeletionPolicyAnnotation, v1alpha1.DeletionPolicyRetain))
}
