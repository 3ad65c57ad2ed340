package kmsprovider_test

import (
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	kmsapi "k8s.io/kms/apis/v2"

	"github.com/aws-operator/aws-operator/internal/nodeup/kmsprovider"
	"github.com/aws-operator/aws-operator/internal/patience"
)

func TestCallsThatAreTooLargeDoNotReachKMS(t *testing.T) {
	k := newKeys(t)
	p := serve(t, k.provider("demo"), "")
	patience.Until(t, "the plugin answers", func() error { return kmsprovider.Check(t.Context(), p.socket) })
	connection, err := grpc.NewClient("unix://"+p.socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close() }()
	_, err = kmsapi.NewKeyManagementServiceClient(connection).Encrypt(t.Context(), &kmsapi.EncryptRequest{Plaintext: make([]byte, 65<<10)})
	if longest := k.longest(); status.Code(err) != codes.ResourceExhausted || longest > 1<<10 {
		t.Errorf("got %v, and KMS got %d bytes", err, longest)
	}
}
