package approver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

const (
	nodeClaims = "/apis/karpenter.sh/v1/nodeclaims"
	// nodePoolTag names the NodePool for which Karpenter launched an instance. It is also the label of its
	// NodeClaims. https://karpenter.sh/docs/concepts/nodeclasses/#spectags
	nodePoolTag = "karpenter.sh/nodepool"
	// templateTag names the launch template of an instance. EC2 alone can set it.
	// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/launch-instances-from-launch-template.html
	templateTag = "aws:ec2launchtemplate:id"
)

// errUnclaimed means that no Karpenter of the cluster launched an instance.
var errUnclaimed = errors.New("no Karpenter of the cluster launched it")

// nodePoolOf returns the NodePool of an instance that the cluster's own Karpenter launched: EC2 has the
// tags of such a launch, and a NodeClaim in the cluster's API names the instance. Karpenter writes it
// within seconds after the launch. Tags alone are no proof, because the role that may launch instances
// chooses them; no worker may write NodeClaims. A cluster without Karpenter has none.
func (a *Approver) nodePoolOf(ctx context.Context, id string, tags map[string]string) (string, error) {
	pool := tags[nodePoolTag]
	if tags[templateTag] == "" || !nodeName.MatchString(pool) {
		return "", errUnclaimed
	}
	answer, err := a.call(ctx, http.MethodGet, nodeClaims+"?labelSelector="+url.QueryEscape(nodePoolTag+"="+pool), nil)
	if status, ok := errors.AsType[*statusError](err); ok && (status.code == http.StatusNotFound || status.code == http.StatusBadRequest) {
		return "", errUnclaimed // The cluster has no such kind, or the tag is no label.
	}
	if err != nil {
		return "", fmt.Errorf("list NodeClaims of NodePool %s: %w", pool, err)
	}
	var list struct {
		Items []struct {
			Status struct {
				ProviderID string `json:"providerID"`
			} `json:"status"`
		} `json:"items"`
	}
	if err := json.Unmarshal(answer, &list); err != nil {
		return "", fmt.Errorf("read the NodeClaims of NodePool %s: %w", pool, err)
	}
	for i := range list.Items {
		if provider := list.Items[i].Status.ProviderID; provider[strings.LastIndexByte(provider, '/')+1:] == id {
			return pool, nil
		}
	}
	return "", errUnclaimed
}
