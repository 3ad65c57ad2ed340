// Package wiretest gives the tests of simulated services clients to call them by.
package wiretest
