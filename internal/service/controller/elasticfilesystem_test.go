package controller_test

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// physicalIDs returns the physical IDs of the resources in an object's stack, by logical ID.
func (w *suite) physicalIDs(kind, name string) map[string]string {
	w.t.Helper()
	obj, err := w.get(kind, name)
	if err != nil {
		w.t.Fatal(err)
	}
	stacks := cloudformation.NewFromConfig(w.awsConfig())
	out, err := stacks.DescribeStackResources(w.t.Context(), &cloudformation.DescribeStackResourcesInput{
		StackName: aws.String(fmt.Sprint(nested(obj, "status", "stackID"))),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	ids := map[string]string{}
	for i := range out.StackResources {
		ids[aws.ToString(out.StackResources[i].LogicalResourceId)] = aws.ToString(out.StackResources[i].PhysicalResourceId)
	}
	return ids
}

// TestElasticFileSystem follows a file system through its lifecycle. A change of its subnets leaves
// the mount targets of the others as they are.
func TestElasticFileSystem(t *testing.T) {
	w := newSuite(t, nil)
	const fileSystemType, first, second, third = "AWS::EFS::FileSystem", "0a1b2c3d4e5f60718", "18071f6e5d4c3b2a0", "2222222222222222a"
	w.apply(`
kind: ElasticFileSystem
metadata: {name: uploads}
spec: {subnetIDs: [subnet-` + first + `, subnet-` + second + `], securityGroupIDs: [sg-0581b94aa3c0db58c], infrequentAccessAfter: AFTER_30_DAYS}
`)
	obj := w.ready("ElasticFileSystem", "uploads")
	before := w.physicalIDs("ElasticFileSystem", "uploads")
	id := before["FileSystem"]
	data, err := w.configMap("uploads")
	if err != nil {
		t.Fatal(err)
	}
	dns := id + ".efs.eu-west-1.amazonaws.com"
	want := map[string]string{
		"fileSystemID": id, "fileSystemARN": fmt.Sprint(nested(obj, "status", "output", "fileSystemARN")), "dnsName": dns, "serviceName": "uploads", "region": region,
	}
	if diff := cmp.Diff(want, data); diff != "" {
		t.Errorf("the ConfigMap differs (-want +got):\n%s", diff)
	}
	service := &corev1.Service{}
	if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "uploads"}, service); err != nil {
		t.Fatal(err)
	}
	if service.Spec.ExternalName != dns || service.Spec.Ports[0].Port != 2049 {
		t.Errorf("the Service is %+v", service.Spec)
	}
	live := w.live(fileSystemType, id)
	if live["Encrypted"] != true || fmt.Sprint(live["BackupPolicy"]) != "map[Status:ENABLED]" || live["ThroughputMode"] != "elastic" {
		t.Errorf("the file system has the properties %v", live)
	}
	w.change("ElasticFileSystem", "uploads", `{"spec":{"subnetIDs":["subnet-`+second+`","subnet-`+third+`"],"backup":false}}`)
	w.becomes(fileSystemType, id, "BackupPolicy", map[string]any{"Status": "DISABLED"})
	w.ready("ElasticFileSystem", "uploads")
	after := w.physicalIDs("ElasticFileSystem", "uploads")
	if after["MountTarget"+second] != before["MountTarget"+second] || after["MountTarget"+third] == "" || after["MountTarget"+first] != "" {
		t.Errorf("the resources were %v and are %v", before, after)
	}
	w.delete("ElasticFileSystem", "uploads")
	if live := w.live(fileSystemType, id); live != nil {
		t.Errorf("the file system is left: %v", live)
	}
}
