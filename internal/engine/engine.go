package engine

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// State is where a cluster's definition is, and where what is made for it is written.
type State interface {
	// Load returns all that there is of a cluster: the Cluster, its InstanceGroups, Releases of its own, and Secrets.
	Load(ctx context.Context, cluster string) ([]client.Object, error)
	// Lock keeps others from changing the cluster until unlock is called. It errs when another does already.
	Lock(ctx context.Context, cluster, purpose string) (unlock func() error, err error)
	// Save writes an object as it is now, with its metadata and status.
	Save(ctx context.Context, cluster string, object client.Object) error
	// Remove removes an object that is gone.
	Remove(ctx context.Context, cluster string, object client.Object) error
}

// Goal is until when a cluster is followed.
type Goal string

// Goals.
const (
	// Ready is reached when the Cluster and all of its InstanceGroups are ready, as their specs are now.
	Ready Goal = "Ready"
	// Gone is reached when none of them is there any more. [Run] deletes the Cluster.
	Gone Goal = "Gone"
)

// Options say what to run. State, Cluster and Goal are required.
type Options struct {
	State State
	// Cluster is the Cluster's name.
	Cluster string
	Goal    Goal
	// Purpose is what others are told who want to change the cluster meanwhile, as "apply".
	Purpose string

	// AWS says how AWS is reached.
	AWS AWS
	// NodeupDir is where nodeup-linux-amd64 and nodeup-linux-arm64 are, which machines boot with; the folder of this program
	// unless set.
	NodeupDir string

	// Observe is told how far things are whenever that changes; nobody is unless set.
	Observe func(Progress)
	// Logger receives what the controllers say; nothing unless set.
	Logger logr.Logger
	// Clock is the machine's unless set.
	Clock clock.WithTicker
	// Poll is how often AWS is looked at while something changes there; 5 seconds unless set.
	Poll time.Duration
	// Settle is how long the goal must hold; a second unless set.
	Settle time.Duration
	// Workload turns a workload cluster's kubeconfig into what is dialed; its current context as it is unless set.
	Workload func(key types.NamespacedName, kubeconfig []byte) (*rest.Config, error)
}

// AWS says how AWS is reached: by the SDK's environment and shared files where nothing is set.
type AWS struct {
	// EndpointURL receives all calls.
	EndpointURL string
	// Credentials are those of the account.
	Credentials aws.CredentialsProvider
	// Transport carries the calls.
	Transport http.RoundTripper
}

// Run brings a cluster to the goal. The state is locked meanwhile. It errs when the state cannot be read or written, when AWS
// refuses the credentials, with a [StalledError] when a person must act, and when ctx ends first; the same run then goes on
// later.
func Run(ctx context.Context, o Options) error {
	return errors.ErrUnsupported
}
