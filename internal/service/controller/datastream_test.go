package controller_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestDataStream follows a stream of each mode through its lifecycle.
func TestDataStream(t *testing.T) {
	w := newSuite(t, nil)
	const resourceType = "AWS::Kinesis::Stream"
	w.apply(`
{kind: DataStream, metadata: {name: clicks}}
---
{kind: DataStream, metadata: {name: measurements}, spec: {mode: PROVISIONED, shardCount: 2}}
`)
	w.ready("DataStream", "clicks")
	data, err := w.configMap("clicks")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"streamName": "clicks", "streamARN": "arn:aws:kinesis:eu-west-1:123456789012:stream/clicks", "region": region}
	if diff := cmp.Diff(want, data); diff != "" {
		t.Errorf("the ConfigMap differs (-want +got):\n%s", diff)
	}
	live := w.live(resourceType, "clicks")
	if fmt.Sprint(live["StreamModeDetails"], live["StreamEncryption"], live["ShardCount"]) !=
		"map[StreamMode:ON_DEMAND] map[EncryptionType:KMS KeyId:alias/aws/kinesis] <nil>" {
		t.Errorf("the stream has the properties %v", live)
	}
	w.change("DataStream", "clicks", `{"spec":{"retentionHours":48}}`)
	w.becomes(resourceType, "clicks", "RetentionPeriodHours", 48)

	w.ready("DataStream", "measurements")
	obj, err := w.get("DataStream", "measurements")
	if err != nil {
		t.Fatal(err)
	}
	tooMany := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"shardCount":5}}`))
	if err := w.client.Patch(t.Context(), obj, tooMany); !apierrors.IsInvalid(err) {
		t.Errorf("more than twice the shards: %v", err)
	}
	w.change("DataStream", "measurements", `{"spec":{"shardCount":4}}`)
	w.becomes(resourceType, "measurements", "ShardCount", 4)
	w.ready("DataStream", "clicks")
	w.ready("DataStream", "measurements")
	w.delete("DataStream", "clicks")
	w.delete("DataStream", "measurements")
	if clicks, measurements := w.live(resourceType, "clicks"), w.live(resourceType, "measurements"); clicks != nil || measurements != nil {
		t.Errorf("streams are left: %v %v", clicks, measurements)
	}
}
