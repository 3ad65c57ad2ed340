package ec2names

import (
	_ "embed"
	"strings"
	"sync"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

//go:embed names.txt
var table string

// Names returns the exceptions to the naming rule, by type and field, as [wire.Service.Names] holds
// them. The map is shared: callers must not change it.
func Names() map[string]wire.Name { return names() }

// Each line of the table is a type and then, for each field that is an exception,
// "Field=answer[/request][:item]".
var names = sync.OnceValue(func() map[string]wire.Name {
	m := map[string]wire.Name{}
	for line := range strings.Lines(table) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		for _, word := range words[1:] {
			field, called, _ := strings.Cut(word, "=")
			called, item, _ := strings.Cut(called, ":")
			answer, request, _ := strings.Cut(called, "/")
			m[words[0]+"."+field] = wire.Name{Wire: answer, Request: request, Item: item}
		}
	}
	return m
})
