package flags

import (
	"cmp"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/aws-operator/aws-operator/internal/price"
)

// EnvPrices is the environment variable that names the price list if --prices is not set.
const EnvPrices = "AWS_OPERATOR_PRICES"

// Prices is the flag --prices.
type Prices struct{ file string }

// Add gives the command the flag --prices.
func (f *Prices) Add(cmd *cobra.Command) {
	cmd.Flags().StringVar(
		&f.file, "prices", "", "file with a price list, which aws-operator prices update makes (default: $"+EnvPrices+", or a built-in list)",
	)
}

// List returns the price list: that of the flag, that of the environment, or the built-in one.
func (f *Prices) List() (*price.List, error) {
	file := cmp.Or(f.file, os.Getenv(EnvPrices))
	if file == "" {
		return price.Builtin()
	}
	data, err := os.ReadFile(file) //nolint:gosec // the user names it
	if err != nil {
		return nil, fmt.Errorf("read the price list: %w", err)
	}
	list, err := price.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("price list %s: %w", file, err)
	}
	return list, nil
}
