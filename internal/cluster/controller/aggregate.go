package controller

import (
	"slices"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// aggregate aggregates the outcomes of stacks that do not depend on each other. It returns the
// first failure unchanged, since it is retried. A stall is requeued only when the object changes.
func aggregate(outcomes []operatorkit.Outcome) operatorkit.Outcome {
	if i := slices.IndexFunc(outcomes, func(o operatorkit.Outcome) bool { return o.Kind() == operatorkit.KindFail }); i >= 0 {
		return outcomes[i]
	}
	whole := operatorkit.Aggregate(outcomes...)
	if whole.Kind() == operatorkit.KindStall {
		return whole.RequeueAfter(0)
	}
	return whole
}

// capital upper-cases the first letter.
func capital(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:]
}

func keyOf(obj client.Object) types.NamespacedName { return client.ObjectKeyFromObject(obj) }
