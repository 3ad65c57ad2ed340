//go:build linux

package agent

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// The probe intervals: frequent until the container is ready, rare afterwards.
const (
	probeFirst = time.Second
	probeThen  = 5 * time.Second
	probeShort = time.Second
)

// probe runs the readiness probe, or else the startup probe, and updates the container's readiness.
// A container without an HTTP probe is ready as soon as it runs.
func (c *container) probe(ctx context.Context) {
	asked := c.spec.ReadinessProbe
	if asked == nil {
		asked = c.spec.StartupProbe
	}
	if asked == nil || asked.HTTPGet == nil {
		c.set(func(s *containerState) { s.Ready = s.Running })
		return
	}
	// Like a kubelet, do not verify the component's certificate.
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // see above
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: max(probeShort, time.Duration(asked.TimeoutSeconds)*time.Second)}
	for {
		ready := answers(ctx, client, c.url(asked.HTTPGet))
		if ctx.Err() != nil {
			return
		}
		c.set(func(s *containerState) { s.Ready = s.Running && ready })
		wait := probeFirst
		if ready {
			wait = probeThen
		}
		select {
		case <-ctx.Done():
			return
		case <-c.clock.After(wait):
		}
	}
}

func (c *container) url(get *corev1.HTTPGetAction) string {
	host := get.Host
	if host == "" {
		host = c.field("status.podIP")
	}
	port := get.Port.String()
	if number, named := c.port(port); named {
		port = strconv.Itoa(int(number))
	}
	return strings.ToLower(string(get.Scheme)) + "://" + net.JoinHostPort(host, port) + get.Path
}

// port resolves a named port.
func (c *container) port(name string) (int32, bool) {
	for _, p := range c.spec.Ports {
		if p.Name == name {
			return p.ContainerPort, true
		}
	}
	return 0, false
}

func answers(ctx context.Context, client *http.Client, url string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return false
	}
	response, err := client.Do(request)
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return response.StatusCode >= http.StatusOK && response.StatusCode < http.StatusBadRequest
}
