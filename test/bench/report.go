package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// row is one measurement with its goal.
type row struct {
	name, measured, goal, peer string
	met                        bool
}

// report collects rows and prints them as a Markdown table for the documentation.
type report struct {
	rows []row
}

// duration adds a measurement that should not exceed goal; a zero goal means none.
func (r *report) duration(name string, measured, goal time.Duration, peer string) {
	text := ""
	if goal > 0 {
		text = "≤ " + goal.String()
	}
	r.rows = append(r.rows, row{name, round(measured).String(), text, peer, goal == 0 || measured <= goal})
}

// number adds a measurement in a unit.
func (r *report) number(name string, measured, goal float64, unit, peer string) {
	r.rows = append(r.rows, row{
		name, fmt.Sprintf("%.4g%s", measured, unit), fmt.Sprintf("≤ %g%s", goal, unit), peer, measured <= goal,
	})
}

// note adds a measurement without a goal.
func (r *report) note(name, measured string) {
	r.rows = append(r.rows, row{name: name, measured: measured, met: true})
}

// write prints the table. The peer's numbers are those from which the project's goals were derived:
// ACK's SQS controller on two cores with its fastest setting.
func (r *report) write(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	_, _ = fmt.Fprintln(table, "| what\t| measured\t| goal\t| met\t| a peer (ACK) \t|")
	_, _ = fmt.Fprintln(table, "| ---\t| ---\t| ---\t| ---\t| ---\t|")
	for _, row := range r.rows {
		met := "yes"
		switch {
		case row.goal == "":
			met = ""
		case !row.met:
			met = "NO"
		}
		_, _ = fmt.Fprintf(table, "| %s\t| %s\t| %s\t| %s\t| %s\t|\n", row.name, row.measured, row.goal, met, row.peer)
	}
	return table.Flush()
}

// round rounds a duration to its significant part.
func round(d time.Duration) time.Duration {
	switch {
	case d > time.Second:
		return d.Round(10 * time.Millisecond)
	case d > time.Millisecond:
		return d.Round(100 * time.Microsecond)
	default:
		return d.Round(time.Microsecond)
	}
}
