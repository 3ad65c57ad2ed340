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

// kinds are the kinds that a kubelet needs. The clients of client-go know all kinds of Kubernetes,
// which would double the memory on every machine.
var (
	kinds      = runtime.NewScheme()
	codecs     = serializer.NewCodecFactory(kinds)
	parameters = runtime.NewParameterCodec(kinds)
)

func init() {
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, coordinationv1.AddToScheme, certificatesv1.AddToScheme} {
		if err := add(kinds); err != nil {
			panic(err) // two kinds with the same name are a mistake in this file
		}
	}
	metav1.AddToGroupVersion(kinds, schema.GroupVersion{Version: "v1"})
}

// api is a client of the API server.
type api struct {
	core, coordination, certificates *rest.RESTClient
}

// newAPI returns a client for a kubeconfig. It returns an error if the kubeconfig cannot be read;
// it does not connect.
func newAPI(kubeconfig string) (*api, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig %s: %w", kubeconfig, err)
	}
	a, err := newAPIOf(config)
	if err != nil {
		return nil, fmt.Errorf("use the kubeconfig %s: %w", kubeconfig, err)
	}
	return a, nil
}

// newAPIOf is newAPI for a configuration.
func newAPIOf(config *rest.Config) (*api, error) {
	config.NegotiatedSerializer = codecs.WithoutConversion()
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	config.QPS, config.Burst = 50, 100
	config.UserAgent = Name
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	a := &api{}
	for gv, target := range map[schema.GroupVersion]**rest.RESTClient{
		corev1.SchemeGroupVersion: &a.core, coordinationv1.SchemeGroupVersion: &a.coordination,
		certificatesv1.SchemeGroupVersion: &a.certificates,
	} {
		if *target, err = group(config, client, gv); err != nil {
			return nil, err
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

// patience is the timeout of one request.
const patience = 10 * time.Second
