package bootstrap

import (
	"path"
	"slices"
	"strings"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
)

// addSetup adds the user's files and units to a bundle. The units come by name, so that their order in a spec replaces no
// nodes, and so do the files by path.
func addSetup(b *Bundle, setup *v1alpha1.NodeSetup) {
	for i := range setup.Files {
		f := &setup.Files[i]
		b.Files = append(b.Files, bundle.File{
			Path: f.Path, Mode: f.Mode, Content: f.Content, Base64: f.Encoding == v1alpha1.FileBase64, Owner: f.Owner,
		})
	}
	for i := range setup.Units {
		u := &setup.Units[i]
		b.ExtraUnits = append(b.ExtraUnits, bundle.Unit{Name: u.Name, State: bundle.UnitState(u.State)})
		if u.Content != "" {
			b.Files = append(b.Files, unitFile(u.Name, u.Content))
		}
		byName := func(a, b v1alpha1.UnitDropIn) int { return strings.Compare(a.Name, b.Name) }
		dropIns := slices.SortedFunc(slices.Values(u.DropIns), byName)
		for _, d := range dropIns {
			b.Files = append(b.Files, unitFile(path.Join(u.Name+".d", d.Name), d.Content))
		}
	}
}

// unitFile is a file in the folder of systemd's units.
func unitFile(name, content string) bundle.File {
	return bundle.File{Path: path.Join(bundle.UnitFolder, name), Mode: "0644", Content: content}
}
