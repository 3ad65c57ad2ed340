// Package logging makes the logger that commands log with: lines for people on
// a terminal, JSON elsewhere. What controller-runtime and client-go log goes
// through it as well.
package logging
