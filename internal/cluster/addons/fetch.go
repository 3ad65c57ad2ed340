package addons

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"helm.sh/helm/v4/pkg/registry"

	"github.com/aws-operator/aws-operator/internal/cluster/addons/chartrender"
)

const (
	// fetchTimeout bounds one request for an index or an archive.
	fetchTimeout = 2 * time.Minute
	// maxKept bounds the archives on disk.
	maxKept = 16
)

// digestError reports that a chart's archive does not have the required digest.
type digestError struct {
	chart, got, want string
	// said is the source of the required digest.
	said string
}

// Error reports the digests and what to do.
func (e *digestError) Error() string {
	return fmt.Sprintf(
		"the archive of chart %s has the SHA-256 %s, but %s requires %s: the publisher replaced the archive, or it is forged. "+
			"If you trust the new archive, set the addon's digest in spec.addons to its SHA-256",
		e.chart,
		e.got,
		e.said,
		e.want,
	)
}

// fetcher downloads charts and caches their archives by SHA-256.
type fetcher struct {
	folder   string
	http     *http.Client
	registry *registry.Client
	renderer *chartrender.Renderer
}

func newFetcher(folder string, transport http.RoundTripper, renderer *chartrender.Renderer) (*fetcher, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("create a folder for charts: %w", err)
	}
	client := &http.Client{Transport: limited{transport}, Timeout: fetchTimeout}
	oci, err := registry.NewClient(registry.ClientOptWriter(io.Discard), registry.ClientOptHTTPClient(client),
		registry.ClientOptCredentialsFile(filepath.Join(folder, "registry.json")))
	if err != nil {
		return nil, fmt.Errorf("create a client of chart registries: %w", err)
	}
	return &fetcher{folder: folder, http: client, registry: oci, renderer: renderer}, nil
}

// fetch returns a chart's archive and its SHA-256. It returns a digestError if that is not the
// required one; said is the source of the requirement.
func (f *fetcher) fetch(ctx context.Context, wanted *Chart, digest, said string) ([]byte, string, error) {
	if archive, ok := f.kept(digest); ok {
		return archive, digest, nil
	}
	archive, err := f.download(ctx, wanted)
	if err != nil {
		return nil, "", err
	}
	sum := sumOf(archive)
	if digest != "" && sum != digest {
		return nil, "", &digestError{chart: wanted.Chart + " " + wanted.Version, got: sum, want: digest, said: said}
	}
	f.keep(sum, archive)
	return archive, sum, nil
}

func (f *fetcher) download(ctx context.Context, wanted *Chart) ([]byte, error) {
	var archive []byte
	var err error
	from := wanted.Repository
	if reference, ok := strings.CutPrefix(wanted.Chart, registry.OCIScheme+"://"); ok {
		from = "its registry"
		archive, err = f.pull(reference + ":" + wanted.Version)
	} else {
		archive, err = f.find(ctx, wanted)
	}
	if err != nil {
		return nil, fmt.Errorf("fetch chart %s %s from %s: %w", wanted.Chart, wanted.Version, from, unreachable(err))
	}
	if len(archive) > chartrender.MaxArchive {
		return nil, fmt.Errorf("chart %s %s: %w", wanted.Chart, wanted.Version,
			&chartrender.RefusedError{Why: fmt.Sprintf("its archive has more than %d megabytes", chartrender.MaxArchive>>20)})
	}
	return archive, nil
}

// pull downloads a chart from a registry. The registry client verifies the archive against the
// manifest.
func (f *fetcher) pull(reference string) ([]byte, error) {
	pulled, err := f.registry.Pull(reference)
	if err != nil {
		return nil, err //nolint:wrapcheck // The caller names the chart.
	}
	return pulled.Chart.Data, nil
}

// find downloads a chart from a repository, using its index.
func (f *fetcher) find(ctx context.Context, wanted *Chart) ([]byte, error) {
	base, err := url.Parse(strings.TrimSuffix(wanted.Repository, "/") + "/")
	if err != nil {
		return nil, fmt.Errorf("read the repository's address: %w", err)
	}
	index, err := f.get(ctx, base.JoinPath("index.yaml"), chartrender.MaxIndex)
	if err != nil {
		return nil, err
	}
	found, err := f.renderer.Find(ctx, &chartrender.Find{Index: index, Chart: wanted.Chart, Version: wanted.Version})
	if err != nil {
		return nil, err //nolint:wrapcheck // The caller names the chart.
	}
	address, err := base.Parse(found.URL)
	if err != nil {
		return nil, fmt.Errorf("read the archive's address: %w", err)
	}
	archive, err := f.get(ctx, address, chartrender.MaxArchive)
	if err != nil {
		return nil, err
	}
	if sum := sumOf(archive); found.Digest != "" && sum != found.Digest {
		return nil, &digestError{chart: wanted.Chart + " " + wanted.Version, got: sum, want: found.Digest, said: "the repository's index"}
	}
	return archive, nil
}

// get downloads at most one byte more than the limit.
func (f *fetcher) get(ctx context.Context, from *url.URL, most int64) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, from.String(), http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("create a request: %w", err)
	}
	response, err := f.http.Do(request)
	if err != nil {
		return nil, err //nolint:wrapcheck // The caller names the chart.
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", from.Redacted(), response.Status)
	}
	data, err := io.ReadAll(io.LimitReader(response.Body, most+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", from.Redacted(), err)
	}
	if int64(len(data)) > most {
		return nil, &chartrender.RefusedError{Why: fmt.Sprintf("%s has more than %d megabytes", from.Redacted(), most>>20)}
	}
	return data, nil
}

// kept returns the archive with a digest, if it is on disk and unchanged.
func (f *fetcher) kept(digest string) ([]byte, bool) {
	if digest == "" {
		return nil, false
	}
	archive, err := os.ReadFile(filepath.Join(f.folder, digest+".tgz")) //nolint:gosec // Whatever file it is, it must have that digest.
	return archive, err == nil && sumOf(archive) == digest
}

// keep stores an archive on disk. It ignores errors such as a full disk.
func (f *fetcher) keep(digest string, archive []byte) {
	if all, err := filepath.Glob(filepath.Join(f.folder, "*.tgz")); err == nil && len(all) >= maxKept {
		for _, path := range all {
			_ = os.Remove(path)
		}
	}
	_ = os.WriteFile(filepath.Join(f.folder, digest+".tgz"), archive, 0o600)
}

func sumOf(archive []byte) string {
	sum := sha256.Sum256(archive)
	return hex.EncodeToString(sum[:])
}

// limited bounds the size of a server's responses.
type limited struct{ http.RoundTripper }

// RoundTrip executes a request.
func (l limited) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := l.RoundTripper.RoundTrip(request)
	if err == nil {
		response.Body = http.MaxBytesReader(nil, response.Body, chartrender.MaxIndex+1)
	}
	return response, err //nolint:wrapcheck // A round tripper passes errors on.
}

// unreachable returns why a repository cannot be reached, without the repetitive context of Helm
// and the client; it returns other errors unchanged.
func unreachable(err error) error {
	if unknown, ok := errors.AsType[*net.DNSError](err); ok {
		return fmt.Errorf("look up %s: %s", unknown.Name, unknown.Err)
	}
	if failed, ok := errors.AsType[*net.OpError](err); ok {
		return failed
	}
	return err
}
