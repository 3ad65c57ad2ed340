package nodeup

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/aws-operator/aws-operator/internal/nodeup/approver"
)

const (
	// tokenUnit runs [KeepToken].
	tokenUnit = "nodeup-token.service" //nolint:gosec // a unit
	// tokenLife is the lifetime of a bootstrap token. It is replaced after half of it, as the
	// operator does, so that a machine that has just read it has the other half to use it.
	tokenLife = 24 * time.Hour
	// tokenAgain is how often a slot checks whether to renew the token.
	tokenAgain = 15 * time.Minute
	// tokenSecrets are where bootstrap tokens are, and tokenType is the type by which they are
	// known: https://kubernetes.io/docs/reference/access-authn-authz/bootstrap-tokens/
	tokenSecrets = "/api/v1/namespaces/kube-system/secrets" //nolint:gosec // a path
	tokenType    = "bootstrap.kubernetes.io/token"          //nolint:gosec // a type
	// kubeadmGroup is the group that kubeadm lets join as nodes, of whatever name.
	kubeadmGroup = "system:bootstrappers:kubeadm:default-node-token"
)

// startTokenUnit makes the slot keep the token that workers join with, from now on and after each
// boot, unless the operator does.
func (b *boot) startTokenUnit(ctx context.Context) (string, error) {
	if b.bundle.TokenKey == "" {
		return "nothing, the operator keeps it", nil
	}
	return b.startUnit(ctx, tokenUnit, "Keeps the token by which machines join the cluster "+b.bundle.Cluster, "--keep-token")
}

// startUnit makes systemd run this program with a flag, from now on and after each boot.
func (b *boot) startUnit(ctx context.Context, name, description, flag string) (string, error) {
	return b.startUnitWith(ctx, name, description, flag, "", restartAfter)
}

// restartAfter is how many seconds after its end systemd starts a unit again.
const restartAfter = 15

// startUnitWith does the same with further settings of the unit's first section, and with the seconds
// after which systemd starts it again when it ends.
func (b *boot) startUnitWith(ctx context.Context, name, description, flag, settings string, after int) (string, error) {
	executable, err := ownProgram()
	if err != nil {
		return "", err
	}
	unit := fmt.Sprintf(`[Unit]
Description=%s
Wants=network-online.target
After=network-online.target
%s
[Service]
ExecStart=%s --bucket %s --region %s --bundle %s %s
Restart=always
RestartSec=%d

[Install]
WantedBy=multi-user.target
`, description, settings, executable, b.Bucket, b.Region, b.BundleSHA256, flag, after)
	if _, err := b.files.write(unitFolder+"/"+name, []byte(unit), 0o644); err != nil {
		return "", err
	}
	if _, err := b.command(ctx, "systemctl", "daemon-reload"); err != nil {
		return "", err
	}
	_, err = b.command(ctx, "systemctl", "enable", "--now", name)
	return name, err
}

// KeepToken keeps a bootstrap token in the cluster's API and in its bucket until the context ends.
// All slots do this; when half of the token's life is over, the first slot to notice makes the next
// one. Where workers prove which instance they are, it also decides about their requests for
// certificates, and about those with which kubelets serve. Where slots may join etcd, it also has the
// slot leave etcd when the control plane shrinks by it. It defragments the slot's etcd.
func KeepToken(ctx context.Context, options Options) error {
	b := &boot{Options: options, files: files{root: options.Root}}
	if err := b.runOne(ctx, task{"bundle", (*boot).readBundle, lastRetry}); err != nil {
		return err
	}
	if b.bundle.TokenKey == "" {
		return permanent("the bundle has no token to keep")
	}
	ctx, cancel := context.WithCancel(ctx)
	var others sync.WaitGroup
	defer others.Wait()
	defer cancel()
	if b.bundle.Join != nil {
		others.Go(func() { b.keepApproving(ctx, task{"certificates of workers", (*boot).approveRequests, lastRetry}) })
		if b.bundle.Join.KubeletServing {
			others.Go(func() { b.keepApproving(ctx, task{"serving certificates", (*boot).approveServing, lastRetry}) })
		}
	}
	if b.bundle.Etcd != nil && b.bundle.Etcd.FormedKey != "" {
		others.Go(func() { b.keepLeaving(ctx) })
		others.Go(func() { b.keepSpace(ctx) })
	}
	for {
		if err := b.runOne(ctx, task{"bootstrap token", (*boot).renewToken, lastRetry}); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-b.Clock.After(tokenAgain):
		}
	}
}

// renewToken creates a token in the cluster unless there is one with half of its lifetime left, and
// puts the cluster's token into the bucket. A token reaches the bucket only after the API has it:
// machines never read a token that the API rejects, even if slots create tokens at the same time or
// are interrupted.
func (b *boot) renewToken(ctx context.Context) (string, error) {
	token, until, err := b.lastToken(ctx)
	if err != nil {
		return "", err
	}
	did := "nothing, there is one until "
	if now := b.Clock.Now(); until.Sub(now) <= tokenLife/2 {
		until = now.Add(tokenLife).UTC()
		if token, err = b.createToken(ctx, until); err != nil {
			return "", err
		}
		did = "created one, valid until "
	}
	if token != b.publishedToken {
		_, err := b.AWS.Objects.PutObject(
			ctx, &s3.PutObjectInput{Bucket: &b.Bucket, Key: &b.bundle.TokenKey, Body: strings.NewReader(token)},
		)
		if err != nil {
			return "", fmt.Errorf("put the bootstrap token into the bucket %s: %w", b.Bucket, err)
		}
		b.publishedToken = token
	}
	return did + until.Format(time.RFC3339), nil
}

// tokenSecret has the fields that nodeup reads of the Secret of a bootstrap token.
type tokenSecret struct {
	Data map[string][]byte `json:"data"`
}

// tokenGroup is the group of the token: one that may only ask for certificates where workers prove
// which instance they are.
func (b *boot) tokenGroup() string {
	if b.bundle.Join != nil {
		return approver.Group
	}
	return kubeadmGroup
}

// lastToken returns the token, id.secret, that ends last of those that slots made, and when it
// ends; the zero time if there is none.
func (b *boot) lastToken(ctx context.Context) (token string, until time.Time, err error) {
	body, err := b.askAsAdmin(ctx, http.MethodGet, tokenSecrets+"?fieldSelector="+url.QueryEscape("type="+tokenType), nil)
	if err != nil {
		return "", until, fmt.Errorf("list bootstrap tokens: %w", err)
	}
	var list struct {
		Items []tokenSecret `json:"items"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return "", until, fmt.Errorf("read the list of bootstrap tokens: %w", err)
	}
	for _, secret := range list.Items {
		ends, err := time.Parse(time.RFC3339, string(secret.Data["expiration"]))
		ours := string(secret.Data["description"]) == tokenDescription && string(secret.Data["auth-extra-groups"]) == b.tokenGroup()
		value := string(secret.Data["token-id"]) + "." + string(secret.Data["token-secret"])
		if err == nil && ours && tokenForm.MatchString(value) && ends.After(until) {
			token, until = value, ends
		}
	}
	return token, until, nil
}

// tokenForm is the form of a token:
// https://kubernetes.io/docs/reference/access-authn-authz/bootstrap-tokens/#token-format
var tokenForm = regexp.MustCompile(`^[a-z0-9]{6}\.[a-z0-9]{16}$`)

// tokenDescription marks the tokens that slots created. Other tokens are never put into the bucket.
const tokenDescription = "Lets the machines of instance groups join; made by nodeup."

// createToken makes a token in the cluster and returns it, id.secret.
func (b *boot) createToken(ctx context.Context, until time.Time) (string, error) {
	id, err := randomText(6)
	if err != nil {
		return "", err
	}
	secret, err := randomText(16)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": tokenType,
		"metadata": map[string]any{"name": "bootstrap-token-" + id, "namespace": "kube-system"},
		"stringData": map[string]string{
			"token-id": id, "token-secret": secret, "expiration": until.Format(time.RFC3339),
			"usage-bootstrap-authentication": "true", "usage-bootstrap-signing": "true",
			"auth-extra-groups": b.tokenGroup(), "description": tokenDescription,
		},
	})
	if err != nil {
		return "", fmt.Errorf("write the bootstrap token: %w", err)
	}
	if _, err := b.askAsAdmin(ctx, http.MethodPost, tokenSecrets, text); err != nil {
		return "", fmt.Errorf("create the bootstrap token in the cluster: %w", err)
	}
	return id + "." + secret, nil
}

// randomText returns cryptographically random lower-case letters and digits.
func randomText(length int) (string, error) {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789"
	text := make([]byte, length)
	for i := range text {
		n, err := rand.Int(rand.Reader, big.NewInt(int64(len(letters))))
		if err != nil {
			return "", fmt.Errorf("create a bootstrap token: %w", err)
		}
		text[i] = letters[n.Int64()]
	}
	return string(text), nil
}
