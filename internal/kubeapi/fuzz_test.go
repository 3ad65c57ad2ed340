package kubeapi_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/internal/kubeapi"
)

// FuzzRequest answers any request without a panic and without an internal error, and stores nothing
// that it cannot list.
func FuzzRequest(f *testing.F) {
	f.Add(http.MethodPost, "/api/v1/namespaces/default/configmaps", "application/json", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"b":"c"}}`)
	f.Add(http.MethodPatch, "/api/v1/nodes/a?fieldManager=x&force=true", "application/apply-patch+yaml", "apiVersion: v1\nkind: Node\nmetadata: {name: a}\n")
	f.Add(http.MethodPatch, "/api/v1/nodes/a", "application/json-patch+json", `[{"op":"add","path":"/metadata/labels/x","value":1}]`)
	f.Add(http.MethodPatch, "/api/v1/nodes/a/status", "application/strategic-merge-patch+json", `{"status":{"conditions":[{"type":"Ready"}]}}`)
	f.Add(http.MethodPut, "/apis/apps/v1/namespaces/default/deployments/a", "application/json", `{"spec":{"replicas":-1}}`)
	f.Add(http.MethodGet, "/api/v1/pods?labelSelector=a+in+(b,c)&fieldSelector=spec.nodeName=a&limit=-1&continue=x", "", "")
	f.Add(http.MethodDelete, "/api/v1/nodes?labelSelector=a", "application/json", `{"gracePeriodSeconds":-1,"preconditions":{"uid":1}}`)
	f.Add(http.MethodGet, "/apis/apps/v1", "", "")
	f.Fuzz(func(t *testing.T, method, target, contentType, body string) {
		if strings.Contains(target, "watch") {
			return // it does not end
		}
		server := kubeapi.New(kubeapi.Options{Kubernetes: "v1.36.3"})
		defer server.Close()
		send := func(method, target, contentType, body string) *httptest.ResponseRecorder {
			request, err := http.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
			if err != nil {
				return nil
			}
			request.Header.Set("Content-Type", contentType)
			answer := httptest.NewRecorder()
			server.Trusted().ServeHTTP(answer, request)
			return answer
		}
		send(http.MethodPost, "/api/v1/nodes", "application/json", `{"apiVersion":"v1","kind":"Node","metadata":{"name":"a"}}`)
		if answer := send(method, target, contentType, body); answer != nil && answer.Code == http.StatusInternalServerError {
			t.Errorf("status %d: %s", answer.Code, answer.Body)
		}
		for _, path := range []string{"/api/v1/nodes", "/api/v1/configmaps", "/api/v1/pods", "/apis/apps/v1/deployments"} {
			if answer := send(http.MethodGet, path, "", ""); answer.Code != http.StatusOK {
				t.Errorf("afterwards, %s gives %d: %s", path, answer.Code, answer.Body)
			}
		}
	})
}
