// Package templates makes manifests from Go templates and values, as users of kops know it from its
// toolbox (https://kops.sigs.k8s.io/operations/cluster_template/). It is pure: files come as text.
//
// Templates have the functions of sprig (https://masterminds.github.io/sprig/) and
//
//   - include NAME DATA: the text that a snippet or a defined template makes, for pipelines as `| indent 4`;
//   - toYaml VALUE: the value as YAML.
//
// A snippet is a file that templates include by its name without folders; what it defines they have
// as well.
//
// Values are merged deeply in the order that they come in. Outputs of Terraform are there by their
// names: as `.vpc_id`, and as `.vpc_id.value`, which is how they stand in the output of `terraform
// output -json`.
package templates
