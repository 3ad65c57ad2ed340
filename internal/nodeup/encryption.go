package nodeup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
	"github.com/aws-operator/aws-operator/internal/nodeup/kmsprovider"
)

const (
	// kmsUnit runs [ServeKMS].
	kmsUnit = "nodeup-kms.service"
	// kmsRestartAfter is how many seconds after its end systemd starts it again. Meanwhile, the API
	// server works with the seeds that it has.
	kmsRestartAfter = 1
	// kmsSettings make systemd start it before the kubelet starts the API server, and never give up,
	// which it does by default after five starts within ten seconds.
	// https://www.freedesktop.org/software/systemd/man/latest/systemd.unit.html#StartLimitIntervalSec=interval
	kmsSettings = "Before=kubelet.service\nStartLimitIntervalSec=0\n"
	// kmsPoll is how often a slot checks the plugin that it has started, and kmsPolls how many times
	// before it reports why the plugin is not healthy.
	kmsPoll, kmsPolls = 100 * time.Millisecond, 20
	// encryptionFile is on the etcd volume, and says how its data is encrypted.
	encryptionFile = "encryption.json"
	// readableFile is on the etcd volume of a cluster to which encryption is added, and says which
	// encrypted data the slot can read.
	readableFile = "encryption-readable.json"
	// restoredFile is on an etcd volume that was made from a snapshot, and has the snapshot's ID once a
	// slot has started with it.
	restoredFile = "encryption-restored"
)

// startKMSUnit makes the slot serve the KMS plugin of its API server. It does so before the API
// server starts, and is done once the plugin answers and KMS encrypts and decrypts.
func (b *boot) startKMSUnit(ctx context.Context) (string, error) {
	if err := b.checkEncryption(); err != nil {
		return "", err
	}
	of := b.bundle.Encryption
	if of == nil {
		return "nothing, spec.api.encryption is not set", nil
	}
	did, err := b.startUnitWith(
		ctx, kmsUnit, "Serves the KMS plugin of the API server of the cluster "+b.bundle.Cluster, "--serve-kms", kmsSettings, kmsRestartAfter,
	)
	if err != nil {
		return "", err
	}
	// The unit is started, but its program may not listen yet.
	for range kmsPolls {
		if err = kmsprovider.Check(ctx, b.files.path(of.Socket)); err == nil {
			return did, nil
		}
		select {
		case <-ctx.Done():
		case <-b.Clock.After(kmsPoll):
		}
	}
	return "", fmt.Errorf("%s is not healthy: %w", kmsUnit, err)
}

// ServeKMS serves the KMS plugin of the slot's API server until the context ends: see package
// kmsprovider. It needs neither the bucket nor the instance's metadata after the first boot, so that
// the API server can read Secrets whenever KMS answers.
func ServeKMS(ctx context.Context, options Options) error {
	b := &boot{Options: options, files: files{root: options.Root}}
	if err := b.runOne(ctx, task{"bundle", (*boot).readBundle, lastRetry}); err != nil {
		return err
	}
	of := b.bundle.Encryption
	if of == nil {
		return permanent("the bundle encrypts nothing in etcd")
	}
	provider := &kmsprovider.Provider{KMS: b.AWS.Keys, KeyARN: of.KeyARN, Context: of.Context, Clock: b.Clock, Log: b.Log}
	return kmsprovider.Serve(ctx, b.files.path(of.Socket), provider)
}

// encryptionRecord says how the data of an etcd volume is encrypted.
type encryptionRecord struct {
	KeyARN  string            `json:"keyARN"`
	Context map[string]string `json:"context"`
}

// recordOf returns the record for a bundle, empty if it encrypts nothing.
func recordOf(of *bundle.Encryption) string {
	if of == nil {
		return ""
	}
	text, err := json.Marshal(encryptionRecord{of.KeyARN, of.Context})
	if err != nil {
		panic(fmt.Sprintf("nodeup: %v", err)) // Strings always encode.
	}
	return string(text)
}

// checkEncryption refuses to serve data that is encrypted in another way than the bundle says: a slot
// would not be able to read what the others, or it itself, have written. The API rejects such a change
// of spec.api.encryption, but not that of a cluster that was deleted with its data kept, or restored.
// It records on a volume without data how that is going to be encrypted. A volume that was made from a
// snapshot may have data in plain text, since all slots are restored at once.
//
// The slots of a cluster to which encryption is added have data in plain text, too. One that only
// learns to read encrypted data may roll back to plain text, and so leaves the record as it is. It
// notes on the volume that it can read, without which the next one of the slot does not encrypt.
func (b *boot) checkEncryption() error {
	restored, err := b.readIfExists(b.bundle.Etcd.MountPoint + "/" + restoredFile)
	if err != nil {
		return err
	}
	as := b.bundle.Etcd.Restore
	if err := b.compareEncryption(as != nil && restored != as.Snapshot); err != nil || as == nil {
		return err
	}
	return b.record(restoredFile, as.Snapshot)
}

// compareEncryption is checkEncryption for a volume that was just made from a snapshot, or that was not.
func (b *boot) compareEncryption(restored bool) error {
	name := b.bundle.Etcd.MountPoint + "/" + encryptionFile
	has, err := b.readIfExists(name)
	if err != nil {
		return err
	}
	wants, added := recordOf(b.bundle.Encryption), bundle.Added("")
	if b.bundle.Encryption != nil {
		added = b.bundle.Encryption.Added
	}
	isNew := !b.hasMember() || has == "" && restored
	switch {
	case added == bundle.AddedReadable && (has == wants || has == "" || isNew):
		if has != wants {
			if err := b.files.remove(name); err != nil {
				return err
			}
		}
		return b.record(readableFile, wants)
	case has == wants && wants != "":
		return nil
	case has == wants: // It may have rolled back.
		return b.files.remove(b.bundle.Etcd.MountPoint + "/" + readableFile)
	case isNew && wants == "":
		return b.files.remove(name)
	case isNew:
		return b.record(encryptionFile, wants)
	case has == "" && added == bundle.AddedEncrypting:
		return b.beginEncrypting(wants)
	case has == "":
		return permanent(
			"spec.api.encryption is set, but the data of etcd is in plain text: other API servers of the cluster could not read what " +
				"this one encrypts; remove spec.api.encryption, or create a new cluster with it",
		)
	}
	var as encryptionRecord
	if err := json.Unmarshal([]byte(has), &as); err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	return permanent(
		"the data of etcd is encrypted with the key %s for the cluster %s, and this bundle does not read that; set "+
			"spec.api.encryption.kmsKeyARN to that key, in a cluster of that name and account",
		as.KeyARN, as.Context[bundle.ContextCluster],
	)
}

// beginEncrypting records that the data of the volume, which is in plain text, is going to be encrypted.
// It refuses a volume whose slot has not learnt to read encrypted data: then others may not have, either.
func (b *boot) beginEncrypting(wants string) error {
	can, err := b.readIfExists(b.bundle.Etcd.MountPoint + "/" + readableFile)
	switch {
	case err != nil:
		return err
	case can != wants:
		return permanent(
			"this slot would encrypt, but the data of etcd is in plain text and the slot's previous instance could not read encrypted data: " +
				"other API servers of the cluster may not be able to read it, either; the operator must first replace all slots in the stage Readable",
		)
	default:
		return b.record(encryptionFile, wants)
	}
}

// record writes a file on the etcd volume.
func (b *boot) record(file, text string) error {
	_, err := b.files.write(b.bundle.Etcd.MountPoint+"/"+file, []byte(text), 0o600)
	return err
}

// readIfExists returns the content of a file, empty if there is none.
func (b *boot) readIfExists(name string) (string, error) {
	text, err := b.files.read(name)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return string(text), err
}
