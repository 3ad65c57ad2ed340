package approver

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/nodeup/proof"
)

const (
	// userPrefix and a Node's name are the name of the Node's kubelet, and organization is the
	// group of all kubelets: https://kubernetes.io/docs/reference/access-authn-authz/node/
	userPrefix   = "system:node:"
	organization = "system:nodes"
	// groupNameTag names an instance's Auto Scaling group. Auto Scaling alone can set it.
	// https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-tagging.html
	groupNameTag = "aws:autoscaling:groupName"
)

// maxRequest bounds a request for a certificate, in bytes. A kubelet's has about 500. To verify the
// signature of a key that fills an object takes minutes, in which no instance could join.
const maxRequest = 16 << 10

// nodeName is the form of a Node's name:
// https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#dns-subdomain-names
var nodeName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`)

// signingRequest is a CertificateSigningRequest, as far as it matters here.
type signingRequest struct {
	Metadata struct {
		Name        string            `json:"name"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Spec struct {
		Request           []byte   `json:"request"`
		SignerName        string   `json:"signerName"`
		ExpirationSeconds *int32   `json:"expirationSeconds"`
		Usages            []string `json:"usages"`
		Username          string   `json:"username"`
		Groups            []string `json:"groups"`
	} `json:"spec"`
	Status struct {
		Conditions  []json.RawMessage `json:"conditions"`
		Certificate []byte            `json:"certificate"`
	} `json:"status"`
}

// isPending reports whether the request is one of the workers' that is not decided.
func (r *signingRequest) isPending() bool {
	return r.Spec.SignerName == Signer && slices.Contains(r.Spec.Groups, Group) && len(r.Status.Conditions) == 0 &&
		len(r.Status.Certificate) == 0
}

// denial is why a request is denied, as a sentence.
type denial struct{ message string }

func (d *denial) Error() string { return d.message }

func denied(format string, args ...any) error { return &denial{fmt.Sprintf(format, args...)} }

// instance is an instance that may join; its group is what launched it, for messages.
type instance struct{ id, group string }

// judge returns the instance that asks, if it may have what it asks for. It returns a denial if
// not, and another error if that cannot be found out now.
func (a *Approver) judge(ctx context.Context, request *signingRequest) (*instance, error) {
	node, publicKey, err := asked(request)
	if err != nil {
		return nil, err
	}
	given := request.Metadata.Annotations[ProofAnnotation]
	if given == "" {
		return nil, denied("The request has no proof of its instance (annotation %s).", ProofAnnotation)
	}
	caller, err := a.Proofs.Verify(ctx, given, publicKey, a.Clock.Now())
	if refused, ok := errors.AsType[*proof.RefusedError](err); ok {
		return nil, denied("The proof is invalid: %v.", refused)
	}
	if err != nil {
		return nil, err //nolint:wrapcheck // it says what it is about
	}
	if !isOf(caller, a.WorkerRole) {
		return nil, denied("The proof is for role %s in account %s, not for the workers' role %s.", caller.Role, caller.Account, a.WorkerRole)
	}
	return a.confirm(ctx, caller.Session, node)
}

// parsed returns the certificate that is requested. It returns a denial unless it can be read and is
// signed with its own key.
func (r *signingRequest) parsed() (*x509.CertificateRequest, error) {
	if size := len(r.Spec.Request); size > maxRequest {
		return nil, denied("The request has %d bytes, more than %d.", size, maxRequest)
	}
	block, rest := pem.Decode(r.Spec.Request)
	if block == nil || block.Type != "CERTIFICATE REQUEST" || len(rest) > 0 {
		return nil, denied("The request is not one PEM block of type CERTIFICATE REQUEST.")
	}
	parsed, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, denied("The request cannot be read: %v.", err)
	}
	if err := parsed.CheckSignature(); err != nil {
		return nil, denied("The signature of the request is invalid: %v.", err)
	}
	return parsed, nil
}

// asked returns the name of the Node and the public key that a certificate is asked for. It returns
// a denial unless the certificate is one of a kubelet, for nothing else and for a short time.
func asked(request *signingRequest) (node string, publicKey any, err error) {
	parsed, err := request.parsed()
	if err != nil {
		return "", nil, err
	}
	node, isNode := strings.CutPrefix(parsed.Subject.CommonName, userPrefix)
	usages := slices.Sorted(slices.Values(request.Spec.Usages))
	lasts := request.Spec.ExpirationSeconds
	switch {
	case !isNode || !nodeName.MatchString(node):
		return "", nil, denied("The common name %q is not %s and a Node's name.", parsed.Subject.CommonName, userPrefix)
	case !slices.Equal(parsed.Subject.Organization, []string{organization}):
		return "", nil, denied("The organizations are %q, not only %s.", parsed.Subject.Organization, organization)
	case len(parsed.DNSNames)+len(parsed.IPAddresses)+len(parsed.EmailAddresses)+len(parsed.URIs) > 0:
		return "", nil, denied("The request has subject alternative names, which a kubelet's client certificate does not have.")
	case !slices.Equal(usages, []string{"client auth", "digital signature"}):
		return "", nil, denied("The usages are %q, not client auth and digital signature.", usages)
	case lasts == nil || *lasts > int32(MaxValidity.Seconds()):
		return "", nil, denied("The certificate would be valid for longer than %s, the maximum for joining.", MaxValidity)
	}
	return node, parsed.PublicKey, nil
}

// isOf reports whether a session is of a role, arn:aws:iam::ACCOUNT:role/PATH/NAME. A role's name
// is unique in its account, whatever its path.
func isOf(caller *proof.Caller, role string) bool {
	account, name, ok := strings.Cut(role, ":role/")
	return ok && account == "arn:"+caller.Partition+":iam::"+caller.Account && name[strings.LastIndexByte(name, '/')+1:] == caller.Role
}

// confirm returns the instance of an ID if EC2 confirms that it is one of the cluster's groups and
// that the Node is its own.
func (a *Approver) confirm(ctx context.Context, id, node string) (*instance, error) {
	former, err := a.instanceOf(ctx, node)
	if err != nil {
		return nil, err
	}
	found, err := a.describe(ctx, id, former)
	if err != nil {
		return nil, err
	}
	asks, ok := found[id]
	if !ok || !isLive(asks) {
		return nil, denied("The proof is for %s, which is not a running EC2 instance.", id)
	}
	tags := tagsOf(asks)
	for key, value := range a.Tags {
		if tags[key] != value {
			return nil, denied("Instance %s is not one of the cluster's: its tag %s is %q, not %q.", id, key, tags[key], value)
		}
	}
	group, err := a.groupOf(ctx, id, tags)
	if err != nil {
		return nil, err
	}
	// The first label is that of the address or of the instance's ID. What follows may be the
	// domain of the VPC's DHCP options, which EC2 does not report.
	// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-instance-naming.html
	if own := aws.ToString(asks.PrivateDnsName); own == "" || firstLabel(own) != firstLabel(node) {
		return nil, denied("The request is for Node %s, but the proof is for instance %s, whose Node name is %s.", node, id, own)
	}
	if other, ok := found[former]; ok && former != id && isLive(other) {
		return nil, denied("Node %s belongs to instance %s, which still exists; the proof is for %s.", node, former, id)
	}
	return &instance{id: id, group: group}, nil
}

// groupOf returns what launched an instance with the tags of the cluster: an Auto Scaling group, or the
// cluster's Karpenter. It returns a denial for any other instance.
func (a *Approver) groupOf(ctx context.Context, id string, tags map[string]string) (string, error) {
	if group := tags[groupNameTag]; group != "" {
		return "Auto Scaling group " + group, nil
	}
	pool, err := a.nodePoolOf(ctx, id, tags)
	if errors.Is(err, errUnclaimed) {
		return "", denied("Instance %s is in no Auto Scaling group, and no NodeClaim of Karpenter names it.", id)
	}
	return "NodePool " + pool, err
}

func tagsOf(i *types.Instance) map[string]string {
	tags := map[string]string{}
	for _, tag := range i.Tags {
		tags[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
	}
	return tags
}

func firstLabel(name string) string {
	label, _, _ := strings.Cut(name, ".")
	return label
}

// isLive reports whether an instance has begun to run and is not terminated.
func isLive(i *types.Instance) bool {
	return i.State != nil && (i.State.Name == types.InstanceStateNamePending || i.State.Name == types.InstanceStateNameRunning)
}

// instanceOf returns the ID of the instance that a Node says it runs on; empty if there is no such
// Node.
func (a *Approver) instanceOf(ctx context.Context, node string) (string, error) {
	answer, err := a.call(ctx, http.MethodGet, "/api/v1/nodes/"+url.PathEscape(node), nil)
	if status, ok := errors.AsType[*statusError](err); ok && status.code == http.StatusNotFound {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read Node %s: %w", node, err)
	}
	var read struct {
		Spec struct {
			ProviderID string `json:"providerID"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(answer, &read); err != nil {
		return "", fmt.Errorf("read Node %s: %w", node, err)
	}
	return read.Spec.ProviderID[strings.LastIndexByte(read.Spec.ProviderID, '/')+1:], nil
}

// describe returns those of the instances that EC2 has. A filter, unlike a list of IDs, passes over
// those that it does not have and over texts that are no IDs.
func (a *Approver) describe(ctx context.Context, ids ...string) (map[string]*types.Instance, error) {
	ids = slices.DeleteFunc(ids, func(id string) bool { return id == "" })
	out, err := a.Instances.DescribeInstances(ctx, &ec2.DescribeInstancesInput{
		Filters: []types.Filter{{Name: aws.String("instance-id"), Values: ids}},
	})
	if err != nil {
		return nil, fmt.Errorf("ask EC2 for instance %s: %w", ids[0], err)
	}
	found := map[string]*types.Instance{}
	for i := range out.Reservations {
		for j := range out.Reservations[i].Instances {
			of := &out.Reservations[i].Instances[j]
			found[aws.ToString(of.InstanceId)] = of
		}
	}
	return found, nil
}
