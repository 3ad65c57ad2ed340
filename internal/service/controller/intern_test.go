package controller

import (
	"reflect"
	"testing"
	"unsafe"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
)

// read returns an object as read from the API server: each string is its own copy.
func read(name string) *v1alpha1.Object {
	own := func(word string) string { return string([]byte(word)) }
	conditions := make([]metav1.Condition, 0, 4)
	return &v1alpha1.Object{
		TypeMeta: metav1.TypeMeta{APIVersion: own("service-operator.aws/v1alpha1"), Kind: own("SQSQueue")},
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: own("default"), Finalizers: append(make([]string, 0, 4), own(v1alpha1.Finalizer)),
			OwnerReferences: []metav1.OwnerReference{{APIVersion: own("apps/v1"), Kind: own("Deployment"), Name: name}},
		},
		Status: v1alpha1.ObjectStatus{
			ResourceStatus: own("CREATE_COMPLETE"),
			Conditions: append(conditions, metav1.Condition{
				Type: own("Ready"), Status: metav1.ConditionStatus(own("True")), Reason: own("Ready"),
				Message: own("The stack is CREATE_COMPLETE."),
			}),
		},
	}
}

func TestCachedObjectsAreInternedAndUnchanged(t *testing.T) {
	var known interner
	one, other := read("one"), read("other")
	known.internObject(one)
	known.internObject(other)
	if want := read("other"); !reflect.DeepEqual(other, want) {
		t.Fatalf("the object changed to %+v from %+v", other, want)
	}
	for what, pair := range map[string][2]string{
		"namespace":         {one.Namespace, other.Namespace},
		"kind":              {one.Kind, other.Kind},
		"finalizer":         {one.Finalizers[0], other.Finalizers[0]},
		"kind of the owner": {one.OwnerReferences[0].Kind, other.OwnerReferences[0].Kind},
		"status":            {one.Status.ResourceStatus, other.Status.ResourceStatus},
		"reason":            {one.Status.Conditions[0].Reason, other.Status.Conditions[0].Reason},
		"sentence":          {one.Status.Conditions[0].Message, other.Status.Conditions[0].Message},
	} {
		if unsafe.StringData(pair[0]) != unsafe.StringData(pair[1]) {
			t.Errorf("each object has its own copy of its %s", what)
		}
	}
	if room := cap(other.Status.Conditions); room != 1 {
		t.Errorf("the list of one condition has capacity %d", room)
	}
}

func TestInternedStringsOfDeletedObjectsAreDropped(t *testing.T) {
	var known interner
	for i := range 3 * maxInterned {
		word := "namespace-" + string(rune('a'+i%26)) + string(rune(0x4e00+i))
		intern(&known, &word)
	}
	if len(known.known) > maxInterned {
		t.Errorf("%d strings are interned, more than %d", len(known.known), maxInterned)
	}
	sentence := string(make([]byte, maxInternedLength+1))
	intern(&known, &sentence)
	if _, ok := known.known[sentence]; ok {
		t.Error("a long message of one object is interned")
	}
}
