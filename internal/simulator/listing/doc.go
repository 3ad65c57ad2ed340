// Package listing splits the results of list operations into pages, for services whose page token
// is the last name of the previous page.
package listing
