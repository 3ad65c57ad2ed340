package release

import (
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

const (
	metricsServer = "metrics-server"
	// insecureKubelets makes metrics-server accept any certificate of a kubelet. Without it, it trusts the
	// CA of its service account, which is the cluster's:
	// https://github.com/kubernetes-sigs/metrics-server#requirements
	insecureKubelets = "--kubelet-insecure-tls"
	// stageAnnotation is the annotation of metrics-server's pods that names the stage of a rotation of CAs.
	stageAnnotation = "cluster-operator.aws/rotation-stage"
)

// verifyKubelets makes metrics-server verify kubelets, if the API servers do. It reads the CAs once, so
// its pods are replaced in each stage of a rotation of the CAs. It returns an error for values that are
// no object.
func verifyKubelets(addons []v1alpha1.ReleaseAddon, c *v1alpha1.Cluster) error {
	i := slices.IndexFunc(addons, func(a v1alpha1.ReleaseAddon) bool { return a.Name == metricsServer })
	if i < 0 || !c.Spec.Certificates.VerifiesKubelets() || addons[i].Values == nil {
		return nil
	}
	var values map[string]any
	if err := json.Unmarshal(addons[i].Values.Raw, &values); err != nil {
		return fmt.Errorf("addon %s: values: %w", metricsServer, err)
	}
	if arguments, ok := values["args"].([]any); ok {
		values["args"] = slices.DeleteFunc(arguments, func(a any) bool { return a == insecureKubelets })
	}
	if stage := rotationStage(c); stage != "" {
		values = Overlay(values, map[string]any{"podAnnotations": map[string]any{stageAnnotation: stage}})
	}
	raw, err := json.Marshal(values)
	if err != nil {
		return fmt.Errorf("addon %s: values: %w", metricsServer, err)
	}
	addons[i].Values = &runtime.RawExtension{Raw: raw}
	return nil
}

// rotationStage returns the stage of the rotation of CAs in progress, empty if there is none.
func rotationStage(c *v1alpha1.Cluster) string {
	if of := c.Status.Certificates; of != nil && of.Rotation != nil && of.Rotation.Stage != v1alpha1.RotationDone {
		return string(of.Rotation.Stage)
	}
	return ""
}
