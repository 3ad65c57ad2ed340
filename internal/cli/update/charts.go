package update

import (
	"fmt"
	"io"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/aws-operator/aws-operator/internal/cluster/addons"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/internal/terraform"
)

// addCharts adds the values of the cluster's Helm charts to the data, for those who install them,
// and returns the commands that do.
func addCharts(to *terraform.Configuration, c *model.Cluster) ([]string, error) {
	for i := range c.Release.Spec.Addons {
		if a := &c.Release.Spec.Addons[i]; release.NeedsRole(a) {
			return nil, fmt.Errorf("cluster %s: addon %s takes an IAM role, whose ARN only Terraform will know: "+
				"give it a chart, version and values of your own in spec.addons", c.Name, a.Name)
		}
	}
	charts, err := addons.Wanted(c.Release.Spec.Addons, c.Spec.Addons)
	if err != nil {
		return nil, fmt.Errorf("cluster %s: %w", c.Name, err)
	}
	commands := make([]string, 0, len(charts))
	for _, chart := range charts {
		values, err := yaml.Marshal(chart.Values)
		if err != nil {
			return nil, fmt.Errorf("write the values of chart %s: %w", chart.Name, err)
		}
		file := to.Folder + "/chart-" + chart.Name + ".values.yaml"
		to.Files[file] = values
		command := []string{"helm upgrade --install", chart.Name, chart.Chart}
		if chart.Repository != "" {
			command = append(command, "--repo", chart.Repository)
		}
		commands = append(
			commands,
			strings.Join(
				append(command, "--version", chart.Version, "--namespace", chart.Namespace, "--create-namespace", "-f", file), " ",
			),
		)
		for _, patch := range chart.Patches { // Helm's command line has no patches.
			commands = append(
				commands,
				fmt.Sprintf(
					"kubectl patch %s %s --namespace %s --patch '%s'",
					strings.ToLower(patch.Kind),
					patch.Name,
					chart.Namespace,
					patch.Patch.Raw,
				),
			)
		}
	}
	return commands, nil
}

// sayCharts prints how to install the charts. Install is the command that does, if the cluster has a
// state.
func sayCharts(out io.Writer, install string, eks bool, commands []string) error {
	if len(commands) == 0 {
		return nil
	}
	if eks {
		_, err := fmt.Fprintf(out, "Terraform does not install addons: install them once the API answers, and again when they change:\n  %s\n",
			strings.Join(commands, "\n  "))
		return err
	}
	if install != "" {
		install = "  " + install + "\nOr with Helm:\n"
	}
	_, err := fmt.Fprintf(
		out,
		`The control plane installs kube-proxy and CoreDNS, unless they are among the addons. Terraform does not
install addons: install them once the API answers, and again when they change. Without those for the network
and the cloud controller, no node becomes Ready:
%s  %s
`,
		install, strings.Join(commands, "\n  "),
	)
	return err
}
