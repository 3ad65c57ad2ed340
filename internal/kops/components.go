package kops

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/yamltree"
)

// flagsOf translates a section of a component's settings to its flags. The caller calls finish, which
// notes the fields that no flag represents.
func flagsOf(p *part, table map[string]string) map[string]string {
	if p == nil {
		return nil
	}
	args := map[string]string{}
	for _, entry := range p.Value.Entries {
		flag, ok := table[entry.Key]
		if !ok {
			continue
		}
		if v := p.Field(entry.Key); v != nil {
			args[flag] = argument(v)
		}
	}
	return args
}

// argument writes a value as the argument of a flag: lists and maps with commas, as all components
// take them.
func argument(v *yamltree.Value) string {
	var items []string
	switch v.Kind {
	case yamltree.List:
		for _, item := range v.Items {
			items = append(items, item.Text)
		}
	case yamltree.Map:
		for _, entry := range v.Entries {
			items = append(items, entry.Key+"="+entry.Value.Text)
		}
		slices.Sort(items)
	case yamltree.Bool:
		return strings.ToLower(v.Text)
	case yamltree.Null, yamltree.Number, yamltree.String:
		return v.Text
	}
	return strings.Join(items, ",")
}

// componentOf returns the section of a component with the table of all its fields.
func componentOf(p *part, name string, flags map[string]string) *part {
	s := p.Section(name, componentTable(name, flags))
	if s != nil {
		s.Open = true
	}
	return s
}

func componentTable(name string, flags map[string]string) fields {
	table := fields{}
	for field := range flags {
		table[field] = taken
	}
	maps.Copy(table, noFlag[name])
	return table
}

// pluginsOf are the admission plugins of Kubernetes 1.34 and later: with another name API servers do
// not start. https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/
var plugins = []string{
	"AlwaysAdmit", "AlwaysDeny", "AlwaysPullImages", "CertificateApproval", "CertificateSigning", "CertificateSubjectRestriction",
	"ClusterTrustBundleAttest", "DefaultIngressClass", "DefaultStorageClass", "DefaultTolerationSeconds", "DenyServiceExternalIPs",
	"EventRateLimit", "ExtendedResourceToleration", "ImagePolicyWebhook", "LimitPodHardAntiAffinityTopology", "LimitRanger",
	"MutatingAdmissionPolicy", "MutatingAdmissionWebhook", "NamespaceAutoProvision", "NamespaceExists", "NamespaceLifecycle",
	"NodeRestriction", "OwnerReferencesPermissionEnforcement", "PersistentVolumeClaimResize", "PodNodeSelector", "PodSecurity",
	"PodTolerationRestriction", "PodTopologyLabels", "Priority", "ResourceQuota", "RuntimeClass", "ServiceAccount",
	"StorageObjectInUseProtection",
	"TaintNodesByCondition", "ValidatingAdmissionPolicy", "ValidatingAdmissionWebhook",
}

// admissionOf returns the admission plugins of a field that there still are.
func admissionOf(p *part, field string) []string {
	var known []string
	for _, name := range p.Texts(field) {
		if slices.Contains(plugins, name) {
			known = append(known, name)
			continue
		}
		p.Note(field, Warning, "Kubernetes no longer has the admission plugin "+name)
	}
	return known
}

// components translates the settings of the control plane's components.
func (c *cluster) components(args *v1alpha1.ExtraArgs) {
	if p := componentOf(c.spec, "kubeAPIServer", apiServerFlags); p != nil {
		flags := flagsOf(p, apiServerFlags)
		pluginsOf(p, flags)
		c.result.Spec.API.Audit = c.audit(p)
		if given := p.Text("serviceClusterIPRange"); given != "" && given != c.result.Spec.Network.ServiceCIDR {
			p.Refuse("serviceClusterIPRange", "it differs from the cluster's, which is "+c.result.Spec.Network.ServiceCIDR)
		}
		p.Finish()
		args.APIServer = orNil(flags)
	}
	if p := componentOf(c.spec, "kubeControllerManager", controllerManagerFlags); p != nil {
		args.ControllerManager = orNil(flagsOf(p, controllerManagerFlags))
		p.Field("clusterCIDR") // read with the network
		p.Finish()
	}
	if p := componentOf(c.spec, "kubeScheduler", schedulerFlags); p != nil {
		args.Scheduler = orNil(flagsOf(p, schedulerFlags))
		p.Finish()
	}
}

// audit translates the audit log. Its policy is a file that kops installs.
func (c *cluster) audit(p *part) *v1alpha1.Audit {
	fields := []string{"auditPolicyFile", "auditLogPath", "auditLogMaxAge", "auditLogMaxBackups", "auditLogMaxSize"}
	if !slices.ContainsFunc(fields, func(name string) bool { return p.Value.Field(name) != nil }) {
		return nil
	}
	a := &v1alpha1.Audit{
		MaxAge: p.Number("auditLogMaxAge", 0), MaxBackups: p.Number("auditLogMaxBackups", 0), MaxSize: p.Number("auditLogMaxSize", 0),
	}
	if path := p.Text("auditPolicyFile"); path != "" {
		if a.Policy = c.auditPolicy(path); a.Policy == nil {
			p.Note("auditPolicyFile", Warning, "spec.fileAssets has no policy with this path: put it into spec.api.audit.policy. Until then, "+
				"the operator's default policy holds")
		}
	}
	return a
}

// auditPolicy returns the policy that spec.fileAssets has for a path, nil if there is none.
func (c *cluster) auditPolicy(path string) *runtime.RawExtension {
	assets := c.spec.Value.Field("fileAssets")
	if assets == nil || assets.Kind != yamltree.List {
		return nil
	}
	for _, asset := range assets.Items {
		at, content := asset.Field("path"), asset.Field("content")
		if at == nil || content == nil || at.Text != path {
			continue
		}
		text := []byte(content.Text)
		if encoded := asset.Field("isBase64"); encoded != nil && encoded.Text == "true" {
			var err error
			if text, err = base64.StdEncoding.DecodeString(content.Text); err != nil {
				return nil
			}
		}
		policy := map[string]any{}
		if err := yaml.Unmarshal(text, &policy); err != nil || policy["kind"] != "Policy" {
			return nil
		}
		delete(policy, "apiVersion") // which the operator adds
		delete(policy, "kind")
		data, err := json.Marshal(policy)
		if err != nil {
			return nil
		}
		return &runtime.RawExtension{Raw: data}
	}
	return nil
}

// pluginsOf translates which admission plugins are on and off.
func pluginsOf(p *part, flags map[string]string) {
	enabled := slices.Concat(admissionOf(p, "enableAdmissionPlugins"), admissionOf(p, "appendAdmissionPlugins"))
	if len(enabled) > 0 {
		// kubeadm enables NodeRestriction, and an argument of ours takes the place of its own.
		if !slices.Contains(enabled, "NodeRestriction") {
			enabled = append(enabled, "NodeRestriction")
		}
		flags["enable-admission-plugins"] = strings.Join(slices.Compact(enabled), ",")
	}
	if disabled := admissionOf(p, "disableAdmissionPlugins"); len(disabled) > 0 {
		flags["disable-admission-plugins"] = strings.Join(disabled, ",")
	}
}

func orNil(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	return m
}
