// Package boots finds instances that should have become nodes by now and have not, and says why. It
// asks EC2 for the consoles of such instances, at most once a minute for each object, and returns
// sentences for conditions.
//
// It must never change anything.
package boots
