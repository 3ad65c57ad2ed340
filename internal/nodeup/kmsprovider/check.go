package kmsprovider

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	kmsapi "k8s.io/kms/apis/v2"
)

// Check requests the status of the plugin at a socket. It returns an error if the plugin does not
// answer or is not healthy.
func Check(ctx context.Context, socket string) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	connection, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials())) // Only root connects.
	if err != nil {
		return fmt.Errorf("connect to the plugin: %w", err)
	}
	defer connection.Close() //nolint:errcheck // It was only read.
	status, err := kmsapi.NewKeyManagementServiceClient(connection).Status(ctx, &kmsapi.StatusRequest{})
	if err != nil {
		return fmt.Errorf("request the status of the plugin: %w", err)
	}
	if status.GetHealthz() != healthy {
		return errors.New(status.GetHealthz())
	}
	return nil
}
