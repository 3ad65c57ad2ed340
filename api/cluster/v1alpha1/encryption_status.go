package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// EncryptionStatus is the state of spec.api.encryption in a cluster that was created without it.
type EncryptionStatus struct {
	// Stage is the stage that the encryption has reached.
	Stage EncryptionStage `json:"stage"`

	// Started is when the first stage began.
	// +optional
	Started *metav1.Time `json:"started,omitempty"`

	// Finished is when the last one ended.
	// +optional
	Finished *metav1.Time `json:"finished,omitempty"`

	// Message describes what the stage waits for.
	// +optional
	Message string `json:"message,omitempty"`
}

// EncryptionStage is a stage of the encryption of resources in etcd. A stage that replaces nodes ends
// when all nodes of the control plane were replaced and are healthy.
//
// +kubebuilder:validation:Enum=Readable;Encrypting;Rewriting;Done
type EncryptionStage string

// Stages of the encryption of resources in etcd, in their order.
const (
	// EncryptionPlain is before the first stage. It is not in a status.
	EncryptionPlain EncryptionStage = "Plain"
	// EncryptionReadable replaces the control plane's nodes: they read encrypted objects, and write
	// plain text.
	EncryptionReadable EncryptionStage = "Readable"
	// EncryptionEncrypting replaces the control plane's nodes: they encrypt what they write, and still
	// read plain text.
	EncryptionEncrypting EncryptionStage = "Encrypting"
	// EncryptionRewriting writes each object of the resources again, so that it is encrypted.
	EncryptionRewriting EncryptionStage = "Rewriting"
	// EncryptionDone is the end.
	EncryptionDone EncryptionStage = "Done"
)
