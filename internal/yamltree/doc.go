// Package yamltree reads YAML and JSON as values that know the line they stand on, so that what is
// wrong with a manifest can be said of its file, document and line.
//
// Parse splits a file into documents. Decode reads a value into a Go type and refuses what the type
// has no field for (with the field that was probably meant) and what is of another kind than the
// field, all at once rather than the first. Format prints a value again in one canonical way.
//
// The rules are those of the API server: a number or a boolean is no text, so `cost-centre: 1234`
// has to be put in quotes where text is wanted, and so do the words that YAML 1.1 takes for
// booleans (yes, no, on, off).
package yamltree
