package ec2

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// The instance metadata service:
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-categories.html,
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/configuring-instance-metadata-service.html

const (
	tokenHeader    = "X-Aws-Ec2-Metadata-Token" //nolint:gosec // a header's name
	lifetimeHeader = "X-Aws-Ec2-Metadata-Token-Ttl-Seconds"
	maxLifetime    = 21600
	// latestVersion is the version with all categories.
	latestVersion = "latest"

	// A role's credentials last six hours and are renewed one hour before they expire, so that no
	// client gets credentials that expire within minutes.
	credentialsLast  = 6 * time.Hour
	credentialsRenew = time.Hour
)

// session holds the credentials that an instance's metadata service returns.
type session struct {
	keyID, secret, token string
	updated, expires     time.Time
}

// metadataService serves one instance's metadata.
type metadataService struct {
	s  *Service
	at wire.Target
	i  *instance
}

// metadata returns the metadata service of an instance.
func (s *Service) metadata(p wire.Target, i *instance) http.Handler {
	return &metadataService{s, p, i}
}

// Metadata returns the metadata service of an instance, as at 169.254.169.254. It reports false if
// the instance does not exist.
func (s *Service) Metadata(account, regionName, id string) (http.Handler, bool) {
	r := s.locked(wire.Target{Account: account, Region: regionName})
	defer r.mu.Unlock()
	i, ok := r.instances[id]
	if !ok {
		return nil, false
	}
	return s.metadata(r.Target, i), true
}

// statusPage writes an error response.
func statusPage(w http.ResponseWriter, status int) {
	title := strconv.Itoa(status) + " - " + http.StatusText(status)
	w.Header().Set("Content-Type", "text/html")
	w.Header().Set("Server", "EC2ws")
	w.WriteHeader(status)
	// A write fails only if the client has disconnected.
	_, _ = w.Write(
		[]byte(
			"<?xml version=\"1.0\" encoding=\"iso-8859-1\"?>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" xml:lang=\"en\" lang=\"en\">\n" +
				" <head>\n  <title>" + title + "</title>\n </head>\n <body>\n  <h1>" + title + "</h1>\n </body>\n</html>\n",
		),
	)
}

// ServeHTTP serves one request of the instance.
func (m *metadataService) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r := m.s.regions.At(m.at)
	r.mu.Lock()
	defer r.mu.Unlock()
	options := &m.i.metadata
	switch {
	case options.HttpEndpoint == types.InstanceMetadataEndpointStateDisabled:
		statusPage(w, http.StatusForbidden)
	case req.URL.Path == "/latest/api/token":
		m.giveToken(w, req)
	case req.Method == http.MethodPut && strings.HasSuffix(req.URL.Path, "/api/token"):
		statusPage(w, http.StatusForbidden) // the documented response for paths of a version
	case req.Method != http.MethodGet && req.Method != http.MethodHead:
		statusPage(w, http.StatusMethodNotAllowed)
	case !m.admits(req):
		statusPage(w, http.StatusUnauthorized)
	default:
		m.give(w, r, req.URL.Path)
	}
}

// giveToken serves a PUT of /latest/api/token.
func (m *metadataService) giveToken(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodPut {
		statusPage(w, http.StatusMethodNotAllowed)
		return
	}
	if req.Header.Get("X-Forwarded-For") != "" { // a proxy in between could be abused
		statusPage(w, http.StatusForbidden)
		return
	}
	seconds, err := strconv.Atoi(req.Header.Get(lifetimeHeader))
	if err != nil || seconds < 1 || seconds > maxLifetime {
		statusPage(w, http.StatusBadRequest)
		return
	}
	now := m.s.env.Clock.Now()
	if m.i.tokens == nil {
		m.i.tokens = map[string]time.Time{}
	}
	maps.DeleteFunc(m.i.tokens, func(_ string, ends time.Time) bool { return !now.Before(ends) })
	token := "AQAEA" + wire.RandomID(48) + "=="
	m.i.tokens[token] = now.Add(time.Duration(seconds) * time.Second)
	w.Header().Set(lifetimeHeader, strconv.Itoa(seconds))
	w.Header().Set("Content-Type", "text/plain")
	_, _ = w.Write([]byte(token)) // a write fails only if the client has disconnected
}

// admits reports whether a request has a valid token or needs none.
func (m *metadataService) admits(req *http.Request) bool {
	token := req.Header.Get(tokenHeader)
	if token == "" {
		return m.i.metadata.HttpTokens != types.HttpTokensStateRequired
	}
	ends, ok := m.i.tokens[token]
	return ok && m.s.env.Clock.Now().Before(ends)
}

// give serves a path: with a value, with the list of paths below it, or with not found.
func (m *metadataService) give(w http.ResponseWriter, r *region, path string) {
	version, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	switch {
	case version == "":
		m.write(w, "text/plain", strings.Join(append(slices.Clone(metadataVersions), latestVersion), "\n"))
		return
	case version != latestVersion && !slices.Contains(metadataVersions, version):
		statusPage(w, http.StatusNotFound)
		return
	}
	tree := m.tree(r)
	maps.DeleteFunc(tree, func(path, _ string) bool { return !inVersion(version, path) })
	if rest == "user-data" || rest == "user-data/" {
		if len(m.i.userData) == 0 {
			statusPage(w, http.StatusNotFound)
			return
		}
		m.write(w, "application/octet-stream", string(m.i.userData))
		return
	}
	name := strings.TrimSuffix(rest, "/")
	if value, ok := tree[name]; ok {
		m.write(w, "text/plain", value)
		return
	}
	if name == "" {
		m.write(w, "text/plain", strings.Join(topLevel(tree, len(m.i.userData) > 0), "\n"))
		return
	}
	if name == "meta-data/public-keys" && tree["meta-data/public-keys/0/openssh-key"] != "" {
		m.write(w, "text/plain", "0="+*m.i.data.KeyName)
		return
	}
	if list := below(tree, name); len(list) > 0 {
		m.write(w, "text/plain", strings.Join(list, "\n"))
		return
	}
	statusPage(w, http.StatusNotFound)
}

// topLevel returns what a version has. It lists user-data only if there is any.
func topLevel(tree map[string]string, userData bool) []string {
	names := below(tree, "")
	for i, name := range names {
		names[i] = strings.TrimSuffix(name, "/")
	}
	if userData {
		names = append(names, "user-data")
	}
	return names
}

func (m *metadataService) write(w http.ResponseWriter, kind, text string) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Server", "EC2ws")
	_, _ = w.Write([]byte(text)) // a write fails only if the client has disconnected
}

// below returns the names directly below a path; a name that has paths below it ends in a slash.
func below(tree map[string]string, path string) []string {
	prefix := ""
	if path != "" {
		prefix = path + "/"
	}
	names := map[string]bool{}
	for full := range tree {
		rest, ok := strings.CutPrefix(full, prefix)
		if !ok {
			continue
		}
		name, _, deeper := strings.Cut(rest, "/")
		if deeper {
			name += "/"
		}
		names[name] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// tree returns all metadata by path below the version. The caller holds the lock.
func (m *metadataService) tree(r *region) map[string]string {
	i := m.i
	tree := map[string]string{
		"meta-data/ami-id": i.ImageID, "meta-data/ami-launch-index": strconv.Itoa(int(i.index)), "meta-data/ami-manifest-path": "(unknown)",
		"meta-data/hostname": i.PrivateDNSName, "meta-data/local-hostname": i.PrivateDNSName, "meta-data/local-ipv4": i.PrivateIP.String(),
		"meta-data/instance-action": "none", "meta-data/instance-id": i.ID, "meta-data/instance-type": i.Type,
		"meta-data/instance-life-cycle":         "on-demand",
		"meta-data/placement/availability-zone": i.Zone, "meta-data/placement/region": r.Region,
		"meta-data/profile": "default-hvm", "meta-data/reservation-id": i.reservation.id,
		"meta-data/services/domain": "amazonaws.com", "meta-data/services/partition": m.s.partition(),
		"meta-data/system": "nitro", "meta-data/events/maintenance/history": i.maintenance(false),
		"meta-data/events/maintenance/scheduled": i.maintenance(true),
		"meta-data/block-device-mapping/ami":     strings.TrimPrefix(i.rootDevice, "/dev/"),
		"meta-data/block-device-mapping/root":    i.rootDevice,
		"dynamic/instance-identity/document":     m.document(r),
	}
	if strings.HasPrefix(r.Region, "cn-") {
		tree["meta-data/services/domain"] = "amazonaws.com.cn"
	}
	if subnet, ok := m.s.network.Subnet(r.Account, r.Region, i.SubnetID); ok {
		tree["meta-data/placement/availability-zone-id"] = subnet.ZoneID
	}
	if i.placed != nil {
		tree["meta-data/placement/group-name"] = i.placed.name
	}
	if i.partition > 0 {
		tree["meta-data/placement/partition-number"] = strconv.Itoa(int(i.partition))
	}
	m.addNetwork(r, tree)
	m.addSpot(tree)
	m.addRole(tree)
	if i.data.KeyName != nil {
		if k, ok := r.keyPairs[*i.data.KeyName]; ok {
			tree["meta-data/public-keys/0/openssh-key"] = k.public
		}
	}
	if i.metadata.InstanceMetadataTags == types.InstanceMetadataTagsStateEnabled {
		for key, value := range m.s.tags(r.Target).Get(i.ID) {
			if !strings.ContainsAny(key, "/ ") {
				tree["meta-data/tags/instance/"+key] = value
			}
		}
	}
	return tree
}

func (m *metadataService) addNetwork(r *region, tree map[string]string) {
	for _, card := range m.s.cards(r, m.i) {
		base := "meta-data/network/interfaces/macs/" + card.MAC + "/"
		number := "0"
		if card.Attachment != nil {
			number = strconv.Itoa(int(card.Attachment.DeviceIndex))
		}
		names := []string{}
		for _, g := range m.s.groups(r.Target, card.SecurityGroups) {
			names = append(names, aws.ToString(g.GroupName))
		}
		maps.Copy(tree, map[string]string{
			base + "device-number": number, base + "interface-id": card.ID, base + "local-hostname": privateName(card.PrivateIP, r.Region),
			base + "local-ipv4s": card.PrivateIP.String(), base + "mac": card.MAC, base + "owner-id": r.Account,
			base + "subnet-id": card.SubnetID,
			base + "vpc-id":    card.VPCID, base + "security-group-ids": strings.Join(card.SecurityGroups, "\n"),
			base + "security-groups": strings.Join(names, "\n"),
		})
		if subnet, ok := m.s.network.Subnet(r.Account, r.Region, card.SubnetID); ok {
			tree[base+"subnet-ipv4-cidr-block"], tree[base+"vpc-ipv4-cidr-block"] = subnet.CIDR.String(), subnet.VPCRange.String()
		}
		if card.PublicIP.IsValid() {
			tree[base+"public-ipv4s"], tree[base+"public-hostname"] = card.PublicIP.String(), card.PublicDNSName
		}
		if card.ID != m.i.InterfaceID {
			continue
		}
		tree["meta-data/mac"], tree["meta-data/security-groups"] = card.MAC, strings.Join(names, "\n")
		if card.PublicIP.IsValid() {
			tree["meta-data/public-ipv4"], tree["meta-data/public-hostname"] = card.PublicIP.String(), card.PublicDNSName
		}
	}
}

// addSpot adds the notices of a spot instance.
func (m *metadataService) addSpot(tree map[string]string) {
	i := m.i
	if !i.Spot {
		return
	}
	tree["meta-data/instance-life-cycle"] = "spot"
	if i.notice.action != "" {
		due := i.notice.due.UTC().Format(time.RFC3339)
		tree["meta-data/spot/instance-action"] = encode(struct {
			Action string `json:"action"`
			Time   string `json:"time"`
		}{i.notice.action, due})
		if i.notice.action == "terminate" {
			tree["meta-data/spot/termination-time"] = due
		}
	}
	if !i.notice.recommended.IsZero() {
		tree["meta-data/events/recommendations/rebalance"] = encode(struct {
			Time string `json:"noticeTime"`
		}{i.notice.recommended.UTC().Format(time.RFC3339)})
	}
}

// addRole adds the credentials of the instance's role.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instance-metadata-security-credentials.html
func (m *metadataService) addRole(tree map[string]string) {
	i := m.i
	if i.profile.RoleName == "" {
		return
	}
	now := m.s.env.Clock.Now()
	at := func(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }
	if !m.s.mayAssume(i.profile.RoleARN) {
		tree["meta-data/iam/security-credentials/"+i.profile.RoleName] = encode(struct{ Code, Message, LastUpdated string }{
			"AssumeRoleUnauthorizedAccess", "EC2 cannot assume the role " + i.profile.RoleName + ".", at(now),
		})
		return
	}
	if i.session.expires.Sub(now) < credentialsRenew {
		m.renew(now)
	}
	tree["meta-data/iam/info"] = encode(struct {
		Code               string
		LastUpdated        string
		InstanceProfileArn string
		InstanceProfileID  string `json:"InstanceProfileId"`
	}{"Success", at(i.session.updated), i.profile.ARN, i.profile.ID})
	tree["meta-data/iam/security-credentials/"+i.profile.RoleName] = encode(struct {
		Code            string
		LastUpdated     string
		Type            string
		AccessKeyID     string `json:"AccessKeyId"`
		SecretAccessKey string
		Token           string
		Expiration      string
	}{"Success", at(i.session.updated), "AWS-HMAC", i.session.keyID, i.session.secret, i.session.token, at(i.session.expires)})
}

// renew issues new credentials; earlier credentials stay valid until they expire.
func (m *metadataService) renew(now time.Time) {
	i := m.i
	expires := now.Add(credentialsLast).Truncate(time.Second)
	id, secret, token := m.s.options.Keys.IssueSession(wire.Principal{
		Account: i.Account, Expires: expires, Issued: now, Role: i.profile.RoleARN, UserID: i.profile.RoleID + ":" + i.ID,
		ARN: "arn:" + m.s.partition() + ":sts::" + i.Account + ":assumed-role/" + i.profile.RoleName + "/" + i.ID,
	})
	i.session = session{keyID: id, secret: secret, token: token, updated: now, expires: expires}
}

// document returns the instance identity document.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instance-identity-documents.html
func (m *metadataService) document(r *region) string {
	i := m.i
	text, err := json.MarshalIndent(map[string]any{
		"accountId": r.Account, "architecture": string(i.kind.architecture()), "availabilityZone": i.Zone, "billingProducts": nil,
		"devpayProductCodes": nil, "marketplaceProductCodes": nil, "imageId": i.ImageID, "instanceId": i.ID, "instanceType": i.Type,
		"kernelId": nil, "pendingTime": i.Launched.UTC().Format("2006-01-02T15:04:05Z"), "privateIp": i.PrivateIP.String(),
		"ramdiskId": nil, "region": r.Region, "version": "2017-09-30",
	}, "", "  ")
	if err != nil {
		return err.Error() // strings and null always encode
	}
	return string(text)
}

func encode(v any) string {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err.Error() // strings always encode
	}
	return string(text)
}
