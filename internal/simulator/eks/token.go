package eks

import (
	"context"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/aws-operator/aws-operator/internal/lazyregexp"
	"github.com/aws-operator/aws-operator/internal/simulator/machine"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// The form of a token: a presigned request to STS, with a header that names the cluster.
// https://github.com/kubernetes-sigs/aws-iam-authenticator#how-does-it-work
const (
	tokenPrefix   = "k8s-aws-v1."
	longestToken  = 4 << 10
	clusterHeader = "x-k8s-aws-id"
	tokenDate     = "20060102T150405Z"
	tokenLife     = 15 * time.Minute
)

// tokenParameters are the parameters that the request of a token may have, in lower case.
var tokenParameters = []string{
	"action", "version", "x-amz-algorithm", "x-amz-credential", "x-amz-date", "x-amz-expires", "x-amz-security-token",
	"x-amz-signature", "x-amz-signedheaders",
}

// stsHost matches the names of STS: the global one, regional ones and those of FIPS.
// https://docs.aws.amazon.com/general/latest/gr/sts.html
var stsHost = lazyregexp.New(`^sts(-fips)?(\.[a-z]{2}(-[a-z]+)+-\d)?\.amazonaws\.com(\.cn)?$`)

// identity is who STS says that the caller is.
type identity struct {
	Account string `xml:"GetCallerIdentityResult>Account"`
	ARN     string `xml:"GetCallerIdentityResult>Arn"`
}

// Authenticate verifies a token for a cluster, and returns whose it is. STS verifies the signature. It
// returns an error that says why a token is refused.
func (s *Service) Authenticate(key machine.ControlPlaneKey, token string) (machine.KubernetesUser, error) {
	request, err := s.parseToken(key.Cluster, token)
	if err != nil {
		return machine.KubernetesUser{}, err
	}
	who, err := s.askSTS(request)
	if err != nil {
		return machine.KubernetesUser{}, err
	}
	return s.userOf(key, who)
}

// parseToken returns the request that a token has. The rules are those of package token of
// aws-iam-authenticator.
// https://github.com/kubernetes-sigs/aws-iam-authenticator/blob/master/pkg/token/token.go
func (s *Service) parseToken(cluster, token string) (*http.Request, error) {
	malformed := func(format string, args ...any) error {
		return fmt.Errorf("input token was not properly formatted: "+format, args...)
	}
	encoded, hasPrefix := strings.CutPrefix(token, tokenPrefix)
	switch {
	case len(token) > longestToken:
		return nil, malformed("token is too large")
	case !hasPrefix:
		return nil, malformed("token is missing expected %q prefix", tokenPrefix)
	}
	text, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil {
		return nil, malformed("%w", err)
	}
	u, err := url.Parse(string(text))
	if err != nil {
		return nil, malformed("%w", err)
	}
	query, err := url.ParseQuery(u.RawQuery)
	switch own := s.isOwn(u); {
	case err != nil:
		return nil, malformed("malformed query parameter")
	case u.Scheme != "https" && !own:
		return nil, malformed("unexpected scheme %q in pre-signed URL", u.Scheme)
	case !own && !stsHost.MatchString(u.Host):
		return nil, malformed("unexpected hostname %q in pre-signed URL", u.Host)
	case u.Path != "/" && (u.Path != "" || !own):
		return nil, malformed("unexpected path %q in pre-signed URL", u.Path)
	}
	lower := map[string]string{}
	for name, values := range query {
		if name = strings.ToLower(name); !slices.Contains(tokenParameters, name) {
			return nil, malformed("non-whitelisted query parameter %q", name)
		}
		if _, twice := lower[name]; twice || len(values) != 1 {
			return nil, malformed("query parameter with multiple values not supported")
		}
		lower[name] = values[0]
	}
	if err := s.checkToken(lower); err != nil {
		return nil, malformed("%w", err)
	}
	request := httptest.NewRequestWithContext(wire.WithObserved(context.Background()), http.MethodGet, u.String(), http.NoBody)
	request.Header.Set(clusterHeader, cluster)
	return request, nil
}

// checkToken checks the parameters of the request.
func (s *Service) checkToken(query map[string]string) error {
	if query["action"] != "GetCallerIdentity" {
		return errors.New("unexpected action parameter in pre-signed URL")
	}
	if !slices.Contains(strings.Split(query["x-amz-signedheaders"], ";"), clusterHeader) {
		return fmt.Errorf("client did not sign the %s header in the pre-signed URL", clusterHeader)
	}
	life, err := time.ParseDuration(query["x-amz-expires"] + "s")
	if err != nil || life < 0 || life > tokenLife {
		return fmt.Errorf("invalid X-Amz-Expires parameter in pre-signed URL: %s", query["x-amz-expires"])
	}
	date := query["x-amz-date"]
	if date == "" {
		return errors.New("X-Amz-Date parameter must be present in pre-signed URL")
	}
	signed, err := time.Parse(tokenDate, date)
	if err != nil {
		return fmt.Errorf("error parsing X-Amz-Date parameter %s into format %s: %w", date, tokenDate, err)
	}
	if expired := signed.Add(tokenLife); s.now().After(expired) {
		return fmt.Errorf("X-Amz-Date parameter is expired (%.f minute expiration) %s", tokenLife.Minutes(), expired.Format(time.RFC3339))
	}
	return nil
}

// isOwn reports whether a URL is of the simulator itself, which clients reach without TLS. It only
// listens on the loopback network.
func (s *Service) isOwn(u *url.URL) bool {
	if s.options.Endpoint != nil {
		if own, err := url.Parse(s.options.Endpoint()); err == nil && own.Host != "" && own.Host == u.Host {
			return true
		}
	}
	address := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || address != nil && address.IsLoopback()
}

// askSTS sends the request of a token to STS.
func (s *Service) askSTS(request *http.Request) (identity, error) {
	recorder := httptest.NewRecorder()
	s.options.AWS().ServeHTTP(recorder, request)
	var who identity
	if recorder.Code != http.StatusOK {
		return who, fmt.Errorf("sts getCallerIdentity failed: error from AWS (expected 200, got %d). Body: %s", recorder.Code, recorder.Body)
	}
	if err := xml.Unmarshal(recorder.Body.Bytes(), &who); err != nil || who.ARN == "" {
		return who, fmt.Errorf("sts getCallerIdentity failed: %w", errors.Join(err, errors.New("the response has no ARN")))
	}
	return who, nil
}

// userOf returns the user that a cluster knows a principal as.
func (s *Service) userOf(key machine.ControlPlaneKey, who identity) (machine.KubernetesUser, error) {
	principal, session := s.canonical(who.ARN)
	r := s.enter(wire.Target{Account: key.Account, Region: key.Region})
	defer s.leave(r)
	c, err := r.find(&key.Cluster)
	if err != nil {
		return machine.KubernetesUser{}, err
	}
	if !c.hasEntries() {
		// The creator is an administrator. The aws-auth ConfigMap is not evaluated.
		if principal == c.creator {
			return machine.KubernetesUser{
				Name: "kubernetes-admin", PrincipalARN: principal, Groups: []string{"system:masters", "system:authenticated"},
			}, nil
		}
		return machine.KubernetesUser{}, fmt.Errorf("ARN is not mapped: %s", principal)
	}
	e, ok := c.entries[principal]
	if !ok {
		return machine.KubernetesUser{}, fmt.Errorf("ARN is not mapped: %s", principal)
	}
	name := *e.Username
	if strings.Contains(name, nodeNameVariable) {
		i, exists := s.options.Instances.Instance(key.Account, key.Region, session)
		if !exists {
			return machine.KubernetesUser{}, fmt.Errorf("session %s of %s is no instance", session, principal)
		}
		name = strings.ReplaceAll(name, nodeNameVariable, i.PrivateDNSName)
	}
	name = strings.NewReplacer(sessionNameRawVariable, session, sessionNameVariable, strings.ReplaceAll(session, "@", "-")).Replace(name)
	return machine.KubernetesUser{
		Name: name, PrincipalARN: principal, Groups: append(slices.Clone(e.KubernetesGroups), "system:authenticated"),
	}, nil
}

// canonical returns the role of a session and its name, or any other principal as it is.
func (s *Service) canonical(arn string) (principal, session string) {
	prefix, rest, isSession := strings.Cut(arn, ":assumed-role/")
	if !isSession {
		return arn, ""
	}
	role, session, _ := strings.Cut(rest, "/")
	principal = strings.Replace(prefix, ":sts:", ":iam:", 1) + ":role/" + role
	if s.env.Control != nil && s.env.Control.Principals != nil {
		if of, ok := s.env.Control.Principals.Entity(principal); ok {
			principal = of.ARN // with its path
		}
	}
	return principal, session
}
