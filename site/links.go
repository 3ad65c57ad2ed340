package main

import (
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/net/html"
)

// repository is the address of a file of the repository, followed by the revision.
const repository = "https://github.com/aws-operator/aws-operator/blob/"

// page has the links and anchors of an HTML file.
type page struct {
	links   []string
	anchors map[string]bool
}

// check returns how many pages a site has, and its broken links. Root is the folder of the repository.
func check(site, root string) (count int, broken []string, err error) {
	pages := map[string]*page{}
	err = filepath.WalkDir(site, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".html" {
			pages[path], err = read(path)
		}
		return err
	})
	if err != nil {
		return 0, nil, err
	}
	for path, p := range pages {
		for _, link := range p.links {
			if why := problem(pages, path, link, root); why != "" {
				broken = append(broken, fmt.Sprintf("%s: %s: %s", path, link, why))
			}
		}
	}
	return len(pages), broken, nil
}

// problem says why a link of a page is broken; "" if it is not.
func problem(pages map[string]*page, path, link, root string) string {
	target, err := url.Parse(link)
	if err != nil {
		return err.Error()
	}
	if rest, ok := strings.CutPrefix(link, repository); ok {
		_, file, _ := strings.Cut(rest, "/")
		file, _, _ = strings.Cut(file, "#")
		return missing(filepath.Join(root, file))
	}
	if target.Scheme != "" || target.Host != "" {
		return ""
	}
	file := path
	if target.Path != "" {
		file = filepath.Join(filepath.Dir(path), target.Path)
	}
	if why := missing(file); why != "" {
		return why
	}
	if to := pages[file]; to != nil && target.Fragment != "" && !to.anchors[target.Fragment] {
		return "the page has no such anchor"
	}
	return ""
}

func missing(file string) string {
	if _, err := os.Stat(file); err != nil {
		return err.Error()
	}
	return ""
}

// read reads the links and anchors of a file.
func read(path string) (*page, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	document, err := html.Parse(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	found := &page{anchors: map[string]bool{}}
	for node := range document.Descendants() {
		for _, attribute := range node.Attr {
			switch attribute.Key {
			case "href", "src":
				found.links = append(found.links, attribute.Val)
			case "id":
				found.anchors[attribute.Val] = true
			}
		}
	}
	return found, nil
}
