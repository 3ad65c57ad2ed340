package v1alpha1

import (
	_ "embed" // the CRD
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

//go:embed crd/aws-operator.aws_awsidentities.yaml
var crdFile []byte

// CustomResourceDefinition returns the CRD of AWSIdentity.
func CustomResourceDefinition() (*apiextensionsv1.CustomResourceDefinition, error) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(crdFile, crd); err != nil {
		return nil, fmt.Errorf("parse the embedded CRD of AWSIdentity: %w", err)
	}
	return crd, nil
}
