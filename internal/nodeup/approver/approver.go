package approver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/nodeup/proof"
)

const (
	// ProofAnnotation is the annotation of a request that holds its proof.
	ProofAnnotation = "cluster-operator.aws/instance-proof"
	// Group is the group of the tokens that workers join with. Its members may create requests, and
	// nothing else.
	Group = "system:bootstrappers:cluster-operator:workers"
	// Signer signs the certificates by which kubelets are known to the API.
	Signer = "kubernetes.io/kube-apiserver-client-kubelet"
	// MaxValidity is the longest validity that a request may ask for. The certificate serves to
	// join only: with it a kubelet asks for one of its own.
	MaxValidity = time.Hour

	requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
	binding  = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/cluster-operator.aws:workers"
	// callTimeout bounds a call of the API.
	callTimeout = 10 * time.Second
	// watchFor is how long requests are watched before they are listed again.
	watchFor = 5 * time.Minute
	// maxAnswer bounds an answer of the API, in bytes.
	maxAnswer = 256 << 20
)

// Instances is EC2.
type Instances interface {
	DescribeInstances(context.Context, *ec2.DescribeInstancesInput, ...func(*ec2.Options)) (*ec2.DescribeInstancesOutput, error)
}

// Approver decides about the requests of one cluster's nodes.
type Approver struct {
	// Server is the address of the cluster's API, and Client a client with an administrator's
	// rights there.
	Server string
	Client *http.Client
	// Proofs verifies proofs.
	Proofs *proof.Verifier
	// Instances is the EC2 of the cluster's account and region.
	Instances Instances
	// WorkerRole is the ARN of the role of the cluster's workers.
	WorkerRole string
	// Tags are those of all instances of the cluster's slots and groups.
	Tags map[string]string
	// Clock tells the time.
	Clock clock.Clock
	// Log gets a line for each decision.
	Log *slog.Logger
}

// Run decides about the requests that workers join with as they come in, for some minutes; call it
// again when it returns nil. It returns an error if the API does not answer, or if STS or EC2 cannot be
// asked about a request, which is then still undecided.
func (a *Approver) Run(ctx context.Context) error {
	if err := a.bind(ctx); err != nil {
		return err
	}
	requested, err := a.list(ctx, Signer, 0, "")
	if err != nil {
		return err
	}
	var failed []error
	for _, item := range requested.Items {
		if err := a.decide(ctx, item); err != nil {
			failed = append(failed, err)
		}
	}
	if err := errors.Join(failed...); err != nil {
		return err
	}
	if err := a.label(ctx, requested.Items); err != nil {
		a.Log.Warn("cannot label workers", "error", err.Error()) // Joining does not depend on it.
	}
	return a.watch(ctx, Signer, requested.Metadata.ResourceVersion, a.decide)
}

// bind lets the group of workers' tokens create requests. Unlike the group that kubeadm makes
// tokens for, it is not bound to the role whose requests kube-controller-manager approves unseen.
func (a *Approver) bind(ctx context.Context) error {
	text, err := json.Marshal(map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
		"metadata": map[string]any{"name": "cluster-operator.aws:workers"},
		"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:node-bootstrapper"},
		"subjects": []any{map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": Group}},
	})
	if err != nil {
		return fmt.Errorf("write the binding of workers: %w", err)
	}
	if _, err := a.call(ctx, http.MethodPatch, binding+"?fieldManager=nodeup&force=true", text); err != nil {
		return fmt.Errorf("let workers ask for certificates: %w", err)
	}
	return nil
}

// selector selects the requests for a signer.
func selector(signer string) string {
	return "?fieldSelector=" + url.QueryEscape("spec.signerName="+signer)
}

// page is a part of a list.
type page struct {
	Metadata struct {
		// ResourceVersion is the version of the list, from which to watch it, and Continue is empty for the last
		// part.
		ResourceVersion string `json:"resourceVersion"`
		Continue        string `json:"continue"`
	} `json:"metadata"`
	Items []json.RawMessage `json:"items"`
}

// list returns the requests for a signer: all if limit is 0, or else as many at most, from where a former
// part ends.
func (a *Approver) list(ctx context.Context, signer string, limit int, from string) (*page, error) {
	query := ""
	if limit > 0 {
		query = fmt.Sprintf("&limit=%d&continue=%s", limit, url.QueryEscape(from))
	}
	answer, err := a.call(ctx, http.MethodGet, requests+selector(signer)+query, nil)
	if err != nil {
		return nil, fmt.Errorf("list certificate signing requests: %w", err)
	}
	found := &page{}
	if err := json.Unmarshal(answer, found); err != nil {
		return nil, fmt.Errorf("read the list of certificate signing requests: %w", err)
	}
	return found, nil
}

// watch calls each with the requests for a signer as they change, until the API ends the watch or each
// returns an error.
func (a *Approver) watch(ctx context.Context, signer, version string, each func(context.Context, json.RawMessage) error) error {
	ctx, cancel := context.WithTimeout(ctx, watchFor+callTimeout)
	defer cancel()
	query := fmt.Sprintf("&watch=true&resourceVersion=%s&timeoutSeconds=%d", url.QueryEscape(version), int(watchFor.Seconds()))
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, a.Server+requests+selector(signer)+query, http.NoBody)
	if err != nil {
		return fmt.Errorf("the API's address %q: %w", a.Server, err)
	}
	response, err := a.Client.Do(request)
	if err != nil {
		return fmt.Errorf("watch certificate signing requests: %w", err)
	}
	defer response.Body.Close() //nolint:errcheck // It was only read.
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("watch certificate signing requests: the API answers %s", response.Status)
	}
	for events := json.NewDecoder(response.Body); ; {
		var event struct {
			Type   string          `json:"type"`
			Object json.RawMessage `json:"object"`
		}
		switch err := events.Decode(&event); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("watch certificate signing requests: %w", err)
		case event.Type == "ERROR":
			return fmt.Errorf("watch certificate signing requests: %s", event.Object)
		case event.Type != "ADDED" && event.Type != "MODIFIED":
			continue
		}
		if err := each(ctx, event.Object); err != nil {
			return err
		}
	}
}

// decide approves or denies a request that is the approver's to decide about.
func (a *Approver) decide(ctx context.Context, object json.RawMessage) error {
	var request signingRequest
	if err := json.Unmarshal(object, &request); err != nil {
		return fmt.Errorf("read a certificate signing request: %w", err)
	}
	if !request.isPending() {
		return nil
	}
	by, err := a.judge(ctx, &request)
	made := decision{"Approved", confirmed, ""}
	if denial, ok := errors.AsType[*denial](err); ok {
		made = decision{"Denied", "InstanceNotConfirmed", denial.Error()}
	} else if err != nil {
		return fmt.Errorf("decide about the certificate signing request %s: %w", request.Metadata.Name, err)
	} else {
		made.message = fmt.Sprintf("STS and EC2 confirm that the request comes from instance %s of %s.", by.id, by.group)
	}
	return a.record(ctx, object, request.Metadata.Name, made)
}

// decision is what is decided about a request: Approved or Denied, and why.
type decision struct{ kind, reason, message string }

// record writes a decision about a request, unless there is one.
func (a *Approver) record(ctx context.Context, object json.RawMessage, name string, made decision) error {
	text, err := withCondition(object, map[string]string{
		"type": made.kind, "status": "True", "reason": made.reason, "message": made.message,
	})
	if err != nil {
		return err
	}
	_, err = a.call(ctx, http.MethodPut, requests+"/"+url.PathEscape(name)+"/approval", text)
	if status, ok := errors.AsType[*statusError](err); ok && (status.code == http.StatusConflict || status.code == http.StatusNotFound) {
		return nil // Another slot has decided, or the request is deleted.
	}
	if err != nil {
		return fmt.Errorf("decide about the certificate signing request %s: %w", name, err)
	}
	a.Log.Info("certificate signing request", "name", name, "decision", made.kind, "message", made.message)
	return nil
}

// withCondition returns an object with one more condition in its status, and everything else as it
// is.
func withCondition(object json.RawMessage, condition map[string]string) ([]byte, error) {
	var whole map[string]any
	if err := json.Unmarshal(object, &whole); err != nil {
		return nil, fmt.Errorf("read a certificate signing request: %w", err)
	}
	status, ok := whole["status"].(map[string]any)
	if !ok {
		status = map[string]any{}
	}
	conditions, _ := status["conditions"].([]any)
	status["conditions"] = append(conditions, condition)
	whole["status"] = status
	text, err := json.Marshal(whole)
	if err != nil {
		return nil, fmt.Errorf("write a certificate signing request: %w", err)
	}
	return text, nil
}

// statusError is an answer of the API that is no success.
type statusError struct {
	code int
	text string
}

func (e *statusError) Error() string { return "the API answers " + e.text }

// call calls the API and returns its response. The request body is JSON; a patch is a server-side
// apply.
func (a *Approver) call(ctx context.Context, method, path string, sent []byte) ([]byte, error) {
	switch method {
	case http.MethodPatch:
		return a.send(ctx, method, path, "application/apply-patch+yaml", sent)
	case http.MethodPut:
		return a.send(ctx, method, path, "application/json", sent)
	default:
		return a.send(ctx, method, path, "", nil)
	}
}

// send calls the API with a body of a content type, and returns its response.
func (a *Approver) send(ctx context.Context, method, path, contentType string, sent []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, a.Server+path, bytes.NewReader(sent))
	if err != nil {
		return nil, fmt.Errorf("the API's address %q: %w", a.Server, err)
	}
	request.Header.Set("Accept", "application/json")
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	response, err := a.Client.Do(request)
	if err != nil {
		return nil, err //nolint:wrapcheck // it names the method and the address
	}
	defer response.Body.Close() //nolint:errcheck // It was only read.
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("read the API's answer: %w", err)
	}
	if response.StatusCode != http.StatusOK && response.StatusCode != http.StatusCreated {
		return nil, &statusError{response.StatusCode, response.Status}
	}
	return body, nil
}
