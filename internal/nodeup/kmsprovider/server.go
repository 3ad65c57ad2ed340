package kmsprovider

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	kmsapi "k8s.io/kms/apis/v2"
)

const (
	// largestMessage is the size of the largest message. The API server limits a ciphertext and the
	// ID of a key to 1 KiB each, and annotations to 32 KiB.
	largestMessage = 64 << 10
	// callTimeout bounds a call, and stopTimeout how long calls may take when the plugin stops. The
	// API server waits less.
	callTimeout, stopTimeout = 30 * time.Second, 5 * time.Second
	// Only root connects: the API server runs as root.
	folderMode, socketMode = 0o700, 0o600
)

// Serve serves the API server at a socket until the context ends, and checks the key meanwhile. It
// returns an error if it cannot listen.
func Serve(ctx context.Context, socket string, p *Provider) error {
	listener, err := listen(ctx, socket)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var others sync.WaitGroup
	defer others.Wait()
	defer cancel()
	others.Go(func() { p.Keep(ctx) })
	server := grpc.NewServer(grpc.MaxRecvMsgSize(largestMessage), grpc.ConnectionTimeout(callTimeout))
	kmsapi.RegisterKeyManagementServiceServer(server, &service{provider: p})
	others.Go(func() {
		<-ctx.Done()
		// Calls that take longer than they may are cut off.
		force := time.AfterFunc(stopTimeout, server.Stop)
		defer force.Stop()
		server.GracefulStop()
	})
	if err := server.Serve(listener); err != nil {
		return fmt.Errorf("serve the API server: %w", err)
	}
	return nil
}

// listen listens at a socket in a folder of its own. The folder stays when the plugin ends, because
// the pod of the API server has it mounted. The socket gets its name only once it has its mode, and
// replaces the one of an earlier process.
func listen(ctx context.Context, socket string) (net.Listener, error) {
	folder, temporary := filepath.Dir(socket), socket+".new"
	if err := os.MkdirAll(folder, folderMode); err != nil {
		return nil, fmt.Errorf("make the folder of the socket: %w", err)
	}
	if err := os.Chmod(folder, folderMode); err != nil {
		return nil, fmt.Errorf("protect the folder of the socket: %w", err)
	}
	if err := os.Remove(temporary); err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("remove an unfinished socket: %w", err)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", temporary)
	if err != nil {
		return nil, fmt.Errorf("listen at the socket: %w", err)
	}
	if local, ok := listener.(*net.UnixListener); ok {
		local.SetUnlinkOnClose(false)
	}
	if err = os.Chmod(temporary, socketMode); err == nil {
		err = os.Rename(temporary, socket)
	}
	if err != nil {
		listener.Close() //nolint:errcheck,gosec // No client has connected.
		return nil, fmt.Errorf("protect the socket: %w", err)
	}
	return listener, nil
}

// service is the service of Kubernetes' API for KMS plugins.
type service struct {
	kmsapi.UnimplementedKeyManagementServiceServer

	provider *Provider
}

// Status returns the status of the plugin.
func (s *service) Status(ctx context.Context, _ *kmsapi.StatusRequest) (*kmsapi.StatusResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return s.provider.Status(ctx), nil
}

// Encrypt encrypts a seed.
func (s *service) Encrypt(ctx context.Context, in *kmsapi.EncryptRequest) (*kmsapi.EncryptResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	ciphertext, err := s.provider.Encrypt(ctx, in.GetPlaintext())
	if err != nil {
		return nil, s.failed("Encrypt", in.GetUid(), err)
	}
	return &kmsapi.EncryptResponse{Ciphertext: ciphertext, KeyId: s.provider.KeyARN}, nil
}

// Decrypt decrypts a seed.
func (s *service) Decrypt(ctx context.Context, in *kmsapi.DecryptRequest) (*kmsapi.DecryptResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	plaintext, err := s.provider.Decrypt(ctx, in.GetCiphertext(), in.GetKeyId())
	if err != nil {
		return nil, s.failed("Decrypt", in.GetUid(), err)
	}
	return &kmsapi.DecryptResponse{Plaintext: plaintext}, nil
}

// failed logs a failed call with the ID by which the logs of the API server have it, and returns its
// status.
func (s *service) failed(method, uid string, err error) error {
	s.provider.Log.Warn(method, "error", err, "uid", uid)
	code := codes.Internal
	if failure, ok := errors.AsType[*Error](err); ok {
		code = failure.Code
	}
	return status.Error(code, err.Error())
}
