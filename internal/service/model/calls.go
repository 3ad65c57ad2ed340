package model

import (
	"fmt"
	"text/template"
	"text/template/parse"
)

// maxCalls limits how often a text may call templates of its own: text/template itself ends only after
// 100,000 nested calls, which takes seconds.
const maxCalls = 10_000

// checkCalls returns an error if a template calls itself, or if all calls together are too many. Calls in a
// range count once.
func checkCalls(tmpl *template.Template) error {
	calls := map[string]int{}
	for _, each := range tmpl.Templates() {
		if _, err := countCalls(tmpl, each.Name(), calls, map[string]bool{}); err != nil {
			return err
		}
	}
	return nil
}

// countCalls returns how many templates the template of a name calls, those that these call included. Known
// has the results, and running the templates whose calls are being counted.
func countCalls(tmpl *template.Template, name string, known map[string]int, running map[string]bool) (int, error) {
	if count, ok := known[name]; ok {
		return count, nil
	}
	called := tmpl.Lookup(name)
	if called == nil || called.Tree == nil {
		return 0, nil // the template's execution reports it
	}
	running[name] = true
	count := 0
	var problem error
	eachLeaf(called.Root, func(leaf parse.Node) {
		call, ok := leaf.(*parse.TemplateNode)
		if !ok || problem != nil {
			return
		}
		if running[call.Name] {
			problem = callProblem(tmpl, called.Tree, call, fmt.Sprintf("the template %q calls itself; templates cannot be recursive", call.Name))
			return
		}
		inner, err := countCalls(tmpl, call.Name, known, running)
		if err != nil {
			problem = err
			return
		}
		if count += 1 + inner; count > maxCalls {
			problem = callProblem(tmpl, called.Tree, call, fmt.Sprintf("templates are called more than %d times", maxCalls))
		}
	})
	delete(running, name)
	known[name] = count
	return count, problem
}

func callProblem(tmpl *template.Template, tree *parse.Tree, call parse.Node, message string) error {
	location, _ := tree.ErrorContext(call)
	return syntaxProblem(tmpl.Name(), fmt.Errorf("template: %s: %s", location, message))
}
