package operatorkit_test

import (
	"context"
	"io"
	"math"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// busyFor answers the first requests to change something as an API server does
// that cannot complete them in time.
type busyFor struct {
	requests atomic.Int32
	next     http.RoundTripper
}

func (b *busyFor) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet || b.requests.Add(-1) < 0 {
		return b.next.RoundTrip(r)
	}
	const status = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",` +
		`"message":"Timeout: request did not complete within requested timeout - context deadline exceeded",` +
		`"reason":"Timeout","details":{},"code":504}`
	return &http.Response{
		StatusCode: http.StatusGatewayTimeout,
		Header:     http.Header{"Content-Type": {"application/json"}},
		Body:       io.NopCloser(strings.NewReader(status)),
		Request:    r,
	}, nil
}

func TestEnsureCRDsTriesAgainIfTheAPIServerIsTooBusy(t *testing.T) {
	cfg := rest.CopyConfig(apiServer(t))
	busy := &busyFor{}
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		busy.next = next
		return busy
	})
	crd := definition("Crank", "crank", "cranks")

	busy.requests.Store(1)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := operatorkit.EnsureCRDs(ctx, cfg, "operatorkit-test", crd); err != nil {
		t.Fatalf("busy once: %v", err)
	}

	busy.requests.Store(math.MaxInt32)
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	crd.Labels = map[string]string{"needs": "a write"}
	err := operatorkit.EnsureCRDs(short, cfg, "operatorkit-test", crd)
	if err == nil || !strings.Contains(err.Error(), "cranks.example.com") {
		t.Errorf("always busy: the error is %v and does not name the definition", err)
	}
}

// A definition that exists is written only if it is not as given.
func TestEnsureCRDsWritesOnlyWhatDiffers(t *testing.T) {
	cfg := rest.CopyConfig(apiServer(t))
	writes := &writeCounter{}
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		writes.next = next
		return writes
	})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ensure := func(what string, wantWrites int32, crd *apiextensionsv1.CustomResourceDefinition) {
		t.Helper()
		writes.requests.Store(0)
		if err := operatorkit.EnsureCRDs(ctx, cfg, "operatorkit-test", crd); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if got := writes.requests.Load(); got != wantWrites {
			t.Errorf("%s: %d writes, want %d", what, got, wantWrites)
		}
	}
	crd := definition("Spindle", "spindle", "spindles")
	ensure("new", 1, crd)
	ensure("unchanged", 0, crd)
	crd.Labels = map[string]string{"team": "looms"}
	ensure("with a label", 1, crd)
	ensure("with the same label", 0, crd)
	crd.Spec.Names.ShortNames = []string{"spin"}
	ensure("with a short name", 1, crd)

	clients, err := clientset.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	_, err = clients.ApiextensionsV1().CustomResourceDefinitions().Patch(ctx, crd.Name, types.JSONPatchType,
		[]byte(`[{"op": "remove", "path": "/spec/names/shortNames"}]`), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ensure("changed by another", 1, crd)
}

// writeCounter counts the requests that change something.
type writeCounter struct {
	requests atomic.Int32
	next     http.RoundTripper
}

func (w *writeCounter) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet {
		w.requests.Add(1)
	}
	return w.next.RoundTrip(r)
}

func TestEnsureCRDsReturnsWhenKindsAreServed(t *testing.T) {
	cfg := apiServer(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	clients, err := clientset.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ensure := func(crds ...*apiextensionsv1.CustomResourceDefinition) error {
		return operatorkit.EnsureCRDs(ctx, cfg, "operatorkit-test", crds...)
	}
	get := func(name string) *apiextensionsv1.CustomResourceDefinition {
		t.Helper()
		crd, err := clients.ApiextensionsV1().CustomResourceDefinitions().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return crd
	}
	crds := []*apiextensionsv1.CustomResourceDefinition{
		definition("Gear", "gear", "gears"), definition("Cog", "cog", "cogs"), definition("Rod", "rod", "rods"),
	}
	if err := ensure(crds...); err != nil {
		t.Fatal(err)
	}
	for _, crd := range crds {
		established := false
		for _, c := range get(crd.Name).Status.Conditions {
			established = established || c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
		}
		if !established {
			t.Errorf("%s is not established", crd.Name)
		}
	}

	httpClient, err := rest.HTTPClientFor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	mapper, err := apiutil.NewDynamicRESTMapper(cfg, httpClient)
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range crds {
		kind := schema.GroupKind{Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind}
		if _, err := mapper.RESTMapping(kind, crd.Spec.Versions[0].Name); err != nil {
			t.Errorf("discovery does not list %s: %v", kind, err)
		}
	}

	before := get("gears.example.com")
	if err := ensure(crds...); err != nil {
		t.Fatal(err)
	}
	if after := get("gears.example.com"); after.ResourceVersion != before.ResourceVersion {
		t.Error("applying an unchanged definition wrote something")
	}

	changed := definition("Gear", "gear", "gears")
	changed.Spec.Names.ShortNames = []string{"gr"}
	if err := ensure(changed); err != nil {
		t.Fatal(err)
	}
	if got := get("gears.example.com").Spec.Names.ShortNames; len(got) != 1 {
		t.Errorf("short names %v, want gr: a changed definition replaces the old one", got)
	}

	taken := definition("Gear", "gear", "otherGears")
	taken.Name, taken.Spec.Names.Plural = "othergears.example.com", "othergears"
	if err := ensure(taken); err == nil || !strings.Contains(err.Error(), "names are not accepted") {
		t.Errorf("a definition whose kind is already defined: %v", err)
	}

	ended, end := context.WithCancel(ctx)
	end()
	if err := operatorkit.EnsureCRDs(ended, cfg, "operatorkit-test", definition("Nut", "nut", "nuts")); err == nil {
		t.Error("a canceled context returned no error")
	}
}
