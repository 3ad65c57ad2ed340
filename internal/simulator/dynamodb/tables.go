package dynamodb

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// Tables are the DynamoDB tables of every account and region. They are safe for
// concurrent use.
type Tables struct {
	env *resource.Env

	mu      sync.RWMutex
	tables  map[tableID]*table
	latency time.Duration
	tokens  map[tokenID]transaction
}

// tableID identifies a table.
type tableID struct{ account, region, name string }

// New returns an empty DynamoDB.
func New(env *resource.Env) *Tables {
	return &Tables{env: env, tables: map[tableID]*table{}, tokens: map[tokenID]transaction{}}
}

// SetLatency sets how long a table that the API creates, updates or deletes stays CREATING,
// UPDATING or DELETING. The default is zero. It does not apply to CloudFormation's tables, for
// which the engine adds the latency.
func (t *Tables) SetLatency(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.latency = d
}

// Providers returns the providers of DynamoDB's CloudFormation types.
func (t *Tables) Providers() map[string]resource.Provider {
	return map[string]resource.Provider{
		"AWS::DynamoDB::Table":       &tableProvider{t},
		"AWS::DynamoDB::GlobalTable": &globalTableProvider{tableProvider{t}},
	}
}

// idOf returns the ID of a table that a caller names by name or ARN.
func idOf(ctx context.Context, name *string) tableID {
	call := wire.CallFrom(ctx)
	id := tableID{account: call.Account, region: call.Region, name: deref(name)}
	if parts := strings.SplitN(id.name, ":", 6); len(parts) == 6 && parts[0] == "arn" {
		id.region, id.account = parts[3], parts[4]
		id.name, _, _ = strings.Cut(strings.TrimPrefix(parts[5], "table/"), "/")
	}
	return id
}

// find returns a table if it exists now. The caller holds a lock.
func (t *Tables) find(id tableID) *table {
	found := t.tables[id]
	if found == nil || found.gone(t.env.Clock.Now()) {
		return nil
	}
	return found
}

// described returns a table for the operations on tables.
func (t *Tables) described(id tableID) (*table, error) {
	if err := checkTableName(id.name); err != nil {
		return nil, err
	}
	if found := t.find(id); found != nil {
		return found, nil
	}
	return nil, noTableNamed(id.name)
}

// data returns a table for the operations on items; it must not be CREATING.
func (t *Tables) data(id tableID) (*table, error) {
	if err := checkTableName(id.name); err != nil {
		return nil, err
	}
	found := t.find(id)
	if found == nil || found.status(t.env.Clock.Now()) == types.TableStatusCreating {
		return nil, noTable()
	}
	return found, nil
}

// byARN returns the table with a resource ARN, for tags.
func (t *Tables) byARN(ctx context.Context, arn *string) (*table, error) {
	id := idOf(ctx, arn)
	if found := t.find(id); found != nil && found.arn == deref(arn) {
		return found, nil
	}
	return nil, refuse("ResourceNotFoundException", "Requested resource not found: ResourcArn: %s not found", deref(arn))
}

func deref[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
