// Command generate reads the source of the SDK's EC2 client and writes the wire names of the
// members that EC2's naming rule does not give.
package main

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const sdk = "github.com/aws/aws-sdk-go-v2/service/ec2"

// member holds the wire names of one field in responses and in requests.
type member struct{ answer, request, item string }

// itemNames are the names of list items in the lists' decoders, by function name, where the name is
// not "item".
var itemNames = map[string]string{}

// members holds all members by type and field.
type members map[string]map[string]member

func main() {
	if err := run(context.Background(), "names.txt"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out string) error {
	dir, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", sdk).Output()
	if err != nil {
		return fmt.Errorf("finding the SDK's source: %w", err)
	}
	all := members{}
	for file, read := range map[string]func(*ast.BlockStmt) map[string]member{
		"serializers.go": requestNames, "deserializers.go": answerNames,
	} {
		parsed, err := parser.ParseFile(
			token.NewFileSet(), filepath.Join(strings.TrimSpace(string(dir)), file), nil, parser.SkipObjectResolution,
		)
		if err != nil {
			return fmt.Errorf("reading the SDK's source: %w", err)
		}
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && subject(f) == "" {
				items(f)
			}
		}
		for _, d := range parsed.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv != nil {
				continue
			}
			if named := subject(f); named != "" {
				all.add(named, read(f.Body), file == "serializers.go")
			}
		}
	}
	if err := os.WriteFile(out, []byte(all.table()), 0o644); err != nil { //nolint:gosec // source code may be world-readable
		return fmt.Errorf("writing the table: %w", err)
	}
	return nil
}

// items records the item name of a list's decoder.
func items(f *ast.FuncDecl) {
	ast.Inspect(f.Body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) != 2 || !strings.HasPrefix(f.Name.Name, "awsEc2query_deserializeDocument") {
			return true
		}
		if s, ok := call.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "EqualFold" && text(call.Args[0]) != "item" {
			itemNames[f.Name.Name] = text(call.Args[0])
		}
		return true
	})
}

// itemOf returns the type of the items that a piece of code decodes.
func itemOf(code ast.Node) (item string) {
	ast.Inspect(code, func(n ast.Node) bool {
		if x, ok := n.(*ast.Ident); ok && itemNames[x.Name] != "" {
			item = itemNames[x.Name]
		}
		return item == ""
	})
	return item
}

// subject returns the type that a function encodes or decodes, which is the type of its first
// parameter if that is called v; "" for other functions and for lists.
func subject(f *ast.FuncDecl) string {
	if !strings.HasPrefix(f.Name.Name, "awsEc2query_") || len(f.Type.Params.List) == 0 {
		return ""
	}
	t := f.Type.Params.List[0].Type
	for {
		star, ok := t.(*ast.StarExpr)
		if !ok {
			break
		}
		t = star.X
	}
	switch t := t.(type) {
	case *ast.Ident:
		return t.Name
	case *ast.SelectorExpr:
		return t.Sel.Name
	default:
		return ""
	}
}

func (m members) add(named string, fields map[string]member, request bool) {
	if len(fields) == 0 {
		return
	}
	if m[named] == nil {
		m[named] = map[string]member{}
	}
	for field, called := range fields {
		at := m[named][field]
		if request {
			at.request = called.request
		} else {
			at.answer, at.item = called.answer, called.item
		}
		m[named][field] = at
	}
}

// requestNames reads `if v.Field != nil { objectKey := object.Key("Name") … }`.
func requestNames(body *ast.BlockStmt) map[string]member {
	names := map[string]member{}
	for _, statement := range body.List {
		branch, ok := statement.(*ast.IfStmt)
		if !ok {
			continue
		}
		field := fieldOf(branch.Cond, "v")
		ast.Inspect(branch.Body, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 1 {
				return true
			}
			if s, ok := call.Fun.(*ast.SelectorExpr); ok && (s.Sel.Name == "Key" || s.Sel.Name == "FlatKey") && field != "" {
				names[field] = member{request: text(call.Args[0])}
			}
			return true
		})
	}
	return names
}

// answerNames reads `case strings.EqualFold("name", t.Name.Local): … sv.Field …`.
func answerNames(body *ast.BlockStmt) map[string]member {
	names := map[string]member{}
	ast.Inspect(body, func(n ast.Node) bool {
		clause, ok := n.(*ast.CaseClause)
		if !ok || len(clause.List) != 1 {
			return true
		}
		call, ok := clause.List[0].(*ast.CallExpr)
		if !ok || len(call.Args) != 2 {
			return true
		}
		for _, statement := range clause.Body {
			if field := fieldOf(statement, "sv"); field != "" {
				names[field] = member{answer: text(call.Args[0]), item: itemOf(statement)}
			}
		}
		return true
	})
	return names
}

// fieldOf returns the first field of a variable that a piece of code uses.
func fieldOf(code ast.Node, variable string) (field string) {
	ast.Inspect(code, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && field == "" {
			if x, ok := s.X.(*ast.Ident); ok && x.Name == variable {
				field = s.Sel.Name
			}
		}
		return field == ""
	})
	return field
}

func text(literal ast.Expr) string {
	l, ok := literal.(*ast.BasicLit)
	if !ok {
		return ""
	}
	s, err := strconv.Unquote(l.Value)
	if err != nil {
		return ""
	}
	return s
}

func (m members) table() string {
	var buf strings.Builder
	buf.WriteString("# Made by go generate from " + sdk + ". Field=answer[/request][:item].\n")
	for _, named := range slices.Sorted(maps.Keys(m)) {
		var line strings.Builder
		for _, field := range slices.Sorted(maps.Keys(m[named])) {
			line.WriteString(m[named][field].exception(field))
		}
		if line.Len() > 0 {
			buf.WriteString(named + line.String() + "\n")
		}
	}
	return buf.String()
}

// exception returns the table's entry for a field, or "" if the rule gives the name: the Go name,
// beginning with a lower-case letter in responses.
func (n member) exception(field string) string {
	rule := strings.ToLower(field[:1]) + field[1:]
	answer := n.answer
	if answer == "" {
		answer = rule
	}
	request := n.request
	if strings.EqualFold(request, answer) || strings.EqualFold(request, field) {
		request = ""
	}
	if request == "" && n.item == "" && answer == rule {
		return ""
	}
	called := " " + field + "=" + answer
	if request != "" {
		called += "/" + request
	}
	if n.item != "" {
		called += ":" + n.item
	}
	return called
}
