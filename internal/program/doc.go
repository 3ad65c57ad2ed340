// Package program is about the running program's own file: how much of it is held in memory.
//
// A page of the file that was read counts as the process's until the process lets go of it, and the program is large: most of what
// a short command holds is code and constants that only starting needed. [Return] lets go of them.
package program
