package nodeup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

const (
	// spaceAgain is how often a slot checks the space of its etcd, and spaceSoon when it does after it changed something.
	spaceAgain, spaceSoon = 10 * time.Minute, 15 * time.Second
	// leastFree and freePercent are what defragmenting a member has to return, in bytes and of its size. OpenShift has the same:
	// https://github.com/openshift/cluster-etcd-operator/blob/master/pkg/operator/defragcontroller/defragcontroller.go
	leastFree, freePercent = 100 << 20, 45
	// fullPercent is the part of the quota from which on any tenth of the size is worth it.
	fullPercent = 80
	// defragTimeout is longer than etcd takes for the eight GiB that it may have.
	defragTimeout = 10 * time.Minute

	noSpace = "NOSPACE"
)

// etcdState is what a member reports of itself. Numbers of 64 bits are strings:
// https://etcd.io/docs/v3.6/dev-guide/api_grpc_gateway/
type etcdState struct {
	Header struct {
		MemberID string `json:"member_id"` //nolint:tagliatelle // the names are etcd's
		Revision int64  `json:"revision,string"`
	} `json:"header"`
	Leader    string `json:"leader"`
	Size      int64  `json:"dbSize,string"`
	InUse     int64  `json:"dbSizeInUse,string"`
	Quota     int64  `json:"dbSizeQuota,string"` // from etcd 3.6 on
	IsLearner bool   `json:"isLearner"`

	host string
}

func (s *etcdState) isLeader() bool { return s.Leader == s.Header.MemberID }

// isNearlyFull reports whether the database has most of its quota.
func (s *etcdState) isNearlyFull() bool {
	return s.Quota > 0 && s.Size*100 >= s.Quota*fullPercent //nolint:mnd // percent
}

// keepSpace has the slot's member return the space that it does not use, until the context ends.
func (b *boot) keepSpace(ctx context.Context) {
	var seen int64
	for last := ""; ; {
		did, revision, err := b.makeSpace(ctx, seen)
		wait := spaceAgain
		switch {
		case err != nil:
			did = err.Error()
		case did != "":
			wait = spaceSoon
		default:
			did, seen = "nothing", revision
		}
		if did != last && ctx.Err() == nil {
			b.Log.Info("etcd space", "did", did)
		}
		last = did
		select {
		case <-ctx.Done():
			return
		case <-b.Clock.After(wait):
		}
	}
}

// makeSpace defragments the slot's member if that is worth it: while all members are healthy voters, one after the
// other, and the leader last, after another one leads. A member does not answer meanwhile, so the only one waits until
// its quota is nearly reached. When etcd refuses writes because a member is full, the slots also compact the history
// that the API server no longer can, up to a revision that was current at the check before, and allow writes again as soon as there
// is space: https://etcd.io/docs/v3.6/op-guide/maintenance/. It returns what it did, empty for nothing, and the
// current revision.
func (b *boot) makeSpace(ctx context.Context, seen int64) (did string, revision int64, err error) {
	client, err := b.etcdClient()
	if err != nil {
		return "", 0, err
	}
	defer client.CloseIdleConnections()
	full, err := b.askAlarms(ctx, client)
	if err != nil {
		return "", 0, err
	}
	if len(full) > 0 {
		if err := b.commit(ctx, client); err != nil {
			return "", 0, err
		}
	}
	states, own, err := b.askStates(ctx, client)
	if err != nil {
		return "", 0, fmt.Errorf("etcd is not defragmented while a member is unhealthy: %w", err)
	}
	revision = own.Header.Revision
	if len(full) > 0 && own.isLeader() && seen > 0 {
		err := b.askEtcd(ctx, client, own.host, "/v3/kv/compaction", map[string]any{"revision": seen, "physical": true}, nil)
		if err != nil && !strings.Contains(err.Error(), "has been compacted") {
			return "", 0, fmt.Errorf("compact etcd's history: %w", err)
		}
	}
	switch next := nextToDefragment(states, len(full) > 0); {
	case next == own:
		did, err = b.defragment(ctx, client, own, states)
	case next == nil && slices.Contains(full, own.Header.MemberID) && !own.isNearlyFull():
		did, err = b.disarm(ctx, client, own)
	}
	return did, revision, err
}

// nextToDefragment returns the member whose turn it is, nil if it is worth it for none.
func nextToDefragment(states []*etcdState, isFull bool) *etcdState {
	alone := len(states) == 1
	worth := func(s *etcdState) bool {
		free := s.Size - s.InUse
		if isFull || s.isNearlyFull() {
			return free*10 >= s.Size //nolint:mnd // a tenth
		}
		return !alone && free >= leastFree && free*100 >= s.Size*freePercent //nolint:mnd // percent
	}
	var worthy []*etcdState
	for _, s := range states {
		if worth(s) {
			worthy = append(worthy, s)
		}
	}
	if len(worthy) == 0 {
		return nil
	}
	return slices.MinFunc(worthy, func(a, b *etcdState) int {
		if a.isLeader() != b.isLeader() {
			if a.isLeader() {
				return 1
			}
			return -1
		}
		return cmp.Compare(a.host, b.host)
	})
}

// defragment defragments the slot's member, or gives up its leadership before.
func (b *boot) defragment(ctx context.Context, client *http.Client, own *etcdState, states []*etcdState) (string, error) {
	if own.isLeader() && len(states) > 1 {
		i := slices.IndexFunc(states, func(s *etcdState) bool { return s != own })
		target := map[string]any{"targetID": states[i].Header.MemberID}
		if err := b.askEtcd(ctx, client, own.host, "/v3/maintenance/transfer-leadership", target, nil); err != nil {
			return "", fmt.Errorf("have another member of etcd lead: %w", err)
		}
		return "had " + states[i].host + " lead", nil
	}
	ctx, cancel := context.WithTimeout(ctx, defragTimeout)
	defer cancel()
	answer, err := b.openEtcd(ctx, client, own.host, "/v3/maintenance/defragment", map[string]any{})
	if err != nil {
		return "", fmt.Errorf("defragment etcd: %w", err)
	}
	_ = answer.Body.Close()
	return fmt.Sprintf("defragmented %d MiB, of which %d were in use", own.Size>>20, own.InUse>>20), nil
}

// commit has the slot's member commit, as each snapshot begins with it. The space in use is counted then, and a full etcd without writes
// may still report that of before its compaction.
func (b *boot) commit(ctx context.Context, client *http.Client) error {
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	answer, err := b.openEtcd(ctx, client, b.bundle.Etcd.DNSName, "/v3/maintenance/snapshot", map[string]any{})
	if err != nil {
		return fmt.Errorf("have etcd count its space: %w", err)
	}
	_ = answer.Body.Close()
	return nil
}

// disarm lets etcd write again.
func (b *boot) disarm(ctx context.Context, client *http.Client, own *etcdState) (string, error) {
	alarm := map[string]any{"action": "DEACTIVATE", "memberID": own.Header.MemberID, "alarm": noSpace}
	if err := b.askEtcd(ctx, client, own.host, "/v3/maintenance/alarm", alarm, nil); err != nil {
		return "", fmt.Errorf("allow writes to etcd: %w", err)
	}
	return "allowed writes again, since there is space", nil
}

// askStates returns the states of all members, in the order of their names, and that of the slot's own. It fails if one is
// unhealthy, or has no vote.
func (b *boot) askStates(ctx context.Context, client *http.Client) (states []*etcdState, own *etcdState, err error) {
	_, members, err := b.listMembers(ctx, client, []string{b.bundle.Etcd.DNSName})
	if err != nil {
		return nil, nil, err
	}
	for _, member := range members {
		if len(member.PeerURLs) == 0 {
			return nil, nil, errors.New("a member has no URL")
		}
		host, err := hostOf(member.PeerURLs[0])
		if err != nil {
			return nil, nil, err
		}
		s := &etcdState{host: host}
		if err := b.askEtcd(ctx, client, host, "/v3/maintenance/status", map[string]any{}, s); err != nil {
			return nil, nil, err
		}
		if s.IsLearner || s.Leader == "" || s.Leader == "0" {
			return nil, nil, fmt.Errorf("%s is joining, or knows no leader", host)
		}
		states = append(states, s)
		if b.isOwn(member) {
			own = s
		}
	}
	if own == nil {
		return nil, nil, fmt.Errorf("etcd knows no member of slot %d", b.bundle.Etcd.Slot)
	}
	return states, own, nil
}

// askAlarms returns the IDs of the members that are full.
func (b *boot) askAlarms(ctx context.Context, client *http.Client) (full []string, err error) {
	var list struct {
		Alarms []struct {
			MemberID string `json:"memberID"`
			Alarm    string `json:"alarm"`
		} `json:"alarms"`
	}
	if err := b.askEtcd(ctx, client, b.bundle.Etcd.DNSName, "/v3/maintenance/alarm", map[string]any{"action": "GET"}, &list); err != nil {
		return nil, fmt.Errorf("read etcd's alarms: %w", err)
	}
	for _, a := range list.Alarms {
		if a.Alarm == noSpace {
			full = append(full, a.MemberID)
		}
	}
	return full, nil
}
