package kops

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/lazyregexp"
)

// What kops makes of an asset that does not say: https://kops.sigs.k8s.io/cluster_spec/#fileassets
const (
	defaultAssetMode = "0440"
	assetFolder      = "/srv/kubernetes/assets"
)

// nodeSetupOf are the files and units of a manifest of kops, by the nodes that they are for.
type nodeSetup struct{ all, slots, workers v1alpha1.NodeSetup }

// nodeSetupOf translates the cluster's files and units, those of slots after those of the masters' own groups.
func (c *cluster) nodeSetup() {
	found := nodeSetupOf(c.spec, "")
	c.result.Spec.Nodes = found.all
	c.result.Spec.ControlPlane.NodeSetup = beside(c.result.Spec.ControlPlane.NodeSetup, &found.slots)
	c.workers = found.workers
}

// nodeSetupOf translates the group's files and units.
func (g *group) nodeSetup() v1alpha1.NodeSetup {
	found := nodeSetupOf(g.spec, "-ig")
	own := found.workers
	if role(g.spec.Text("role")) == roleControlPlane {
		own = found.slots
	}
	return beside(found.all, &own)
}

// beside adds files and units to those of a group, which override them.
func beside(own v1alpha1.NodeSetup, others *v1alpha1.NodeSetup) v1alpha1.NodeSetup {
	for i := range others.Files {
		if !slices.ContainsFunc(own.Files, func(f v1alpha1.NodeFile) bool { return f.Path == others.Files[i].Path }) {
			own.Files = append(own.Files, others.Files[i])
		}
	}
	for i := range others.Units {
		if !slices.ContainsFunc(own.Units, func(u v1alpha1.NodeUnit) bool { return u.Name == others.Units[i].Name }) {
			own.Units = append(own.Units, others.Units[i])
		}
	}
	return own
}

// nodeSetupOf translates files, units and kernel parameters. The suffix is in the names of hooks without a name.
func nodeSetupOf(p *part, suffix string) nodeSetup {
	var found nodeSetup
	for _, asset := range p.Sections("fileAssets", fileAssetFields) {
		if f, ok := fileAssetOf(asset, p); ok {
			found.add(asset, v1alpha1.NodeSetup{Files: []v1alpha1.NodeFile{f}})
		}
		asset.Field("roles")
		asset.Finish()
	}
	for i, hook := range p.Sections("hooks", hookFields) {
		if u, ok := hookOf(hook, fmt.Sprintf("kops-hook-%d%s", i, suffix)); ok {
			found.add(hook, v1alpha1.NodeSetup{Units: []v1alpha1.NodeUnit{u}})
		}
		hook.Field("roles")
		hook.Finish()
	}
	if settings := p.Texts("sysctlParameters"); len(settings) > 0 {
		found.all.Files = append(found.all.Files, v1alpha1.NodeFile{
			Path: "/etc/sysctl.d/99-kops" + suffix + ".conf", Content: strings.Join(settings, "\n") + "\n",
		})
	}
	return found
}

// add adds what is valid to the nodes of the roles that a part names: all if it names none.
func (s *nodeSetup) add(p *part, one v1alpha1.NodeSetup) {
	if problems := model.CheckNodeSetup(&one); len(problems) > 0 {
		p.Note("", Warning, "it is dropped: "+problems[0].Message+"; "+problems[0].Remedy)
		return
	}
	var slots, workers bool
	roles := p.Texts("roles")
	for _, name := range roles {
		slots = slots || role(name) == roleControlPlane
		workers = workers || role(name) == roleNode
		if role(name) == roleBastion {
			p.Note("roles", Warning, "bastions have neither files nor units")
		}
	}
	switch {
	case len(roles) == 0 || slots && workers:
		s.all = beside(s.all, &one)
	case slots:
		s.slots = beside(s.slots, &one)
	case workers:
		s.workers = beside(s.workers, &one)
	}
}

// fileAssetOf translates a file. It returns false for the audit policy, which is in spec.api.audit.
func fileAssetOf(p, of *part) (v1alpha1.NodeFile, bool) {
	f := v1alpha1.NodeFile{Path: p.Text("path"), Content: p.Text("content"), Mode: modeOf(p)}
	f.Path = cmp.Or(f.Path, path.Join(assetFolder, p.Text("name")))
	p.Field("name")
	if p.Truth("isBase64", false) {
		decoded, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(strings.TrimSpace(f.Content), "="))
		if err != nil {
			p.Refuse("content", "this is not base64: correct it, or leave out isBase64")
			return f, false
		}
		f.Content, f.Encoding = base64.StdEncoding.EncodeToString(decoded), v1alpha1.FileBase64
	}
	if policy := of.Value.Field("kubeAPIServer").Field("auditPolicyFile"); policy != nil && policy.Text == f.Path {
		return f, false
	}
	return f, true
}

// modeOf translates the permissions of a file, which kops takes with or without a leading zero.
func modeOf(p *part) string {
	v := p.Field("mode")
	if v == nil || v.Text == "" {
		return defaultAssetMode
	}
	const octal, bits, most = 8, 16, 0o777
	mode, err := strconv.ParseUint(strings.TrimPrefix(v.Text, "0o"), octal, bits)
	if err != nil || mode > most {
		p.Refuse("mode", "write the permissions in octal, for example 0440")
		return defaultAssetMode
	}
	return fmt.Sprintf("%04o", mode)
}

// hookOf translates a hook with a manifest to a unit. kops writes the manifest into the section Service, unless it is a whole unit.
// https://kops.sigs.k8s.io/cluster_spec/#hooks
func hookOf(p *part, missing string) (v1alpha1.NodeUnit, bool) {
	name := cmp.Or(p.Text("name"), missing)
	if !unitType.MatchString(name) {
		name += ".service"
	}
	manifest, raw := p.Text("manifest"), p.Truth("useRawManifest", false)
	container := p.Field("execContainer")
	requires, before := unitsOf(p, "requires"), unitsOf(p, "before")
	u := v1alpha1.NodeUnit{Name: name}
	switch {
	case p.Truth("disabled", false) || !p.Truth("enabled", true):
		u.State = v1alpha1.UnitMasked
		return u, true
	case container != nil:
		p.Note("execContainer", Warning, "it is dropped: nodes have no Docker to run it before the kubelet. "+
			"Write a manifest with a program of the image, or run the container in a DaemonSet")
		return u, false
	case manifest == "":
		p.Note("manifest", Warning, "the hook is dropped: it has no manifest")
		return u, false
	case raw:
		u.Content = manifest
		return u, true
	}
	var text strings.Builder
	text.WriteString("[Unit]\nDescription=Hook " + strings.TrimSuffix(name, path.Ext(name)) + "\n")
	for _, unit := range requires {
		text.WriteString("Requires=" + unit + "\nAfter=" + unit + "\n")
	}
	for _, unit := range before {
		text.WriteString("Before=" + unit + "\n")
	}
	text.WriteString("\n[Service]\n" + strings.TrimSpace(manifest) + "\n\n[Install]\nWantedBy=multi-user.target\n")
	u.Content = text.String()
	return u, true
}

// unitType matches names of units with their type.
var unitType = lazyregexp.New(`[.](service|timer|socket|path|mount|slice|swap|target|device|automount|scope)$`)

// unitsOf returns the units that a hook names. containerd replaces Docker, and a unit that starts before the kubelet cannot
// require it.
func unitsOf(p *part, field string) []string {
	var all []string
	for _, name := range p.Texts(field) {
		switch {
		case strings.HasPrefix(name, "docker."):
			p.Note(field, Info, "containerd.service replaces "+name)
			name = model.UnitContainerd
		case name == model.UnitKubelet && field == "requires":
			p.Note(field, Warning, "units start before the kubelet, so this one cannot require "+name)
			continue
		}
		all = appendNew(all, name)
	}
	return all
}
