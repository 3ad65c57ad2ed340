package model

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// Units of the operator to which users may add drop-ins.
const (
	UnitKubelet    = "kubelet.service"
	UnitContainerd = "containerd.service"
)

// The rules of the API in package v1alpha1, for objects that no API server has seen. They are there
// with a message for each.
var (
	filePath    = regexp.MustCompile(`^(/[A-Za-z0-9._@:+,=~-]+)+$`)
	notKeptPath = regexp.MustCompile(`^/(proc|sys|dev|run|var/run)(/|$)`)
	ownPath     = regexp.MustCompile(`^(/etc/kubernetes|/var/lib/(kubelet|nodeup|etcd|containerd))(/|$)|` +
		`^/etc/(containerd/config[.]toml|crictl[.]yaml|modules-load[.]d/nodeup[.]conf|sysctl[.]d/90-nodeup[.]conf)$`)
	unitPath   = regexp.MustCompile(`^(/etc|(/usr(/local)?)?/lib)/systemd/system(/|$)`)
	fileMode   = regexp.MustCompile(`^0[0-7]{3}$`)
	fileOwner  = regexp.MustCompile(`^[a-z_][a-z0-9_-]{0,31}$`)
	unitName   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9:_.@\\-]*[.](service|timer|socket|path|mount|slice)$`)
	ownUnit    = regexp.MustCompile(`^(nodeup|cloud-|var-lib-etcd[.])`)
	dropInName = regexp.MustCompile(`^[A-Za-z0-9_@-][A-Za-z0-9._@-]*[.]conf$`)
)

// waitsForBoot matches a setting by which a unit waits for what starts it: nodeup runs in
// cloud-final.service at the first boot, and in nodeup.service later, and neither ends before the
// unit has started.
var waitsForBoot = regexp.MustCompile(`(?m)^\s*After\s*=.*\b(cloud-final[.]service|cloud-init[.]target|nodeup[.]service)\b`)

const (
	defaultFileMode = "0644"
	// privateKey is in the first line of private keys in PEM.
	privateKey = "PRIVATE KEY-----"
)

// fillNodeSetup fills the defaults of files.
func fillNodeSetup(s *v1alpha1.NodeSetup) {
	for i := range s.Files {
		s.Files[i].Mode = cmp.Or(s.Files[i].Mode, defaultFileMode)
	}
	for i := range s.Units {
		s.Units[i].State = cmp.Or(s.Units[i].State, v1alpha1.UnitStarted)
	}
}

// overridden returns files and units by path and name, those of own in place of those of all.
func overridden(all, own *v1alpha1.NodeSetup) v1alpha1.NodeSetup {
	s := v1alpha1.NodeSetup{Files: slices.Clone(own.Files), Units: slices.Clone(own.Units)}
	for i := range all.Files {
		if !slices.ContainsFunc(own.Files, func(f v1alpha1.NodeFile) bool { return f.Path == all.Files[i].Path }) {
			s.Files = append(s.Files, all.Files[i])
		}
	}
	for i := range all.Units {
		if !slices.ContainsFunc(own.Units, func(u v1alpha1.NodeUnit) bool { return u.Name == all.Units[i].Name }) {
			s.Units = append(s.Units, all.Units[i])
		}
	}
	slices.SortFunc(s.Files, func(a, b v1alpha1.NodeFile) int { return strings.Compare(a.Path, b.Path) })
	slices.SortFunc(s.Units, func(a, b v1alpha1.NodeUnit) int { return strings.Compare(a.Name, b.Name) })
	return s
}

// resolveNodeSetup determines the files and units of slots.
func (c *Cluster) resolveNodeSetup(problems *Problems) {
	c.checkNodeSetup(problems, "spec.nodes", &c.Spec.Nodes)
	c.checkNodeSetup(problems, "spec.controlPlane", &c.Spec.ControlPlane.NodeSetup)
	c.ControlPlaneSetup = overridden(&c.Spec.Nodes, &c.Spec.ControlPlane.NodeSetup)
	checkFolders(problems, "spec.controlPlane.files", c.ControlPlaneSetup.Files)
}

// resolveNodeSetup determines the files and units of the group.
func (r *Group) resolveNodeSetup(problems *Problems, c *Cluster) {
	c.checkNodeSetup(problems, "spec", &r.Spec.NodeSetup)
	r.Setup = overridden(&c.Spec.Nodes, &r.Spec.NodeSetup)
	checkFolders(problems, "spec.files", r.Setup.Files)
}

// CheckNodeSetup returns the problems of files and units that do not depend on a release.
func CheckNodeSetup(s *v1alpha1.NodeSetup) Problems {
	var problems Problems
	filled := s.DeepCopy()
	fillNodeSetup(filled)
	(&Cluster{Release: &v1alpha1.Release{}}).checkNodeSetup(&problems, "spec", filled)
	return problems
}

// checkNodeSetup checks files and units below a field.
func (c *Cluster) checkNodeSetup(problems *Problems, field string, s *v1alpha1.NodeSetup) {
	for i := range s.Files {
		f, at := &s.Files[i], fmt.Sprintf("%s.files[%d]", field, i)
		if slices.ContainsFunc(s.Files[:i], func(o v1alpha1.NodeFile) bool { return o.Path == f.Path }) {
			problems.add(at+".path", "name it once", "path %s is named twice", f.Path)
		}
		c.checkFilePath(problems, at+".path", f.Path)
		checkFile(problems, at, f)
	}
	for i := range s.Units {
		u, at := &s.Units[i], fmt.Sprintf("%s.units[%d]", field, i)
		if slices.ContainsFunc(s.Units[:i], func(o v1alpha1.NodeUnit) bool { return o.Name == u.Name }) {
			problems.add(at+".name", "name it once", "unit %s is named twice", u.Name)
		}
		checkUnit(problems, at, u)
		checkDropIns(problems, at, u)
	}
}

// checkFilePath checks that a file may be at a path.
func (c *Cluster) checkFilePath(problems *Problems, field, name string) {
	switch {
	case !filePath.MatchString(name) || path.Clean(name) != name:
		problems.add(field, "write an absolute path of letters, digits and ._@:+,=~-, without . and .., for example /etc/motd",
			"%q is not a valid path", name)
	case notKeptPath.MatchString(name):
		problems.add(field, "use another path", "/proc, /sys, /dev and /run do not keep files")
	case ownPath.MatchString(name):
		problems.add(field, "use another path, or a field of the spec", "the operator writes %s", name)
	case unitPath.MatchString(name):
		problems.add(field, "put the unit or drop-in into units", "systemd reads units at %s", path.Dir(name))
	}
	for i := range c.Release.Spec.Artifacts {
		if a := &c.Release.Spec.Artifacts[i]; installs(a, name) {
			problems.add(field, "use another path, or a Release with another file", "the release %s installs %s there", c.Release.Name, a.Name)
		}
	}
}

// installs reports whether an artifact writes a file. An archive fills its folder, except below
// /usr/local, where others have files, too: there it counts for programs that begin with its name.
func installs(a *v1alpha1.Artifact, name string) bool {
	const local = "/usr/local"
	folder := strings.TrimSuffix(a.Path, "/")
	switch {
	case a.Format != v1alpha1.ArtifactTarGz:
		return name == a.Path
	case folder == local || folder == local+"/bin":
		return strings.HasPrefix(name, local+"/bin/"+a.Name)
	default:
		return strings.HasPrefix(name, folder+"/")
	}
}

// checkFile checks a file, except its path.
func checkFile(problems *Problems, field string, f *v1alpha1.NodeFile) {
	content := f.Content
	switch f.Encoding {
	case "":
	case v1alpha1.FileBase64:
		decoded, err := base64.StdEncoding.Strict().DecodeString(content)
		if err != nil || strings.ContainsAny(content, "\r\n") {
			problems.add(field+".content", "encode it without line breaks (base64 -w0), or leave out encoding", "it is not base64")
		}
		content = string(decoded)
	default:
		problems.add(field+".encoding", "set base64, or leave it out", "%q is not an encoding", f.Encoding)
	}
	if strings.Contains(content, privateKey) {
		problems.add(field+".content", "fetch it in a unit, for example from Secrets Manager",
			"it has a private key, which all users who may read this object, and all nodes, could read")
	}
	if !fileMode.MatchString(f.Mode) {
		problems.add(field+".mode", "write the permissions in octal, for example 0600", "%q is not a valid mode", f.Mode)
	}
	if f.Owner != "" && !fileOwner.MatchString(f.Owner) {
		problems.add(field+".owner", "write the name of a user of the image", "%q is not a valid name of a user", f.Owner)
	}
}

// checkFolders checks that no file is at the path of another file's folder.
func checkFolders(problems *Problems, field string, files []v1alpha1.NodeFile) {
	for i := range files {
		within := files[i].Path + "/"
		j := slices.IndexFunc(files, func(f v1alpha1.NodeFile) bool { return strings.HasPrefix(f.Path, within) })
		if j >= 0 {
			problems.add(field, "change one of the paths", "the file %s cannot be the folder of %s", files[i].Path, files[j].Path)
		}
	}
}

// checkUnit checks a unit, except its drop-ins.
func checkUnit(problems *Problems, field string, u *v1alpha1.NodeUnit) {
	switch {
	case !unitName.MatchString(u.Name):
		problems.add(field+".name", "write, for example, agent.service",
			"%q is not the name of a service, timer, socket, path, mount or slice", u.Name)
	case ownUnit.MatchString(u.Name):
		problems.add(field+".name", "use another name", "nodes boot through unit %s", u.Name)
	case (u.Name == UnitKubelet || u.Name == UnitContainerd) && (u.Content != "" || u.State != v1alpha1.UnitStarted):
		problems.add(field, "leave out content and state, and use dropIns", "the operator writes and starts %s", u.Name)
	case strings.Contains(u.Name, "@.") && u.State != v1alpha1.UnitInstalled:
		problems.add(field+".state", "set it to Installed, and add an instance such as a@b.service", "the template %s cannot start", u.Name)
	}
	if !slices.Contains([]v1alpha1.UnitState{v1alpha1.UnitStarted, v1alpha1.UnitInstalled, v1alpha1.UnitMasked}, u.State) {
		problems.add(field+".state", "set Started, Installed or Masked", "%q is not a state", u.State)
	}
	if u.State == v1alpha1.UnitMasked && (u.Content != "" || len(u.DropIns) > 0) {
		problems.add(field, "leave out content and dropIns, or state", "a masked unit does not start")
	}
	checkUnitText(problems, field+".content", u.Content)
}

// checkDropIns checks the drop-ins of a unit.
func checkDropIns(problems *Problems, field string, u *v1alpha1.NodeUnit) {
	for i := range u.DropIns {
		d, at := &u.DropIns[i], fmt.Sprintf("%s.dropIns[%d]", field, i)
		if slices.ContainsFunc(u.DropIns[:i], func(o v1alpha1.UnitDropIn) bool { return o.Name == d.Name }) {
			problems.add(at+".name", "name it once", "drop-in %s is named twice", d.Name)
		}
		if !dropInName.MatchString(d.Name) {
			problems.add(at+".name", "write a file name that ends in .conf, for example 10-proxy.conf", "%q is not the name of a drop-in", d.Name)
		}
		checkUnitText(problems, at+".content", d.Content)
	}
}

// checkUnitText checks the text of a unit or drop-in.
func checkUnitText(problems *Problems, field, text string) {
	if strings.Contains(text, privateKey) {
		problems.add(field, "fetch it in the unit, for example from Secrets Manager",
			"it has a private key, which all users who may read this object, and all nodes, could read")
	}
	if found := waitsForBoot.FindString(text); found != "" {
		problems.add(field, "leave it out of After", "%q would wait for what waits for the unit", strings.TrimSpace(found))
	}
}
