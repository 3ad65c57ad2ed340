package model_test

import (
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

func TestDNSCachesNeedTheirVersion(t *testing.T) {
	const refused = "spec.network.nodeLocalDNS: release v1.36.3 has no component node-cache, the version of the DNS cache; " +
		"move to a release that has it, or leave it out"
	for release, want := range map[string]string{"v1.36.4": "", "v1.36.3": refused} {
		_, err := model.Resolve(input(t, newVPC, "spec: {release: "+release+", network: {nodeLocalDNS: {}}}"))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", release, err, want)
		}
	}
}
