package release_test

import (
	"errors"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
)

func TestAReleaseOfOnesOwnStandsBeforeABuiltInOne(t *testing.T) {
	own := func(name, kubernetes string) *v1alpha1.Release {
		return &v1alpha1.Release{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.ReleaseSpec{Kubernetes: kubernetes}}
	}
	given := []*v1alpha1.Release{own("v1.36.3", "v1.36.3-own"), own("acme", "v1.35.9"), own("acme", "v1.0.0")}
	all, err := release.All(given...)
	if want := []string{"acme", "v1.34.11", "v1.35.8", "v1.36.3", "v1.36.4"}; err != nil || !slices.Equal(release.Names(all), want) {
		t.Errorf("there are %v, want %v (%v)", release.Names(all), want, err)
	}
	for name, kubernetes := range map[string]string{"v1.36.3": "v1.36.3-own", "acme": "v1.35.9", "v1.34.11": "v1.34.11"} {
		if found, err := release.Find(name, given...); err != nil || found.Spec.Kubernetes != kubernetes ||
			release.Named(all, name) != found {
			t.Errorf("%s is %v, want Kubernetes %s (%v)", name, found, kubernetes, err)
		}
	}
	_, err = release.Find("v9", given...)
	missing, ok := errors.AsType[*release.NotFoundError](err)
	if want := `there is no Release "v9"; known Releases: acme, v1.34.11, v1.35.8, v1.36.3, v1.36.4`; !ok || missing.Name != "v9" ||
		err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
