package main

import (
	"bytes"
	"fmt"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// sections are the parts of the code, in the order in which a reader meets them. A package belongs
// to the section that names it, or the closest folder above it.
var sections = []struct {
	title, about string
	folders      []string
}{
	{"Programs", "What is built, and what runs where.", []string{"cmd"}},
	{"API", "The kinds that users write.", []string{"api", "examples"}},
	{"Framework", "What every reconciler uses. It is a Go module of its own.", []string{"pkg/operatorkit"}},
	{"Operator", "The process in the management cluster: its parts, its rights, its clients of AWS.", []string{
		"config", "internal/operator", "internal/admit", "internal/grant", "internal/identity", "internal/partition", "internal/permissions", "internal/awsapi", "internal/ekstoken",
		"internal/awsevents", "internal/objectmetrics", "internal/replicas", "internal/tracing", "internal/program", "internal/lazyregexp", "internal/plural",
	}},
	{"CloudFormation", "Templates, plans and stacks, of services and clusters alike.", []string{"internal/cfn", "internal/driftstatus"}},
	{"Services", "AWS services as Kubernetes objects.", []string{"internal/service"}},
	{"Clusters", "Kubernetes clusters as Kubernetes objects.", []string{"internal/cluster"}},
	{"Instances", "What runs on the instances of clusters.", []string{"internal/nodeup", "internal/etcdbackup", "internal/etcdrestore"}},
	{"Terminal", "The commands, and clusters without a management cluster.", []string{
		"internal/cli", "internal/inprocess", "internal/plan", "internal/price", "internal/quota", "internal/state", "internal/terraform", "internal/graph",
		"internal/manifest", "internal/yamltree",
		"internal/kops", "internal/eksctl", "internal/translation", "internal/kubeapi",
	}},
	{"Local environment", "A management cluster and AWS on one computer.", []string{"internal/local"}},
	{"Simulator", "AWS on loopback.", []string{"simulator", "internal/simulator"}},
	{"Machines", "What simulated instances run on.", []string{"internal/machines", "containers"}},
	{"Releases", "What is published.", []string{"release", "site"}},
	{"Assumptions", "What the project assumes of AWS.", []string{"internal/assumptions"}},
	{"Tests and generators", "What only tests and `make generate` use.", []string{"test", "internal/golden", "internal/patience", "docs"}},
}

const packagesHead = `# Package map

Every package, with the first sentence of its documentation. ` + "`make generate`" + ` writes this page and fails if a package has no
documentation or belongs to no section. [The life of a change](life-of-a-change.md) follows three changes through the packages.
`

// writePackages writes the map of all packages below root. It returns an error if a package has no
// documentation or no section.
func writePackages(page *bytes.Buffer, root string) error {
	docs, err := packageDocs(root)
	if err != nil {
		return err
	}
	bySection := make([][]string, len(sections))
	for _, folder := range slices.Sorted(maps.Keys(docs)) {
		section := sectionOf(folder)
		if section < 0 {
			return fmt.Errorf(
				"package %s belongs to no section of the package map: add its folder in docs/reference/generate/packages.go", folder,
			)
		}
		bySection[section] = append(bySection[section], folder)
	}
	page.WriteString(packagesHead)
	for i, section := range sections {
		fmt.Fprintf(page, "\n## %s\n\n%s\n\n| package | purpose |\n| --- | --- |\n", section.title, section.about)
		for _, folder := range bySection[i] {
			fmt.Fprintf(page, "| [`%s`](../../%s) | %s |\n", folder, folder, docs[folder])
		}
	}
	return nil
}

// sectionOf returns the index of a folder's section, -1 if it has none.
func sectionOf(folder string) int {
	for at := folder; at != "."; at = path.Dir(at) {
		for i, section := range sections {
			if slices.Contains(section.folders, at) {
				return i
			}
		}
	}
	return -1
}

// packageDocs returns the first sentence of each package's documentation, by folder below root.
func packageDocs(root string) (map[string]string, error) {
	found := map[string]string{}
	err := filepath.WalkDir(root, func(at string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		folder, err := filepath.Rel(root, at)
		if err != nil {
			return fmt.Errorf("name %s: %w", at, err)
		}
		name := entry.Name()
		if folder != "." &&
			(strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules" ||
				slices.Contains([]string{"bin", "kube", "tools"}, folder)) {
			return fs.SkipDir
		}
		sentence, isPackage, err := packageDoc(at)
		if err != nil || !isPackage {
			return err
		}
		if sentence == "" {
			return fmt.Errorf("package %s has no documentation", folder)
		}
		found[filepath.ToSlash(folder)] = sentence
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the packages: %w", err)
	}
	return found, nil
}

// packageDoc returns the first sentence of the documentation of the package in a folder, without
// "Package x", and whether there is one.
func packageDoc(folder string) (sentence string, isPackage bool, err error) {
	names, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return "", false, fmt.Errorf("list %s: %w", folder, err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		content, err := os.ReadFile(name) //nolint:gosec // a file of this repository
		if err != nil {
			return "", false, fmt.Errorf("read: %w", err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, content, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			return "", false, fmt.Errorf("parse: %w", err)
		}
		isPackage = true
		if text := new(doc.Package).Synopsis(file.Doc.Text()); text != "" {
			_, text, _ = strings.Cut(text, " ") // Package or Command
			_, text, _ = strings.Cut(text, " ") // its name
			sentence = strings.NewReplacer("|", `\|`, "[", "", "]", "").Replace(text)
		}
	}
	return sentence, isPackage, nil
}
