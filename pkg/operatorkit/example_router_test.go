package operatorkit_test

import (
	"context"
	"fmt"

	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// Each object keeps the behavior of its release. Only the steps that differ are replaced.
func ExampleNewRouter() {
	greet := func(text string) operatorkit.Step[*Greeting] {
		return operatorkit.NewStep("greet", func(_ context.Context, g *Greeting) operatorkit.Outcome {
			g.Status.Text = text
			return operatorkit.Done()
		}, nil)
	}
	router, err := operatorkit.NewRouter(func(g *Greeting) string { return g.Labels["release"] },
		operatorkit.Route[*Greeting]{Releases: ">=1.0.0 <2.0.0-0", Pipeline: operatorkit.NewPipeline(greet("Good day."))},
		operatorkit.Route[*Greeting]{Releases: ">=2.0.0", Pipeline: operatorkit.NewPipeline(greet("Hi!"))})
	if err != nil {
		fmt.Println(err)
		return
	}
	greeting := &Greeting{}
	greeting.Labels = map[string]string{"release": "0.9.0"}
	_, err = router.PipelineFor(greeting)
	fmt.Println(err)
	// Output: this operator does not support release "0.9.0"; supported releases are ">=1.0.0 <2.0.0-0", ">=2.0.0"
}
