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
	// FormatTable is a table.
	FormatTable = "table"
	// FormatWide is a table with more columns.
	FormatWide = "wide"
	// FormatJSON and FormatYAML are for programs.
	FormatJSON = "json"
	FormatYAML = "yaml"
	// FormatName is one name per line, as kind/name.
	FormatName = "name"
)

// Output is the flag --output.
type Output struct {
	// Format is the selected format.
	Format string

	known []string
}

// Add adds the flag --output with the formats that the command supports, the first of which is the
// default; all of them if none are named.
func (f *Output) Add(cmd *cobra.Command, known ...string) {
	if len(known) == 0 {
		known = []string{FormatTable, FormatWide, FormatJSON, FormatYAML, FormatName}
	}
	f.known = known
	cmd.Flags().StringVarP(&f.Format, "output", "o", known[0], "output format: "+strings.Join(known, ", "))
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(known, cobra.ShellCompDirectiveNoFileComp))
}

// Check returns an error if the command does not support the format. Commands call it before they
// do anything.
func (f *Output) Check() error {
	if slices.Contains(f.known, f.Format) {
		return nil
	}
	return fmt.Errorf("--output %s is unknown; use one of %s", f.Format, strings.Join(f.known, ", "))
}

// Table is the output for FormatTable, FormatWide and FormatName.
type Table struct {
	// Columns are the headers. Wide is how many of the last columns only FormatWide shows.
	Columns []string
	Wide    int
	// Rows are the cells by row.
	Rows [][]string
	// Names are the lines of FormatName, one per row.
	Names []string
}

// Print prints data as JSON or YAML, or the table, depending on the format.
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
