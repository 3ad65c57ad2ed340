package workload

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// sizeTimeout bounds the request for the size of etcd's database. The API server asks etcd within a
// second, and writes all of its metrics.
const sizeTimeout = 5 * time.Second

// sizeMetric is the size of the database of the API server's etcd, in bytes. It is a stable metric:
// https://kubernetes.io/docs/reference/instrumentation/metrics/
const sizeMetric = "apiserver_storage_size_bytes"

// EtcdSize returns the size of etcd's database in bytes, as the API server that answers measures it.
// All members hold the same data; their files differ by what is free in them. It returns an error
// if the API server does not report a size.
func (c *Cluster) EtcdSize(ctx context.Context) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, sizeTimeout)
	defer cancel()
	body, err := c.core.RESTClient().Get().AbsPath("/metrics").MaxRetries(0).Stream(ctx)
	if err != nil {
		return 0, fmt.Errorf("read the API server's metrics: %w", err)
	}
	defer body.Close() //nolint:errcheck // It was only read.
	lines := bufio.NewScanner(body)
	for lines.Scan() {
		rest, found := strings.CutPrefix(lines.Text(), sizeMetric+"{")
		if !found {
			continue
		}
		_, value, _ := strings.Cut(rest, "} ")
		size, err := strconv.ParseFloat(value, 64)
		if err != nil || !(size >= 0 && size < 1<<50) {
			return 0, fmt.Errorf("the API server reports the size %q of etcd's database", value)
		}
		return int64(size), nil
	}
	if err := lines.Err(); err != nil {
		return 0, fmt.Errorf("read the API server's metrics: %w", err)
	}
	return 0, errors.New("the API server does not report the size of etcd's database")
}
