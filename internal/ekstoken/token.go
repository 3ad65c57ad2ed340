package ekstoken

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// The form of tokens: https://github.com/kubernetes-sigs/aws-iam-authenticator#api-authorization-from-outside-a-cluster
const (
	prefix        = "k8s-aws-v1."
	clusterHeader = "x-k8s-aws-id"
	// expires is the parameter X-Amz-Expires, in seconds. STS ignores it, and authenticators before
	// version 0.4 accept at most this.
	expires = "60"
	// life is how long a token is used. STS accepts the request for one minute more.
	life = 14 * time.Minute
)

// Presigner presigns STS's GetCallerIdentity. A [sts.PresignClient] is one; its region should be that
// of the cluster.
type Presigner interface {
	PresignGetCallerIdentity(
		context.Context, *sts.GetCallerIdentityInput, ...func(*sts.PresignOptions),
	) (*v4.PresignedHTTPRequest, error)
}

// Token is a bearer token of the API of one EKS cluster.
type Token struct {
	// Value is the token.
	Value string
	// Expires is when it should no longer be used.
	Expires time.Time
}

// Make returns a token of the presigner's principal for a cluster, named as in EKS, signed at a time.
// It returns an error if there are no credentials.
func Make(ctx context.Context, presigner Presigner, cluster string, now time.Time) (Token, error) {
	if cluster == "" {
		return Token{}, errors.New("a token for EKS needs the name of a cluster")
	}
	token := Token{Expires: now.Add(life)}
	signed, err := presigner.PresignGetCallerIdentity(ctx, &sts.GetCallerIdentityInput{}, func(o *sts.PresignOptions) {
		o.Presigner = signer{o.Presigner, now, &token}
		o.ClientOptions = append(o.ClientOptions, func(o *sts.Options) {
			o.APIOptions = append(
				o.APIOptions, smithyhttp.SetHeaderValue(clusterHeader, cluster), smithyhttp.SetHeaderValue("X-Amz-Expires", expires),
			)
		})
	})
	if err != nil {
		return Token{}, fmt.Errorf("sign a token for the EKS cluster %s: %w", cluster, err)
	}
	if len(signed.SignedHeader) == 0 { // the SDK does not sign without a provider of credentials
		return Token{}, fmt.Errorf("sign a token for the EKS cluster %s: there are no credentials", cluster)
	}
	token.Value = prefix + base64.RawURLEncoding.EncodeToString([]byte(signed.URL))
	return token, nil
}

// signer signs at a time. A token is not valid longer than the credentials that sign it.
type signer struct {
	sts.HTTPPresignerV4

	now   time.Time
	token *Token
}

// PresignHTTP presigns a request.
func (s signer) PresignHTTP(
	ctx context.Context, credentials aws.Credentials, r *http.Request, payloadHash, service, region string, _ time.Time,
	options ...func(*v4.SignerOptions),
) (string, http.Header, error) {
	if credentials.CanExpire && credentials.Expires.Before(s.token.Expires) {
		s.token.Expires = credentials.Expires
	}
	//nolint:wrapcheck // the caller wraps it
	return s.HTTPPresignerV4.PresignHTTP(ctx, credentials, r, payloadHash, service, region, s.now, options...)
}
