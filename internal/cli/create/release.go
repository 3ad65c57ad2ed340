package create

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/admit"
	"github.com/aws-operator/aws-operator/internal/cli/internal/flags"
	"github.com/aws-operator/aws-operator/internal/cli/internal/usage"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/internal/manifest"
)

type releaseOptions struct {
	output flags.Output

	programs, from, manifest      string
	kubernetes, name, resourceSet string
	versions                      map[string]string
}

func releaseCommand() *cobra.Command {
	var o releaseOptions
	cmd := &cobra.Command{
		Use:   "release --programs FILE --kubernetes VERSION --from RELEASE",
		Short: "Print a Release for another patch version of Kubernetes from published hashes",
		Long: `Print a copy of a Release with another patch version of Kubernetes. The SHA-256 hashes of
its programs come from a file, by program, architecture and version without v:

  kubelet:
    amd64:
      1.36.5: 64 hex digits
    arm64:
      1.36.5: 64 hex digits
  kubeadm:
    …

The file must have kubelet, kubeadm, and every artifact that --with gives another version.
If it has other artifacts, their hashes are compared. Publishers list the hashes next to
the programs: https://dl.k8s.io/release/v1.36.5/bin/linux/amd64/kubelet.sha256.

Image, charts, etcd, CoreDNS and the pause image are those of --from. The command stores
nothing: apply the manifest, or write it to a state with replace -f.`,
		Example: `  aws-operator create release --programs programs.yml --kubernetes v1.36.5 --from v1.36.4 > release.yml
  aws-operator create release --programs programs.yml --kubernetes v1.36.5 --from v1.36.4 \
    --name v1.36.5-acme.1 --with containerd=2.3.5 > release.yml`,
		Args: usage.None,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	o.output.Add(cmd, flags.FormatYAML, flags.FormatJSON)
	set := cmd.Flags()
	set.StringVar(&o.programs, "programs", "", "file with the SHA-256 hashes of published programs")
	set.StringVar(&o.kubernetes, "kubernetes", "", "version of Kubernetes, for example v1.36.5")
	set.StringVar(&o.from, "from", "", "the Release to copy: a built-in one, or the one in --manifest")
	set.StringVarP(&o.manifest, "manifest", "f", "", "file with the manifest of --from, if it is not built in")
	set.StringVar(&o.name, "name", "", "name of the new Release (default: the version of Kubernetes)")
	set.StringVar(&o.resourceSet, "resource-set", "", "version of the templates (default: the version of --from)")
	set.StringToStringVar(&o.versions, "with", nil, "other versions of artifacts, such as containerd=2.3.5")
	for _, name := range []string{"programs", "kubernetes", "from"} {
		_ = cmd.MarkFlagRequired(name)
	}
	_ = cmd.RegisterFlagCompletionFunc("from", cobra.FixedCompletions(activeReleases(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (o *releaseOptions) run(cmd *cobra.Command) error {
	if err := o.output.Check(); err != nil {
		return err
	}
	text, err := os.ReadFile(o.programs)
	if err != nil {
		return fmt.Errorf("--programs: %w", err)
	}
	programs, err := release.ParsePrograms(text)
	if err != nil {
		return fmt.Errorf("--programs: %s: %w", o.programs, err)
	}
	given, err := o.given()
	if err != nil {
		return err
	}
	from, err := release.Find(o.from, given...)
	if err != nil {
		return fmt.Errorf("--from: %w; name one of these, or pass its manifest with -f", err)
	}
	made, err := release.Make(
		release.Made{From: from, Kubernetes: o.kubernetes, Name: o.name, ResourceSet: o.resourceSet, Versions: o.versions}, programs,
	)
	if err != nil {
		return err
	}
	if err := admit.Check(cmd.Context(), made, nil); err != nil {
		return err
	}
	content, err := manifest.Definition(made)
	if err != nil {
		return err
	}
	if o.output.Format == flags.FormatJSON {
		return o.output.Print(cmd.OutOrStdout(), content, flags.Table{})
	}
	out, err := manifest.Write(content)
	if err != nil {
		return err
	}
	_, err = cmd.OutOrStdout().Write(out)
	return err
}

// given returns the Releases of --manifest.
func (o *releaseOptions) given() ([]*v1alpha1.Release, error) {
	if o.manifest == "" {
		return nil, nil
	}
	file, err := os.Open(o.manifest)
	if err != nil {
		return nil, fmt.Errorf("--manifest: %w", err)
	}
	defer file.Close() //nolint:errcheck // It was only read.
	set, err := manifest.Read([]manifest.Source{{Name: o.manifest, Reader: file}}, manifest.Options{})
	if err != nil {
		return nil, err
	}
	var given []*v1alpha1.Release
	for _, m := range set.Manifests {
		if r, ok := m.Object.(*v1alpha1.Release); ok {
			given = append(given, r)
		}
	}
	return given, nil
}
