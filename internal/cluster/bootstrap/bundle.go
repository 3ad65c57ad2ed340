package bootstrap

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/apiserver"
	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

// Bundle is the document that an instance boots with; see package bundle.
type Bundle = bundle.Bundle

// Parse reads a bundle's document; see [bundle.Parse].
func Parse(document []byte) (*Bundle, error) { return bundle.Parse(document) }

// The kernel settings of every node, with the reason for each.
var (
	modules = []string{
		"overlay",      // containerd's snapshots
		"br_netfilter", // the next two settings exist with it only
	}
	sysctls = map[string]string{
		"net.bridge.bridge-nf-call-iptables":  "1", // services are seen by pods of the same node
		"net.bridge.bridge-nf-call-ip6tables": "1",
		"net.ipv4.ip_forward":                 "1",    // pods are reached through the node
		"vm.overcommit_memory":                "1",    // what the kubelet sets, unless it may not
		"kernel.panic":                        "10",   // a node that is lost comes back
		"kernel.panic_on_oops":                "1",    // and is not half lost
		"fs.inotify.max_user_instances":       "8192", // each container's log and mounts are watched
		"fs.inotify.max_user_watches":         "524288",
	}
)

// ControlPlane returns the bundle of a slot's instance. base are the outputs of the cluster's base
// stack. It returns an error if a required output is missing, or if the cluster sets an extra
// argument that is reserved for the operator.
func ControlPlane(c *model.Cluster, slot int, base map[string]string) (*Bundle, error) {
	if slot < 0 || slot >= len(c.Slots) {
		return nil, fmt.Errorf("the cluster %s has no slot %d", c.Name, slot)
	}
	outputs, err := require(base, model.OutputAPIAddress, model.OutputHostedZone)
	if err != nil {
		return nil, err
	}
	at := c.Slots[slot]
	b, err := node(c, bundle.ControlPlane, c.ControlPlaneArchitecture, c.ControlPlaneImage.User)
	if err != nil {
		return nil, err
	}
	b.Roll = c.Spec.ControlPlane.Roll
	patch, patched, err := slotKubeletPatch(c)
	if err != nil {
		return nil, err
	}
	if patched {
		b.Files = append(b.Files, patch)
	}
	b.Files = append(b.Files, apiServerFiles(c)...)
	addSetup(b, &c.ControlPlaneSetup)
	if b.Kubeadm.Config, err = controlPlaneConfig(c, at, model.APIAddress(outputs), patched); err != nil {
		return nil, err
	}
	b.Kubeadm.Addons = kubeadmAddons(c)
	b.PKI, b.Chains, b.TokenKey = pkiFiles(c.Keys), chains(c.Keys), c.TokenKey
	if b.Join, err = slotJoin(c, outputs); err != nil {
		return nil, err
	}
	restore := c.Spec.ControlPlane.RestoreSnapshot
	b.Etcd = &bundle.Etcd{
		Slot: at.Index,
		VolumeTags: map[string]string{
			model.TagOwnedPrefix + c.Name: model.TagOwned,
			model.TagEtcdSlot:             model.EtcdSlotTag(at.Index, restore),
		},
		Device:       "/dev/sdf", // The first name that AWS recommends for data volumes: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/device_naming.html
		MountPoint:   etcdDataDir,
		HostedZoneID: outputs[model.OutputHostedZone],
		DNSName:      at.EtcdDNS,
		Members:      etcdMembers(c),
	}
	if c.Features.RejoinEtcd {
		b.Etcd.FormedKey = model.EtcdFormedKey(c.Name, restore)
	}
	if backup := c.Spec.Backup.Bucket; backup != nil {
		b.Etcd.Backup = &bundle.EtcdBackup{IntervalSeconds: int64(backup.Interval.Seconds()), Keep: int(backup.Keep)}
	}
	b.Audit = auditShipping(c)
	if b.Encryption, err = encryptionOf(c, outputs); err != nil {
		return nil, err
	}
	if restore != "" {
		b.Etcd.Restore = &bundle.EtcdRestore{
			Snapshot: restore, Program: bundle.RestoreKey(restore, string(c.ControlPlaneArchitecture)), ProgramSHA256: c.RestoreProgram,
			Name: at.EtcdName, InitialCluster: initialCluster(c), Token: model.EtcdToken(c.Name, restore),
		}
	}
	b.Kubelet, err = kubelet(b, at.Labels, []string{model.LabelControlPlane + "=:" + string(corev1.TaintEffectNoSchedule)}, nil)
	return b, err
}

// auditShipping returns how slots ship the audit log; nil if they do not.
func auditShipping(c *model.Cluster) *bundle.AuditShipping {
	to := c.AuditShipping()
	if to == nil {
		return nil
	}
	return &bundle.AuditShipping{
		Folder: apiserver.LogDirectory, File: apiserver.LogFile, Bucket: to.Bucket, Prefix: to.Prefix,
		EverySeconds: int64(c.Spec.API.Audit.Ship.Every.Seconds()),
	}
}

// encryptionOf returns how slots encrypt resources in etcd; nil if they do not.
func encryptionOf(c *model.Cluster, base map[string]string) (*bundle.Encryption, error) {
	if !c.SlotsEncrypt() {
		return nil, nil
	}
	if c.APIServer.Files[apiserver.EncryptionFile] == "" { // The API server would not read what others encrypt.
		return nil, errors.New("the API server has no configuration for spec.api.encryption")
	}
	with := c.Encryption()
	key := with.KMSKeyARN
	if with.Own {
		if _, err := require(base, model.OutputKey); err != nil {
			return nil, err
		}
		key = base[model.OutputKey]
	}
	made := &bundle.Encryption{KeyARN: key, Context: with.Context, Socket: apiserver.Socket}
	switch c.Keys.Encryption {
	case "":
	case v1alpha1.EncryptionReadable:
		made.Added = bundle.AddedReadable
	default: // The API servers do the same in all later stages.
		made.Added = bundle.AddedEncrypting
	}
	return made, nil
}

// Worker returns the bundle of an instance group's instances. base are the outputs of the cluster's
// base stack; caCertPEM is the certificate of the cluster's CA, which the instance trusts. It
// returns an error if a required output is missing, or if an extra argument is reserved for the
// operator.
func Worker(c *model.Cluster, g *model.Group, base map[string]string, caCertPEM []byte) (*Bundle, error) {
	outputs, err := require(base, model.OutputAPIAddress)
	if err != nil {
		return nil, err
	}
	b, err := node(c, bundle.Worker, g.Spec.Architecture, g.Image.User)
	if err != nil {
		return nil, err
	}
	b.Roll, b.ExtraUserData = g.Spec.Roll, g.Spec.ExtraUserData
	if b.TokenKey = c.TokenKey; b.TokenKey == "" {
		b.TokenParameter = c.TokenParameter
	}
	if b.API, err = api(model.APIAddress(outputs), caCertPEM); err != nil {
		return nil, err
	}
	b.Join = join(c)
	if b.Kubeadm.Config, err = workerConfig(b.Join != nil); err != nil {
		return nil, err
	}
	if b.Join == nil {
		where, err := discovery(b.API)
		if err != nil {
			return nil, err
		}
		b.Files = append(b.Files, where)
	}
	patch, err := kubeletPatch(c)
	if err != nil {
		return nil, err
	}
	b.Files = append(b.Files, patch)
	addSetup(b, &g.Setup)
	taints := make([]string, 0, len(g.Spec.Taints))
	for _, taint := range g.Spec.Taints {
		taints = append(taints, taint.Key+"="+taint.Value+":"+string(taint.Effect))
	}
	b.Kubelet, err = kubelet(b, g.Labels, taints, g.Spec.KubeletExtraArgs)
	return b, err
}

// join returns how workers prove their identity; nil if they do not.
func join(c *model.Cluster) *bundle.Join {
	if !c.Features.ProvenJoin {
		return nil
	}
	return &bundle.Join{STSHost: "sts." + c.Region + "." + c.DNSSuffix}
}

// slotJoin returns how slots recognize workers. Only the operator, or Terraform, sets these tags:
// no role of the cluster may change the tags of instances.
func slotJoin(c *model.Cluster, base map[string]string) (*bundle.Join, error) {
	j := join(c)
	if j == nil {
		return nil, nil
	}
	if _, err := require(base, model.OutputWorkerRole); err != nil {
		return nil, err
	}
	j.WorkerRole = base[model.OutputWorkerRole]
	j.InstanceTags = map[string]string{model.TagOwnedPrefix + c.Name: model.TagOwned, model.TagCluster: c.Name}
	j.KubeletServing = c.Spec.Certificates.ServesIssued()
	return j, nil
}

// node returns what slots and workers have in common.
func node(c *model.Cluster, role bundle.Role, architecture v1alpha1.Architecture, user string) (*Bundle, error) {
	artifacts, err := artifacts(c.Release, architecture)
	if err != nil {
		return nil, err
	}
	b := &Bundle{
		Version: bundle.Version, Cluster: c.Name, Role: role, Kubernetes: c.Release.Spec.Kubernetes,
		Architecture: string(architecture), Artifacts: artifacts, Modules: modules, Sysctls: maps.Clone(sysctls),
	}
	if keys := c.Spec.SSH.AuthorizedKeys; len(keys) > 0 {
		b.SSH = &bundle.SSH{User: user, AuthorizedKeys: slices.Clone(keys)}
	}
	runtime := containerd(b, c.Release.Spec)
	b.Files, b.Units = runtime.files, runtime.units
	b.Files = append(b.Files, credentialProvider(b, c)...)
	b.Files = append(b.Files, crictlConfig(b, c)...)
	dns, err := nodeLocalDNS(c)
	if err != nil {
		return nil, err
	}
	b.Files = append(b.Files, dns...)
	return b, nil
}

// artifacts returns the release's artifacts for one architecture.
func artifacts(release *v1alpha1.Release, architecture v1alpha1.Architecture) ([]bundle.Artifact, error) {
	var found []bundle.Artifact
	for _, artifact := range release.Spec.Artifacts {
		source, ok := artifact.Sources[architecture]
		if !ok {
			return nil, fmt.Errorf("the release %s has no %s for %s", release.Name, artifact.Name, architecture)
		}
		format := bundle.Format(artifact.Format)
		if format == "" {
			format = bundle.Binary
		}
		one := bundle.Artifact{
			Name:   artifact.Name,
			URL:    source.URL,
			SHA256: strings.ToLower(source.SHA256),
			Format: format,
			Path:   artifact.Path,
		}
		if one.SHA256 == "" {
			one.Unverified = source.Unverified
		}
		found = append(found, one)
	}
	return found, nil
}

// artifact returns the bundle's artifact of that name.
func artifact(b *Bundle, name string) (bundle.Artifact, bool) {
	i := slices.IndexFunc(b.Artifacts, func(a bundle.Artifact) bool { return a.Name == name })
	if i < 0 {
		return bundle.Artifact{}, false
	}
	return b.Artifacts[i], true
}

// kubeadmAddons returns kubeadm's own addons, except those that are charts of the Release or of the
// cluster, and those that the cluster disables.
func kubeadmAddons(c *model.Cluster) []string {
	var addons []string
	for _, name := range model.KubeadmAddons {
		inRelease := slices.ContainsFunc(c.Release.Spec.Addons, func(a v1alpha1.ReleaseAddon) bool { return a.Name == name })
		inCluster := slices.ContainsFunc(c.Spec.Addons, func(a v1alpha1.Addon) bool { return a.Name == name })
		if !inRelease && !inCluster {
			addons = append(addons, name)
		}
	}
	return addons
}

func etcdMembers(c *model.Cluster) map[string]string {
	members := make(map[string]string, len(c.Slots))
	for _, slot := range c.Slots {
		members[slot.EtcdName] = slot.EtcdDNS
	}
	return members
}

// require returns the named outputs, or an error if one is missing.
func require(outputs map[string]string, names ...string) (map[string]string, error) {
	for _, name := range names {
		if outputs[name] == "" {
			return nil, fmt.Errorf("the base stack has no output %s yet", name)
		}
	}
	return outputs, nil
}
