package workload

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

func TestEtcdSize(t *testing.T) {
	for name, test := range map[string]struct {
		body, problem string
		want          int64
	}{
		"a size": {body: "# HELP apiserver_storage_size_bytes Size\n# TYPE apiserver_storage_size_bytes gauge\n" +
			"apiserver_storage_size_bytes{storage_cluster_id=\"etcd-0\"} 5.0601984e+07\nz 1\n", want: 50601984},
		"no size":      {body: "a 1\n", problem: "does not report the size"},
		"a lie":        {body: "apiserver_storage_size_bytes{a=\"b\"} -1\n", problem: `reports the size "-1"`},
		"a huge lie":   {body: "apiserver_storage_size_bytes{a=\"b\"} 1e300\n", problem: `reports the size "1e300"`},
		"no number":    {body: "apiserver_storage_size_bytes{a=\"b\"} NaN\n", problem: `reports the size "NaN"`},
		"a text":       {body: "apiserver_storage_size_bytes{a=\"b\"} x\n", problem: `reports the size "x"`},
		"endless line": {body: strings.Repeat("a", 1<<20), problem: "token too long"},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := lie(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/metrics" {
					_, _ = fmt.Fprint(w, test.body)
					return
				}
				http.Redirect(w, r, "/elsewhere", http.StatusFound) // so that lie knows that it was asked
			}, "it redirects to another address, which the operator does not follow")
			got, err := cluster.EtcdSize(t.Context())
			if got != test.want || (err == nil) != (test.problem == "") || err != nil && !strings.Contains(err.Error(), test.problem) {
				t.Errorf("got %d, %v, want %d, %q", got, err, test.want, test.problem)
			}
		})
	}
}
