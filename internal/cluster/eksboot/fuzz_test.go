package eksboot_test

import (
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/BurntSushi/toml"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/eksboot"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

// partOf returns the only part of user data, which is a NodeConfig.
func partOf(tb testing.TB, userData string) string {
	tb.Helper()
	message, err := mail.ReadMessage(strings.NewReader(userData))
	if err != nil {
		tb.Fatal(err)
	}
	_, parameters, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	if err != nil {
		tb.Fatal(err)
	}
	parts := multipart.NewReader(message.Body, parameters["boundary"])
	part, err := parts.NextPart()
	if err != nil || part.Header.Get("Content-Type") != "application/node.eks.aws" {
		tb.Fatalf("the first part is %v: %v", part, err)
	}
	text, err := io.ReadAll(part)
	if err != nil {
		tb.Fatal(err)
	}
	if more, err := parts.NextPart(); err != io.EOF {
		tb.Fatalf("there is another part %v: %v\n%s", more, err, userData)
	}
	return string(text)
}

// Whatever labels, taints and outputs contain, it is data of the document: it adds neither fields nor parts.
func FuzzUserData(f *testing.F) {
	f.Add("tier", "web", "only", "web", "https://api")
	f.Add("a", "b\n--BOUNDARY\nContent-Type: text/x-shellscript\n\n#!/bin/sh\nid\n--BOUNDARY--\n", "c", "d", "https://api\nkind: Pod")
	f.Add("\"]\n[settings.host-containers.admin]\nenabled = true\n", "\"", "'", "\\", "\x00\u2028\xff")
	f.Fuzz(func(t *testing.T, key, value, taintKey, taintValue, endpoint string) {
		c, outputs, g := aCluster()
		g.Labels[key] = value
		g.Spec.Taints = []corev1.Taint{{Key: taintKey, Value: taintValue, Effect: corev1.TaintEffectNoSchedule}}
		outputs[model.OutputEndpoint] = "https://" + endpoint
		boot, err := eksboot.Of(c, g, outputs)
		if err != nil {
			t.Skip("YAML has no such characters: ", err)
		}
		var config map[string]any
		if err := yaml.UnmarshalStrict([]byte(partOf(t, boot.UserData)), &config); err != nil {
			t.Fatalf("%v\n%s", err, boot.UserData)
		}
		labels := ""
		if flags, ok := config["spec"].(map[string]any)["kubelet"].(map[string]any)["flags"].([]any); ok && len(flags) == 2 {
			labels, _ = flags[0].(string)
		}
		want := map[string]any{
			"apiVersion": "node.eks.aws/v1alpha1", "kind": "NodeConfig", "spec": map[string]any{
				"cluster": map[string]any{
					"name": "demo", "cidr": "172.20.0.0/16", "certificateAuthority": outputs[model.OutputCertificateAuthority],
					"apiServerEndpoint": clean(outputs[model.OutputEndpoint]),
				},
				"kubelet": map[string]any{"flags": []any{labels, clean("--register-with-taints=" + taintKey + "=" + taintValue + ":NoSchedule")}},
			},
		}
		if d := cmp.Diff(want, config); d != "" {
			t.Errorf("(-want +got)\n%s\n%s", d, boot.UserData)
		}
		g.Spec.EKS = &v1alpha1.EKSNodes{ImageFamily: v1alpha1.EKSBottlerocket}
		text := made(t, c, g, outputs).UserData
		var settings map[string]any
		if _, err := toml.Decode(text, &settings); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		of, _ := settings["settings"].(map[string]any)["kubernetes"].(map[string]any)
		nodeLabels, _ := of["node-labels"].(map[string]any)
		delete(of, "node-labels")
		wantSettings := map[string]any{"settings": map[string]any{"kubernetes": map[string]any{
			"cluster-name": "demo", "cluster-dns-ip": "172.20.0.10", "api-server": clean(outputs[model.OutputEndpoint]),
			"cluster-certificate": outputs[model.OutputCertificateAuthority],
			"node-taints":         map[string]any{clean(taintKey): []any{clean(taintValue + ":NoSchedule")}},
		}}}
		if d := cmp.Diff(wantSettings, settings); d != "" {
			t.Errorf("(-want +got)\n%s\n%s", d, text)
		}
		if len(nodeLabels) > len(g.Labels)+1 || utf8.ValidString(key) && key != model.LabelBundle && nodeLabels[key] != clean(value) {
			t.Errorf("the labels are %v\n%s", nodeLabels, text)
		}
		if !strings.HasPrefix(labels, "--node-labels=") || key != model.LabelBundle && !strings.Contains(labels, clean(key+"="+value)) {
			t.Errorf("the labels are %q", labels)
		}
	})
}

// clean replaces each byte that is not UTF-8, as JSON does.
func clean(text string) string { return string([]rune(text)) }
