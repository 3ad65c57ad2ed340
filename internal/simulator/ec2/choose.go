package ec2

import (
	"crypto/rand"
	"encoding/hex"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/vpc"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// choice holds the parameters of a Describe operation.
type choice[T any] struct {
	items   map[string]T
	ids     []string
	missing func(id string) *wire.Error
	filters []types.Filter
	fields  vpc.Fields[T]
	token   *string
	most    *int32
}

// choose returns one page of the requested items, ordered by ID, and the token of the next page.
// The caller holds the lock.
func choose[T any](s *Service, r *region, c choice[T]) ([]T, *string, error) {
	passes, err := c.fields.Compile(c.filters)
	if err != nil {
		return nil, nil, err
	}
	tags := s.tags(r.Target)
	var ids []string
	if len(c.ids) > 0 {
		for _, id := range c.ids {
			if _, ok := c.items[id]; !ok {
				return nil, nil, c.missing(id)
			}
			if !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	if candidates, narrowed := tags.Narrow(c.filters); len(c.ids) == 0 && narrowed {
		ids = slices.DeleteFunc(candidates, func(id string) bool { _, ok := c.items[id]; return !ok })
	} else if len(c.ids) == 0 {
		ids = slices.Collect(maps.Keys(c.items))
	}
	if len(c.filters) > 0 {
		ids = slices.DeleteFunc(ids, func(id string) bool { return !passes(c.items[id], tags.Of(id)) })
	}
	ids, next, err := vpc.Page(ids, func(id string) string { return id }, c.most, c.token)
	if err != nil {
		return nil, nil, err
	}
	list := make([]T, len(ids))
	for i, id := range ids {
		list[i] = c.items[id]
	}
	return list, next, nil
}

// tags returns the tags of all resources in an account and region.
func (s *Service) tags(p wire.Target) *vpc.Tags { return s.network.Tags(p.Account, p.Region) }

// tagsFor returns the tags that a request sets on resources of a kind. It returns an error if the
// request sets tags on another kind.
func tagsFor(specifications []types.TagSpecification, kind types.ResourceType) (map[string]string, error) {
	all, err := vpc.TagsFor(specifications, kind)
	if err != nil {
		return nil, err
	}
	return all[kind], nil
}

// overlay copies the members that are set in from to to.
func overlay[T any](to, from *T) {
	src, dst := reflect.ValueOf(from).Elem(), reflect.ValueOf(to).Elem()
	for i := range src.NumField() {
		if f := src.Field(i); src.Type().Field(i).IsExported() && !f.IsZero() {
			dst.Field(i).Set(f)
		}
	}
}

// newID generates an ID with a prefix: i-0123456789abcdef0.
func newID(prefix string) string {
	random := make([]byte, 8)
	_, _ = rand.Read(random) // never fails, see crypto/rand
	return prefix + "-0" + hex.EncodeToString(random)
}

func formatTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
