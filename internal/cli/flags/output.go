package flags

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

// Formats of output.
const (
	// FormatTable is a table for people.
	FormatTable = "table"
	// FormatWide is one with more columns.
	FormatWide = "wide"
	// FormatJSON and FormatYAML are for machines.
	FormatJSON = "json"
	FormatYAML = "yaml"
	// FormatName is one name a line, as kind/name.
	FormatName = "name"
)

// Output is the flag that says how to print.
type Output struct {
	// Format is one of the formats that the command knows.
	Format string

	known []string
}

// Add gives the command the flag --output with the formats it knows, the first of which is the default; all of them if
// none are named.
func (f *Output) Add(cmd *cobra.Command, known ...string) {
	if len(known) == 0 {
		known = []string{FormatTable, FormatWide, FormatJSON, FormatYAML, FormatName}
	}
	f.known = known
	cmd.Flags().StringVarP(&f.Format, "output", "o", known[0], "output format: "+strings.Join(known, ", "))
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(known, cobra.ShellCompDirectiveNoFileComp))
}

// Check errs if the format is none that the command knows. Commands call it before they do anything.
func (f *Output) Check() error {
	if slices.Contains(f.known, f.Format) {
		return nil
	}
	return fmt.Errorf("--output %s is unknown; use one of %s", f.Format, strings.Join(f.known, ", "))
}

// Table is what is printed for people.
type Table struct {
	// Columns are the headers, and Wide how many of the last are shown by FormatWide only.
	Columns []string
	Wide    int
	// Rows are the cells by row.
	Rows [][]string
	// Names are the lines of FormatName, one a row.
	Names []string
}

// Print prints data as JSON or YAML, or the table, as the format says.
func (f *Output) Print(out io.Writer, data any, table Table) error {
	switch f.Format {
	case FormatJSON:
		encoder := json.NewEncoder(out)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		return encoder.Encode(data)
	case FormatYAML:
		text, err := yaml.Marshal(data)
		if err != nil {
			return fmt.Errorf("write YAML: %w", err)
		}
		_, err = out.Write(text)
		return err
	case FormatName:
		for _, name := range table.Names {
			if _, err := fmt.Fprintln(out, name); err != nil {
				return err
			}
		}
		return nil
	}
	return table.print(out, f.Format == FormatWide)
}

func (t Table) print(out io.Writer, wide bool) error {
	shown := len(t.Columns)
	if !wide {
		shown -= t.Wide
	}
	const gap = 3
	w := tabwriter.NewWriter(out, 0, 0, gap, ' ', 0)
	for _, row := range append([][]string{t.Columns}, t.Rows...) {
		if _, err := fmt.Fprintln(w, strings.Join(row[:shown], "\t")); err != nil {
			return err
		}
	}
	return w.Flush()
}
