package terraform

import (
	"strings"

	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap"
	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

// bundled is a bundle of the configuration.
type bundled struct {
	// hash is that of the document with its marks, document an expression for it without.
	hash     string
	document expression
}

// store makes a bundle a file of data and an object in the bucket. Its name and its hash are known
// to Terraform alone.
func (s *scope) store(b *bootstrap.Bundle) error {
	name := plain(s.stack.Name) + "_bundle"
	document := b.JSON()
	file := s.module.folder + "/" + s.stack.Name + ".bundle.json"
	s.module.files[file] = document
	s.bundle = &bundled{hash: bundle.HashOf(document), document: raw("local." + name)}
	object, err := s.object(name, func() error {
		s.locals = append(s.locals, member{name, s.module.fill(call("file", s.module.path(file)), string(document))})
		return nil
	})
	if err != nil {
		return err
	}
	hash := piece{source: "sha256(" + s.bundle.document.String() + ")"}
	object.set("key", joined([]piece{{literal: "bundles/"}, hash, {literal: ".json"}}))
	object.set("content", s.bundle.document)
	object.set("content_type", text("application/json"))
	return nil
}

// storeProgram makes a program, which is beside the data, an object in the bucket.
func (s *scope) storeProgram(p Program, key string) error {
	object, err := s.object(plain(s.stack.Name)+"_"+plain(p.Name)+"_"+string(p.Architecture), nil)
	if err != nil {
		return err
	}
	object.set("key", text(key))
	object.set("source", s.module.path(p.Path))
	object.set("source_hash", text(p.SHA256))
	object.set("content_type", text("application/octet-stream"))
	return nil
}

// storeSecret makes a CA file a separate file and an object in the bucket. Terraform's state has
// only its path and the hash that is written here, so plans do not need the file.
func (s *scope) storeSecret(key string, contents []byte) error {
	object, err := s.object(plain(s.stack.Name)+"_"+snake(key), nil)
	if err != nil {
		return err
	}
	file := secretsFolder(s.module.folder) + "/" + strings.TrimPrefix(key, model.KeyPKIPrefix)
	s.module.secrets[file] = contents
	object.set("key", text(key))
	object.set("source", s.module.path(file))
	object.set("source_hash", text(bundle.HashOf(contents)))
	object.set("content_type", text("application/x-pem-file"))
	return nil
}

// publish makes a file an object that is not encrypted by the cluster's key, so that all may read
// it who may read the bucket.
func (s *scope) publish(key string, contents []byte) error {
	file := s.module.folder + "/" + strings.ReplaceAll(strings.ReplaceAll(key, "/.", "/"), "/", ".") + ".json"
	s.module.files[file] = contents
	bucket := model.OutputBucket
	if s.stack.Template.Outputs[model.OutputIssuerBucket] != nil {
		bucket = model.OutputIssuerBucket
	}
	object, err := s.objectIn(bucket, plain(s.stack.Name)+"_"+snake(key), nil)
	if err != nil {
		return err
	}
	object.set("key", text(key))
	object.set("content", s.module.fill(call("file", s.module.path(file)), string(contents)))
	object.set("content_type", text("application/json"))
	object.set("server_side_encryption", text("AES256"))
	return nil
}

// object adds an object in the cluster's bucket. What its contents refer to is translated by
// contents, if that is not nil.
func (s *scope) object(name string, contents func() error) (*block, error) {
	return s.objectIn(model.OutputBucket, name, contents)
}

// objectIn adds an object in the bucket that an output of the base stack names.
func (s *scope) objectIn(bucket, name string, contents func() error) (*block, error) {
	const resource = "aws_s3_object"
	if err := s.module.own(resource+"."+name, s.stack.Name+"/"+name); err != nil {
		return nil, err
	}
	s.seen = map[*made]bool{}
	defer func() { s.seen = nil }()
	b := &block{kind: "resource", labels: []string{resource, name}}
	b.set("bucket", s.module.marked(markOf(bucket)))
	if contents != nil {
		if err := contents(); err != nil {
			return nil, err
		}
	}
	// Instances that boot in the meantime find the objects that their user data names, whichever
	// version of the group they belong to.
	b.one("lifecycle").set("create_before_destroy", raw("true"))
	s.objects = append(s.objects, &made{address: resource + "." + name, blocks: []*block{b}, refers: s.seen})
	return b, nil
}
