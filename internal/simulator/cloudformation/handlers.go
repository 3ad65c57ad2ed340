package cloudformation

import (
	_ "embed" // for the handlers
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/simulator/cloudformation/simulated"
	"github.com/aws-operator/aws-operator/internal/simulator/tagging"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

//go:embed handlers.txt
var handlersText string

// missingHandlers returns the handlers that types lack, by type.
var missingHandlers = sync.OnceValue(func() map[string][]string {
	missing := map[string][]string{}
	for line := range strings.Lines(handlersText) {
		if name, handlers, ok := strings.Cut(strings.TrimSpace(line), " "); ok && name != "#" {
			missing[name] = strings.Fields(handlers)
		}
	}
	return missing
})

// HasHandler reports whether a type of AWS has a handler: create, read, update, delete or list. Without the
// handler, Cloud Control API does not support the operation. CloudFormation creates types without
// handlers itself, but it neither imports resources that it cannot read nor checks them for drift.
// https://docs.aws.amazon.com/cloudformation-cli/latest/userguide/resource-type-schema.html
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/resource-import-supported-resources.html
func (e *Engine) HasHandler(kind, handler string) bool {
	return !slices.Contains(missingHandlers()[kind], handler)
}

// SystemTags returns the tags of a resource that CloudFormation set and only AWS can set, which a change by
// another client keeps: https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-properties-resource-tags.html
func (e *Engine) SystemTags(at wire.Target, t *schema.Type, identifier string) map[string]string {
	for _, s := range e.space(at).live() {
		s.mu.Lock()
		tags := s.systemTags(t, identifier)
		s.mu.Unlock()
		if tags != nil {
			return tags
		}
	}
	return nil
}

func (s *stack) systemTags(t *schema.Type, identifier string) map[string]string {
	for _, m := range s.members {
		if m.kind == t.Name && m.tags != nil && simulated.IdentifierOf(t, m.physicalID, m.attributes, m.properties) == identifier {
			tags := maps.Clone(m.tags)
			maps.DeleteFunc(tags, func(key, _ string) bool { return !tagging.IsReserved(key) })
			return tags
		}
	}
	return nil
}
