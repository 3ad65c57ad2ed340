// Package listing cuts what a list operation finds to pages, as the simulated
// services do whose tokens are the last name of the page before.
package listing
