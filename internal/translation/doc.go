// Package translation has what translators of other tools' manifests share: it reads sections field by
// field, and keeps account of the fields, so that each one is translated, noted or refused. See [Part].
//
// It is pure. A translator has a table of [Fields] for each type of the tool, so that a field that the tool
// does not have is an error with the name that was probably meant.
package translation
