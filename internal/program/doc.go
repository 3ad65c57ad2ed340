// Package program frees the memory that holds parts of the running program's own file.
//
// A page of the file that the process has read counts as its memory until the process releases it,
// and the program is large: most of the memory of a short command is code and constants that only
// its start needed. [Return] releases these pages.
package program
