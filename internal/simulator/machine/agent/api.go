//go:build linux

package agent

import (
	"fmt"
	"net/http"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// kinds are those that a kubelet deals with. The clients of client-go know all of
// Kubernetes', which would be twice the memory on every machine.
var (
	kinds      = runtime.NewScheme()
	codecs     = serializer.NewCodecFactory(kinds)
	parameters = runtime.NewParameterCodec(kinds)
)

func init() {
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, coordinationv1.AddToScheme, certificatesv1.AddToScheme} {
		if err := add(kinds); err != nil {
			panic(err) // Two kinds of one name: a mistake in this file.
		}
	}
	metav1.AddToGroupVersion(kinds, schema.GroupVersion{Version: "v1"})
}

// api reaches the API server.
type api struct {
	core, coordination, certificates *rest.RESTClient
}

// newAPI returns the API that a kubeconfig leads to. It errs when that cannot be
// read; whether anything answers there it does not find out.
func newAPI(kubeconfig string) (*api, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig %s: %w", kubeconfig, err)
	}
	config.NegotiatedSerializer = codecs.WithoutConversion()
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	config.QPS, config.Burst = 50, 100
	config.UserAgent = Name
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("use the kubeconfig %s: %w", kubeconfig, err)
	}
	a := &api{}
	for gv, target := range map[schema.GroupVersion]**rest.RESTClient{
		corev1.SchemeGroupVersion: &a.core, coordinationv1.SchemeGroupVersion: &a.coordination, certificatesv1.SchemeGroupVersion: &a.certificates,
	} {
		if *target, err = group(config, client, gv); err != nil {
			return nil, fmt.Errorf("use the kubeconfig %s: %w", kubeconfig, err)
		}
	}
	return a, nil
}

func group(config *rest.Config, client *http.Client, gv schema.GroupVersion) (*rest.RESTClient, error) {
	own := rest.CopyConfig(config)
	own.GroupVersion = &gv
	own.APIPath = "/apis"
	if gv.Group == "" {
		own.APIPath = "/api"
	}
	return rest.RESTClientForConfigAndClient(own, client)
}

// patience is how long one request may take.
const patience = 10 * time.Second
