package update

import (
	"io"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/programs"
	"github.com/aws-operator/aws-operator/internal/terraform"
)

// findPrograms finds the programs of the cluster's instances, and adds their hashes to the input.
// It returns a function that opens a program.
func findPrograms(dir string, in *terraform.Input) (func(terraform.Program) (io.ReadCloser, error), error) {
	if in.Cluster.EKS() != nil { // EKS boots the nodes.
		return nil, nil //nolint:nilnil // no program is opened
	}
	folder := programs.In(programs.Beside(dir))
	architectures := []v1alpha1.Architecture{in.Cluster.ControlPlaneArchitecture}
	for _, g := range in.Groups {
		architectures = append(architectures, g.Spec.Architecture)
	}
	in.Nodeup = map[v1alpha1.Architecture]string{}
	for _, a := range architectures {
		file, err := folder.Find(a)
		if err != nil {
			return nil, err //nolint:wrapcheck // it names the missing program and its folder
		}
		in.Nodeup[a] = file.Hash
	}
	if in.Cluster.Spec.ControlPlane.RestoreSnapshot != "" {
		file, err := folder.FindRestore(in.Cluster.ControlPlaneArchitecture)
		if err != nil {
			return nil, err //nolint:wrapcheck // it names the missing program and its folder
		}
		if in.EtcdRestore, err = file.Sum(); err != nil {
			return nil, err //nolint:wrapcheck // it names the file
		}
	}
	return func(p terraform.Program) (io.ReadCloser, error) {
		find := folder.Find
		if p.Name == terraform.ProgramEtcdRestore {
			find = folder.FindRestore
		}
		file, err := find(p.Architecture)
		if err != nil {
			return nil, err //nolint:wrapcheck // it names the missing program and its folder
		}
		return file.Open() //nolint:wrapcheck // it names the file
	}, nil
}
