package livetest

import (
	"path/filepath"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/state"
)

// State writes the cluster's definition and keys to a folder, and the account's credentials to this
// process's environment, like those of a user at a terminal. It returns the folder.
func (w *Suite) State() string {
	w.t.Helper()
	names, err := w.simulator.ServeNames(w.t.Context())
	w.must(err)
	for key, value := range map[string]string{ //nolint:gosec // credentials of the simulator
		"AWS_ENDPOINT_URL": w.Endpoint, "AWS_REGION": Region, "AWS_ACCESS_KEY_ID": Account, "AWS_SECRET_ACCESS_KEY": Secret,
		"AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null", "AWS_PROFILE": "", "AWS_SESSION_TOKEN": "",
		awsapi.ResolverVariable: names,
	} {
		w.t.Setenv(key, value)
	}
	dir := filepath.Join(w.t.TempDir(), "state")
	s, err := state.Open(w.t.Context(), dir, state.Options{})
	w.must(err)
	objects := []client.Object{w.Cluster.DeepCopy()}
	for _, g := range w.Groups {
		objects = append(objects, g.DeepCopy())
	}
	_, err = s.Replace(w.t.Context(), objects)
	w.must(err)
	unlock, err := s.Lock(w.t.Context(), w.Cluster.Name, "test")
	w.must(err)
	for _, secret := range w.Secrets {
		w.must(s.Save(w.t.Context(), w.Cluster.Name, secret))
	}
	w.must(unlock())
	return dir
}
