package pki_test

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/aws-operator/aws-operator/internal/cluster/pki"
)

var eks = pki.EKSKubeconfigInput{
	Cluster: "demo", Server: "https://0123.gr7.eu-central-1.eks.amazonaws.com", CA: []byte("-----BEGIN CERTIFICATE-----\n"),
	Name: "team-demo", Region: "eu-central-1",
}

// https://docs.aws.amazon.com/cli/latest/reference/eks/update-kubeconfig.html
func TestKubeconfigOfEKSIsLikeThatOfTheAWSCLI(t *testing.T) {
	got, err := pki.EKSKubeconfig(eks)
	if err != nil {
		t.Fatal(err)
	}
	const want = `apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg==
    server: https://0123.gr7.eu-central-1.eks.amazonaws.com
  name: demo
contexts:
- context:
    cluster: demo
    user: demo
  name: demo
current-context: demo
kind: Config
users:
- name: demo
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1beta1
      args:
      - --region
      - eu-central-1
      - eks
      - get-token
      - --cluster-name
      - team-demo
      - --output
      - json
      command: aws
      env: null
      installHint: 'Install the AWS CLI: https://docs.aws.amazon.com/cli/latest/userguide/getting-started-install.html'
      interactiveMode: Never
      provideClusterInfo: false
`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	withRole := eks
	withRole.RoleARN = "arn:aws:iam::123456789012:role/admin"
	if got, err := pki.EKSKubeconfig(withRole); err != nil || !strings.Contains(string(got), "- --role-arn\n      - "+withRole.RoleARN) {
		t.Errorf("with a role: %s, %v", got, err)
	}
	withoutCA := eks
	withoutCA.CA = nil
	if _, err := pki.EKSKubeconfig(withoutCA); err == nil {
		t.Error("a kubeconfig without a CA is accepted")
	}
}

// A program named aws stands for the AWS CLI.
func TestClientsUseTheTokenOfTheAWSCLI(t *testing.T) {
	api := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Header.Get("Authorization") != "Bearer k8s-aws-v1.abc" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]string{"gitVersion": "v1.36.0-eks"})
	}))
	t.Cleanup(api.Close)
	folder := t.TempDir()
	program := fmt.Sprintf(`#!/bin/sh
[ "$*" = "--region eu-central-1 eks get-token --cluster-name team-demo --output json" ] || exit 1
echo '%s'
`, `{"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1beta1", "spec": {}, "status": {"token": "k8s-aws-v1.abc"}}`)
	if err := os.WriteFile(filepath.Join(folder, "aws"), []byte(program), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder+string(os.PathListSeparator)+os.Getenv("PATH"))
	in := eks
	in.Server, in.CA = api.URL, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: api.Certificate().Raw})
	kubeconfig, err := pki.EKSKubeconfig(in)
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	if version, err := kubernetes.NewForConfigOrDie(config).Discovery().ServerVersion(); err != nil || version.GitVersion != "v1.36.0-eks" {
		t.Errorf("version %v, %v", version, err)
	}
}
