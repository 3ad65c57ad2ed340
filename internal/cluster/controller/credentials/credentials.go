package credentials

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/cache"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/pki"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
	"github.com/aws-operator/aws-operator/internal/ekstoken"
)

// Clients resolves the addresses of APIs.
type Clients interface {
	Resolver() awsapi.Resolver
}

// Options configure [Credentials]. All but ClusterAPI are required.
type Options struct {
	// Secrets reads and writes Secrets, which are not cached.
	Secrets  client.Client
	Clients  Clients
	Workload *workload.Clusters
	Clock    clock.Clock
	// Presigner presigns requests with the credentials with which the operator manages a Cluster.
	Presigner func(*v1alpha1.Cluster) ekstoken.Presigner
	// ClusterAPI reports whether Cluster API reads the kubeconfig of a Cluster. If nil, it reads none.
	ClusterAPI func(context.Context, *v1alpha1.Cluster) bool
}

// Credentials caches what exists for a Cluster: its CAs, its kubeconfig, and the operator's own
// connection, the latter two with their expiry.
type Credentials struct {
	options Options
	// knownCAs is what is public of the CAs of Clusters.
	knownCAs    *cache.Keyed[types.UID, CAs]
	cas         *cache.Keyed[types.UID, *pki.CAs]
	kubeconfigs *cache.Keyed[types.UID, validity]
	connected   *cache.Keyed[types.UID, validity]
}

// CAs is what is public of a Cluster's CAs: when the first of them expires, which files in the bucket are theirs, the
// certificates, PEM, that the instances of instance groups trust, and the state of a rotation. Origin is the
// certificate of the cluster's first CA, Fingerprint identifies the one that issues certificates. Encryption is the state
// of spec.api.encryption.
type CAs struct {
	Expiry      time.Time
	Keys        model.Keys
	Certificate []byte
	Origin      []byte
	Fingerprint string
	Rotation    pki.Rotation
	Encryption  pki.Encryption
}

// validity is the server address and the CAs that a credential was made for, and its expiry.
type validity struct {
	server string
	keys   model.Keys
	until  time.Time
	// clusterAPI is whether a kubeconfig is one for Cluster API.
	clusterAPI bool
}

// New returns credentials of which none is known to exist yet.
func New(options Options) *Credentials {
	return &Credentials{
		options: options, knownCAs: cache.NewKeyed[types.UID, CAs](), cas: cache.NewKeyed[types.UID, *pki.CAs](),
		kubeconfigs: cache.NewKeyed[types.UID, validity](), connected: cache.NewKeyed[types.UID, validity](),
	}
}

// Forget drops what is cached for a deleted Cluster.
func (c *Credentials) Forget(uid types.UID) {
	c.Changed(uid)
	c.connected.Drop(uid)
}

// Changed makes the next reconcile read the Cluster's Secrets again.
func (c *Credentials) Changed(uid types.UID) {
	c.knownCAs.Drop(uid)
	c.cas.Drop(uid)
	c.kubeconfigs.Drop(uid)
}

// Trim drops the CAs, which are needed only while the Cluster is created.
func (c *Credentials) Trim(uid types.UID) { c.cas.Drop(uid) }

// Assume records that the Cluster's CAs, its kubeconfig and the operator's connection exist and
// need no check until a time. It is for benchmarks of reconciles in which nothing changed.
func (c *Credentials) Assume(uid types.UID, server string, until time.Time) {
	c.knownCAs.Keep(uid, CAs{Expiry: until})
	c.kubeconfigs.Keep(uid, validity{server: server, until: until})
	c.connected.Keep(uid, validity{server: server, until: until})
}
