// Package chart renders the Helm chart of the operator, in the folder aws-operator, as
// helm template does. It also writes what is generated for the chart and from it: the chart's
// values.yaml and its reference page from values.schema.json, the list of kinds in its roles, and
// config/operator.yaml and config/aggregate.yaml. It talks to no cluster.
package chart
