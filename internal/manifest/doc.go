// Package manifest reads what people write: Clusters, InstanceGroups and Releases, services and
// models, and clusters of kops. Every command reads files through it, so that all are as strict and
// say what is wrong in the same way: with the file, the document in it, the line, the path of the
// field, and the name that was probably meant.
//
// Beside it are the packages it is made of: tree, which reads YAML as values that know their lines,
// and templates, which makes manifests from Go templates.
package manifest
