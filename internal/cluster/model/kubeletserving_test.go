package model_test

import (
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

func TestKubeletServingOfClusters(t *testing.T) {
	const authority = "{extraArgs: {apiServer: {kubelet-certificate-authority: /etc/kubernetes/pki/other.crt}}}"
	for name, one := range map[string]struct{ with, want string }{
		"a release whose workers prove their instances": {"spec: {release: v1.36.4, certificates: {kubeletServing: Verified}}", ""},
		"a release whose workers do not": {
			"spec: {certificates: {kubeletServing: Issued}}",
			"spec.certificates.kubeletServing: release v1.36.3 has resource set 1.1.0, with which workers do not prove which instance they are",
		},
		"the default with that release": {"spec: {certificates: {kubeletServing: SelfSigned}}", ""},
		"another CA for the API servers": {
			"spec: {release: v1.36.4, certificates: {kubeletServing: Verified}, controlPlane: " + authority + "}",
			"spec.controlPlane.extraArgs.apiServer.kubelet-certificate-authority: spec.certificates.kubeletServing sets the argument",
		},
		"another CA while the API servers do not verify": {
			"spec: {release: v1.36.4, certificates: {kubeletServing: Issued}, controlPlane: " + authority + "}", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := model.Resolve(input(t, newVPC, one.with))
			if (err == nil) != (one.want == "") || err != nil && !strings.Contains(err.Error(), one.want) {
				t.Errorf("got %v, want %q", err, one.want)
			}
		})
	}
}

func TestKubeletsOfGroupsCannotLeaveTheClustersCertificates(t *testing.T) {
	for _, serving := range []v1alpha1.KubeletServing{"", v1alpha1.KubeletsSelfSigned, v1alpha1.KubeletsIssued, v1alpha1.KubeletsVerified} {
		in := input(t, newVPC, "spec: {release: v1.36.4}")
		in.Cluster.Spec.Certificates = &v1alpha1.Certificates{KubeletServing: serving}
		c, err := model.Resolve(in)
		if err != nil {
			t.Fatal(err)
		}
		for _, argument := range []string{"rotate-server-certificates", "tls-cert-file", "tls-private-key-file", "max-pods"} {
			_, err := model.ResolveGroup(c, parse[v1alpha1.InstanceGroup](t, workers, `spec: {kubeletExtraArgs: {`+argument+`: "1"}}`))
			issued := serving == v1alpha1.KubeletsIssued || serving == v1alpha1.KubeletsVerified
			if refused := issued && argument != "max-pods"; refused != (err != nil) {
				t.Errorf("with %q, %s: %v", serving, argument, err)
			}
		}
	}
}
