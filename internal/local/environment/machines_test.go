package environment_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/local/environment"
	"github.com/aws-operator/aws-operator/internal/local/nodebuild"
	"github.com/aws-operator/aws-operator/internal/machines/fake"
	"github.com/aws-operator/aws-operator/internal/machines/process"
	"github.com/aws-operator/aws-operator/internal/simulator/machine"
)

func TestMachinesAreOfTheRequestedKind(t *testing.T) {
	noPrograms := errors.New("no programs")
	options := func(kind environment.Machines) environment.MachinesOptions {
		return environment.MachinesOptions{
			Kind:     kind,
			Programs: func(context.Context) (nodebuild.Programs, error) { return nodebuild.Programs{}, noPrograms },
		}
	}
	host, line, err := environment.NewMachines(t.Context(), options(environment.FakeMachines))
	if _, ok := host.(*fake.Host); err != nil || !ok || line != "simulated Nodes" {
		t.Errorf("fake machines are %T, %q, %v", host, line, err)
	}
	host.Close()
	host, _, err = environment.NewMachines(t.Context(), options(environment.NoMachines))
	if _, none := host.(machine.Absent); err != nil || !none {
		t.Errorf("no machines are %T, %v", host, err)
	}
	if process.Supported() == nil {
		if _, _, err := environment.NewMachines(t.Context(), options(environment.AutoMachines)); !errors.Is(err, noPrograms) {
			t.Errorf("machines that could be processes and cannot be built: %v", err)
		}
		return
	}
	if _, _, err := environment.NewMachines(t.Context(), options(environment.ProcessMachines)); !errors.Is(err, process.ErrUnsupported) {
		t.Errorf("process machines where there can be none: %v", err)
	}
	host, line, err = environment.NewMachines(t.Context(), options(environment.AutoMachines))
	if _, ok := host.(*fake.Host); err != nil || !ok || !strings.Contains(line, "because") {
		t.Errorf("machines where there can be no processes are %T, %q, %v", host, line, err)
	}
	host.Close()
}

// Someone who brings a Kubernetes should not wait for the build of another.
func TestMachinesAreFakeWithoutTheKubeBinary(t *testing.T) {
	host, line, err := environment.NewMachines(t.Context(), environment.MachinesOptions{
		Kind: environment.AutoMachines, WithoutKube: func(context.Context) error { return errors.New("KUBEBUILDER_ASSETS is set") },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	if _, isFake := host.(*fake.Host); !isFake || !strings.Contains(line, "because") {
		t.Errorf("machines are %T, %q", host, line)
	}
}

func TestUnknownMachinesAreRefused(t *testing.T) {
	if _, err := environment.ParseMachines("docker"); err == nil || !strings.Contains(err.Error(), "process") {
		t.Errorf("got %v, want an error that names the choice", err)
	}
}

func TestLocalReleaseDownloadsNothing(t *testing.T) {
	release, err := environment.LocalRelease(nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(release.Spec.Addons) > 0 {
		t.Errorf("it has the addons %v", release.Spec.Addons)
	}
	var names []string
	for _, artifact := range release.Spec.Artifacts {
		names = append(names, artifact.Name)
		if artifact.Sources[v1alpha1.Architecture("amd64")].SHA256 == "" {
			t.Errorf("%s has no hash", artifact.Name)
		}
	}
	if strings.Join(names, " ") != "kubelet kubeadm" {
		t.Errorf("it has %v", names)
	}
}
