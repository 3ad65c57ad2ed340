// Package wiretest provides clients for the tests of simulated services.
package wiretest
