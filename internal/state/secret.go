package state

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/pki"
	"github.com/aws-operator/aws-operator/internal/yamltree"
)

// secretMetadata is the stored part of a Secret's metadata.
type secretMetadata struct {
	Name            string                  `json:"name"`
	Namespace       string                  `json:"namespace,omitempty"`
	UID             string                  `json:"uid,omitempty"`
	Labels          map[string]string       `json:"labels,omitempty"`
	Annotations     map[string]string       `json:"annotations,omitempty"`
	OwnerReferences []metav1.OwnerReference `json:"ownerReferences,omitempty"`
}

func newSecretFile(s *corev1.Secret) *secretFile {
	file := &secretFile{
		APIVersion: "v1", Kind: "Secret", Type: string(s.Type), Data: map[string]string{},
		Metadata: secretMetadata{
			Name: s.Name, Namespace: s.Namespace, UID: string(s.UID), Labels: s.Labels, Annotations: s.Annotations,
			OwnerReferences: s.OwnerReferences,
		},
	}
	for key, value := range s.Data {
		file.Data[key] = base64.StdEncoding.EncodeToString(value)
	}
	return file
}

// readSecret reads the file of a Secret. Its errors never contain any of the data.
func (f *files) readSecret(ctx context.Context, name string) (*corev1.Secret, error) {
	data, err := f.store.read(ctx, name)
	if err != nil {
		return nil, err
	}
	where := f.store.where(name)
	if err := incompleteFile(name, where, data); err != nil {
		return nil, err
	}
	documents, err := yamltree.Parse(where, data)
	if err != nil {
		return nil, err
	}
	if len(documents) != 1 {
		return nil, yamltree.Problem{
			File:    where,
			Message: fmt.Sprintf("the file must contain one Secret, but has %d documents: restore it from a backup", len(documents)),
		}
	}
	file := &secretFile{}
	if err := yamltree.Decode(documents[0], file); err != nil {
		return nil, err
	}
	if file.APIVersion != "v1" || file.Kind != "Secret" {
		return nil, yamltree.Problem{File: where, Line: 1, Message: "the file must contain a Secret (apiVersion: v1, kind: Secret)"}
	}
	if file.Metadata.Name == "" || !strings.HasSuffix(name, "/"+file.Metadata.Name+extension) {
		return nil, yamltree.Problem{File: where, Line: 1, Path: "metadata.name", Message: "the file's name must be the Secret's"}
	}
	secret := &corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, Type: corev1.SecretType(file.Type), Data: map[string][]byte{},
		ObjectMeta: metav1.ObjectMeta{
			Name: file.Metadata.Name, Namespace: file.Metadata.Namespace, Labels: file.Metadata.Labels,
			Annotations:     file.Metadata.Annotations,
			OwnerReferences: file.Metadata.OwnerReferences,
		},
	}
	secret.UID = uid(file.Metadata.UID)
	for key, encoded := range file.Data {
		value, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			return nil, yamltree.Problem{
				File:    where,
				Line:    documents[0].Value.Field("data").Line,
				Path:    "data[" + key + "]",
				Message: "this is not base64: restore the file from a backup",
			}
		}
		secret.Data[key] = value
	}
	return secret, nil
}

// caSuffixes are the suffixes of the Secrets that hold a cluster's keys.
var caSuffixes = []string{pki.SuffixCA, pki.SuffixEtcdCA, pki.SuffixFrontProxyCA, pki.SuffixServiceAccount}

// CAs returns the cluster's CAs from its Secrets. It returns an error if one is missing or invalid.
func (o *Objects) CAs(clock clock.PassiveClock) (*pki.CAs, error) {
	return pki.Read(clock, o.Cluster, o.Secrets)
}

// Secret returns the Secret of that name, or nil.
func (o *Objects) Secret(name string) *corev1.Secret {
	i := slices.IndexFunc(o.Secrets, func(s *corev1.Secret) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return o.Secrets[i]
}

// secretClient is a client for the Secrets of a cluster, for callers that only get and create
// Secrets.
type secretClient struct {
	client.Client
	objects *Objects
	made    []*corev1.Secret
}

// Get returns a Secret.
func (v *secretClient) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	secret, ok := into.(*corev1.Secret)
	if !ok {
		return fmt.Errorf("only Secrets are here, no %T: %w", into, errors.ErrUnsupported)
	}
	found := v.objects.Secret(key.Name)
	if found == nil {
		return apierrors.NewNotFound(corev1.Resource("secrets"), key.Name)
	}
	found.DeepCopyInto(secret)
	return nil
}

// Create adds a Secret to those of the cluster. It never replaces an existing one.
func (v *secretClient) Create(_ context.Context, object client.Object, _ ...client.CreateOption) error {
	secret, ok := object.(*corev1.Secret)
	if !ok {
		return fmt.Errorf("only Secrets are here, no %T: %w", object, errors.ErrUnsupported)
	}
	if v.objects.Secret(secret.Name) != nil {
		return apierrors.NewAlreadyExists(corev1.Resource("secrets"), secret.Name)
	}
	v.made = append(v.made, secret)
	v.objects.Secrets = append(v.objects.Secrets, secret)
	return nil
}

// makeKeys creates the missing CAs of a cluster, and writes them.
func (f *files) makeKeys(ctx context.Context, objects *Objects) error {
	if model.UsesEKS(objects.Cluster) { // EKS has the keys.
		return nil
	}
	v := &secretClient{objects: objects}
	if _, err := pki.Ensure(ctx, v, f.options.Clock, objects.Cluster); err != nil {
		return err
	}
	for _, secret := range v.made {
		name, err := fileOf(objects.Cluster.Name, secret)
		if err != nil {
			return err
		}
		secret.UID = newUID()
		if err := f.writeSecret(ctx, name, secret); err != nil {
			return err
		}
	}
	return nil
}
