package simulated_test

import (
	"encoding/json"
	"testing"

	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/simulator/cloudformation/simulated"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
)

// Generated properties must also pass the validation of the operator's templates.
func TestMinimalPropertiesPassTheTemplateValidator(t *testing.T) {
	registry := schema.Default()
	names := registry.Names()
	refused := 0
	for _, name := range names {
		rt, _ := registry.Type(name)
		properties, err := simulated.MinimalProperties(rt)
		if err != nil {
			continue // counted below
		}
		body, err := json.Marshal(map[string]any{"Resources": map[string]any{"It": map[string]any{"Type": name, "Properties": properties}}})
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := template.Parse("minimal", body)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if problems := registry.Validate(parsed); len(problems) > 0 {
			refused++
			t.Logf("%s: %v", name, problems)
		}
	}
	if share := float64(refused) / float64(len(names)); share > 0.02 {
		t.Errorf("the validator refuses the minimal properties of %d types", refused)
	}
}

// A minimum share of all resource types must have generated minimal properties and pass create,
// read and delete. The test logs the others with the reason.
func TestEveryTypeCanBeCreatedAndDeleted(t *testing.T) {
	registry := schema.Default()
	names := registry.Names()
	store := simulated.NewStore(registry)
	failed := 0
	for _, name := range names {
		if err := liveOnce(t, registry, store, name); err != nil {
			failed++
			t.Logf("%s: %v", name, err)
		}
	}
	rate := 100 * float64(len(names)-failed) / float64(len(names))
	t.Logf("%d of %d types (%.1f%%)", len(names)-failed, len(names), rate)
	if rate < 95 {
		t.Errorf("only %.1f%% of the types can be made and deleted, want at least 95%%", rate)
	}
}

func liveOnce(t *testing.T, registry *schema.Registry, store *simulated.Store, name string) error {
	t.Helper()
	rt, _ := registry.Type(name)
	properties, err := simulated.MinimalProperties(rt)
	if err != nil {
		return err
	}
	p := store.Provider(name)
	r := resource.Request{Account: "123456789012", Region: "us-east-1", StackName: "all", LogicalID: "It", Properties: properties}
	made, err := p.Create(t.Context(), r)
	if err != nil {
		return err
	}
	r.PhysicalID = made.PhysicalID
	if _, err := p.Read(t.Context(), r); err != nil {
		return err
	}
	return p.Delete(t.Context(), r)
}
