// Package chartrender renders Helm charts outside the operator's process.
//
// A chart is a program of its publisher: its templates may loop, allocate without end, or read what
// the process may read. So a [Renderer] starts the same program again with the hidden command
// [Command] for each chart. The child gets the archive, the values and what the cluster serves on
// its standard input, and answers with manifests, or with what was wrong, on its standard output.
// It has an empty environment, so neither AWS credentials nor a kubeconfig; on Linux it gives up
// opening files and connections before it reads a byte of the chart, where the kernel has Landlock.
// Its memory, its processor time, its running time and what it may answer are bounded.
//
// Templates see no cluster: lookup answers nothing, as in helm template, env and expandenv do not
// exist, and getHostByName answers nothing.
//
// The child also parses a repository's index, and applies patches to what it has rendered. What the
// parent reads are manifests of a normal form: one object a document, no anchors, no templates.
package chartrender

import "time"

// Command is the hidden command of the program that [Main] carries out.
const Command = "render-chart"

const (
	// MaxArchive is the largest archive of a chart, in bytes.
	MaxArchive = 8 << 20
	// MaxIndex is the largest index of a repository, in bytes. The largest index of the built-in
	// releases' repositories has two megabytes.
	MaxIndex = 32 << 20
	// maxUnpacked and maxFile bound what is unpacked of an archive, in bytes.
	maxUnpacked = 32 << 20
	maxFile     = 4 << 20
	// maxRendered bounds what a chart may render, in bytes. Kubernetes' limit for what Helm stores
	// of it is one megabyte, compressed.
	maxRendered = 8 << 20
	// maxMessage is how much of what a chart says goes into a condition, in bytes.
	maxMessage = 1 << 10
	// memory is how much the child may allocate, in bytes; from softMemory on it collects garbage
	// all the time.
	memory     = 256 << 20
	softMemory = 160 << 20
	// cpuSeconds is the processor time after which the kernel ends a child that its parent has left
	// behind.
	cpuSeconds = 60
	// defaultTimeout is how long a chart may take.
	defaultTimeout = 30 * time.Second
)

// Request is what the child is asked: one of its fields is set.
type Request struct {
	Chart *Chart `json:"chart,omitempty"`
	Find  *Find  `json:"find,omitempty"`
}

// Chart asks for a chart's manifests.
type Chart struct {
	// Archive is the chart's archive, as it is published.
	Archive []byte `json:"archive"`
	// Release and Namespace name the Helm release; Revision is its revision, and Upgrade whether
	// there is one already.
	Release   string `json:"release"`
	Namespace string `json:"namespace"`
	Revision  int    `json:"revision"`
	Upgrade   bool   `json:"upgrade,omitempty"`
	// Values are laid over the chart's own.
	Values map[string]any `json:"values,omitempty"`
	// KubeVersion is the cluster's version, and APIVersions what it serves, as Helm's Capabilities
	// have it.
	KubeVersion string   `json:"kubeVersion"`
	APIVersions []string `json:"apiVersions"`
	// Patches are applied to what the chart renders, in their order.
	Patches []Patch `json:"patches,omitempty"`
}

// Find asks for the address and digest of a version of a chart.
type Find struct {
	// Index is the repository's index.yaml.
	Index []byte `json:"index"`
	// Chart is the chart's name, Version its version.
	Chart   string `json:"chart"`
	Version string `json:"version"`
}

// Response is what the child answers: one of its fields is set.
type Response struct {
	// Refused says what is wrong with the chart.
	Refused  string    `json:"refused,omitempty"`
	Rendered *Rendered `json:"rendered,omitempty"`
	Found    *Found    `json:"found,omitempty"`
}

// Rendered is what a chart renders.
type Rendered struct {
	// Name, Version, AppVersion and Description are the chart's.
	Name        string `json:"name"`
	Version     string `json:"version"`
	AppVersion  string `json:"appVersion,omitempty"`
	Description string `json:"description,omitempty"`
	// CRDs are the chart's CustomResourceDefinitions, which Helm installs before everything else
	// and never changes.
	CRDs []File `json:"crds,omitempty"`
	// Manifests are the rendered templates, hooks among them.
	Manifests []File `json:"manifests,omitempty"`
}

// File is a file of a chart.
type File struct {
	// Name is its path in the chart.
	Name string `json:"name"`
	// Content are YAML documents.
	Content string `json:"content"`
}

// Found is where a chart is.
type Found struct {
	// URL is the archive's address, which may be relative to the repository's.
	URL string `json:"url"`
	// Digest is its SHA-256; empty if the index does not say.
	Digest string `json:"digest,omitempty"`
}
