// Package prices implements the command prices, which makes a price list from AWS's own.
package prices

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/aws-operator/aws-operator/internal/cli/internal/usage"
	"github.com/aws-operator/aws-operator/internal/cli/version"
	"github.com/aws-operator/aws-operator/internal/plural"
	"github.com/aws-operator/aws-operator/internal/price"
	"github.com/aws-operator/aws-operator/internal/price/offer"
)

// defaultEndpoint serves AWS's price list files to everyone:
// https://docs.aws.amazon.com/awsaccountbilling/latest/aboutv2/using-the-aws-price-list-bulk-api-fetching-price-list-files-manually.html
const defaultEndpoint = "https://pricing.us-east-1.amazonaws.com"

type options struct {
	regions, families []string
	out, endpoint     string
}

// Command returns the command.
func Command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "prices",
		Short: "Make the price list that plan computes with",
	}
	cmd.AddCommand(updateCommand())
	return cmd
}

func updateCommand() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "update --region REGION[,REGION …] --out FILE",
		Short: "Take the current prices of regions from AWS's price lists",
		Long: `Download AWS's price lists of the regions, which are public, and write the prices that plan
computes with to a file: those of instances on demand, volumes, load balancers, NAT gateways,
public addresses, keys, zones, secrets, and capacity of tables and streams. Prices of other
regions in the file stay. Pass the file to plan and create with --prices.

The command needs no AWS account. It downloads some hundred MB for each region.`,
		Example: `  aws-operator prices update --region eu-central-1,eu-central-2 --out prices.yaml
  aws-operator plan -f demo.yaml --prices prices.yaml`,
		Args: usage.None,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	set := cmd.Flags()
	set.StringSliceVar(&o.regions, "region", nil, "AWS regions")
	set.StringVar(&o.out, "out", "", "file to write the prices to")
	set.StringSliceVar(&o.families, "instance-families", nil, "families of instance types to keep, such as m6i,t3 (default: all)")
	set.StringVar(&o.endpoint, "endpoint", defaultEndpoint, "address of AWS's price lists")
	_ = cmd.MarkFlagRequired("region")
	_ = cmd.MarkFlagRequired("out")
	return cmd
}

func (o *options) run(cmd *cobra.Command) error {
	at, err := url.Parse(o.endpoint)
	if err != nil || at.Host == "" || at.Scheme != "https" && at.Scheme != "http" {
		return fmt.Errorf("--endpoint %s is invalid: use an address such as %s", o.endpoint, defaultEndpoint)
	}
	list, err := existing(o.out)
	if err != nil {
		return err
	}
	d := &download{client: &http.Client{}, endpoint: at, families: o.families}
	count, err := o.fill(cmd, d, list)
	if err != nil {
		return err
	}
	if err := save(o.out, list); err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %s of %s.\n", o.out, plural.Count(count, "price"), strings.Join(o.regions, ", "))
	return err
}

// fill adds the prices of the regions to a list, and returns their number.
func (o *options) fill(cmd *cobra.Command, d *download, list *price.List) (count int, err error) {
	add := func(code, region, path string) error {
		section, err := d.section(cmd.Context(), code, region, path)
		if err != nil {
			return err
		}
		if len(section.Prices) == 0 {
			cmd.PrintErrf("AWS's price list of %s for %s has no prices of interest.\n", code, region)
			return nil
		}
		list.Set(section)
		count += len(section.Prices)
		return nil
	}
	for _, code := range offer.Codes() {
		paths, err := d.regions(cmd.Context(), code)
		if err != nil {
			return 0, err
		}
		for _, region := range o.regions {
			if paths[region] == "" {
				cmd.PrintErrf("AWS has no prices of %s for region %s.\n", code, region)
				continue
			}
			if err := add(code, region, paths[region]); err != nil {
				return 0, err
			}
		}
	}
	if count == 0 {
		return 0, fmt.Errorf("AWS's price lists have nothing for %s: check the names of the regions", strings.Join(o.regions, ", "))
	}
	return count, add(offer.Route53, price.Global, index(offer.Route53))
}

// existing reads the list to update, a new one if there is none.
func existing(file string) (*price.List, error) {
	data, err := os.ReadFile(file) //nolint:gosec // the user names it
	if errors.Is(err, fs.ErrNotExist) {
		return &price.List{FormatVersion: price.Format}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the price list: %w", err)
	}
	list, err := price.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; name another file with --out", file, err)
	}
	return list, nil
}

// save writes the list, sorted, in one step.
func save(file string, list *price.List) error {
	slices.SortFunc(list.Sections, func(a, b price.Section) int {
		return strings.Compare(a.Region+" "+a.Offer, b.Region+" "+b.Offer)
	})
	text, err := list.Write()
	if err != nil {
		return err
	}
	if _, err := price.Parse(text); err != nil {
		return fmt.Errorf("AWS's price lists cannot be used: %w", err)
	}
	made, err := os.CreateTemp(filepath.Dir(file), ".prices-*")
	if err != nil {
		return fmt.Errorf("write the price list: %w", err)
	}
	_, err = made.Write(text)
	err = errors.Join(err, made.Close())
	if err == nil {
		err = os.Rename(made.Name(), file)
	}
	if err != nil {
		_ = os.Remove(made.Name())
		return fmt.Errorf("write the price list: %w", err)
	}
	return nil
}

// download reads AWS's price list files.
type download struct {
	client   *http.Client
	endpoint *url.URL
	families []string
}

// index is the path of the price list of a service with all regions.
func index(code string) string { return "/offers/v1.0/aws/" + code + "/current/index.json" }

// regions returns the paths of the price lists of a service by region:
// https://docs.aws.amazon.com/awsaccountbilling/latest/aboutv2/service-region-infex-file-for-service.html
func (d *download) regions(ctx context.Context, code string) (map[string]string, error) {
	var all struct {
		Regions map[string]map[string]string `json:"regions"`
	}
	err := d.get(ctx, "/offers/v1.0/aws/"+code+"/current/region_index.json", func(body io.Reader) error {
		return json.NewDecoder(body).Decode(&all)
	})
	if err != nil {
		return nil, err
	}
	paths := map[string]string{}
	for region, of := range all.Regions {
		paths[region] = of["currentVersionUrl"]
	}
	return paths, nil
}

// section reads the price list of a service.
func (d *download) section(ctx context.Context, code, region, path string) (section price.Section, err error) {
	err = d.get(ctx, path, func(body io.Reader) error {
		section, err = offer.Read(body, offer.Options{
			Region: region, Offer: code, Families: d.families, Source: d.endpoint.JoinPath(path).String(),
		})
		return err
	})
	return section, err
}

// largest bounds a file, of which the largest has less than 1 GB.
const largest = 8 << 30

// get passes the file at a path to read.
func (d *download) get(ctx context.Context, path string, read func(io.Reader) error) error {
	if !strings.HasPrefix(path, "/offers/") || strings.Contains(path, "..") {
		return fmt.Errorf("the price list names the file %q, which is not a path of price lists", path)
	}
	address := d.endpoint.JoinPath(path).String()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return fmt.Errorf("download a price list: %w", err)
	}
	request.Header.Set("User-Agent", "aws-operator/"+version.String())
	response, err := d.client.Do(request)
	if err != nil {
		return fmt.Errorf("download a price list: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("download a price list: %s says %s; try again later, or name another --endpoint", address, response.Status)
	}
	if err := read(io.LimitReader(response.Body, largest)); err != nil {
		return fmt.Errorf("%s: %w", address, err)
	}
	return nil
}
