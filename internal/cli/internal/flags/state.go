// Package flags holds the flags that commands share: which state they use, how they print, and
// whether they may change something.
package flags

import (
	"cmp"
	"context"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cli/version"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/internal/state"
)

const (
	// EnvState is the environment variable that names the state if --state is not set.
	EnvState = "AWS_OPERATOR_STATE"
	// defaultState is the state if neither is set.
	defaultState = "./state"
	// completionTimeout bounds completion, since a user waits for it at the prompt.
	completionTimeout = 3 * time.Second
)

// State is the flags that select where clusters are kept.
type State struct {
	ref     string
	options state.Options
}

// Add gives the command the flags --state, --namespace and --state-kms-key.
func (f *State) Add(cmd *cobra.Command) {
	set := cmd.Flags()
	set.StringVar(
		&f.ref,
		"state",
		"",
		"where clusters are kept: a folder, s3://bucket/prefix, or k8s for the current kubeconfig (default: $"+EnvState+", or "+defaultState+")",
	)
	set.StringVarP(
		&f.options.Namespace,
		"namespace",
		"n",
		"",
		"namespace of the clusters (default: the namespace of the kubeconfig's context, or "+state.DefaultNamespace+")",
	)
	set.StringVar(
		&f.options.KMSKey, "state-kms-key", "", "KMS key to encrypt objects in the bucket (default: the encryption of the bucket)",
	)
}

// Ref returns the reference of the state.
func (f *State) Ref() string { return cmp.Or(f.ref, os.Getenv(EnvState), defaultState) }

// Namespace returns the namespace of objects that name none, for commands that open no state.
func (f *State) Namespace() string { return cmp.Or(f.options.Namespace, state.DefaultNamespace) }

// Open opens the state.
func (f *State) Open(cmd *cobra.Command) (*state.State, error) {
	return f.open(cmd.Context())
}

// OpenCluster opens the state for a command on one cluster, and returns the name of the cluster,
// which users may also call by its name in kops. Clusters of manifests count like those of the
// state. It returns the errors of [state.State.NameOf].
func (f *State) OpenCluster(cmd *cobra.Command, name string, given ...*v1alpha1.Cluster) (*state.State, string, error) {
	s, err := f.Open(cmd)
	if err != nil {
		return nil, "", err
	}
	name, err = s.NameOf(cmd.Context(), name, given...)
	return s, name, err
}

func (f *State) open(ctx context.Context) (*state.State, error) {
	f.options.UserAgent = "aws-operator/" + version.String()
	f.options.Releases = os.Getenv(state.ReleasesVariable)
	return state.Open(ctx, f.Ref(), f.options)
}

// CompleteCluster completes the name of one cluster of the state. Commands use it as
// ValidArgsFunction.
func (f *State) CompleteCluster(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	return f.Complete(func(ctx context.Context, s *state.State) ([]string, error) { return s.Clusters(ctx) })(cmd, args, typed)
}

// Complete returns a completion of one of the names that the function returns. If the state cannot
// be read, it completes nothing.
func (f *State) Complete(names func(context.Context, *state.State) ([]string, error)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(completionContext(cmd), completionTimeout)
		defer cancel()
		s, err := f.open(ctx)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		all, err := names(ctx, s)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return withPrefix(all, typed), cobra.ShellCompDirectiveNoFileComp
	}
}

// CompleteRelease completes the name of a Release for the flag of that name: a built-in one, or one
// of the state, if that can be read.
func (f *State) CompleteRelease(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(completionContext(cmd), completionTimeout)
	defer cancel()
	var given []*v1alpha1.Release
	if s, err := f.open(ctx); err == nil {
		given, _ = s.Releases(ctx) // Without them, the built-in ones are left.
	}
	all, _ := release.All(given...) // A test of that package rules out an error.
	return withPrefix(release.Names(all), typed), cobra.ShellCompDirectiveNoFileComp
}

func withPrefix(names []string, prefix string) []string {
	return slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, prefix) })
}

// completionContext returns the context of the command, if it has one.
func completionContext(cmd *cobra.Command) context.Context {
	if ctx := cmd.Context(); ctx != nil {
		return ctx
	}
	return context.Background()
}
