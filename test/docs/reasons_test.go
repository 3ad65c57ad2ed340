package docs

import (
	"go/ast"
	"go/build"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	cloudformation "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

const module = "github.com/aws-operator/aws-operator/"

// TestEveryReasonIsExplained tests that the page explains the reasons that the operator can set, and no others.
func TestEveryReasonIsExplained(t *testing.T) {
	found := reasons{}
	for _, status := range cloudformation.StackStatus("").Values() { // what CloudFormation does is a reason, too
		if strings.HasSuffix(string(status), "_IN_PROGRESS") {
			words := strings.Split(strings.ToLower(string(status)), "_")
			for i, word := range words {
				words[i] = strings.ToUpper(word[:1]) + word[1:]
			}
			found[strings.Join(words, "")] = "CloudFormation"
		}
	}
	code := &program{files: token.NewFileSet(), packages: map[string]*types.Package{}, found: found}
	if _, err := code.Import(module + "internal/operator"); err != nil {
		t.Fatal(err)
	}
	explained := map[string]bool{}
	rows := regexp.MustCompile("(?m)^\\| (`[A-Z].*?) \\|")
	for _, row := range rows.FindAllStringSubmatch(contentOf(t, filepath.Join(root, "docs/guide/troubleshooting.md")), -1) {
		for _, name := range regexp.MustCompile("`([A-Z][A-Za-z]+)`").FindAllStringSubmatch(row[1], -1) {
			explained[name[1]] = true
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(found)) {
		if !explained[reason] {
			t.Errorf("the page does not explain the reason %s, which %s sets", reason, found[reason])
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(explained)) {
		if _, ok := found[reason]; !ok {
			t.Errorf("the page explains the reason %s, which the operator does not set", reason)
		}
	}
}

// program is the operator's code with its types. Packages of other modules are empty, so that nothing has to be compiled.
type program struct {
	files    *token.FileSet
	packages map[string]*types.Package
	found    reasons
}

// Import reads a package, those that it imports, and its reasons.
func (p *program) Import(path string) (*types.Package, error) {
	if known := p.packages[path]; known != nil {
		return known, nil
	}
	folder, own := strings.CutPrefix(path, module)
	if !own {
		empty := types.NewPackage(path, path[strings.LastIndex(path, "/")+1:])
		empty.MarkComplete()
		p.packages[path] = empty
		return empty, nil
	}
	dir := filepath.Join(root, folder)
	source, err := build.ImportDir(dir, 0)
	if err != nil {
		return nil, err
	}
	var parsed []*ast.File
	for _, name := range source.GoFiles {
		file, err := parser.ParseFile(p.files, filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		parsed = append(parsed, file)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: p, Error: func(error) {}} // what empty packages lack
	checked, _ := config.Check(path, p.files, parsed, info)
	p.packages[path] = checked
	if path != module+"internal/cfn/policy" { // The stack engine reports RefusedByPolicy for all reasons of this package.
		p.found.in(p.files, parsed, info)
	}
	return checked, nil
}

// reasons are the reasons of conditions and Events, with a place in the code that sets them.
type reasons map[string]string

// in adds the reasons of a package: the constants that are passed, assigned or returned as a reason,
// which parameters, fields, variables and results have in their name.
func (r reasons) in(files *token.FileSet, parsed []*ast.File, info *types.Info) {
	add := func(e ast.Expr) {
		found := info.Types[e]
		if found.Value == nil || found.Value.Kind() != constant.String || isOtherReason(found.Type) {
			return
		}
		if word := constant.StringVal(found.Value); regexp.MustCompile(`^[A-Z][A-Za-z]+$`).MatchString(word) {
			r[word] = files.Position(e.Pos()).String()
		}
	}
	for _, file := range parsed {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec:
				for i, name := range n.Names {
					if i < len(n.Values) && (isReason(name.Name) || isCause(info.Defs[name])) {
						add(n.Values[i])
					}
				}
			case *ast.CallExpr:
				signature, _ := info.TypeOf(n.Fun).(*types.Signature)
				for i := range n.Args {
					if signature != nil && i < signature.Params().Len() && isReason(signature.Params().At(i).Name()) {
						add(n.Args[i])
					}
				}
				if nameOf(n.Fun) == "Eventf" && len(n.Args) > 3 { // of an EventRecorder, whose package is empty here
					add(n.Args[3])
				}
			case *ast.CompositeLit:
				inLiteral(info, n, add)
			case *ast.AssignStmt:
				for i, left := range n.Lhs {
					if len(n.Rhs) == len(n.Lhs) && isReason(nameOf(left)) {
						add(n.Rhs[i])
					}
				}
			case *ast.FuncDecl:
				inResults(n.Type, n.Body, add)
			case *ast.FuncLit:
				inResults(n.Type, n.Body, add)
			}
			return true
		})
	}
}

// inLiteral adds the reasons in a literal of a struct.
func inLiteral(info *types.Info, literal *ast.CompositeLit, add func(ast.Expr)) {
	for i, element := range literal.Elts {
		name, value := "", element
		if pair, ok := element.(*ast.KeyValueExpr); ok {
			name, value = nameOf(pair.Key), pair.Value
		} else if fields, ok := info.TypeOf(literal).Underlying().(*types.Struct); ok && i < fields.NumFields() {
			name = fields.Field(i).Name()
		}
		if isReason(name) {
			add(value)
		}
	}
}

// inResults adds the reasons that a function returns.
func inResults(function *ast.FuncType, body *ast.BlockStmt, add func(ast.Expr)) {
	if function.Results == nil || body == nil {
		return
	}
	var names []string
	for _, field := range function.Results.List {
		for _, name := range field.Names {
			names = append(names, name.Name)
		}
	}
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			for i, result := range n.Results {
				if i < len(names) && isReason(names[i]) {
					add(result)
				}
			}
		}
		return true
	})
}

func isReason(name string) bool { return strings.HasPrefix(strings.ToLower(name), "reason") }

// isOtherReason reports whether the reasons of a type are not those of conditions, but of drains and
// of validation rules in a CRD.
func isOtherReason(t types.Type) bool {
	name := t.String()
	return strings.HasSuffix(name, "drain.Reason") || strings.HasSuffix(name, "FieldValueErrorReason")
}

// isCause reports whether a constant is a reason by its package or type.
func isCause(o types.Object) bool {
	c, ok := o.(*types.Const)
	return ok && (c.Pkg().Path() == module+"internal/cfn/cause" || strings.HasSuffix(c.Type().String(), "internal/awsapi.Kind"))
}

func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}
