package alerts_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/discovery/targetgroup"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/scrape"
	"github.com/prometheus/prometheus/tsdb"
)

const (
	scrapeInterval = 2 * time.Second
	job            = "aws-operator"
	// complete is what the run logs when everything holds that dashboards show.
	complete = "the run is complete"
)

// scraped is a database of Prometheus with what it scraped during a run of the operator.
type scraped struct {
	db         *tsdb.DB
	engine     *promql.Engine
	start, end time.Time
}

// run is the one run of all tests.
var run struct {
	sync.Once
	scraped *scraped
	err     error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if run.scraped != nil {
		_ = run.scraped.db.Close()
		_ = os.RemoveAll(run.scraped.db.Dir())
	}
	os.Exit(code)
}

// scrapeARun returns what Prometheus scraped during a run of the operator, which the first test that
// calls it starts.
func scrapeARun(t *testing.T) *scraped {
	t.Helper()
	if testing.Short() {
		t.Skip("a run of the operator takes minutes")
	}
	run.Do(func() { run.scraped, run.err = newScraped(t) })
	if run.err != nil {
		t.Fatal(run.err)
	}
	run.scraped.engine = promqltest.NewTestEngine(t, false, 5*time.Minute, 50_000_000)
	return run.scraped
}

func newScraped(t *testing.T) (*scraped, error) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "aws-operator-prometheus-")
	if err != nil {
		return nil, err
	}
	db, err := tsdb.Open(folder, nil, nil, tsdb.DefaultOptions(), nil)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	defer cancel()
	s := &scraped{db: db, start: time.Now(), engine: promqltest.NewTestEngine(t, false, 5*time.Minute, 50_000_000)}
	stop, err := startScrapes(db, address)
	if err != nil {
		return nil, err
	}
	defer stop()
	err = operate(ctx, address, func() error { return s.awaitScrapes(ctx) })
	s.end = time.Now()
	return s, err
}

// startScrapes starts Prometheus' own scrapes of an operator, configured as docs/guide/install.md says.
func startScrapes(db *tsdb.DB, address string) (stop func(), err error) {
	registry, logger := prometheus.NewRegistry(), slog.New(slog.DiscardHandler)
	manager, err := scrape.NewManager(&scrape.Options{DiscoveryReloadInterval: model.Duration(time.Second)}, logger, nil, nil, db, registry)
	if err != nil {
		return nil, err
	}
	settings, err := config.Load(fmt.Sprintf(`
global: {scrape_interval: %s, scrape_timeout: %s}
scrape_configs: [{job_name: %s, honor_labels: true}]
`, scrapeInterval, scrapeInterval, job), logger)
	if err != nil {
		return nil, err
	}
	if err := manager.ApplyConfig(settings); err != nil {
		return nil, err
	}
	targets := make(chan map[string][]*targetgroup.Group, 1)
	targets <- map[string][]*targetgroup.Group{
		job: {{Source: "test", Targets: []model.LabelSet{{model.AddressLabel: model.LabelValue(address)}}}},
	}
	ended := make(chan error, 1)
	go func() { ended <- manager.Run(targets) }()
	return func() {
		manager.Stop()
		<-ended
	}, nil
}

// operate runs the operator in a process of the repository's module, and ends it after a function that it calls when
// the run is complete. The error has the output of the process.
func operate(ctx context.Context, address string, then func() error) error {
	folder, err := os.MkdirTemp("", "aws-operator-run-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	program := filepath.Join(folder, "run.test")
	build := exec.CommandContext(ctx, "go", "test", "-c", "-o", program, "./test/metrics")
	build.Dir = "../.."
	if output, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the run: %w\n%s", err, output)
	}
	process := exec.CommandContext(ctx, program, "-test.v", "-test.run=^TestRun$", "-test.timeout=12m")
	process.Dir = "../../test/metrics"
	process.Env = append(os.Environ(), "METRICS_ADDRESS="+address)
	input, err := process.StdinPipe()
	if err != nil {
		return err
	}
	output, written := io.Pipe()
	process.Stdout, process.Stderr = written, written
	if err := process.Start(); err != nil {
		return err
	}
	var problem error
	var lines strings.Builder
	read := make(chan struct{})
	go func() {
		defer close(read)
		for scanner := bufio.NewScanner(output); scanner.Scan(); {
			lines.WriteString(scanner.Text() + "\n")
			if strings.HasSuffix(scanner.Text(), complete) {
				problem = then()
				_ = input.Close()
			}
		}
		_, _ = io.Copy(io.Discard, output)
	}()
	err = process.Wait()
	_ = written.Close()
	<-read
	switch {
	case err != nil:
		return fmt.Errorf("run the operator: %w\n%s", err, lines.String())
	case problem != nil:
		return problem
	case !strings.Contains(lines.String(), complete):
		return fmt.Errorf("the run is not complete:\n%s", lines.String())
	}
	return nil
}

// awaitScrapes waits until Prometheus has scraped what holds now, often enough for a rate.
func (s *scraped) awaitScrapes(ctx context.Context) error {
	enough := time.Now().Add(6 * scrapeInterval)
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		query, err := s.engine.NewInstantQuery(ctx, s.db, nil, `max(timestamp(up == 1))`, time.Now())
		if err != nil {
			return err
		}
		vector, err := query.Exec(ctx).Vector()
		if err != nil {
			return err
		}
		if len(vector) > 0 && vector[0].F > float64(enough.Unix()) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("Prometheus does not scrape the operator: %w", ctx.Err())
		case <-ticker.C:
		}
	}
}

// evaluate evaluates a query as Grafana does: over the run, or at its end.
func (s *scraped) evaluate(t *testing.T, text string, instant bool) parser.Value {
	t.Helper()
	query, err := s.engine.NewRangeQuery(t.Context(), s.db, nil, text, s.start, s.end, step)
	if instant {
		query, err = s.engine.NewInstantQuery(t.Context(), s.db, nil, text, s.end.Add(-scrapeInterval))
	}
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	result := query.Exec(t.Context())
	if result.Err != nil {
		t.Fatalf("%s: %v", text, result.Err)
	}
	return result.Value
}

// series returns the series that match.
func (s *scraped) series(t *testing.T, matchers ...*labels.Matcher) (all []labels.Labels) {
	t.Helper()
	querier, err := s.db.Querier(s.start.UnixMilli(), s.end.UnixMilli())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = querier.Close() }()
	set := querier.Select(t.Context(), false, nil, matchers...)
	for set.Next() {
		all = append(all, set.At().Labels())
	}
	if err := set.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}
