package approver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
)

const (
	// ServingSigner signs the certificates that kubelets serve with:
	// https://kubernetes.io/docs/reference/access-authn-authz/certificate-signing-requests/#kubernetes-signers
	ServingSigner = "kubernetes.io/kubelet-serving"
	// servingBatch is how many requests are read, and then decided with one call of EC2, at most. A
	// filter has at most 200 values.
	servingBatch = 100
	// servingPause is the shortest time between two calls of EC2: neither many nodes that boot at once
	// nor a node that requests certificates all the time use up the calls of the account.
	// https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-throttling.html
	servingPause = time.Second
)

// servingApprover decides about requests for the serving certificates of kubelets.
type servingApprover struct {
	*Approver
	// asked is when EC2 was last asked.
	asked time.Time
}

// RunServing decides about requests for the serving certificates of kubelets as they come in, for some
// minutes; call it again when it returns nil. It approves those whose names and addresses are all those
// that EC2 reports of the requester's instance, and denies all others. It returns an error if the API or
// EC2 does not answer; the requests are then still undecided.
func (a *Approver) RunServing(ctx context.Context) error {
	s := &servingApprover{Approver: a}
	for from := ""; ; {
		requested, err := s.list(ctx, ServingSigner, servingBatch, from)
		if err != nil {
			return err
		}
		if err := s.decide(ctx, requested.Items); err != nil {
			return err
		}
		if from = requested.Metadata.Continue; from == "" {
			return s.follow(ctx, requested.Metadata.ResourceVersion)
		}
	}
}

// follow decides about requests as they change, until the API ends the watch. Those that come in while
// EC2 is asked are one batch.
func (s *servingApprover) follow(ctx context.Context, version string) error {
	ctx, cancel := context.WithCancel(ctx)
	changed, ended := make(chan json.RawMessage, servingBatch), make(chan error, 1)
	go func() {
		defer close(changed)
		ended <- s.watch(ctx, ServingSigner, version, func(ctx context.Context, object json.RawMessage) error {
			select {
			case changed <- object:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	defer func() {
		cancel()
		for range changed { // until the watch has ended
		}
	}()
	for object := range changed {
		if err := s.decide(ctx, append([]json.RawMessage{object}, waiting(changed, servingBatch-1)...)); err != nil {
			return err
		}
	}
	return <-ended
}

// waiting returns what a channel has at once, at most as many as given.
func waiting(changed <-chan json.RawMessage, most int) []json.RawMessage {
	var found []json.RawMessage
	for len(found) < most {
		select {
		case object, ok := <-changed:
			if !ok {
				return found
			}
			found = append(found, object)
		default:
			return found
		}
	}
	return found
}

// servingRequest is a pending request that a kubelet may make, if EC2 confirms it.
type servingRequest struct {
	object json.RawMessage
	name   string
	asks   *servingCertificate
}

// decide decides about the pending ones of some requests, with one call of EC2.
func (s *servingApprover) decide(ctx context.Context, objects []json.RawMessage) error {
	var pending []servingRequest
	for _, object := range objects {
		var request signingRequest
		if err := json.Unmarshal(object, &request); err != nil {
			return fmt.Errorf("read a certificate signing request: %w", err)
		}
		if request.Spec.SignerName != ServingSigner || len(request.Status.Conditions) > 0 || len(request.Status.Certificate) > 0 {
			continue
		}
		asks, err := askedToServe(&request)
		if err == nil {
			pending = append(pending, servingRequest{object, request.Metadata.Name, asks})
		} else if err := s.conclude(ctx, object, request.Metadata.Name, "", err); err != nil {
			return err
		}
	}
	if len(pending) == 0 {
		return nil
	}
	found, err := s.servers(ctx, pending)
	if err != nil {
		return err
	}
	for _, one := range pending {
		message, err := s.confirmServing(ctx, one.asks, found[firstLabel(one.asks.node)])
		if err := s.conclude(ctx, one.object, one.name, message, err); err != nil {
			return err
		}
	}
	return nil
}

// conclude records the decision about a request: a denial, or an approval if there is no error. It
// returns all other errors.
func (s *servingApprover) conclude(ctx context.Context, object json.RawMessage, name, message string, err error) error {
	made := decision{"Approved", "AddressesConfirmed", message}
	if denial, ok := errors.AsType[*denial](err); ok {
		made = decision{"Denied", "AddressesNotConfirmed", denial.Error()}
	} else if err != nil {
		return fmt.Errorf("decide about the certificate signing request %s: %w", name, err)
	}
	err = s.record(ctx, object, name, made)
	if status, ok := errors.AsType[*statusError](err); ok && status.code == http.StatusUnprocessableEntity {
		// A request that cannot be decided must not keep others from their decision.
		s.Log.Warn("certificate signing request", "name", name, "error", err.Error())
		return nil
	}
	return err
}
