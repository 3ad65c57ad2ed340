package controller

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// aggregate aggregates the outcomes of parallel work. A failure has precedence, since it is retried,
// then work in progress. A stall, which needs the user, comes last. Equal messages are joined.
func aggregate(outcomes []operatorkit.Outcome) operatorkit.Outcome {
	var fails, waits, stalls []operatorkit.Outcome
	var after time.Duration
	for _, one := range outcomes {
		if one.After() > 0 && (after == 0 || one.After() < after) {
			after = one.After()
		}
		switch one.Kind() {
		case operatorkit.KindFail:
			fails = append(fails, one)
		case operatorkit.KindWait:
			waits = append(waits, one)
		case operatorkit.KindStall:
			stalls = append(stalls, one)
		case operatorkit.KindDone:
		}
	}
	switch {
	case len(fails) > 0:
		return fails[0]
	case len(waits) > 0:
		worst := waits[0]
		for _, one := range waits {
			if one.IsTroubled() {
				worst = one
				break
			}
		}
		whole := operatorkit.Wait(after, worst.Reason(), messages(append(waits, stalls...)))
		if worst.IsTroubled() {
			whole = whole.Troubled()
		}
		return whole
	case len(stalls) > 0:
		return operatorkit.Stall(stalls[0].Reason(), messages(stalls))
	default:
		return operatorkit.Done().LookAgain(after)
	}
}

// messages joins the outcomes' messages without repetition: "Stacks a, b: …".
func messages(outcomes []operatorkit.Outcome) string {
	var said []string
	stacks := map[string][]string{}
	for _, one := range outcomes {
		stack, text := ofStack(one.Message())
		if _, ok := stacks[text]; !ok {
			said = append(said, text)
			stacks[text] = nil
		}
		if stack != "" && !slices.Contains(stacks[text], stack) {
			stacks[text] = append(stacks[text], stack)
		}
	}
	for i, text := range said {
		switch names := stacks[text]; len(names) {
		case 0:
		case 1:
			said[i] = about(names[0], text)
		default:
			said[i] = "Stacks " + strings.Join(names, ", ") + ": " + text
		}
	}
	return strings.Join(said, " ")
}

// ofStack splits a message that about created.
func ofStack(message string) (stack, text string) {
	rest, ok := strings.CutPrefix(message, "Stack ")
	if !ok {
		return "", message
	}
	stack, text, ok = strings.Cut(rest, ": ")
	if !ok {
		return "", message
	}
	return stack, text
}

// capital upper-cases the first letter.
func capital(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:]
}

func keyOf(obj client.Object) types.NamespacedName { return client.ObjectKeyFromObject(obj) }
