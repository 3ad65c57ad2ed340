// Package logging creates the logger of commands: text on a terminal, JSON elsewhere.
// controller-runtime and client-go log through it as well.
package logging
