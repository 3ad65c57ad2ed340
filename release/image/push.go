package image

import (
	"context"
	"fmt"
	"net"
	"os"

	"github.com/opencontainers/go-digest"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content/oci"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
	"oras.land/oras-go/v2/registry/remote/retry"
)

// Push copies the images of a layout with a name to a repository, such as
// registry.example.com/aws-operator, where the name becomes the tag, and returns the digest of their
// index. Credentials are those of docker login. Like Docker, it reaches a registry on loopback without
// TLS. https://docs.docker.com/reference/cli/dockerd/#insecure-registries
func Push(ctx context.Context, folder, name, repository string) (digest.Digest, error) {
	layout, err := oci.NewFromFS(ctx, os.DirFS(folder))
	if err != nil {
		return "", fmt.Errorf("read the layout: %w", err)
	}
	to, err := remote.NewRepository(repository)
	if err != nil {
		return "", fmt.Errorf("%q is not a repository such as registry.example.com/aws-operator: %w", repository, err)
	}
	store, err := credentials.NewStoreFromDocker(credentials.StoreOptions{})
	if err != nil {
		return "", fmt.Errorf("read the credentials of docker login: %w", err)
	}
	to.Client = &auth.Client{Client: retry.DefaultClient, Cache: auth.NewCache(), Credential: credentials.Credential(store)}
	to.PlainHTTP = isLoopback(to.Reference.Host())
	pushed, err := oras.Copy(ctx, layout, name, to, name, oras.DefaultCopyOptions)
	if err != nil {
		return "", fmt.Errorf("push %s to %s: %w", name, repository, err)
	}
	return pushed.Digest, nil
}

func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}
