package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"strings"
	"time"
)

// The parts of an SPDX document that an SBOM of a Go program needs.
// https://spdx.github.io/spdx-spec/v2.3/
//
//nolint:tagliatelle // The names are SPDX's.
type (
	document struct {
		Version       string         `json:"spdxVersion"`
		License       string         `json:"dataLicense"`
		ID            string         `json:"SPDXID"`
		Name          string         `json:"name"`
		Namespace     string         `json:"documentNamespace"`
		Creation      creation       `json:"creationInfo"`
		Packages      []module       `json:"packages"`
		Relationships []relationship `json:"relationships"`
	}
	creation struct {
		Created  string   `json:"created"`
		Creators []string `json:"creators"`
	}
	module struct {
		Name             string      `json:"name"`
		ID               string      `json:"SPDXID"`
		Version          string      `json:"versionInfo"`
		Location         string      `json:"downloadLocation"`
		FilesAnalyzed    bool        `json:"filesAnalyzed"`
		LicenseConcluded string      `json:"licenseConcluded"`
		LicenseDeclared  string      `json:"licenseDeclared"`
		Copyright        string      `json:"copyrightText"`
		Purpose          string      `json:"primaryPackagePurpose,omitempty"`
		Checksums        []checksum  `json:"checksums,omitempty"`
		References       []reference `json:"externalRefs"`
	}
	checksum struct {
		Algorithm string `json:"algorithm"`
		Value     string `json:"checksumValue"`
	}
	reference struct {
		Category string `json:"referenceCategory"`
		Type     string `json:"referenceType"`
		Locator  string `json:"referenceLocator"`
	}
	relationship struct {
		From string `json:"spdxElementId"`
		Type string `json:"relationshipType"`
		To   string `json:"relatedSpdxElement"`
	}
)

const (
	documentID  = "SPDXRef-DOCUMENT"
	programID   = "SPDXRef-program"
	noAssertion = "NOASSERTION"
)

// sbom returns the SBOM of a Go program as an SPDX document: the modules that Go recorded in it, and
// Go's standard library. The name is that of its archive.
func sbom(name string, program []byte, info *debug.BuildInfo, created time.Time) ([]byte, error) {
	sum := fmt.Sprintf("%x", sha256.Sum256(program))
	of := moduleOf(programID, info.Main.Path, info.Main.Version)
	of.Purpose, of.LicenseDeclared = "APPLICATION", "Apache-2.0"
	of.Checksums = []checksum{{Algorithm: "SHA256", Value: sum}}
	d := document{
		Version: "SPDX-2.3", License: "CC0-1.0", ID: documentID, Name: name,
		// The namespace is unique for each document and need not exist.
		Namespace:     "https://" + info.Main.Path + "/spdx/" + name + "-" + sum,
		Creation:      creation{Created: created.UTC().Format(time.RFC3339), Creators: []string{"Tool: aws-operator-release"}},
		Packages:      []module{of},
		Relationships: []relationship{{documentID, "DESCRIBES", programID}},
	}
	depend := func(id, path, version string) {
		d.Packages = append(d.Packages, moduleOf(id, path, version))
		d.Relationships = append(d.Relationships, relationship{programID, "DEPENDS_ON", id})
	}
	depend("SPDXRef-go", "stdlib", strings.TrimPrefix(info.GoVersion, "go"))
	for i, dependency := range info.Deps {
		if dependency.Replace != nil {
			dependency = dependency.Replace
		}
		depend(fmt.Sprintf("SPDXRef-module-%d", i+1), dependency.Path, dependency.Version)
	}
	data, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode the SBOM: %w", err)
	}
	return append(data, '\n'), nil
}

func moduleOf(id, path, version string) module {
	return module{
		Name: path, ID: id, Version: version, Location: noAssertion, LicenseConcluded: noAssertion, LicenseDeclared: noAssertion,
		Copyright: noAssertion, References: []reference{{"PACKAGE-MANAGER", "purl", purl(path, version)}},
	}
}

// purl returns the package URL of a module.
// https://github.com/package-url/purl-spec/blob/main/types-doc/golang-definition.md
func purl(path, version string) string {
	return "pkg:golang/" + strings.ToLower(path) + "@" + strings.ReplaceAll(version, "+", "%2B")
}
