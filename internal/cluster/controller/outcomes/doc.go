// Package outcomes converts errors of AWS and of API servers to outcomes of steps, and combines
// outcomes.
package outcomes
