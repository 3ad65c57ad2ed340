package plan

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/pki"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
)

// A plan shows the first stage of a rotation that is requested and has not begun, if an operator can rotate.
func TestPlannedKeys(t *testing.T) {
	first := model.Keys{Next: "pki/next/", Stage: v1alpha1.RotationTrust}
	plain, readable := model.Keys{Encryption: v1alpha1.EncryptionPlain}, model.Keys{Encryption: v1alpha1.EncryptionReadable}
	second := model.Keys{Folder: "pki/a/", Next: "pki/b/", Stage: v1alpha1.RotationIssue}
	reported := &v1alpha1.CertificatesStatus{Rotation: &v1alpha1.CertificateRotation{Requested: "a", Stage: v1alpha1.RotationDone}}
	up := v1alpha1.ClusterStatus{Version: "v1"}
	rotated := v1alpha1.ClusterStatus{Version: "v1", Certificates: reported}
	for name, c := range map[string]struct {
		request  string
		in       Input
		status   v1alpha1.ClusterStatus
		alone    bool
		keys     model.Keys
		notes    int
		problem  string
		deletion bool
		encrypts bool
	}{
		"nothing is requested":            {status: up},
		"a rotation is requested":         {request: "a", status: up, keys: first, notes: 1},
		"the cluster does not exist":      {request: "a"},
		"the cluster is being deleted":    {request: "a", status: up, deletion: true},
		"no operator manages it":          {request: "a", status: up, alone: true, problem: "requires an operator"},
		"it was rotated":                  {request: "a", status: up, in: Input{Rotation: pki.Rotation{Rotated: "a"}}},
		"only the status says that":       {request: "a", status: rotated},
		"it was rotated for another":      {request: "b", status: rotated, keys: first, notes: 1},
		"another one is in progress":      {request: "b", status: up, in: Input{Keys: second, Rotation: pki.Rotation{Stage: "Issue"}}, keys: second},
		"encryption is added":             {encrypts: true, in: Input{Keys: plain}, status: up, keys: readable, notes: 1},
		"encryption is being added":       {encrypts: true, in: Input{Keys: readable}, status: up, keys: readable},
		"it was created with encryption":  {encrypts: true, status: up},
		"it does not encrypt":             {in: Input{Keys: plain}, status: up, keys: plain},
		"no operator adds encryption":     {encrypts: true, in: Input{Keys: plain}, status: up, alone: true, problem: "no operator manages"},
		"no operator, and it was rotated": {request: "a", status: rotated, alone: true},
	} {
		t.Run(name, func(t *testing.T) {
			d := &draft{in: c.in, options: Options{NoOperator: c.alone}}
			d.in.Cluster = &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "demo"}, Status: c.status}
			if c.request != "" {
				d.in.Cluster.Spec.Certificates = &v1alpha1.Certificates{Rotate: c.request}
			}
			if c.encrypts {
				d.in.Cluster.Spec.API.Encryption = &v1alpha1.Encryption{}
			}
			if c.deletion {
				d.in.Cluster.DeletionTimestamp = new(metav1.Now())
			}
			keys, err := d.keys()
			if c.problem != "" {
				if err == nil || !strings.Contains(err.Error(), c.problem) {
					t.Errorf("the error is %v", err)
				}
				return
			}
			if err != nil || keys != c.keys || len(d.notes) != c.notes {
				t.Errorf("the keys are %v with notes %v: %v", keys, d.notes, err)
			}
		})
	}
}

// A user who cannot read the Secrets sees from the slots' bundles that encryption is added.
func TestPlanWithoutSecretsSaysThatEncryptionIsAdded(t *testing.T) {
	for name, c := range map[string]struct {
		parts map[string]string
		want  model.Keys
	}{
		"slots without encryption": {
			map[string]string{"etcd": "1"}, model.Keys{Encryption: v1alpha1.EncryptionReadable},
		},
		"slots with encryption": {map[string]string{"etcd": "1", bundle.PartEncryption: "2"}, model.Keys{}},
		"unknown slots":         {nil, model.Keys{}},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "demo"}, Status: v1alpha1.ClusterStatus{Version: "v1"}}
			cluster.Spec.API.Encryption = &v1alpha1.Encryption{}
			known := record.Stack{}
			known.History().Now = &record.Machines{Parts: c.parts}
			if err := record.Encode(record.FindOrAdd(cluster, model.SlotStackName("demo", 0)), known); err != nil {
				t.Fatal(err)
			}
			d := &draft{in: Input{Cluster: cluster}}
			if keys, err := d.keys(); err != nil || keys != c.want {
				t.Errorf("the keys are %v, want %v: %v", keys, c.want, err)
			}
		})
	}
}
