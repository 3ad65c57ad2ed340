// Package docs runs the commands of README.md, docs/tutorials and docs/guide as their readers would: each page from
// top to bottom, as written, with bash, in a folder of its own that has the examples and bin.
//
//	page.go          reads a page: its blocks, and what each of them asks for
//	script.go        makes one bash script of a page, and checks what it printed
//	docs_test.go     runs the pages
//	reasons_test.go  compares docs/guide/troubleshooting.md with the reasons that the operator can set
//
// The language of a block says what it is:
//
//	none, sh       commands
//	console        commands after "$ ", each followed by what it prints
//	yaml           a manifest, which aws-operator render must accept; parts of manifests are ignored
//	text, json     anything else
//
// An HTML comment on the line above a block, which readers do not see, changes that:
//
//	<!-- docs-test: not run: REASON -->          the commands are not run
//	<!-- docs-test: needs aws jq -->             the commands are skipped where these programs are missing
//	<!-- docs-test: needs root -->               the commands are skipped where machines do not really boot
//	<!-- docs-test: fails -->                    the last command fails
//	<!-- docs-test: until PATTERN -->            the command gets Ctrl-C when it has printed the pattern
//	<!-- docs-test: output -->                   the previous block prints this text
//	<!-- docs-test: file NAME -->                readers write the block to this file
//
// Printed text may differ from the page in words with digits, and where the page has "…".
package docs
