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

// nodeSetup are the files and units of a manifest of kops, by the nodes that they are for.
type nodeSetup struct{ all, slots, workers v1alpha1.NodeSetup }

// nodeSetup translates the cluster's files and units, those of slots after those of the masters' own groups.
func (c *cluster) nodeSetup() {
	found := c.spec.nodeSetup("")
	c.result.Spec.Nodes = found.all
	c.result.Spec.ControlPlane.NodeSetup = beside(c.result.Spec.ControlPlane.NodeSetup, &found.slots)
	c.workers = found.workers
}

// nodeSetup translates the group's files and units.
func (g *group) nodeSetup() v1alpha1.NodeSetup {
	found := g.spec.nodeSetup("-ig")
	own := found.workers
	if role(g.spec.text("role")) == roleControlPlane {
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

// nodeSetup translates files, units and kernel parameters. The suffix is in the names of hooks without a name.
func (p *part) nodeSetup(suffix string) nodeSetup {
	var found nodeSetup
	for _, asset := range p.sections("fileAssets", fileAssetFields) {
		if f, ok := asset.fileAsset(p); ok {
			found.add(asset, v1alpha1.NodeSetup{Files: []v1alpha1.NodeFile{f}})
		}
		asset.field("roles")
		asset.finish()
	}
	for i, hook := range p.sections("hooks", hookFields) {
		if u, ok := hook.hook(fmt.Sprintf("kops-hook-%d%s", i, suffix)); ok {
			found.add(hook, v1alpha1.NodeSetup{Units: []v1alpha1.NodeUnit{u}})
		}
		hook.field("roles")
		hook.finish()
	}
	if settings := p.texts("sysctlParameters"); len(settings) > 0 {
		found.all.Files = append(found.all.Files, v1alpha1.NodeFile{
			Path: "/etc/sysctl.d/99-kops" + suffix + ".conf", Content: strings.Join(settings, "\n") + "\n",
		})
	}
	return found
}

// add adds what is valid to the nodes of the roles that a part names: all if it names none.
func (s *nodeSetup) add(p *part, one v1alpha1.NodeSetup) {
	if problems := model.CheckNodeSetup(&one); len(problems) > 0 {
		p.note("", Warning, "it is dropped: "+problems[0].Message+"; "+problems[0].Remedy)
		return
	}
	var slots, workers bool
	roles := p.texts("roles")
	for _, name := range roles {
		slots = slots || role(name) == roleControlPlane
		workers = workers || role(name) == roleNode
		if role(name) == roleBastion {
			p.note("roles", Warning, "bastions have neither files nor units")
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

// fileAsset translates a file. It returns false for the audit policy, which is in spec.api.audit.
func (p *part) fileAsset(of *part) (v1alpha1.NodeFile, bool) {
	f := v1alpha1.NodeFile{Path: p.text("path"), Content: p.text("content"), Mode: p.mode()}
	f.Path = cmp.Or(f.Path, path.Join(assetFolder, p.text("name")))
	p.field("name")
	if p.truth("isBase64", false) {
		decoded, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(strings.TrimSpace(f.Content), "="))
		if err != nil {
			p.refuse("content", "this is not base64: correct it, or leave out isBase64")
			return f, false
		}
		f.Content, f.Encoding = base64.StdEncoding.EncodeToString(decoded), v1alpha1.FileBase64
	}
	if policy := of.value.Field("kubeAPIServer").Field("auditPolicyFile"); policy != nil && policy.Text == f.Path {
		return f, false
	}
	return f, true
}

// mode translates the permissions of a file, which kops takes with or without a leading zero.
func (p *part) mode() string {
	v := p.field("mode")
	if v == nil || v.Text == "" {
		return defaultAssetMode
	}
	const octal, bits, most = 8, 16, 0o777
	mode, err := strconv.ParseUint(strings.TrimPrefix(v.Text, "0o"), octal, bits)
	if err != nil || mode > most {
		p.refuse("mode", "write the permissions in octal, for example 0440")
		return defaultAssetMode
	}
	return fmt.Sprintf("%04o", mode)
}

// hook translates a hook with a manifest to a unit. kops writes the manifest into the section Service, unless it is a whole unit.
// https://kops.sigs.k8s.io/cluster_spec/#hooks
func (p *part) hook(missing string) (v1alpha1.NodeUnit, bool) {
	name := cmp.Or(p.text("name"), missing)
	if !unitType.MatchString(name) {
		name += ".service"
	}
	manifest, raw := p.text("manifest"), p.truth("useRawManifest", false)
	container := p.field("execContainer")
	requires, before := p.units("requires"), p.units("before")
	u := v1alpha1.NodeUnit{Name: name}
	switch {
	case p.truth("disabled", false) || !p.truth("enabled", true):
		u.State = v1alpha1.UnitMasked
		return u, true
	case container != nil:
		p.note("execContainer", Warning, "it is dropped: nodes have no Docker to run it before the kubelet. "+
			"Write a manifest with a program of the image, or run the container in a DaemonSet")
		return u, false
	case manifest == "":
		p.note("manifest", Warning, "the hook is dropped: it has no manifest")
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

// units returns the units that a hook names. containerd replaces Docker, and a unit that starts before the kubelet cannot
// require it.
func (p *part) units(field string) []string {
	var all []string
	for _, name := range p.texts(field) {
		switch {
		case strings.HasPrefix(name, "docker."):
			p.note(field, Info, "containerd.service replaces "+name)
			name = model.UnitContainerd
		case name == model.UnitKubelet && field == "requires":
			p.note(field, Warning, "units start before the kubelet, so this one cannot require "+name)
			continue
		}
		all = appendNew(all, name)
	}
	return all
}
