package terraform

import (
	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
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

// store makes a bundle a file of data and an object in the bucket. Its name and its hash are known to Terraform alone.
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

// storeProgram makes nodeup, which is beside the data, an object in the bucket.
func (s *scope) storeProgram(architecture v1alpha1.Architecture, file, hash string) error {
	object, err := s.object(plain(s.stack.Name)+"_nodeup_"+string(architecture), nil)
	if err != nil {
		return err
	}
	object.set("key", text(model.NodeupKey(hash, architecture)))
	object.set("source", s.module.path(file))
	object.set("source_hash", text(hash))
	object.set("content_type", text("application/octet-stream"))
	return nil
}

// object adds an object in the bucket. What its contents refer to is translated by contents, if that is not nil.
func (s *scope) object(name string, contents func() error) (*block, error) {
	const resource = "aws_s3_object"
	if err := s.module.own(resource+"."+name, s.stack.Name+"/"+name); err != nil {
		return nil, err
	}
	s.seen = map[*made]bool{}
	defer func() { s.seen = nil }()
	b := &block{kind: "resource", labels: []string{resource, name}}
	b.set("bucket", s.module.marked(markOf(model.OutputBucket)))
	if contents != nil {
		if err := contents(); err != nil {
			return nil, err
		}
	}
	// Machines that boot meanwhile find what they are told to fetch, whichever version of the group's they are of.
	b.one("lifecycle").set("create_before_destroy", raw("true"))
	s.objects = append(s.objects, &made{address: resource + "." + name, blocks: []*block{b}, refers: s.seen})
	return b, nil
}
