package workload

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
)

// listPage reads a page of nodes and passes each to see, until that returns an error.
//
// It decodes one Node at a time: a decoded list may have several hundred times the size of the
// response, for example if all nodes are empty.
func (c *Cluster) listPage(
	ctx context.Context, options metav1.ListOptions, see func(*corev1.Node) error,
) (page metav1.ListMeta, err error) {
	body, err := c.core.RESTClient().Get().Resource("nodes").VersionedParams(&options, scheme.ParameterCodec).
		SetHeader("Accept", "application/json").Stream(ctx)
	if err != nil {
		return page, err //nolint:wrapcheck // the caller wraps it
	}
	defer func() { _ = body.Close() }()
	return readPage(body, see)
}

var errNoList = errors.New("the response is not a list of nodes")

// readPage decodes a list of nodes.
func readPage(body io.Reader, see func(*corev1.Node) error) (page metav1.ListMeta, err error) {
	decoder, kind := json.NewDecoder(body), ""
	if err := expect(decoder, json.Delim('{')); err != nil {
		return page, err
	}
	for decoder.More() {
		field, err := decoder.Token()
		if err != nil {
			return page, err //nolint:wrapcheck // the caller wraps it
		}
		switch field {
		case "kind":
			err = decoder.Decode(&kind)
		case "metadata":
			err = decoder.Decode(&page)
		case "items":
			err = readItems(decoder, see)
		default:
			err = decoder.Decode(&json.RawMessage{})
		}
		if err != nil {
			return page, fmt.Errorf("read %v of the list: %w", field, err)
		}
	}
	if kind != "NodeList" {
		return page, errNoList
	}
	return page, expect(decoder, json.Delim('}'))
}

// readItems decodes the nodes of a list; null is none.
func readItems(decoder *json.Decoder, see func(*corev1.Node) error) error {
	switch start, err := decoder.Token(); {
	case err != nil:
		return err //nolint:wrapcheck // the caller wraps it
	case start == nil:
		return nil
	case start != json.Delim('['):
		return errNoList
	}
	for decoder.More() {
		var text json.RawMessage
		if err := decoder.Decode(&text); err != nil {
			return err //nolint:wrapcheck // the caller wraps it
		}
		if len(text) > maxNode {
			return errNodeTooLarge
		}
		var node corev1.Node
		if err := json.Unmarshal(text, &node); err != nil {
			return err //nolint:wrapcheck // the caller wraps it
		}
		if err := see(&node); err != nil {
			return err
		}
	}
	return expect(decoder, json.Delim(']'))
}

func expect(decoder *json.Decoder, want json.Delim) error {
	got, err := decoder.Token()
	if err != nil {
		return err //nolint:wrapcheck // the caller wraps it
	}
	if got != want {
		return errNoList
	}
	return nil
}
