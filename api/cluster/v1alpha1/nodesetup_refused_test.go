package v1alpha1_test

import (
	"fmt"
	"strings"
)

// nodeSetupRefusals are of files and units, which nodes have by cluster, by control plane and by group.
func nodeSetupRefusals() []refusal {
	big := func(name string) string {
		return fmt.Sprintf("{path: /srv/%s, content: %q}", name, strings.Repeat("a", 50_000))
	}
	const operatorsPath = "the operator writes /etc/kubernetes, /var/lib/kubelet, /var/lib/nodeup, /var/lib/etcd, /var/lib/containerd, " +
		"/etc/containerd/config.toml, /etc/crictl.yaml, /etc/modules-load.d/nodeup.conf and /etc/sysctl.d/90-nodeup.conf: " +
		"use another path, or a field of the spec"
	return []refusal{
		{
			"a file with a relative path", cluster, "spec: {nodes: {files: [{path: etc/motd}]}}", "",
			"write an absolute path of letters, digits and ._@:+,=~-, without . and .., for example /etc/motd",
		},
		{
			"a file that leaves its folder", group, "spec: {files: [{path: /srv/../etc/kubernetes/a}]}", "",
			"write an absolute path of letters, digits and ._@:+,=~-, without . and .., for example /etc/motd",
		},
		{
			"a file of the kernel", group, "spec: {files: [{path: /sys/kernel/mm/transparent_hugepage/enabled}]}", "",
			"/proc, /sys, /dev and /run do not keep files: use another path",
		},
		{"a static pod", cluster, "spec: {controlPlane: {files: [{path: /etc/kubernetes/manifests/a.yaml}]}}", "", operatorsPath},
		{"the kubelet's configuration", group, "spec: {files: [{path: /var/lib/kubelet/config.yaml}]}", "", operatorsPath},
		{"containerd's configuration", group, "spec: {files: [{path: /etc/containerd/config.toml}]}", "", operatorsPath},
		{
			"a unit among the files", group, "spec: {files: [{path: /usr/lib/systemd/system/kubelet.service}]}", "",
			"systemd reads units there: put the unit or drop-in into units",
		},
		{
			"a file twice", group, "spec: {files: [{path: /etc/motd}, {path: /etc/motd}]}", "",
			`spec.files[1]: Duplicate value: {"path":"/etc/motd"}`,
		},
		{
			"a private key", group, `spec: {files: [{path: /etc/key, content: "-----BEGIN EC PRIVATE KEY-----"}]}`, "",
			"content has a private key, which all users who may read this object, and all nodes, could read: fetch it in a unit, for example from Secrets Manager",
		},
		{
			"content that is not base64", group, "spec: {files: [{path: /etc/motd, encoding: base64, content: a}]}", "",
			"content is not base64: encode it without line breaks (base64 -w0), or leave out encoding",
		},
		{
			"another encoding", group, "spec: {files: [{path: /etc/motd, encoding: gzip}]}", "",
			`spec.files[0].encoding: Unsupported value: "gzip"`,
		},
		{
			"a mode with more than permissions", group, `spec: {files: [{path: /etc/motd, mode: "4755"}]}`, "",
			"write the permissions in octal, for example 0600",
		},
		{
			"a user by number", group, `spec: {files: [{path: /etc/motd, owner: "0"}]}`, "",
			"write the name of a user of the image, for example syslog",
		},
		{
			"too much content", group, "spec: {files: [" + big("a") + ", " + big("b") + ", " + big("c") + "]}", "",
			"the files together have more than 131072 characters: put large files into the image, or download them in a unit",
		},
		{
			"not a unit", group, "spec: {units: [{name: agent}]}", "",
			"write the name of a systemd unit: a service, timer, socket, path, mount or slice, for example agent.service",
		},
		{
			"a unit that is an option", group, "spec: {units: [{name: -a.service}]}", "",
			"write the name of a systemd unit: a service, timer, socket, path, mount or slice, for example agent.service",
		},
		{
			"a unit of the operator", cluster, "spec: {nodes: {units: [{name: nodeup.service, content: a}]}}", "",
			"nodes boot through units whose names begin with nodeup or cloud-, and var-lib-etcd.mount: use another name",
		},
		{
			"the unit in which nodeup runs", group, "spec: {units: [{name: cloud-final.service}]}", "",
			"nodes boot through units whose names begin with nodeup or cloud-, and var-lib-etcd.mount: use another name",
		},
		{
			"the mount of etcd", cluster, "spec: {controlPlane: {units: [{name: var-lib-etcd.mount, state: Masked}]}}", "",
			"nodes boot through units whose names begin with nodeup or cloud-, and var-lib-etcd.mount: use another name",
		},
		{
			"another kubelet", group, "spec: {units: [{name: kubelet.service, content: a}]}", "",
			"the operator writes and starts kubelet.service and containerd.service: leave out content and state, and use dropIns",
		},
		{
			"no container runtime", group, "spec: {units: [{name: containerd.service, state: Masked}]}", "",
			"the operator writes and starts kubelet.service and containerd.service: leave out content and state, and use dropIns",
		},
		{
			"a masked unit with a drop-in", group, "spec: {units: [{name: a.service, state: Masked, dropIns: [{name: a.conf, content: a}]}]}", "",
			"a masked unit does not start: leave out content and dropIns, or state",
		},
		{
			"a template that starts", group, "spec: {units: [{name: a@.service, content: a}]}", "",
			"a template such as a@.service cannot start: set state to Installed, and add an instance such as a@b.service",
		},
		{
			"another state", group, "spec: {units: [{name: a.service, state: Stopped}]}", "",
			`spec.units[0].state: Unsupported value: "Stopped"`,
		},
		{
			"a unit twice", group, "spec: {units: [{name: a.service}, {name: a.service}]}", "",
			`spec.units[1]: Duplicate value: {"name":"a.service"}`,
		},
		{
			"a drop-in that systemd does not read", group, "spec: {units: [{name: a.service, dropIns: [{name: a/b.conf, content: a}]}]}", "",
			"write a file name that ends in .conf, for example 10-proxy.conf",
		},
		{
			"an empty drop-in", group, `spec: {units: [{name: a.service, dropIns: [{name: a.conf, content: ""}]}]}`, "",
			"spec.units[0].dropIns[0].content in body should be at least 1 chars long",
		},
	}
}
